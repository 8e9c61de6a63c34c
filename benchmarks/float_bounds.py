"""How much of its stated error bound each sampler's float64 path ever uses.

Run: .venv/bin/python benchmarks/float_bounds.py [draws]

Every draw is computed again in 80-bit floats, a thousand times finer than the bounds, at both ends of what its 64-bit
words allow; the draws that come closest to their bound are evaluated in 200 bits too. The first thing to pass its
bound ends the run. Figures of ten million draws per sampler are in ``docs/noise.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.noise.box import BoxNoise
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.ellipsoid import EllipsoidNoise
from dxgeom.noise.envelope import box_around
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.laplace import LaplaceNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rejection import RejectionNoise
from dxgeom.noise.rounding import IdealDraws, exponentials, legible
from dxgeom.numeric.randomness import Randomness, SystemRandomness

LONG = np.longdouble
PER_BATCH = 100_000
LOOKED_AT = 20
Long = NDArray[Any]


class Recorder(Randomness):
    """The system's words, kept in the order in which they were handed out."""

    def __init__(self) -> None:
        self.handed: list[NDArray[np.uint64]] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        self.handed.append(SystemRandomness().words(count))
        return self.handed[-1]


def uniforms(words: NDArray[np.uint64], end: int) -> Long:
    """One end of the interval that each word leaves open."""
    return (np.maximum(words.astype(LONG), LONG(1 - end)) + LONG(end)) / LONG(2) ** 64


def laplace(law: LaplaceNoise, draws: IdealDraws, _: Recorder, end: int) -> Long:
    return np.sign(draws.values) * law.scales * -np.log(uniforms(draws.words, end))


def box(law: BoxNoise, draws: IdealDraws, _: Recorder, end: int) -> Long:
    places, size = uniforms(draws.words, end), law.dimension
    radius = -np.log(places[:, : size + 1]).sum(axis=1, keepdims=True)
    return radius * (2 * places[:, size + 1 :] - 1) * law.body.half_widths


def image(law: LinearImageNoise, draws: IdealDraws, recorder: Recorder, end: int) -> Long:
    return box(law.inner, draws, recorder, end) @ law.map.T.astype(LONG)  # type: ignore[arg-type]


