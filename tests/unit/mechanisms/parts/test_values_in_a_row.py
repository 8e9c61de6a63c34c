"""Noise in running totals that is proved for changes in several periods at once: signs, proofs, plans, audits."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import ctx, fmpq, fmpq_series

import dxgeom as dx
from dxgeom.errors import CertificateRefused, DxgeomError
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, ToeplitzStrategy, best_damped
from dxgeom.mechanisms.parts.values_in_a_row import largest_within, length_of_first, patterns, square_of_first
from dxgeom.mechanisms.parts.weighed_totals import weighed_strategies

PRESENCE = {"presence": True, "epsilon": 1}
LIFE = {"any": "life", "epsilon": 4}


def policy_of(*rules: dict[str, Any], days: int = 12, **more: Any) -> dx.Policy:
    last = date(2027, 1, 1) + timedelta(days - 1)
    time = {"column": "day", "from": "2027-01-01", "to": str(last), "every": "day", "before": False, "after": False}
    stated = {"policy": "p", "privacy": "concentrated", "universe": {"attributes": {"of": ["a"]}}, "time": time}
    return dx.Policy.from_dict({**stated, "rules": [*rules], **more})


def planned(policy: dx.Policy, mechanism: str = "toeplitz-gaussian") -> Any:
    asked = dx.queries_from_dict({"queries": [{"total": "so far"}]}, policy)
    return dx.plan(policy.compile(), asked, mechanism=mechanism)


@pytest.mark.parametrize("seed", range(6))
def test_no_signs_are_longer_than_what_is_said_of_a_window(seed):
    """All signs on random vectors, several codes of one value among them; it is attained where no angle is obtuse."""
    random = np.random.default_rng(seed)
    near = random.normal(size=(6, 5))
    acute = np.abs(near)
    classes, width = (0, 0, 1, 2, 2, 2, 3, 4), 4
    for vectors in (near, acute):
        square = largest_within(vectors, np.zeros(5), classes, width)
        most = max(
            float(np.linalg.norm(vectors[:, list(classes[start : start + width])] @ np.array(signs)))
            for start in range(len(classes) - width + 1)
            for signs in itertools.product((-1, 0, 1), repeat=width)
        )
        assert most <= math.sqrt(square)
    assert most == pytest.approx(math.sqrt(square), rel=1e-9)


def test_what_is_off_is_told_too():
    near, off = np.eye(3), np.array([0.0, 0.5, 0.0])
    assert math.sqrt(largest_within(near, off, (0, 1, 2), 2)) >= 1.5


def test_a_window_from_the_first_value_is_the_sum_of_its_columns():
    series = [5, 3, 2, 2, 1]
    columns = np.array([[series[row - column] if row >= column else 0 for column in range(5)] for row in range(5)])
    totals = [0, *itertools.accumulate(series)]
    classes = (0, 0, 1, 2, 3, 4, 4)
    assert {*patterns(classes, 3)} == {((1, 2), (1, 1)), ((3, 1),), ((1, 1), (1, 2))}
    for runs in patterns(classes, 3):
        counts = [count for length, count in runs for _ in range(length)]
        own = columns[:, : len(counts)] @ np.array(counts)
        assert square_of_first(totals, runs) == int(own @ own)
        assert length_of_first(np.array(totals, dtype=float), runs) == pytest.approx(math.sqrt(float(own @ own)))


@pytest.mark.parametrize(("theta", "alpha"), [(0.0, 1.0), (0.25, 0.75), (0.875, 1.0), (0.5, 0.5), (1.0, 0.0)])
def test_coefficients_are_those_of_the_power_series(theta, alpha):
    size = 24
    before = ctx.cap
    ctx.cap = size
    try:
        one, two, three = (fmpq_series([1, -fmpq(*Fraction(rate).as_integer_ratio())]) for rate in (1, theta, alpha))
        exact = [float(Fraction(int(c.p), int(c.q))) for c in (three / (one * two)).sqrt().coeffs()]
    finally:
        ctx.cap = before
    own = ToeplitzStrategy(size, theta=theta, alpha=alpha).series / 2.0**60
    exact += [0.0] * (size - len(exact))
    assert own == pytest.approx(exact, abs=1e-14)
    assert np.all(own >= 0)


@pytest.mark.long
def test_noise_in_each_count_is_the_best_where_a_life_is_all_that_is_promised():
    """α = 1 and θ = 0; of a life at B over T days, noise of the size √T/B in each day."""
    size = 12
    bounds = LineBounds(Fraction(1000), None, True, ((size, Fraction(4)),), tuple(range(size)))
    lower, upper = np.zeros(size, dtype=np.int64), np.arange(1, size + 1)
    theta, alpha = best_damped(size, bounds, lower, upper, np.ones(size))
    found = ToeplitzStrategy(size, theta=theta, alpha=alpha)
    errors = found.variances(found.least_scale(bounds), lower, upper)
    assert errors.mean() <= (size + 1) / 2 * size / 16 * 1.001


@pytest.mark.long
def test_a_plan_is_proved_for_its_windows_and_errs_less_than_one_for_each_day():
    rules = PRESENCE, LIFE
    policy = policy_of(*rules)
    plan, parts = planned(policy), planned(policy_of({"presence": True, "epsilon": "0.3333"}))
    assert plan.loss < parts.loss / 3
    mechanism = plan.mechanism
    with pytest.raises(CertificateRefused, match="does not hide"):
        replace(mechanism, scales=mechanism.scales * (1 - 1e-7))
    each = np.linalg.solve(mechanism.strategy.law(mechanism.scale, 1.0).map, np.tri(12))
    assert float(np.linalg.norm(each.sum(axis=1))) <= 4 * (1 + 1e-9)
    assert float(np.linalg.norm(each, axis=0).max()) <= 1 + 1e-9


def test_somebody_there_on_some_days_instead_of_others_is_counted():
    """Noise that is the best for 'there every day' tells more of other patterns, and is not proved by that alone."""
    size = 6
    bounds = LineBounds(Fraction(1), None, True)
    strategy = next(weighed_strategies(size, bounds, np.ones(size)))
    scale = strategy.least_scale(bounds)
    each = np.linalg.solve(strategy.matrix(scale), np.tri(size))
    most = max(np.linalg.norm(each @ np.array(signs)) for signs in itertools.product((-1, 1), repeat=size))
    enough = replace(bounds, spans=((size, Fraction(float(most) * 1.01)),), classes=tuple(range(size)))
    little = replace(enough, spans=((size, Fraction(float(most) * 0.99)),))
    assert strategy.hides(scale, enough)
    assert not strategy.hides(scale, little)


def test_plans_without_such_a_rule_are_what_they_were():
    plan = planned(policy_of(PRESENCE))
    assert plan.metric.over_periods is None
    assert not getattr(plan.mechanism.strategy, "alpha", 0)
    assert len(ToeplitzStrategy(4).identity) == 5


@pytest.mark.long
def test_a_plan_of_answers_is_left_for_one_of_several_periods_where_that_errs_less(tmp_path: Path):
    """Chosen, written, read, audited; and a file with less noise is neither read nor held to hold."""
    policy = policy_of(PRESENCE, LIFE)
    plan = planned(policy, "auto")
    assert plan.mechanism.name == "toeplitz-gaussian"
    assert plan.loss < planned(policy, "gaussian").loss
    assert 0 < plan.lower_bound <= plan.loss
    file = tmp_path / "plan.json"
    dx.save_plan(plan, file, policy=policy)
    again = dx.load_plan(file)
    assert again.fingerprint == plan.fingerprint
    audit = dx.audit.audit_plan(again)
    assert any("several" in one or "in a row" in one for one in audit.checked)
    assert not audit.not_audited
    text = json.loads(file.read_text())
    stated = json.dumps(text)
    scale = float(plan.mechanism.scale)
    assert scale.hex() in stated
    file.write_text(stated.replace(scale.hex(), (scale * 0.99).hex()))
    with pytest.raises(DxgeomError):
        dx.load_plan(file)


@pytest.mark.long
def test_what_is_asked_by_other_columns_too_is_planned_for_each_day():
    policy = policy_of(PRESENCE, LIFE, days=4)
    asked = dx.queries_from_dict({"queries": [{"total": "so far", "by": "of"}]}, policy)
    plan = dx.plan(policy.compile(), asked)
    assert plan.lower_bound >= 0
    dx.audit.audit_plan(plan)
