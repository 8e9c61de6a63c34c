"""Bars for all answers at once: they hold as often as they say, and are no wider than the union bound's."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import gamma

import dxgeom as dx
from dxgeom.mechanisms.linear.bars import gamma_quantile, half_widths, joint_half_widths

NAMES = ("laplace", "hull", "rotated-laplace", "ellipsoid", "box", "strategy")


def mechanism_of(name):
    weights = np.random.default_rng(5).integers(0, 4, (4, 7))
    metric = dx.verify_metric(0.7 * (1 - np.eye(7)))
    plan = dx.plan(metric, dx.LinearQueries.from_matrix(["a", "b", "c", "d"], weights), mechanism=name)
    return plan.mechanism


@pytest.mark.parametrize("name", NAMES)
def test_joint_bars_hold_all_errors_at_once_and_are_not_wider_than_the_union_bound(name):
    mechanism = mechanism_of(name)
    level, spend = 0.9, Fraction(1, 2)
    widths = joint_half_widths(mechanism, level, spend, None)
    draws = 20_000
    noise = mechanism.law.simulate(draws, np.random.default_rng(11)) @ mechanism.float_mixing.T * 2
    held = np.mean(np.all(np.abs(noise) <= widths, axis=1))
    deviation = math.sqrt(level * (1 - level) / draws)
    assert level - 5 * deviation <= held <= level + 5 * deviation + 0.015
    union = half_widths(mechanism, 1 - (1 - level) / len(widths), spend, None)
    assert np.mean(widths / union) <= 1
    assert np.all(widths >= half_widths(mechanism, level, spend, None) * 0.8)


@pytest.mark.parametrize("name", ["hull", "strategy"])
def test_levels_beyond_any_simulation_are_bounded_by_the_norm(name):
    mechanism = mechanism_of(name)
    widths = joint_half_widths(mechanism, 1 - 1e-9, Fraction(1), None)
    assert np.all(np.isfinite(widths)) and np.all(widths > joint_half_widths(mechanism, 0.99, Fraction(1), None))


@pytest.mark.parametrize("shape", [1, 2, 7, 60, 400])
@pytest.mark.parametrize("level", [0.01, 0.5, 0.95, 0.999999])
def test_gamma_quantiles_are_rounded_up(shape, level):
    assert gamma_quantile(shape, level) == pytest.approx(gamma.ppf(level, shape), rel=1e-8)
    assert gamma.cdf(gamma_quantile(shape, level), shape) >= level - 1e-12


def test_one_answer_has_one_bar():
    metric = dx.verify_metric(1 - np.eye(3))
    plan = dx.plan(metric, dx.LinearQueries.from_matrix(["a", "b"], [[0, 1, 2], [1, 1, 1]]))
    assert np.array_equal(
        joint_half_widths(plan.mechanism, 0.9, Fraction(1), None), half_widths(plan.mechanism, 0.9, Fraction(1), None)
    )


def test_a_release_has_joint_intervals():
    metric = dx.verify_metric(1 - np.eye(3))
    plan = dx.plan(metric, dx.LinearQueries.from_matrix(["a", "b"], np.eye(3)[:2]))
    released = plan.release(np.array([3, 4, 5]), ledger=":memory:", spend=1, insecure_test_seed=1)
    joint, each = released.intervals(0.9, joint=True), released.intervals(0.9)
    assert np.all(joint[:, 0] < each[:, 0]) and np.all(joint[:, 1] > each[:, 1])
    assert np.allclose(np.diff(joint)[:, 0] / 2, released.half_widths(0.9, joint=True))
