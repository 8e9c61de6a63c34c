"""Optimal Laplace scales: 500,000 constraints on 20 queries, against cvxpy with Clarabel in the same run.

cvxpy is no dependency: install it into a folder of its own and put that on the path,
``pip install --target cvx cvxpy``. Without it, Clarabel is called directly.
Run: PYTHONPATH=cvx .venv/bin/python benchmarks/scales.py
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from dxgeom.mechanisms.linear.laplace import minimise_reciprocal_squares

Rows = NDArray[np.float64]


def binary(count: int, queries: int) -> Rows:
    """Changes of 0/1 queries over distances."""
    generator = np.random.default_rng(queries)
    return generator.integers(0, 2, (count, queries)) / generator.uniform(0.5, 5, (count, 1))


def uniform(count: int, queries: int) -> Rows:
    """Changes of random queries over distances."""
    generator = np.random.default_rng(queries)
    return generator.random((count, queries)) / generator.uniform(0.5, 5, (count, 1))


def by_cvxpy(rows: Rows) -> tuple[float, float]:
    """The optimum by cvxpy and how far its rates leave the constraints."""
    import cvxpy

    rates = cvxpy.Variable(rows.shape[1], pos=True)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.power(rates, -2))), [rows @ rates <= 1])
    problem.solve(solver=cvxpy.CLARABEL)
    return float(problem.value), float((rows @ rates.value).max() - 1)


def by_clarabel(rows: Rows) -> tuple[float, float]:
    """The same by Clarabel directly: minimise Σ s² under A w ≤ 1 and ‖(2, s − w)‖ ≤ s + w."""
    count = rows.shape[1]
    each = np.arange(count)
    hyperbolas = np.zeros((3 * count, 2 * count))
    hyperbolas[3 * each, each] = hyperbolas[3 * each, count + each] = -1
    hyperbolas[3 * each + 2, each], hyperbolas[3 * each + 2, count + each] = 1, -1
    sides = np.concatenate([np.ones(len(rows)), np.tile([0.0, 2.0, 0.0], count)])
    matrix = csc_matrix(np.vstack([np.hstack([rows, np.zeros_like(rows)]), hyperbolas]))
    quadratic = csc_matrix(np.diag(np.concatenate([np.zeros(count), 2 * np.ones(count)])))
    cones = [clarabel.NonnegativeConeT(len(rows))] + [clarabel.SecondOrderConeT(3)] * count
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    answer = clarabel.DefaultSolver(quadratic, np.zeros(2 * count), matrix, sides, cones, settings).solve()
    return float(answer.obj_val), float((rows @ np.array(answer.x)[:count]).max() - 1)


def compare(kind: str, rows: Rows, other: Callable[[Rows], tuple[float, float]], name: str) -> None:
    """One line: both times, both values, and what the other's solution violates."""
    minimise_reciprocal_squares(rows[:100], np.ones(rows.shape[1]))
    started = time.perf_counter()
    ours = minimise_reciprocal_squares(rows, np.ones(rows.shape[1]))
    ended = time.perf_counter()
    value, excess = other(rows)
    theirs = time.perf_counter() - ended
    print(
        f"{kind}, {len(rows):,} constraints × {rows.shape[1]} queries: {ended - started:.2f} s, certified gap "
        f"{ours.gap:.1e}, {ours.active} rows; {name} {theirs:.1f} s, {theirs / (ended - started):.0f} times as long, "
        f"value {value / ours.value - 1:+.1e} relative to ours, infeasible by {excess:.1e}",
        flush=True,
    )


def main() -> None:
    """Uniform and binary rows, 20 queries; then our own time for hundreds of queries."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    found = importlib.util.find_spec("cvxpy") is not None
    other, name = (by_cvxpy, "cvxpy with Clarabel") if found else (by_clarabel, "Clarabel")
    compare("uniform", uniform(count, 20), other, name)
    compare("binary", binary(count, 20), other, name)
    for queries in (100, 300):
        rows = uniform(20_000, queries)
        started = time.perf_counter()
        solution = minimise_reciprocal_squares(rows, np.ones(queries))
        taken = time.perf_counter() - started
        print(f"uniform, 20,000 constraints × {queries} queries: {taken:.2f} s, certified gap {solution.gap:.1e}")


if __name__ == "__main__":
    main()
