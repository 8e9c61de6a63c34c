"""Hull noise by facet cones against rejection from the bounding box, and released against simulated draws.

Run: .venv/bin/python benchmarks/noise.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxgeom.geometry.polytope import SymmetricPolytope, hull_of_differences
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.numeric.randomness import SystemRandomness

DRAWS = 300_000
SECONDS = 2.0


def generic_body(dimension: int) -> SymmetricPolytope:
    """The hull of uniform queries on 50 places in the plane, as in the reference setting."""
    generator = np.random.default_rng(1000)
    places, queries = generator.random((50, 2)) * 100, generator.random((dimension, 50))
    i, j = np.triu_indices(50, 1)
    distances = np.sqrt(((places[i] - places[j]) ** 2).sum(axis=1))
    differences = np.rint((queries[:, i] - queries[:, j]).T * 2**20).astype(np.int64)
    return hull_of_differences(differences, distances)


def by_rejection(body: SymmetricPolytope, generator: np.random.Generator) -> NDArray[np.float64]:
    """Gamma radius times a uniform point of the body, found in its bounding box."""
    corners = body.fan.vertices * body.units * body.inflation
    box = np.abs(corners).max(axis=0)
    points = generator.uniform(-1, 1, (20_000, body.dimension)) * box
    points = points[body.gauge(points) <= 1]
    return points * generator.gamma(body.dimension + 1, size=(len(points), 1))


def rate(draw: Callable[[], NDArray[np.generic]]) -> float:
    """Vectors per second over about two seconds."""
    draw()
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        count += len(draw())
    return count / (time.perf_counter() - started)


def main() -> None:
    """One row per dimension."""
    print("vectors per second (thousands); cones/rejection is the ratio of the two simulations")
    print(f"{'m':>2} {'facets':>7} {'rejection':>10} {'cones':>8} {'ratio':>8} {'released':>9}")
    generator = np.random.default_rng(0)
    for dimension in range(1, 8):
        body = generic_body(dimension)
        law = FacetConeNoise(body)
        rejection = rate(lambda body=body: by_rejection(body, generator))  # type: ignore[misc]
        cones = rate(lambda law=law: law.simulate(DRAWS, generator))  # type: ignore[misc]
        released = rate(lambda law=law: law.draw(DRAWS, SystemRandomness()))  # type: ignore[misc]
        ratio = cones / rejection if rejection else np.inf
        print(
            f"{dimension:>2} {body.facets:>7,} {rejection / 1e3:>10.2f} {cones / 1e3:>8.0f} {ratio:>8.1f} "
            f"{released / 1e3:>9.0f}"
        )


if __name__ == "__main__":
    main()
