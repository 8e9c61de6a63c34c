"""Bounds that are found and proved anew: never above the truth, near the plan's own, and refused where that lies."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.forged import forged
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.audit.bound_audit import _proved, _root_trace_squared, bound_again
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.cli.main import app
from dxgeom.errors import CertificateRefused


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 9), st.integers(1, 7))
def test_the_trace_of_the_root_is_never_above_and_near(seed, answers, changes, rank):
    """Against singular values by float64; of matrices without full rank, too."""
    generator = np.random.default_rng(seed)
    left = generator.integers(-9, 10, (answers, min(rank, answers)))
    matrix = left @ generator.integers(-9, 10, (left.shape[1], changes)) * 10**6
    if not matrix.any():
        return
    found = math.sqrt(_root_trace_squared(fmpz_mat(matrix.tolist())))
    true = np.linalg.svd(matrix.astype(float), compute_uv=False).sum()
    assert (1 - 1e-5) * true <= found <= (1 + 1e-13) * true


def planned(privacy, size=5, mechanism="auto", **asked):
    policy = dx.Policy.from_dict(
        {
            "policy": "a line",
            "privacy": privacy,
            "universe": {"attributes": {"t": {"range": [0, size - 1], "step": 1}}},
            "rules": [{"presence": True, "epsilon": 1}, {"change": "t", "per": 2, "epsilon": 1}],
        }
    )
    return policy, dx.plan(
        policy.compile(), dx.queries_from_dict({"queries": [{"prefixes": "t"}]}, policy), mechanism=mechanism, **asked
    )


@pytest.mark.long
@pytest.mark.parametrize("objective", ["balanced", "mse", "max"])
def test_it_is_below_the_best_gaussian_noise_and_within_a_thousandth_of_it(objective):
    _, plan = planned("concentrated", mechanism="gaussian", objective=objective)
    found = bound_again(plan, plan.metric)
    optimum = plan.objective.loss(plan.mechanism.ideal_variances)
    assert found.bound <= optimum
    if objective != "max":  # the worst answer is only compared with the mean
        assert found.bound >= 0.999 * optimum / (1 + plan.covariance_gap)
    assert found.gap == plan.loss / found.bound >= 1 and f"{found.bound:.6g}" in found.in_words


def test_two_counts_that_nobody_moves_together_have_the_bound_in_closed_form():
    """Each of two cells is moved by one at 1/2, alone: A is diagonal, and even weights give (Σ √p/d)² = 8, which is
    what normal noise of variance 4 in each has."""
    policy = dx.Policy.from_dict(
        {
            "policy": "two",
            "privacy": "concentrated",
            "universe": {"attributes": {"t": {"values": ["a", "b"]}}},
            "rules": [{"presence": True, "epsilon": 0.5}],
        }
    )
    plan = dx.plan(
        policy.compile(), dx.queries_from_dict({"queries": [{"marginal": "t"}]}, policy), mechanism="gaussian"
    )
    found = bound_again(plan, plan.metric)
    assert 7.999 < found.bound <= 8
    assert found.differences == 2


@pytest.mark.long
def test_a_stated_bound_above_the_plans_own_loss_is_refused():
    _, plan = planned("pure", mechanism="laplace")
    assert bound_again(plan, plan.metric).bound <= plan.loss
    lying = forged(plan, decided=forged(plan.decided, comparison=_Lying(2 * plan.loss)))
    with pytest.raises(CertificateRefused, match="above its own loss"):
        bound_again(lying, plan.metric)


class _Lying:
    bound_at_hand = True

    def __init__(self, bound):
        self.lower_bound = bound


@pytest.mark.long
def test_tables_of_policies_without_a_histogram_have_none():
    _, plan = planned("concentrated", mechanism="gaussian")
    attributes = {f"q{k}": {"values": ["a", "b"]} for k in range(40)}
    wide = dx.Policy.from_dict(
        {
            "policy": "w",
            "universe": {"attributes": attributes},
            "rules": [{"change": name, "epsilon": 1} for name in attributes],
        }
    )
    tables = dx.plan(wide.compile(), dx.universe.MarginalQueries.of(wide.universe, [["q0"]]))
    assert audit_plan(tables).bounds == () and len(audit_plan(plan).bounds) == 1
    half = replace(plan, file=None)
    assert bound_again(half, plan.metric).bound == bound_again(plan, plan.metric).bound > 0
    assert Fraction(bound_again(plan, plan.metric).bound) > 0


@pytest.mark.long
def test_the_command_says_how_near_the_plan_is(tmp_path):
    policy, plan = planned("concentrated", mechanism="gaussian")
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    shown = CliRunner().invoke(app, ["audit", "plan", str(tmp_path / "plan.json"), "--format", "json"])
    document = json.loads(shown.stdout)
    assert shown.exit_code == 0 and document["verdict"] == "holds"
    (bound,) = document["bounds"]
    assert bound["stated"] is None and 1 <= bound["gap"] < 1.01
    text = CliRunner().invoke(app, ["audit", "plan", str(tmp_path / "plan.json")]).stdout
    assert "how near  no additive noise" in text


def asked_of_cells(weights):
    """Of that many cells, one attribute; records are known to be there and may change."""
    policy = dx.Policy.from_dict(
        {
            "policy": "cells",
            "universe": {"attributes": {"t": {"values": [f"v{k}" for k in range(len(weights[0]))]}}},
            "rules": [{"change": "t", "epsilon": 1}],
        }
    )
    names = [f"q{k}" for k in range(len(weights))]
    queries = dx.LinearQueries.from_matrix(names, np.array(weights, dtype=float), policy.universe)
    return dx.plan(policy.compile(), queries, mechanism="laplace")


def test_answers_that_nobody_moves_are_no_measure_of_those_that_somebody_does():
    """The first is the same for every record, and its step 10^14 times the other's."""
    with_it, alone = asked_of_cells([[1e14] * 3, [1, 1, 0]]), asked_of_cells([[1, 1, 0]])
    (found,), (same,) = audit_plan(with_it).bounds, audit_plan(alone).bounds
    assert found.bound == same.bound > 0


