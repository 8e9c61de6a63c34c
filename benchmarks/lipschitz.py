"""The Lipschitz constant of one map on many places: two walks through a tree against a loop over every pair.

Run: .venv/bin/python benchmarks/lipschitz.py [places]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numba
import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.metrics.points import PointsMetric

Floats = NDArray[np.float64]


@numba.njit
def every_pair(points: Floats, values: Floats) -> float:
    """The largest quotient in the plane, without any care for rounding; squares, so that roots are rare."""
    best = best_square = 0.0
    for i in range(len(values)):
        for j in range(i):
            change = values[i] - values[j]
            square = (points[i, 0] - points[j, 0]) ** 2 + (points[i, 1] - points[j, 1]) ** 2
            if change * change > best_square * square:
                best = abs(change) / math.sqrt(square)
                best_square = best * best
    return best


def seconds(work: Callable[[], float]) -> tuple[float, float]:
    """How long it took, and what came out."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def main(count: int) -> None:
    """One row per kind of map; ratios against the loop on the random map."""
    generator = np.random.default_rng(0)
    plane = generator.random((count, 2)) * 100
    globe = np.degrees(np.column_stack([np.arcsin(generator.uniform(-1, 1, count)), generator.uniform(0, 6.28, count)]))
    noise = generator.random(count)
    maps: dict[str, Callable[[Floats], Floats]] = {
        "random": lambda _: noise,
        "smooth": lambda at: np.sin(at[:, 0] / 9) * np.cos(at[:, 1] / 7),
        "near-linear": lambda at: at @ [1.0, 2.0] + 1e-3 * noise,
        "linear, rounded to 1e-6": lambda at: np.rint(at @ [1e6, 2e6]) / 1e6,
    }
    every_pair(plane[:50], noise[:50])
    lipschitz(PointsMetric(plane[:5000], "plane", Fraction(1)), noise[:5000])
    dense, expected = seconds(lambda: every_pair(plane, noise))
    print(f"{count:,} places; loop over every pair {dense:.1f} s")
    for name, map_of in maps.items():
        for words, metric, tolerance in (
            ("exact", PointsMetric(plane, "plane", Fraction(1)), 0.0),
            ("to 1 + 1e-9", PointsMetric(plane, "plane", Fraction(1)), 1e-9),
            ("with floor", PointsMetric(plane, "plane", Fraction(1), Fraction(1)), 0.0),
            ("great circle", PointsMetric(globe, "great circle", Fraction(1, 100)), 0.0),
        ):
            values = map_of(metric.coordinates)
            ours, found = seconds(lambda v=values, m=metric, t=tolerance: lipschitz(m, v, t))  # type: ignore[misc]
            if name == "random" and words == "exact" and not expected <= found <= expected * (1 + 1e-9):
                raise SystemExit("the two constants differ")
            print(f"  {name}, {words}: {ours:.2f} s, the loop takes {dense / ours:.0f} times as long", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
