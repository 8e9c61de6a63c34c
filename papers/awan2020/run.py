"""The geometry in "Structure and sensitivity in differential privacy" beside reference values computed elsewhere.

Run: .venv/bin/python papers/awan2020/run.py   (a few minutes; --points 300 is faster and less sharp)
"""

from __future__ import annotations

import argparse
import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from dxgeom.geometry import Box, EnclosureLimits, enclosing_polytope
from dxgeom.lab import (
    PolynomialOutputs,
    PolynomialStatistic,
    bounded_column,
    norm_sensitivities,
    polynomial_statistic,
)
from dxgeom.noise import BoxNoise, LaplaceNoise

BOX_POINTS = 400_000
BATCH = 64


def main() -> None:
    """One line per figure: ours, and the reference."""
    parser = argparse.ArgumentParser(description="Reproduce the paper's geometry.")
    parser.add_argument("--points", type=int, default=1500, help="points per membership estimate (1500)")
    points = parser.parse_args().points
    print(f"{'figure':<58}{'here':>22}{'reference':>14}")
    examples()
    for predictors, reference in ((1, ".733"), (2, ".511"), (3, ".345"), (5, ".145")):
        share, error = box_share(predictors)
        line(f"cylinder set in its box, {predictors} predictors", f"{share:.4f} ± {error:.4f}", reference)
    one_predictor()
    for predictors, volume, saved in ((2, ".26", "32 %"), (3, ".045", "43 %")):
        by_membership(predictors, points, volume, saved)


def line(what: str, here: str, reference: str) -> None:
    """One row of the table."""
    print(f"{what:<58}{here:>22}{reference:>14}", flush=True)


def examples() -> None:
    """Example 3.1, the two hulls of section 6, Proposition 4.13."""
    x, y = bounded_column("x", -1, 1), bounded_column("y", -1, 1)
    curve = polynomial_statistic([x], {"u1": {("x",): 1}, "u2": {("x", "x"): 2}})
    found = norm_sensitivities(PolynomialOutputs(curve))
    line("Example 3.1, Δ₁", str(float(found.l1.upper)), "3.125")
    line("Example 3.1, Δ₂", f"{found.l2[0]:.8f}…{found.l2[1]:.8f}", f"{math.sqrt(71 + 8 * 2**0.5) / 4:.8f}")
    line("Example 3.1, Δ∞", str(float(found.linf.upper)), "2")
    share, excess, _ = enclosed(curve, 1e-5, 16)
    line("K₂, part of its box", f"{share:.6f} (+{excess:.0e})", f"{5 / 6:.6f}")
    product = polynomial_statistic([x, y], {"u1": {("x",): 1}, "u2": {("y",): 1}, "u3": {("x", "y"): 1}})
    share, _, facets = enclosed(product, 1e-3, 64)
    line("K₃, part of its box (triangles of its boundary)", f"{share:.6f} ({facets})", f"{5 / 6:.6f} (20)")
    for m in (2, 7):
        ratio = LaplaceNoise(np.full(m, float(m))).second_moment[0, 0] / BoxNoise(Box(np.ones(m))).second_moment[0, 0]
        line(f"Prop. 4.13, variance ℓ₁ over ℓ∞, m = {m}", f"{ratio:.6f}", f"{6 * m * m / (m + 1) / (m + 2):.6f}")


def enclosed(statistic: PolynomialStatistic, tolerance: float, box: float) -> tuple[float, float, int]:
    """Volume of the enclosing polytope over that of the box, its excess, its facets."""
    found = enclosing_polytope(PolynomialOutputs(statistic), EnclosureLimits(tolerance))
    return volume(statistic, found.body.volume) / box, found.excess, found.body.facets


def volume(statistic: PolynomialStatistic, in_steps: float) -> float:
    """A volume in the entries' own units."""
    return in_steps * math.prod(float(step) for step in statistic.steps)


def regression(predictors: int) -> PolynomialStatistic:
    """What least squares needs, each entry scaled to change by at most 2."""
    names = [f"x{j}" for j in range(predictors)]
    pairs = [*itertools.combinations_with_replacement(names, 2), *((name, "y") for name in names)]
    entries: dict[str, dict[tuple[str, ...], int]] = {name: {(name,): 1} for name in (*names, "y")}
    for pair in pairs:
        entries["·".join(pair)] = {pair: 2 if pair[0] == pair[1] else 1}
    return polynomial_statistic([bounded_column(name, -1, 1) for name in (*names, "y")], entries)


