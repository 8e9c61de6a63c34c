"""What one record can change in two entries of a statistic, beside the balls that noise may be shaped by."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dxgeom.document.axes import BLUE, GREEN, GREY, INK, ORANGE, RED, legend, literal, panels, save
from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.hulls import EnclosureLimits, enclosing_polytope
from dxgeom.lab.statistic_release import entry_sensitivities, norm_sensitivities
from dxgeom.learning.adjacent_outputs import AdjacentOutputs, ListedOutputs, PolynomialOutputs
from dxgeom.report.projection import closed, projection_outline

_CELLS = 240
_RECORDS = 700
_MOST_DOTS = 900
_NEAR = EnclosureLimits(1e-4)


def adjacent_outputs_picture(outputs: AdjacentOutputs, names: tuple[str, str], path: str | os.PathLike[str]) -> Path:
    """Draw the adjacent output space of a statistic of two entries, its hull, and balls of ℓ₁, ℓ₂ and ℓ∞ around it.

    Left the balls have the exact sensitivities Δ_p; right those that follow from each entry's own by adding up.
    Raises: UnsupportedCombination unless the statistic has two entries.
    Source: Awan & Slavković 2020, Figure 1.
    """
    if outputs.dimension != 2:
        raise UnsupportedCombination(f"this picture is of two entries, the statistic has {outputs.dimension}")
    steps = np.array([float(step) for step in outputs.steps])
    moves = _moves(outputs) * steps
    hull = projection_outline(enclosing_polytope(outputs, _NEAR).body, 0, 1) * steps
    exact = norm_sensitivities(outputs)
    own = np.array([float(each.upper) for each in entry_sensitivities(outputs)])
    radii = (
        (float(exact.l1.upper), exact.l2[1], float(exact.linf.upper)),
        (float(own.sum()), float(np.linalg.norm(own)), float(own.max())),
    )
    figure, row = panels(9.6, 5.6, 2)
    reach = 1.08 * max(radii[1])
    for axes, sizes, words in zip(row, radii, ("exact sensitivities", "each entry's own, added up"), strict=True):
        _draw_space(axes, moves)
        axes.plot(*closed(hull).T, color=BLUE, linewidth=2, label="its hull")
        _draw_balls(axes, *sizes)
        axes.set_title(words, loc="left", fontsize=11, color=INK)
        axes.set_aspect("equal", adjustable="box")
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-reach, reach)
        axes.set_xlabel(f"change of: {literal(names[0])}", color=INK)
    row[0].set_ylabel(f"change of: {literal(names[1])}", color=INK)
    legend(figure, 5)
    return save(figure, path)


def _moves(outputs: AdjacentOutputs) -> NDArray[np.float64]:
    """Differences (n, 2) that one record can make, in lattice steps: half a million or so."""
    match outputs:
        case PolynomialOutputs(statistic=statistic):
            box = statistic.on_unit_box
            records = box.values(_spread(box.variables))
        case ListedOutputs(values=values):
            records = values[:_RECORDS].astype(np.float64)
        case _:
            raise UnsupportedCombination(f"no picture is known here of {type(outputs).__name__}")
    return np.asarray((records[:, None, :] - records[None, :, :]).reshape(-1, 2))


def _spread(variables: int) -> NDArray[np.float64]:
    """Evenly spread points of the unit box in one variable; random ones and corners in more."""
    if variables == 1:
        return np.linspace(0, 1, _RECORDS)[:, None]
    random = np.random.default_rng(0)
    inner = random.random((_RECORDS // 2, variables))
    return np.vstack([inner, np.clip(np.rint(inner * 3 - 1), 0, 1), np.where(inner < 0.4, np.rint(inner), inner)])


def _draw_space(axes: Axes, moves: NDArray[np.float64]) -> None:
    """The cells of a fine grid that hold a difference; a handful of differences as dots."""
    words = "what one record can change"
    if len(moves) <= _MOST_DOTS:
        axes.scatter(moves[:, 0], moves[:, 1], s=22, color=BLUE, linewidths=0, label=words, zorder=4)
        return
    reach = np.abs(moves).max(axis=0)
    ends = [np.linspace(-limit, limit, _CELLS + 1) for limit in reach]
    counts, x, y = np.histogram2d(moves[:, 0], moves[:, 1], bins=ends)
    level = axes.contourf(
        (x[1:] + x[:-1]) / 2, (y[1:] + y[:-1]) / 2, (counts.T > 0).astype(float), levels=[0.5, 1.5], colors=[BLUE]
    )
    level.set_alpha(0.25)
    axes.fill([], [], color=BLUE, alpha=0.25, linewidth=0, label=words)


def _draw_balls(axes: Axes, l1: float, l2: float, linf: float) -> None:
    diamond = np.array([[l1, 0], [0, l1], [-l1, 0], [0, -l1]])
    square = linf * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    angles = np.linspace(0, 2 * np.pi, 361)
    axes.plot(*closed(diamond).T, color=ORANGE, linewidth=1.6, linestyle="--", label="ball of ℓ₁")
    axes.plot(l2 * np.cos(angles), l2 * np.sin(angles), color=GREEN, linewidth=1.6, linestyle="-.", label="ball of ℓ₂")
    axes.plot(*closed(square).T, color=RED, linewidth=1.6, linestyle=":", label="ball of ℓ∞")
    axes.axhline(0, color=GREY, linewidth=0.5, zorder=0)
    axes.axvline(0, color=GREY, linewidth=0.5, zorder=0)
