"""The estimate of a hull's facets and seconds against the hull itself, on three kinds of workloads.

Run: .venv/bin/python benchmarks/hulls.py
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.fan import estimate_of
from dxgeom.geometry.polytope import hull_of_points
from dxgeom.numeric.qhull import HullLimits

PLACES = 60
LIMITS = HullLimits(facets=60_000, seconds=60.0)


def workload(kind: str, dimension: int) -> NDArray[np.float64]:
    """Differences over distances (E, m) of queries on places in the plane."""
    generator = np.random.default_rng(dimension)
    places = generator.random((PLACES, 2)) * 100
    if kind == "uniform":
        queries = generator.random((dimension, PLACES))
    elif kind == "binary":
        queries = generator.integers(0, 2, (dimension, PLACES)).astype(float)
    else:
        waves = generator.standard_normal((dimension, 3, 2)) * 0.05
        phases = generator.random((dimension, 3, 1)) * 2 * np.pi
        queries = np.cos(np.einsum("mkd,nd->mkn", waves, places) + phases).sum(axis=1)
    i, j = np.triu_indices(PLACES, 1)
    distances = np.sqrt(((places[i] - places[j]) ** 2).sum(axis=1))
    return np.asarray((queries[:, i] - queries[:, j]).T / np.maximum(distances, 10)[:, None])


def main() -> None:
    """One row per workload; the ratio is the estimate over the truth."""
    print(
        f"{'workload':>10} {'K':>2} {'facets':>8} {'guess':>10} {'ratio':>6} {'s':>6} {'guess':>7} {'guessed in':>10}"
    )
    for kind in ("smooth", "uniform", "binary"):
        for dimension in range(3, 9):
            points = workload(kind, dimension)
            started = time.perf_counter()
            guess = estimate_of(points)
            guessed = time.perf_counter() - started
            line = f"{kind:>10} {dimension:>2} "
            started = time.perf_counter()
            try:
                facets = hull_of_points(points, LIMITS).facets
            except (TooLarge, CertificateRefused) as error:
                print(f"{line}{'-':>8} {guess.facets:>10,.0f} {'-':>6} {'-':>6} {guess.seconds:>7.1f} {guessed:>10.2f}")
                print(f"{'':>14}{str(error)[:90]}")
                continue
            seconds = time.perf_counter() - started
            ratio = guess.facets / facets
            print(
                f"{line}{facets:>8,} {guess.facets:>10,.0f} {ratio:>6.2f} {seconds:>6.1f} {guess.seconds:>7.1f} "
                f"{guessed:>10.2f}"
            )


if __name__ == "__main__":
    main()