@pytest.mark.parametrize("distances", [[5e-324, 1.0], [np.inf, np.inf]])
def test_there_is_no_bound_where_numbers_are_beyond_float64(distances):
    assert _proved([1 << 40, 1], np.eye(2, dtype=np.int64), np.array(distances)) is None


def test_of_many_answers_that_few_differences_move_the_work_is_that_of_the_few(monkeypatch):
    """200 answers that one difference moves alike: A has one eigenvalue, 200·w, and the bound is 200/d²."""
    sizes, own = set(), np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda one: sizes.add(one.shape) or own(one))
    found = _proved([1 << 40] * 200, np.ones((200, 1), dtype=np.int64), np.array([2.0]))
    assert sizes == {(1, 1)}
    assert (1 - 1e-6) * 200 * 2.0**80 / 4 < found <= 200 * 2**80 / 4


def test_bounds_of_several_tasks_say_of_which():
    policy, _ = planned("pure", mechanism="laplace")
    tasks = [{"name": f"list {k}", "queries": [{"marginal": "t"}], "share": "1/2"} for k in "ab"]
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"tasks": tasks}, policy), mechanism="laplace")
    found = audit_plan(plan).bounds
    assert [one.task for one in found] == ["list a", "list b"]
    assert found[1].in_words.startswith("task 'list b': no additive noise")


def of_counts(privacy, kind, objective, presence):
    """A plan of tables, or of boxes, of 3 × 4 values, which count differently."""
    attributes = {"a": {"range": [0, 2], "step": 1}, "b": {"range": [0, 3], "step": 1}}
    rules = [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": "0.5"}]
    rules += [{"presence": True, "epsilon": "0.8"}] if presence else []
    policy = dx.Policy.from_dict(
        {"policy": "p", "privacy": privacy, "universe": {"attributes": attributes}, "rules": rules}
    )
    if kind == "tables":
        asked = dx.universe.MarginalQueries.of(policy.universe, [["a", "b"], ["b"]], importance=[1, 3])
    else:
        boxes = [{"a": (0, 2)}, {"a": (1, 3), "b": (1, 3)}, {"b": (0, 1)}, {}]
        asked = dx.universe.BoxQueries.of(policy.universe, boxes, importance=[1, 2, 3, 4])
    return policy, dx.plan(policy.compile(), asked, objective=objective)


@pytest.mark.long
@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("objective", ["mse", "max"])
@pytest.mark.parametrize("kind", ["tables", "boxes"])
def test_tables_and_boxes_have_it_below_the_best_gaussian_noise(kind, objective, presence):
    policy, plan = of_counts("concentrated", kind, objective, presence)
    found = bound_again(plan, plan.metric)
    best = dx.plan(policy.compile(), plan.queries.listed, mechanism="gaussian", objective=objective)
    counts = plan.queries.costs[plan.queries.owners]
    variances = best.mechanism.ideal_variances * counts
    optimum = float(variances.max() if objective == "max" else variances.sum())
    assert 0 < found.bound <= optimum * (1 + 1e-6)
    assert found.stated == plan.lower_bound <= plan.loss * (1 + 1e-9)
    if objective == "mse":
        assert found.bound >= 0.99 * optimum
    assert ("worst MSE" if objective == "max" else "total MSE") in found.in_words
    (said,) = audit_plan(plan).bounds
    assert said.bound == found.bound


@pytest.mark.long
def test_a_pure_table_has_twice_that_and_a_file_says_it_anew(tmp_path):
    policy, plan = of_counts("pure", "tables", "mse", presence=True)
    found = bound_again(plan, plan.metric)
    other = of_counts("concentrated", "tables", "mse", presence=True)[1]
    same = bound_again(other, other.metric)
    assert found.bound == pytest.approx(2 * same.bound, rel=1e-12) and found.bound <= plan.loss
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    (read,) = audit_plan(dx.load_plan(tmp_path / "plan.json")).bounds
    assert read.stated is None and read.bound == found.bound
    lying = forged(plan, decided=replace(plan.decided, bound=lambda: 2 * plan.loss))
    with pytest.raises(CertificateRefused, match="above its own loss"):
        bound_again(lying, plan.metric)
