"""The best covariance before other judges: cvxpy with Clarabel, and every pair of records in balls."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpq

import dxgeom as dx
from dxgeom.mechanisms.gaussian.program import best_covariance


def by_clarabel(points, answers, worst):
    import cvxpy

    covariance = cvxpy.Variable((points.shape[1],) * 2, PSD=True)
    variances = [cvxpy.trace(np.outer(row, row) @ covariance) for row in answers]
    cost = cvxpy.max(cvxpy.hstack(variances)) if worst else cvxpy.sum(cvxpy.hstack(variances))
    problem = cvxpy.Problem(cvxpy.Minimize(cost), [cvxpy.matrix_frac(point, covariance) <= 1 for point in points])
    exact = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    return problem.solve(solver=cvxpy.CLARABEL, **exact)


@pytest.mark.needs("cvxpy")
@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize(("seed", "size"), [(0, 2), (1, 3), (2, 4), (3, 5)])
def test_clarabel_finds_the_same_optimum(seed, size, worst):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, (9, size)).astype(float)
    first, second = np.triu_indices(len(rows), 1)
    points = (rows[first] - rows[second]) / rng.uniform(0.3, 2, len(first))[:, None]
    points = points[np.any(points != 0, axis=1)]
    answers = rng.normal(size=(size + 2, size))
    found = best_covariance(points, answers, worst)
    judged = by_clarabel(points, answers, worst)
    assert found.value == pytest.approx(judged, rel=1e-7) and found.bound == pytest.approx(judged, rel=1e-7)


def random_metric(rng, size):
    """Shortest paths of a random graph, so that few pairs generate it; now and then in two parts."""
    edges = [(f"r{k:02}", f"r{rng.integers(0, k):02}", int(rng.integers(1, 40))) for k in range(1, size)]
    extra = [(f"r{a:02}", f"r{b:02}", int(rng.integers(1, 40))) for a, b in rng.integers(0, size, (size, 2)) if a != b]
    if rng.random() < 0.5:
        edges.pop(int(rng.integers(0, len(edges))))
    lengths = {}
    for a, b, length in [*edges, *extra]:
        key = (min(a, b), max(a, b))
        lengths[key] = min(length, lengths.get(key, length))
    stated = [(a, b, length) for (a, b), length in lengths.items()]
    repaired = dx.metrics.repair_edges(stated)
    return [(a, b, float(length) / 16) for (a, b, _), length in zip(stated, repaired.distances, strict=True)]


@pytest.mark.parametrize("seed", range(12))
def test_every_pair_of_records_is_hidden_in_balls_whatever_the_metric(seed):
    """By the covariance itself, over all pairs and not those that generate the metric, in 200 bits."""
    rng = np.random.default_rng(seed)
    verdict = dx.verify_edges(random_metric(rng, 14), privacy="concentrated")
    weights = rng.integers(-3, 4, (int(rng.integers(1, 6)), len(verdict.names)))
    if len(weights) > 2:
        weights[-1] = weights[0] - 2 * weights[1]
    queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(weights))], weights)
    mechanism = dx.plan(verdict.metric, queries, mechanism="gaussian").mechanism
    mixing = mechanism.mixing_matrix
    carriers = [
        next(k for k, row in enumerate(mixing.tolist()) if row == unit) for unit in np.eye(mixing.shape[1]).tolist()
    ]
    units = mechanism.sensitivity.queries.numerators
    with ctx.workprec(200):
        axes = arb_mat(mechanism.law.body.axes.tolist())
        inverse = (axes * axes.transpose()).inv()
        largest = arb(0)
        for i, j in zip(*np.triu_indices(len(verdict.names), 1), strict=True):
            distance, change = float(verdict.metric.distance(i, j)), [int(x) for x in units[:, i] - units[:, j]]
            if np.isinf(distance):
                continue
            shift = [fmpq(change[k]) for k in carriers]
            follows = [
                sum(fmpq(s.numerator, s.denominator) * w for s, w in zip(row, shift, strict=True)) for row in mixing
            ]
            assert follows == change
            row = arb_mat([[arb(w) for w in shift]])
            load = (row * inverse * row.transpose())[0, 0] / arb(distance) ** 2
            assert bool(load <= 1 + arb(2) ** -40), (i, j)
            largest = max(largest, load, key=lambda ball: float(ball.mid()))
    assert float(largest.mid()) > 1 - 1e-6


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("work", [1.0, 1e5])
def test_a_search_of_little_work_is_feasible_and_says_how_far_it_may_be_from_the_best(worst, work):
    """At 1 there is no step of Newton's method, later there are a few."""
    rng = np.random.default_rng(7)
    points, answers = rng.normal(size=(60, 6)), rng.normal(size=(9, 6))
    best, quick = best_covariance(points, answers, worst), best_covariance(points, answers, worst, work=work)
    loads = np.linalg.norm(np.linalg.solve(quick.axes, points.T), axis=0)
    assert loads.max() <= 1 + 1e-9
    assert quick.bound <= best.value * (1 + 1e-9) and best.bound <= quick.value * (1 + 1e-9)
    assert 1e-9 < quick.gap < 0.2