def ellipsoid(law: EllipsoidNoise, draws: IdealDraws, _: Recorder, end: int) -> Long:
    places, size = uniforms(draws.words, end), law.dimension
    pairs = -(-size // 2)
    sizes = -np.log(places[:, : size + pairs])
    turns = 8 * np.arctan(LONG(1)) * places[:, size + pairs :]
    pairs_of_normals = np.sqrt(2 * sizes[:, size:, None]) * np.stack([np.cos(turns), np.sin(turns)], axis=2)
    normals = pairs_of_normals.reshape(len(places), 2 * pairs)[:, :size]
    radius = sizes[:, :size].sum(axis=1, keepdims=True) / np.sqrt((normals**2).sum(axis=1, keepdims=True))
    return (radius * normals) @ law.body.axes.T.astype(LONG)


def cones(law: FacetConeNoise, draws: IdealDraws, recorder: Recorder, end: int) -> Long:
    simplex = np.searchsorted(law._thresholds, recorder.handed[0], side="right")
    corners = law._vertices[simplex].astype(LONG)
    return np.einsum("bi,bij->bj", -np.log(uniforms(draws.words, end)), corners) * LONG(law.body.inflation)


Replay = Callable[[Any, IdealDraws, Recorder, int], Long]


def hull(dimension: int) -> FacetConeNoise:
    differences = np.random.default_rng(dimension).integers(-1000, 1001, (3 * dimension + 3, dimension))
    return FacetConeNoise(hull_of_differences(differences, np.ones(len(differences))))


SAMPLERS: dict[str, tuple[NoiseLaw, Replay]] = {
    "Laplace, m = 2": (LaplaceNoise(np.array([300.0, 7.0])), laplace),
    "box, m = 3": (BoxNoise(Box(np.array([300.0, 7.0, 0.1]))), box),
    "ellipsoid, m = 2": (EllipsoidNoise(Ellipsoid(np.array([[100.0, 3], [90, 1]]))), ellipsoid),
    "ellipsoid, m = 3": (EllipsoidNoise(Ellipsoid(np.array([[100.0, 3, 0], [90, 1, 1], [0, 2, 7]]))), ellipsoid),
    "facet cones, m = 3": (hull(3), cones),
    "facet cones, m = 6": (hull(6), cones),
    "image of a box, m = 2": (
        LinearImageNoise(BoxNoise(Box(np.array([300.0, 7.0]))), np.array([[1.0, 2.0], [-0.3, 5.0]])),
        image,
    ),
}


def largest_share(law: NoiseLaw, replay: Replay, draws: int) -> tuple[float, float]:
    """The largest error/bound of any coordinate, by 80-bit floats and, of the worst rows, by 200 bits."""
    found, confirmed = 0.0, 0.0
    for start in range(0, draws, PER_BATCH):
        recorder = Recorder()
        batch = law.ideal(min(PER_BATCH, draws - start), recorder)
        for end in (0, 1):
            errors = np.abs(batch.values - replay(law, batch, recorder, end))
            shares = np.where(batch.legible, (errors / batch.errors).max(axis=1), 0).astype(np.float64)
            found = max(found, float(shares.max()))
            for row in np.argsort(shares)[-LOOKED_AT:].tolist():
                confirmed = max(confirmed, share_in_200_bits(batch, row, end))
        refuse_beyond_one(max(found, confirmed))
    return found, confirmed


def share_in_200_bits(batch: IdealDraws, row: int, end: int) -> float:
    """An upper bound on the largest error/bound of a row."""
    with ctx.workprec(200):
        exact = batch.evaluation(row)([arb(fmpq(int(word) + end, 2**64)) for word in batch.words[row]])
        pairs = zip(batch.values[row].tolist(), batch.errors[row].tolist(), exact, strict=True)
        return max(float((abs(arb(value) - truth) / arb(error)).upper()) for value, error, truth in pairs)


def largest_margin_share(draws: int) -> float:
    """The same of the margin by which a try of rejection is kept: hull in a box, m = 3, low ends."""
    body = hull(3).body
    law = RejectionNoise(body, box_around(body))
    rows = np.array([[LONG(int(x.p)) / LONG(int(x.q)) for x in row] for row in law._gauges[0].rows.tolist()])
    found = 0.0
    for start in range(0, draws, PER_BATCH):
        recorder = Recorder()
        batch = law.envelope.ideal(min(PER_BATCH, draws - start), recorder)
        words = recorder.words(len(batch.values))
        margin, error = law._margin(batch, exponentials(words))
        point = box(law.envelope, batch, recorder, 0)  # type: ignore[arg-type]
        outer = np.abs(point / law.envelope.body.half_widths).max(axis=1)  # type: ignore[attr-defined]
        exact = -np.log(uniforms(words, 0)) + outer - np.abs(point @ rows.T).max(axis=1)
        usable = batch.legible & legible(words[:, None])
        found = max(found, float(np.max(np.where(usable, np.abs(margin - exact) / error, 0))))
        refuse_beyond_one(found)
    return found


def refuse_beyond_one(share: float) -> None:
    if not share <= 1:
        raise SystemExit(f"an error reached {share:.3f} of its bound")


def main() -> None:
    """One row per sampler."""
    if np.finfo(LONG).nmant < 63:
        raise SystemExit("this machine has no 80-bit floats to check against")
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"largest error as a part of its bound, {draws:,} draws each")
    print(f"{'sampler':>22} {'80 bits':>8} {'200 bits':>9}")
    for name, (law, replay) in SAMPLERS.items():
        found, confirmed = largest_share(law, replay, draws)
        print(f"{name:>22} {found:>8.2g} {confirmed:>9.2g}", flush=True)
    print(f"{'kept by rejection':>22} {largest_margin_share(draws):>8.2g}")


if __name__ == "__main__":
    main()
