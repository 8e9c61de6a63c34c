from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy.sparse import csc_matrix

from dxgeom.mechanisms.linear.laplace import GAP, minimise_reciprocal_squares


def solved(rows, weights=None):
    rows = np.asarray(rows, dtype=float)
    return minimise_reciprocal_squares(rows, np.ones(rows.shape[1]) if weights is None else np.asarray(weights))


@pytest.mark.parametrize(("count", "queries"), [(1, 1), (3, 1), (50, 4), (2000, 12), (20_000, 40), (5000, 90)])
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


def by_clarabel(rows, weights):
    """The same programme for an independent solver: minimise Σ ω s² under A w ≤ 1 and s·w ≥ 1, which is
    ‖(2, s − w)‖ ≤ s + w."""
    largest = rows.max(axis=0)
    rows, weights = np.unique(rows / largest, axis=0), weights * largest**2
    weights, size = weights / weights.max(), weights.max()
    count = rows.shape[1]
    cones = [clarabel.NonnegativeConeT(len(rows))] + [clarabel.SecondOrderConeT(3)] * count
    hyperbolas = np.zeros((3 * count, 2 * count))
    each = np.arange(count)
    hyperbolas[3 * each, each] = hyperbolas[3 * each, count + each] = -1
    hyperbolas[3 * each + 2, each], hyperbolas[3 * each + 2, count + each] = 1, -1
    sides = np.concatenate([np.ones(len(rows)), np.tile([0.0, 2.0, 0.0], count)])
    matrix = csc_matrix(np.vstack([np.hstack([rows, np.zeros_like(rows)]), hyperbolas]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-11
    quadratic = csc_matrix(np.diag(np.concatenate([np.zeros(count), 2 * weights])))
    answer = clarabel.DefaultSolver(quadratic, np.zeros(2 * count), matrix, sides, cones, settings).solve()
    assert answer.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return answer.obj_val * size


def workload(kind, seed):
    generator = np.random.default_rng(seed)
    rows = generator.random((300, 6))
    if kind == "binary":
        return (rows < 0.4) / generator.choice([0.05, 0.3, 1.0], (300, 1)) + np.eye(300, 6)
    if kind == "degenerate":
        rows[:, 3] = rows[:, 2]
        rows[:, 4] = rows[:, 0] + rows[:, 1]
        return np.vstack([rows, rows, np.zeros((5, 6))])
    if kind == "narrow":
        return rows * (generator.random(rows.shape) < 0.2) + np.eye(300, 6) * 1e-3
    return rows


@pytest.mark.parametrize("kind", ["random", "binary", "degenerate", "narrow"])
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_an_independent_convex_solver(kind, seed):
    rows = workload(kind, seed)
    weights = np.random.default_rng(seed).choice([0.1, 1.0, 10.0], 6)
    assert solved(rows, weights).value == pytest.approx(by_clarabel(rows, weights), rel=1e-7)


@pytest.mark.parametrize(("count", "queries"), [(3000, 150), (40, 300)])
def test_hundreds_of_queries_reach_the_gap(count, queries):
    generator = np.random.default_rng(queries)
    rows = generator.random((count, queries)) * (generator.random((count, queries)) < 0.1)
    rows = np.vstack([rows, np.eye(queries) * 0.5])
    solution = solved(rows)
    assert 0 <= solution.gap <= GAP
    assert (rows @ solution.rates).max() <= 1 + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_more_queries_than_constraints_reach_the_gap(seed):
    """Sixty 0/1 queries over nine places on a line differ in 36 ways."""
    asked = np.random.default_rng(seed).integers(0, 2, (60, 9))
    first, second = np.triu_indices(9, 1)
    rows = np.abs(asked[:, first] - asked[:, second]).T / (second - first)[:, None]
    assert solved(rows[:, rows.any(axis=0)]).gap <= GAP
