"""How far two answers may be off together: half of all errors, 19 of 20, and what one record can change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.report.drawing.scene import Area, Arrow, Dots, Label, Mark, Scene, cut, ticked

_REACH: Final = 1.45


def noise_shape(
    names: Sequence[str],
    outline: NDArray[np.float64],
    noise: NDArray[np.float64],
    moved: tuple[float, float] | None,
    whose: str,
) -> Scene:
    """Contours of the noise of two answers, in their own units.

    Args: ``outline`` (h, 2): the shape whose multiples are contours; ``noise`` (n, 2): draws that fix the multiples;
    ``moved``: what one changed record does to both answers, in the words ``whose``.
    """
    half, most = (_holding(outline, noise, share) * outline for share in (0.5, 0.95))
    limits = _REACH * np.abs(most).max(axis=0)
    if max(limits) < 6 * min(limits):
        limits = np.full(2, max(limits))
    marks: list[Mark] = [
        Area(_points(most), "pale", "blue"),
        Area(_points(half), "blue", "blue"),
        Label(_top(most), "19 times in 20", "middle", "ink", (0, -9), strong=True),
        Label((0.0, float(half[:, 1].min())), "half the time", "middle", "ink", (0, 12)),
    ]
    outside = np.abs(noise) > limits
    clipped = np.clip(noise[outside.any(axis=1)], -limits, limits)[:200]
    if len(clipped):
        marks.append(Dots(_points(clipped), "muted", 3))
    if moved is not None:
        marks.append(Arrow((0.0, 0.0), moved))
        marks.append(Label((-limits[0], limits[1]), cut(f"arrow: {whose}", 40), "start", "orange", (8, 12)))
    first, second = (cut(name, 34) for name in names)
    ends = [float(f"{np.abs(most[:, k]).max():.2g}") for k in (0, 1)]
    alt = f"Noise of two answers: 19 times in 20 within about {ends[0]:g} of {first} and {ends[1]:g} of {second}."
    across = ticked(-limits[0], limits[0], f"{first}: off by", 5)
    up = ticked(-limits[1], limits[1], f"{second}: off by", 5)
    return Scene(alt, across, up, tuple(marks), 400, 400, names=64)


def _holding(outline: NDArray[np.float64], noise: NDArray[np.float64], share: float) -> float:
    """The multiple of a convex outline around 0 that holds this share of the draws."""
    ahead = np.roll(outline, -1, axis=0) - outline
    normals = np.column_stack([ahead[:, 1], -ahead[:, 0]])
    heights = np.sum(normals * outline, axis=1)
    facing = heights > 1e-12 * max(float(np.abs(heights).max()), 1e-300)
    gauges = (noise @ normals[facing].T / heights[facing]).max(axis=1)
    return float(np.quantile(gauges, share))


def _points(corners: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in corners)


def _top(corners: NDArray[np.float64]) -> tuple[float, float]:
    return 0.0, float(corners[:, 1].max())
