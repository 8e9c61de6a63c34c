"""Gaussian noise beside its peers, in one run: the same counts at equal (ε, δ), and the same optimum by another solver.

OpenDP's Gaussian: noise of one scale for all answers, from their sensitivity in ℓ₂ and its own conversion to (ε, δ). It
knows ordinary privacy, so both are compared under one constant distance between any two records. Nothing is drawn:
errors are the laws' own. Of random workloads the median over seeds 0 to 9, and the range. cvxpy with Clarabel solves
the program of the best covariance.

Run: .venv-peers/bin/python benchmarks/gaussian_peers.py     (make bench BENCHMARKS=benchmarks/gaussian_peers.py)
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator

import numpy as np

import dxgeom as dx
from dxgeom.mechanisms.gaussian.program import best_covariance
from dxgeom.privacy import gaussian_distance

DELTA = 1e-6
EPSILONS = (0.5, 1.0, 2.0)
RECORDS = 60
SEEDS = range(10)


def workloads() -> Iterator[tuple[str, list[np.ndarray]]]:
    for count in (10, 40):
        yield f"{count} random counts", [np.random.default_rng(seed).integers(0, 2, (count, RECORDS)) for seed in SEEDS]
    yield "59 prefixes", [np.tril(np.ones((RECORDS, RECORDS), dtype=np.int64))[:-1]]
    yield (
        "all 60 cells and 30 pairs",
        [np.vstack([np.eye(RECORDS), np.repeat(np.eye(RECORDS // 2), 2, axis=1)]).astype(int)],
    )


def by_opendp(weights: np.ndarray, epsilon: float) -> float:
    """The total mean squared error of OpenDP's Gaussian at (ε, δ), a record replaced by any other."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    rows = weights.T
    apart = ((rows[:, None].astype(float) - rows) ** 2).sum(axis=2)
    reach = math.sqrt(float(apart.max()))
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)

    def enough(scale: float) -> bool:
        measurement = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale))
        return bool(measurement.map(reach).epsilon(delta=DELTA) <= epsilon)

    return len(weights) * float(dp.binary_search(enough, bounds=(reach, 1e4 * reach))) ** 2


def by_dxgeom(weights: np.ndarray, distances: np.ndarray) -> dx.Plan:
    metric = dx.verify_metric(distances, privacy="concentrated")
    queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(weights))], weights)
    plan = dx.plan(metric, queries, mechanism="gaussian")
    assert plan.covariance_gap is not None and plan.covariance_gap < 1e-9
    return plan


def summary(values: list[float]) -> str:
    """The median, and the range where there are several."""
    middle = f"{statistics.median(values):.4g}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.4g}–{max(values):.4g})"


def against_opendp() -> None:
    print(f"total mean squared error at (ε, {DELTA:g}), replacing one of {RECORDS} record types by any other")
    print(f"{'workload':<28}{'ε':>5}{'OpenDP':>24}{'dxgeom':>24}{'ratio':>22}")
    apart = 1.0 - np.eye(RECORDS)
    for name, drawn in workloads():
        plans = [by_dxgeom(weights, apart) for weights in drawn]
        for epsilon in EPSILONS:
            spend = gaussian_distance(epsilon, DELTA)
            theirs = [by_opendp(weights, epsilon) for weights in drawn]
            ours = [float(plan.mechanism.ideal_variances.sum()) / spend**2 for plan in plans]
            ratios = [one / other for one, other in zip(theirs, ours, strict=True)]
            print(f"{name:<28}{epsilon:>5g}{summary(theirs):>24}{summary(ours):>24}{summary(ratios):>22}")


def against_clarabel() -> None:
    import cvxpy

    print(f"\n{'the best covariance':<28}{'dxgeom s':>10}{'gap':>10}{'Clarabel s':>12}{'difference':>12}")
    for size, count in ((4, 60), (8, 200), (12, 400)):
        rng = np.random.default_rng(size)
        points, answers = rng.normal(size=(count, size)), rng.normal(size=(size + 3, size))
        begun = time.process_time()
        found = best_covariance(points, answers)
        between = time.process_time()
        covariance = cvxpy.Variable((size, size), PSD=True)
        hidden = [cvxpy.matrix_frac(point, covariance) <= 1 for point in points]
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(answers.T @ answers @ covariance)), hidden)
        theirs = problem.solve(solver=cvxpy.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
        took, off = time.process_time() - between, found.value / theirs - 1
        label = f"{size} answers, {count} differences"
        print(f"{label:<28}{between - begun:>10.3f}{found.gap:>10.1e}{took:>12.2f}{off:>12.1e}")


if __name__ == "__main__":
    against_opendp()
    against_clarabel()
