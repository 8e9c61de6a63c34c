"""Matrices for several values in a row: near the best, beside moves too, and proved of what is drawn with."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.parts.joint_totals import JointStrategy
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ, ToeplitzMechanism
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds
from dxgeom.mechanisms.parts.totals_in_a_row import _Search, _Squares, totals_in_a_row


def bounds_of(size, width, epsilon, steps=None, gaps=()):
    apart = Fraction(1, steps) if steps else (Fraction(min(gaps)) if gaps else None)
    return LineBounds(Fraction(1), apart, True, ((width, Fraction(epsilon)),), tuple(range(size)), gaps=gaps)


def ends(size, width=None):
    upper = np.arange(1, size + 1)
    return (np.zeros_like(upper) if width is None else np.maximum(0, upper - width)), upper


def error(size, bounds, width=None):
    lower, upper = ends(size, width)
    strategy, scale = totals_in_a_row(lower, upper, np.ones(size), bounds)
    assert strategy.hides_along(scale, bounds)
    return float(strategy.variances(scale, lower[:, None], upper[:, None]).sum()), strategy, scale


def test_a_year_of_months_errs_as_the_best_noise_that_is_known():
    """24 periods, any 7 at 3: a total of 178.17 is had by no noise less; 178.30 by another solver with G ≥ 0."""
    total, _, _ = error(24, bounds_of(24, 7, 3))
    assert 178.17 < total < 178.17 * 1.003


@pytest.mark.long
def test_windows_of_a_month_and_a_life_err_less_than_toeplitz_matrices_do():
    """Of 90 days, any 30 at 8, 4.163 is the least; a Toeplitz matrix has 4.37."""
    total, _, _ = error(90, bounds_of(90, 30, 8))
    assert 4.163 < math.sqrt(total / 90) < 4.18


@pytest.mark.parametrize(("steps", "width"), [(None, None), (2, 4), (7, None)])
def test_no_signs_within_a_window_tell_more_and_no_step_is_longer(steps, width):
    """By all changes of days in a row of a plan of ten, with float64's inverse of the matrix that is drawn with."""
    bounds = bounds_of(10, 5, 2, steps)
    _, strategy, scale = error(10, bounds, width)
    vectors = np.linalg.solve(strategy.roots[0].matrix * scale, np.tri(10))
    signs = np.array(list(itertools.product((-1, 0, 1), repeat=5)))
    most = max(np.linalg.norm(vectors[:, at : at + 5] @ signs.T, axis=0).max() for at in range(6))
    assert most <= 2
    longest = np.linalg.norm(vectors, axis=0).max()
    step = np.linalg.norm(np.diff(vectors, axis=1), axis=0).max()
    assert longest <= 1
    assert steps is None or step <= 1 / steps
    # Something of all this is just as large as it may be.
    assert max(most / 2, longest, step * (steps or 0)) > 0.98
    assert not strategy.hides_along(scale / 2, bounds)


def test_beside_moves_windows_hardly_err_more_than_for_moves_alone():
    alone, _, _ = error(24, bounds_of(24, 24, 1000, steps=7), width=7)
    total, _, _ = error(24, bounds_of(24, 7, 3, steps=7), width=7)
    assert alone * 0.999 < total < alone * 1.02


def test_the_search_knows_its_gradient():
    dice, size = np.random.default_rng(4), 6
    windows = np.array([[1, 1, 2, 0, 0, 0], [0, 0, 1, 1, 1, 0]]) / 2.0
    promised = _Squares(1.0, np.array([0.5, 0.5, 0.4, 2.0, 0.1]), windows)
    costs = np.tri(size).T @ np.tri(size)
    search = _Search(costs, np.tri(size) * dice.uniform(0.5, 1.0, (size, size)), promised)
    place = (np.eye(size) + 0.1 * np.tri(size))[np.tril_indices(size)]
    value, gradient = search.at(place, 20.0)
    for number in range(len(place)):
        moved = place.copy()
        moved[number] += 1e-6
        assert (search.at(moved, 20.0)[0] - value) / 1e-6 == pytest.approx(gradient[number], abs=1e-3)


def test_records_that_no_rule_of_presence_holds_are_refused():
    lower, upper = ends(5)
    for bounds in (
        LineBounds(None, None, True, ((3, Fraction(2)),), tuple(range(5))),
        LineBounds(Fraction(1), Fraction(1), False, ((3, Fraction(2)),), tuple(range(5))),
    ):
        with pytest.raises(TooLarge, match="come and go"):
            totals_in_a_row(lower, upper, np.ones(5), bounds)
    with pytest.raises(TooLarge, match="several of 5,000 values"):
        totals_in_a_row(lower, upper, np.ones(5), bounds_of(5000, 7, 3))


def a_fortnight():
    """Days of a record, which comes and goes, moves, and any three of them."""
    return dx.Policy.from_dict(
        {
            "policy": "fortnight",
            "privacy": "concentrated",
            "universe": {"attributes": {"c": ["x", "y"]}},
            "time": {"column": "day", "from": "2027-01-01", "to": "2027-01-12", "every": "day"},
            "rules": [
                {"presence": True, "epsilon": 1},
                {"change": "day", "per": "2 days", "epsilon": 1},
                {"any": "3 days", "epsilon": 1.5},
            ],
        }
    )


@pytest.mark.parametrize("width", [None, 3])
def test_plans_have_it_and_keep_it_in_a_file(width, tmp_path):
    policy = a_fortnight()
    boxes = [{"day": (0 if width is None else max(1, day - width + 1), day + 1)} for day in range(1, 13)]
    plan = dx.plan(policy.compile(), dx.LinearQueries.boxes(policy.universe, boxes), mechanism=TOEPLITZ)
    made = plan.mechanism if isinstance(plan.mechanism, ToeplitzMechanism) else plan.mechanism.mixing.measured
    assert isinstance(made.strategy, JointStrategy)
    assert plan.loss < dx.plan(policy.compile(), plan.question, mechanism="boxes-gaussian").loss
    assert 1.4 < math.sqrt(made.told_within(3)) <= 1.5
    file = tmp_path / "plan.json"
    dx.save_plan(plan, file, policy=policy)
    loaded = dx.load_plan(file)
    assert loaded.plan.fingerprint == plan.fingerprint
    assert "so many periods in a row is hidden" in " ".join(audit_plan(loaded).checked)
    with pytest.raises(CertificateRefused):
        ToeplitzMechanism(TOEPLITZ, made.metric, made.boxes, made.strategy, made.scales / 2)
