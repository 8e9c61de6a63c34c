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
from dxgeom.audit.bound_audit import _root_trace_squared, bound_again
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


def test_changed_queries_and_whole_tables_have_none():
    policy, plan = planned("concentrated", mechanism="gaussian")
    tables = dx.plan(policy.compile(), dx.universe.MarginalQueries.of(policy.universe, [["t"]]))
    assert bound_again(tables, tables.metric) is None
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
