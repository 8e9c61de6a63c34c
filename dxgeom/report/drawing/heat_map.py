"""Every pair of an attribute's values: a triangle of cells, coloured by how well the two are hidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.report.drawing.scene import Area, Label, Look, Mark, Scale, Scene, cut, rectangle
from dxgeom.wording.numbers import band_of, odds, odds_figure

MOST_VALUES: Final = 20
_HIGH: Final = 24


def heat_map(name: str, labels: Sequence[str], distances: NDArray[np.float64]) -> Scene:
    """The pairs of at most 20 values in their order, with the odds ``distances`` (n, n) allow as figures.

    Args: ``distances``: already times the budget.
    """
    size = len(labels)
    wide = 30 if size > 8 else 48
    names = [cut(label, 14) for label in labels]
    left = 8 + 7.4 * max(map(len, names)) / wide
    marks: list[Mark] = []
    for row in range(size):
        at = size - row - 0.5
        marks.append(Label((-0.15, at), names[row], "end"))
        for column in range(row):
            distance = float(distances[row, column])
            look: Look = band_of(distance).look  # type: ignore[assignment]
            marks.append(Area(rectangle(column, at - 0.5, column + 1, at + 0.5), look, "ground"))
            marks.append(Label((column + 0.5, at), odds_figure(distance), "middle", on=look))
        if row < size - 1:
            marks.append(Label((row + 0.1, at), names[row], "start", look="muted"))
    longest = max(len(each) for each in names)
    left = (7.4 * longest + 10) / wide
    right = (7.4 * longest) / wide
    width = int((size + left + right) * wide) + 8
    pairs = distances[np.triu_indices(size, 1)]
    alt = (
        f"Heat map of {size} values of {cut(name)}, odds for every pair: from {odds(float(pairs.min()))} to "
        f"{odds(float(pairs.max()))}."
    )
    across, up = Scale(-left, size + right), Scale(0, size)
    return Scene(alt, across, up, tuple(marks), width, size * _HIGH + 8, framed=False)