def in_cylinders(points: NDArray[np.float64], statistic: PolynomialStatistic) -> NDArray[np.bool_]:
    """Which points (B, m) are in every K₂ and K₃ over their coordinates: the paper's set, as an intersection."""
    sizes = {name: np.abs(points[:, place]) for place, name in enumerate(statistic.names)}
    held = np.ones(len(points), dtype=bool)
    for name in statistic.names:
        one, dot, other = name.partition("·")
        if one == other:
            held &= sizes[name] <= 2 - 2 * np.maximum(sizes[one] - 1, 0) ** 2
        elif dot:
            held &= sizes[one] + sizes[other] + sizes[name] <= 4
    return held


def cylinder_points(predictors: int, count: int, seed: int) -> NDArray[np.float64]:
    """At least ``count`` uniform points of the cylinder set."""
    generator, statistic = np.random.default_rng(seed), regression(predictors)
    kept: list[NDArray[np.float64]] = []
    while sum(map(len, kept)) < count:
        points = generator.uniform(-2, 2, (20_000, statistic.dimension))
        kept.append(points[in_cylinders(points, statistic)])
    return np.vstack(kept)[:count]


def box_share(predictors: int) -> tuple[float, float]:
    """The part of the box in the cylinder set, and its standard error."""
    statistic = regression(predictors)
    points = np.random.default_rng(0).uniform(-2, 2, (BOX_POINTS, statistic.dimension))
    share = float(in_cylinders(points, statistic).mean())
    return share, math.sqrt(share * (1 - share) / BOX_POINTS)


def one_predictor() -> None:
    """The hull against the cylinder set in four dimensions: 187.2 is the latter's exact volume."""
    statistic = regression(1)
    found = enclosing_polytope(PolynomialOutputs(statistic), EnclosureLimits(0.002))
    above = volume(statistic, found.body.volume) / 187.2
    line("hull over cylinder set, 1 predictor (proved range)", f"{above * found.hull_share:.4f}…{above:.4f}", ".80")
    steps = np.array([float(step) for step in statistic.steps])
    square = float(np.sum(cylinder_points(1, BOX_POINTS, 1) ** 2)) / BOX_POINTS
    mse = float(np.diagonal(found.body.noise_second_moment) @ steps**2)
    line("mean squared error saved by the hull, 1 predictor", f"{1 - mse / (5 * 6 * square):.1%}", "12 %")


def by_membership(predictors: int, count: int, reference: str, saved_reference: str) -> None:
    """The share of the cylinder set's points that lie in the hull, and what their mean square says of the noise."""
    points = cylinder_points(predictors, count, 2)
    inside = in_hull(points, PolynomialOutputs(regression(predictors)))
    share = inside.mean()
    error = math.sqrt(share * (1 - share) / count)
    line(f"hull over cylinder set, {predictors} predictors", f"{share:.4f} ± {error:.4f}", reference)
    squares = np.sum(points**2, axis=1)
    ratio = squares[inside].mean() / squares.mean()
    error = squares[inside].std() / math.sqrt(inside.sum()) / squares.mean()
    what = f"mean squared error saved by the hull, {predictors} predictors"
    line(what, f"{1 - ratio:.1%} ± {error:.1%}", saved_reference)


def in_hull(points: NDArray[np.float64], outputs: PolynomialOutputs) -> NDArray[np.bool_]:
    """Membership in the hull of the adjacent output space, by separating directions.

    max u·v subject to u·s ≤ 1 on points s of the space found so far: below 1, v is inside their hull; a maximiser u
    with support function at most 1 separates v; any other gives a new point.
    """
    steps = np.array([float(step) for step in outputs.steps])
    axes = np.eye(len(steps))
    known = far_points(outputs, np.vstack([axes, np.random.default_rng(3).standard_normal((200, len(steps)))]), steps)
    inside = np.zeros(len(points), dtype=bool)
    open_rows = np.arange(len(points))
    while len(open_rows):
        batch = open_rows[:BATCH]
        directions = np.array([best_direction(points[row], known) for row in batch])
        heights = np.sum(directions * points[batch], axis=1)
        far = far_points(outputs, directions, steps)
        reach = np.sum(directions * far, axis=1)
        inside[batch[heights <= 1]] = True
        settled = (heights <= 1) | (heights > reach * (1 + 1e-9))
        known = np.vstack([known, far[~settled]])
        open_rows = np.concatenate([batch[~settled], open_rows[BATCH:]])
    return inside


def best_direction(point: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
    """The u that maximises u·point subject to |u·s| ≤ 1 for all known s."""
    sides = np.vstack([known, -known])
    found = linprog(-point, A_ub=sides, b_ub=np.ones(len(sides)), bounds=(None, None), method="highs")
    return np.asarray(found.x, dtype=np.float64)


def far_points(
    outputs: PolynomialOutputs, directions: NDArray[np.float64], steps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Far points in the entries' own units."""
    return np.asarray(outputs.furthest(directions * steps) * steps)


if __name__ == "__main__":
    main()
