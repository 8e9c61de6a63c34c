"""Figure 1 and Example 3.1 of "Structure and sensitivity in differential privacy": bodies, and the noise they shape."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

from figures import Row, printed

from dxgeom.geometry import Box, Ellipsoid, EnclosureLimits, enclosing_polytope
from dxgeom.lab import PolynomialOutputs, bounded_column, norm_sensitivities, polynomial_statistic
from dxgeom.noise import BoxNoise, EllipsoidNoise, LaplaceNoise

HERE = Path(__file__).parent
CURVE = polynomial_statistic([bounded_column("x", -1, 1)], {"u1": {("x",): 1}, "u2": {("x", "x"): 2}})
LOOSE = (4.0, math.sqrt(8), 2.0)
"""Equation 2: what is taken for the sensitivities where they are not worked out."""


def rows() -> Iterator[Row]:
    """Sensitivities, and the mean squared error of noise at ε = 1 by each body: sums over both entries."""
    exact = sensitivities()
    closed = (3.125, math.sqrt(71 + 8 * math.sqrt(2)) / 4, 2.0)
    for name, found, reference in zip(("Δ₁", "Δ₂", "Δ∞"), exact, closed, strict=True):
        yield Row(f"Example 3.1: {name}", round(found, 6), round(reference, 6), 1e-6)
    for words, radii in (("exact", exact), ("as by equation 2", LOOSE)):
        references = (4 * radii[0] ** 2, 6 * radii[1] ** 2, 8 * radii[2] ** 2)
        for name, found, reference in zip(("ℓ₁", "ℓ₂", "ℓ∞"), errors(radii), references, strict=True):
            yield Row(f"Figure 1, {words}: squared error of {name} noise", round(found, 4), round(reference, 4), 1e-3)
    # K₂ = {|u₂| ≤ 2 for |u₁| ≤ 1, |u₂| ≤ 2 − 2(|u₁| − 1)² beyond}: m·(m + 1)·(m + 2)·E‖U‖²/m by its integrals.
    yield Row(
        "Figure 1: squared error of the hull's noise", round(hull_error(), 3), round(12 * hull_mean_square(), 3), 0.01
    )


def sensitivities() -> tuple[float, float, float]:
    """Δ₁, Δ₂, Δ∞ of Example 3.1."""
    found = norm_sensitivities(PolynomialOutputs(CURVE))
    return float(found.l1.upper), found.l2[1], float(found.linf.upper)


def errors(radii: tuple[float, float, float]) -> tuple[float, float, float]:
    """E‖V‖² of the package's own laws of these radii."""
    one, two, most = radii
    laws = (
        LaplaceNoise(np.full(2, one)),
        EllipsoidNoise(Ellipsoid(two * np.eye(2))),
        BoxNoise(Box(np.full(2, most))),
    )
    traces = tuple(float(np.trace(law.second_moment)) for law in laws)
    return traces[0], traces[1], traces[2]


def hull_error() -> float:
    """E‖V‖² of the noise of a polytope around the hull."""
    found = enclosing_polytope(PolynomialOutputs(CURVE), EnclosureLimits(1e-5))
    steps = np.array([float(step) for step in CURVE.steps])
    return float(np.diagonal(found.body.noise_second_moment) @ steps**2)


def hull_mean_square() -> float:
    """E‖U‖² of a uniform point of K₂, integrated on a fine grid."""
    across = (np.arange(200_000) + 0.5) / 100_000
    heights = np.where(across <= 1, 2, 2 - 2 * (across - 1) ** 2)
    return float(np.sum(heights * across**2 + heights**3 / 3) / np.sum(heights))


def draw_picture() -> None:
    """Both panels: the adjacent output space, and the balls of exact and of loose radii."""
    from dxgeom.document.axes import BLUE, GREEN, ORANGE, RED, legend, panels, save, title

    figure, row = panels(8.4, 4.4, 2)
    across = np.linspace(-2, 2, 401)
    edge = 2 - 2 * (np.abs(across) - 1) ** 2
    hull = np.where(np.abs(across) <= 1, 2, edge)
    angles = np.linspace(0, 2 * np.pi, 721)
    for axes, radii, words, below in zip(
        row,
        (sensitivities(), LOOSE),
        ("Exact sensitivities", "Sums of each entry's own"),
        ("none holds another", "the box is the smallest"),
        strict=True,
    ):
        axes.fill_between(across, -edge, edge, color=BLUE, alpha=0.25, label="what one record changes")
        axes.plot([*across, *across[::-1]], [*hull, *-hull[::-1]], color=RED, label="its hull")
        one, two, most = radii
        axes.plot([one, 0, -one, 0, one], [0, one, 0, -one, 0], color=ORANGE, label="ℓ₁")
        axes.plot(two * np.cos(angles), two * np.sin(angles), color=GREEN, label="ℓ₂")
        axes.plot([most, -most, -most, most, most], [most, most, -most, -most, most], color=BLUE, label="ℓ∞")
        axes.set_aspect("equal")
        axes.set_xlabel("u₁")
        axes.set_ylabel("u₂")
        title(axes, words, below)
    legend(figure, 5)
    save(figure, HERE / "figure_1.png")


if __name__ == "__main__":
    list(printed(rows()))
    draw_picture()
