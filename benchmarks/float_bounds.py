"""How much of its stated error bound each sampler's float64 path ever uses.

Run: .venv/bin/python benchmarks/float_bounds.py [draws]

Every draw is evaluated again by the law's own exact form, in 200 bits and for all that its 64-bit words leave open, so
a share below 1 is a proof for that draw. The first thing to pass its bound ends the run. Ten million draws per sampler
take more than an hour of one processor; the figures of fewer are in ``docs/guide/noise.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from flint import arb, ctx

from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.round_bodies import Box, Ellipsoid, PowerBall
from dxgeom.noise.composed import CartesianProductNoise, LinearImageNoise, ProductNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.in_categories import CategoryNormals
from dxgeom.noise.jump_shifts import JumpShifts
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rejection import CutNoise, RejectionNoise, box_around
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.noise.rounding import IdealDraws, exponentials, legible
from dxgeom.noise.toeplitz import ToeplitzNormals
from dxgeom.noise.triangular import DifferencedNormals, KroneckerNormals, TriangularNormals
from dxgeom.numeric.randomness import Randomness, SystemRandomness

PER_BATCH = 100_000
PRECISION = 200


def hull(dimension: int) -> FacetConeNoise:
    differences = np.random.default_rng(dimension).integers(-1000, 1001, (3 * dimension + 3, dimension))
    return FacetConeNoise(hull_of_differences(differences, np.ones(len(differences))))


BALL = PowerBall(np.array([300.0, 7.0]), 1.5)
SAMPLERS: dict[str, NoiseLaw] = {
    "Laplace, m = 2": LaplaceNoise(np.array([300.0, 7.0])),
    "box, m = 3": BoxNoise(Box(np.array([300.0, 7.0, 0.1]))),
    "ellipsoid, m = 2": EllipsoidNoise(Ellipsoid(np.array([[100.0, 3], [90, 1]]))),
    "ellipsoid, m = 3": EllipsoidNoise(Ellipsoid(np.array([[100.0, 3, 0], [90, 1, 1], [0, 2, 7]]))),
    "Gaussian, m = 1": GaussianNoise(Ellipsoid(np.array([[30.0]]))),
    "differences in a table": DifferencedNormals(30.0, np.array([3.0, 2.0, 4.0])),
    "along bases of a table": KroneckerNormals(
        np.array([[30.0], [9.0]]), (np.array([[1.0, 0.5], [-0.2, 1.0]]), np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]]))
    ),
    "running totals, m = 4": ToeplitzNormals(
        np.array([2**60, 2**59, 3 * 2**57, -(2**55)]), np.array([90.0, 90.0, 40.0, 60.0])
    ),
    "running totals through a triangle, m = 3": TriangularNormals(
        np.array([[90.0, 0.0, 0.0], [41.5, 63.0, 0.0], [-7.25, 20.0, 33.0]])
    ),
    "totals of two categories, m = 4": CategoryNormals(
        np.array([[90.0, 0.0], [-40.0, 60.0]]), np.array([[-20.0, 0.0], [8.0, 16.0]]), (1, 2, 2)
    ),
    "Gaussian, m = 3": GaussianNoise(Ellipsoid(np.array([[100.0, 3, 0], [90, 1, 1], [0, 2, 7]]))),
    "jumps, m = 2": GaussianWithJumps.around(
        GaussianNoise(Ellipsoid(np.array([[50.0, 0.0], [-12.0, 40.0]]))),
        JumpShifts.listed(np.array([[30, 0], [0, 20], [30, -20], [10, 10]]), np.array([1.0, 1.0, 1.25, 0.875])),
    ),
    "facet cones, m = 3": hull(3),
    "facet cones, m = 6": hull(6),
    "product, m = 3": ProductNoise((hull(2), LaplaceNoise(np.array([5.0])))),
    "image of a box, m = 2": LinearImageNoise(
        BoxNoise(Box(np.array([300.0, 7.0]))), np.array([[1.0, 2.0], [-0.3, 5.0]])
    ),
    "Cartesian product, m = 3": CartesianProductNoise((hull(2), LaplaceNoise(np.array([5.0])))),
    "rejection, m = 2": RejectionNoise(BALL, box_around(BALL)),
    "box cut by a halfspace, m = 2": CutNoise(
        BoxNoise(Box(np.array([40.0, 40.0]))), np.array([[1.0, 1.0]]), np.array([50.0]), 0.56, 500 * np.eye(2)
    ),
}
REJECTIONS = {
    "kept, hull in a box": RejectionNoise(hull(3).body, box_around(hull(3).body)),
    "kept, ball in a box": RejectionNoise(BALL, box_around(BALL)),
}


def balls(draws: IdealDraws, row: int) -> list[arb]:
    """The row's uniforms, each a ball around all that its bits leave open."""
    if row in draws.refined:
        return [uniform.ball() for uniform in draws.refined[row]]
    return [ball(word) for word in draws.words[row].tolist()]


def ball(word: int) -> arb:
    """[word, word + 1]·2⁻⁶⁴."""
    return arb((2 * word + 1, -65), (1, -65))


def batches(count: int) -> Iterator[int]:
    yield from (min(PER_BATCH, count - start) for start in range(0, count, PER_BATCH))


def largest_share(law: NoiseLaw, count: int, randomness: Randomness) -> float:
    """An upper bound on the largest error/bound of any coordinate of any legible draw."""
    found = 0.0
    for size in batches(count):
        draws = law.ideal(size, randomness)
        with ctx.workprec(PRECISION):
            for row in np.flatnonzero(draws.legible).tolist():
                exact = draws.evaluation(row)(balls(draws, row))
                rows = zip(exact, draws.values[row].tolist(), draws.errors[row].tolist(), strict=True)
                found = max(found, *(share(truth - value, error) for truth, value, error in rows))
        refuse_beyond_one(found)
    return found


def largest_margin_share(law: RejectionNoise, count: int, randomness: Randomness) -> float:
    """The same of the margin by which a try is kept or not."""
    found, (inner, outer) = 0.0, law._gauges
    for size in batches(count):
        draws, words = law.envelope.ideal(size, randomness), randomness.words(size)
        margins, errors = law._margin(draws, exponentials(words))
        with ctx.workprec(PRECISION):
            for row in np.flatnonzero(draws.legible & legible(words[:, None])).tolist():
                point = draws.evaluation(row)(balls(draws, row))
                exact = outer.exact(point) - inner.exact(point) - ball(int(words[row])).log()
                found = max(found, share(exact - float(margins[row]), float(errors[row])))
        refuse_beyond_one(found)
    return found


def share(difference: arb, bound: float) -> float:
    """|difference|/bound, *rounded up* but for the last division."""
    return float(difference.abs_upper()) / bound


def refuse_beyond_one(largest: float) -> None:
    if not largest < 1:
        raise SystemExit(f"an error reached {largest:.3f} of its bound")


def main() -> None:
    """One row per sampler."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"largest error as a part of its bound, {count:,} draws each, by {PRECISION} bits")
    for name, law in SAMPLERS.items():
        print(f"{name:>22} {largest_share(law, count, SystemRandomness()):>8.2g}", flush=True)
    for name, rejection in REJECTIONS.items():
        print(f"{name:>22} {largest_margin_share(rejection, count, SystemRandomness()):>8.2g}", flush=True)


if __name__ == "__main__":
    main()
