"""Places at one scale, with circles around one of them where the bands end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.report.drawing.scene import (
    Dots,
    Label,
    Line,
    Mark,
    Scale,
    Scene,
    circle,
    cut,
    round_steps,
)

_MOST_NAMED: Final = 12
_PIXELS: Final = 560
MOST_DRAWN: Final = 2000


def place_map(
    name: str, labels: Sequence[str], spots: NDArray[np.float64], unit: str, rings: Sequence[tuple[float, str]]
) -> Scene:
    """A map of places.

    Args: ``spots`` (n, 2): eastward and northward, in ``unit``; ``rings``: radius and words of each circle around the
    place in the middle.
    """
    low, high = spots.min(axis=0), spots.max(axis=0)
    span = max(float((high - low).max()), 1e-9)
    low, high = low - 0.07 * span, high + 0.07 * span
    wide, tall = (high - low).tolist()
    middle = int(np.argmin(np.abs(spots - np.median(spots, axis=0)).sum(axis=1)))
    here = (float(spots[middle, 0]), float(spots[middle, 1]))
    marks: list[Mark] = []
    for place, (radius, words) in enumerate(rings):
        if 0.04 * span < radius < 1.2 * span:
            turn = math.radians(80 - 50 * place)
            edge = circle(here, radius, radius)
            marks.append(Line((*edge, edge[0]), "orange", 1.2, dashed=True))
            spot = (here[0] + radius * math.cos(turn), here[1] + radius * math.sin(turn))
            marks.append(Label(spot, words, "start", "orange", (3, -5)))
    drawn = tuple((float(x), float(y)) for x, y in spots[:MOST_DRAWN])
    marks.append(Dots(drawn, "blue", 6 if len(labels) <= 60 else 3))
    marks.append(Dots((here,), "orange", 9))
    named = range(len(labels)) if len(labels) <= _MOST_NAMED else [middle]
    marks += [Label((float(spots[k, 0]), float(spots[k, 1])), cut(labels[k], 20), "start", shift=(7, 0)) for k in named]
    marks += _bar(low.tolist(), span, unit)
    height = int(min(max(_PIXELS * tall / wide, 160), 460))
    alt = f"Map of {len(labels):,} places of {cut(name)}; circles around {cut(labels[middle])}: " + "; ".join(
        words for _, words in rings
    )
    across, up = Scale(float(low[0]), float(high[0])), Scale(float(low[1]), float(high[1]))
    return Scene(alt + ".", across, up, tuple(marks), _PIXELS, height, equal=True, framed=False)


def _bar(corner: list[float], span: float, unit: str) -> list[Mark]:
    """How long a round number of kilometres or metres is."""
    length = max(round_steps(0, span / 3, 4))
    left, level = corner[0] + 0.02 * span, corner[1] + 0.03 * span
    tip = 0.012 * span
    ends = ((left, level + tip), (left, level), (left + length, level), (left + length, level + tip))
    return [Line(ends, "ink", 1.6), Label((left + length, level), f"{length:,.6g} {unit}".strip(), shift=(6, 0))]


def flat(coordinates: NDArray[np.float64], geometry: str) -> NDArray[np.float64]:
    """Eastward and northward positions (n, 2): of degrees in kilometres, on a map that is true around its middle."""
    if geometry == "plane":
        return coordinates
    latitude, longitude = coordinates[:, 0], coordinates[:, 1]
    each = 6371.0 * math.pi / 180
    return np.column_stack([longitude * each * math.cos(math.radians(float(np.median(latitude)))), latitude * each])
