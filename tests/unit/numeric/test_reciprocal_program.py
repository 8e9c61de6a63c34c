from __future__ import annotations

import numpy as np
import pytest

from dxgeom.numeric.reciprocal_program import GAP, minimise_reciprocal_squares


def solved(rows, weights=None):
    rows = np.asarray(rows, dtype=float)
    return minimise_reciprocal_squares(rows, np.ones(rows.shape[1]) if weights is None else np.asarray(weights))


@pytest.mark.parametrize(("count", "queries"), [(1, 1), (3, 1), (50, 4), (2000, 12), (20_000, 40)])
def test_the_gap_is_certified_and_the_rates_are_feasible(count, queries):
    rows = np.random.default_rng(count).random((count, queries))
    solution = solved(rows)
    assert 0 <= solution.gap <= GAP
    assert (rows @ solution.rates).max() <= 1 + 1e-12
    assert solution.value == pytest.approx(np.sum(1 / solution.rates**2), rel=1e-12)


def test_one_constraint_has_a_closed_form():
    """min sum of weight/w^2 under a·w = 1: w_k is proportional to (weight_k / a_k)^(1/3)."""
    costs, weights = np.array([1.0, 2.0, 7.0]), np.array([3.0, 1.0, 0.2])
    shape = np.cbrt(weights / costs)
    expected = shape / (costs @ shape)
    assert np.allclose(solved(costs[None], weights).rates, expected, rtol=1e-5)


def test_separate_constraints_separate():
    assert np.allclose(solved(np.diag([1.0, 10.0, 0.1])).rates, [1, 0.1, 10], rtol=1e-6)


@pytest.mark.parametrize("aspect", [1e3, 1e6, 1e9])
def test_badly_scaled_programmes_reach_the_gap(aspect):
    generator = np.random.default_rng(5)
    rows = generator.random((500, 6)) * aspect ** generator.random(6) * aspect ** generator.random((500, 1))
    assert solved(rows).gap <= GAP


@pytest.mark.parametrize("seed", range(20))
def test_binary_and_degenerate_rows_reach_the_gap(seed):
    generator = np.random.default_rng(seed)
    rows = generator.integers(0, 2, (200, 5)) / generator.choice([0.01, 0.1, 1.0], (200, 1))
    rows = np.vstack([rows, rows, np.eye(5)])
    assert solved(rows, generator.choice([1e-6, 1.0, 1e6], 5)).gap <= GAP


@pytest.mark.parametrize("small", [1e-6, 1e-18, 1e-40])
def test_weights_of_very_different_size_reach_the_gap(small):
    assert solved(np.ones((1, 3)), [1.0, small, small]).gap <= GAP
