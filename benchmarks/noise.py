"""Hull noise by facet cones against rejection, and released noise per number against OpenDP's.

Run: .venv/bin/python benchmarks/noise.py
Rates are per second of processor time. OpenDP is compared when it can be imported; it is no dependency of dxgeom.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.geometry.polytope import SymmetricPolytope, hull_of_differences
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.lattice_laws import DiscreteLaplaceNoise
from dxgeom.noise.rejection import tightest_rejection
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import SystemRandomness

DRAWS = 300_000
SECONDS = 2.0
SCALE = 1000
NUMBERS = 20_000


def generic_body(dimension: int) -> SymmetricPolytope:
    """The hull of uniform queries on 50 places in the plane, as in the reference setting."""
    generator = np.random.default_rng(1000)
    places, queries = generator.random((50, 2)) * 100, generator.random((dimension, 50))
    i, j = np.triu_indices(50, 1)
    distances = np.sqrt(((places[i] - places[j]) ** 2).sum(axis=1))
    differences = np.rint((queries[:, i] - queries[:, j]).T * 2**20).astype(np.int64)
    return hull_of_differences(differences, distances)


def from_the_box(body: SymmetricPolytope, generator: np.random.Generator) -> NDArray[np.float64]:
    """Gamma radius times a uniform point of the body, found in its bounding box."""
    corners = body.fan.vertices * body.units * body.inflation
    box = np.abs(corners).max(axis=0)
    points = generator.uniform(-1, 1, (20_000, body.dimension)) * box
    points = points[body.gauge(points) <= 1]
    return points * generator.gamma(body.dimension + 1, size=(len(points), 1))


def rate(draw: Callable[[], Any], numbers: int | None = None) -> float:
    """Draws per second over about two seconds; ``numbers`` in one call, else as many as come back."""
    draw()
    started, count = time.process_time(), 0
    while time.process_time() - started < SECONDS:
        drawn = draw()
        count += len(drawn) if numbers is None else numbers
    return count / (time.process_time() - started)


def opendp_rates() -> dict[str, float] | None:
    """Numbers per second of OpenDP's vector mechanisms of this scale, None where it cannot be imported."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    rates = {}
    for name, kind, atoms in (
        ("Laplace", float, dp.atom_domain(T=float, nan=False)),
        ("discrete Laplace", int, dp.atom_domain(T=int)),
    ):
        noise = dp.m.make_laplace(dp.vector_domain(atoms), dp.l1_distance(T=kind), scale=float(SCALE))
        zeros = [kind(0)] * NUMBERS
        rates[name] = rate(lambda noise=noise, zeros=zeros: noise(zeros), NUMBERS)  # type: ignore[misc]
    return rates


def samplers_of_the_hull() -> float:
    """One row per dimension; returns numbers released per second in three dimensions."""
    print("vectors per second (thousands); cones/box is the ratio of two simulations")
    print(
        f"{'m':>2} {'facets':>7} {'box':>9} {'cones':>8} {'cones/box':>10} {'released':>9} "
        f"{'released by rejection':>22} {'acceptance':>11}  from"
    )
    generator, system = np.random.default_rng(0), SystemRandomness()
    numbers = 0.0
    for dimension in range(1, 8):
        body = generic_body(dimension)
        law, rejection = FacetConeNoise(body), tightest_rejection(body)
        box = rate(lambda body=body: from_the_box(body, generator))  # type: ignore[misc]
        cones = rate(lambda law=law: law.simulate(DRAWS, generator))  # type: ignore[misc]
        released = rate(lambda law=law: law.draw(DRAWS, system))  # type: ignore[misc]
        few = int(DRAWS * rejection.acceptance) // 50 + 1
        rejected = rate(lambda law=rejection, few=few: law.draw(few, system))  # type: ignore[misc]
        numbers = 3 * released if dimension == 3 else numbers
        print(
            f"{dimension:>2} {body.facets:>7,} {box / 1e3:>9.2f} {cones / 1e3:>8.0f} "
            f"{cones / box if box else np.inf:>10.1f} {released / 1e3:>9.0f} {rejected / 1e3:>22.2f} "
            f"{rejection.acceptance:>11.4f}  {type(rejection.envelope).__name__}"
        )
    return numbers


def main() -> None:
    """The table of samplers, then microseconds per released number."""
    system = SystemRandomness()
    laplace, discrete = LaplaceNoise(np.full(4, float(SCALE))), DiscreteLaplaceNoise((Fraction(SCALE),) * 4)
    ours = {
        "hull noise, m = 3": samplers_of_the_hull(),
        "Laplace": 4 * rate(lambda: laplace.draw(DRAWS // 4, system)),
        "discrete Laplace": 4 * rate(lambda: discrete.draw(DRAWS // 4, system)),
    }
    theirs = opendp_rates()
    print("\nreleased noise, microseconds per number")
    for name, speed in ours.items():
        ratios = [
            f"OpenDP's {other} takes {speed / rival:.0f} times as long" for other, rival in (theirs or {}).items()
        ]
        print(f"{name:>20}: {1e6 / speed:.3f}   " + "; ".join(ratios))
    for other, rival in (theirs or {}).items():
        print(f"{'OpenDP ' + other:>25}: {1e6 / rival:.2f}")
    if theirs is None:
        print("OpenDP cannot be imported here, so nothing was compared with it")


if __name__ == "__main__":
    main()
