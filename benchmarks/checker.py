"""The metric checker against the loop over k in NumPy and against SciPy's Floyd–Warshall; repair; a planted violation.

Run: .venv/bin/python benchmarks/checker.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import floyd_warshall

import dxgeom as dx

REPEATS = 3


def euclidean(count: int) -> NDArray[np.float64]:
    """Distances of random points in space."""
    points = np.random.default_rng(0).random((count, 3))
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))


def by_numpy(matrix: NDArray[np.float64]) -> bool:
    """Whether any detour over one record shortens any pair, one middle record at a time."""
    return not any(np.any(matrix > (row[:, None] + row[None, :]) * (1 + 1e-12)) for row in matrix)


def by_floyd_warshall(matrix: NDArray[np.float64]) -> bool:
    """Whether the closure differs from the matrix."""
    return not np.any(floyd_warshall(matrix, directed=False) < matrix * (1 - 1e-12))


def planted(matrix: NDArray[np.float64]) -> str:
    """Whether an entry raised by one part in 10⁹ over its shortest detour is found, and how soon."""
    i, j = 17, len(matrix) // 2
    detours = matrix[i] + matrix[j]
    detours[[i, j]] = np.inf
    matrix[i, j] = matrix[j, i] = detours.min() * (1 + 1e-9)
    started = time.process_time()
    try:
        dx.verify_metric(matrix)
    except dx.errors.NotAMetric as error:
        found = {i, j, int(detours.argmin())} == set(error.witness)
        return f"one part in 10^9 {'found' if found else 'NOT found'} in {time.process_time() - started:.2f} s"
    return "one part in 10^9 NOT found"


def seconds(work: Callable[[], object]) -> float:
    """The median of a few runs, by the processor's clock: everything here runs in one thread."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return statistics.median(times)


def first_call(count: int) -> float:
    """Seconds of the first check in a new process that finds nothing compiled, loading numba and compiling with it."""
    said = f"""
import time, numpy as np, dxgeom as dx
points = np.random.default_rng(0).random(({count}, 3))
matrix = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))
started = time.process_time()
dx.verify_metric(matrix)
print(time.process_time() - started)
"""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", said]
        kept = {**os.environ, "NUMBA_CACHE_DIR": folder}
        return float(subprocess.run(command, check=True, capture_output=True, text=True, env=kept).stdout)


def main() -> None:
    """Ratios at N = 1000, absolute figures beyond."""
    for count in (10, 1000, 2000):
        print(f"N = {count}: the first check after installing {first_call(count):.2f} s")
    matrix = euclidean(1000)
    ours = seconds(lambda: dx.verify_metric(matrix))
    print(f"N = 1000: checker {ours:.3f} s")
    for name, other in (("NumPy loop", by_numpy), ("Floyd-Warshall", by_floyd_warshall)):
        theirs = seconds(lambda other=other: other(matrix))  # type: ignore[misc]
        print(f"          {name} {theirs:.2f} s, {theirs / ours:.0f} times as long")
    ours = seconds(lambda: dx.repair_metric(matrix))
    theirs = seconds(lambda: floyd_warshall(matrix, directed=False))
    print(f"          repair {ours:.2f} s; Floyd-Warshall {theirs / ours:.1f} times as long")
    hops = np.abs(np.subtract.outer(np.arange(1000.0), np.arange(1000.0))) * 0.1
    ours = seconds(lambda: dx.verify_metric(hops))
    print(f"          a line, where every detour is as long as the direct way: {ours:.3f} s")
    print(f"N = 2000: {planted(euclidean(2000))}")
    for count in (2000, 4000):
        large = euclidean(count)
        print(f"N = {count}: checker {seconds(lambda large=large: dx.verify_metric(large)):.2f} s")  # type: ignore[misc]


if __name__ == "__main__":
    main()
