"""Plans for many queries: every candidate's error over the lower bound and over optimal Laplace noise, and its set-up.

Run: .venv/bin/python benchmarks/planner.py [queries ...]     (50 and 200 when left out; a quarter of an hour)
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dxgeom.metrics.checking.verification import VerifiedMetric, verify
from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.families.points import PointsMetric
from dxgeom.planner.choose import plan
from dxgeom.planner.plan import Plan
from dxgeom.universe.queries import LinearQueries

PLACES = 100
SHAPE, EPSILONS = (2, 5, 7, 4), ("0.1", "1", "0.5", "1")
"""Four attributes, 280 record types; each may be told apart as its epsilon says."""


def on_places(count: int, kind: str) -> tuple[VerifiedMetric, LinearQueries]:
    """Random queries on 100 places in the plane."""
    generator = np.random.default_rng(count)
    points = generator.random((PLACES, 2)) * 100
    uniform = kind == "uniform"
    matrix = generator.random((count, PLACES)) if uniform else generator.integers(0, 2, (count, PLACES))
    metric = verify(
        PointsMetric(points, "plane", Fraction(1)), title="places", fingerprint="places", budget=Fraction(1)
    )
    return metric, named(matrix)


def on_attributes(count: int, kind: str) -> tuple[VerifiedMetric, LinearQueries]:
    """Random counts over whole records, or the first cells of all tables of two attributes."""
    parts = tuple(DiscreteMetric(size, Fraction(e)) for size, e in zip(SHAPE, EPSILONS, strict=True))
    metric = verify(SumMetric(parts), title="attributes", fingerprint="attributes", budget=Fraction(1))
    if kind == "counts":
        return metric, named(np.random.default_rng(count).integers(0, 2, (count, metric.size)))
    cells = np.array(np.unravel_index(np.arange(metric.size), SHAPE))
    rows = [
        (cells[first] == one) & (cells[second] == other)
        for first, second in itertools.combinations(range(len(SHAPE)), 2)
        for one, other in np.ndindex(SHAPE[first], SHAPE[second])
    ]
    return metric, named(np.array(rows[:count], dtype=np.int64))


def named(matrix: np.ndarray) -> LinearQueries:
    return LinearQueries.from_matrix([f"q{k}" for k in range(len(matrix))], matrix)


def plans(count: int) -> Iterator[tuple[str, Plan]]:
    for kind in ("uniform", "binary"):
        yield f"{count} {kind} queries on {PLACES} places", plan(*on_places(count, kind))
    for kind in ("counts", "tables"):
        metric, queries = on_attributes(count, kind)
        yield f"{queries.count} {kind} over {len(SHAPE)} attributes", plan(metric, queries)


def main() -> None:
    """One block per workload; the chosen mechanism has a star."""
    for count in [int(word) for word in sys.argv[1:]] or [50, 200]:
        for words, found in plans(count):
            laplace = next(each.predicted_mse for each in found.candidates if each.name == "laplace")
            print(f"\n{words}")
            print(f"{'mechanism':>17} {'error':>11} {'/ bound':>8} {'/ Laplace':>10} {'set-up s':>9}")
            for each in found.candidates:
                star = "*" if each.name == found.mechanism.name else " "
                if each.predicted_mse is None:
                    print(f"{each.name:>16}{star} {each.reason[:80]}")
                    continue
                over_bound, over_laplace = each.predicted_mse / found.lower_bound, each.predicted_mse / laplace
                print(
                    f"{each.name:>16}{star} {each.predicted_mse:>11.4g} {over_bound:>8.3g} {over_laplace:>10.3g} "
                    f"{each.seconds:>9.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
