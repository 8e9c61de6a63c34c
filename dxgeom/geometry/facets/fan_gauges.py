"""The planes of a fan in float64, and gauges from them, rounded up."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.geometry.facets.fan import Fan
from dxgeom.numeric.rounding import UNIT_ROUNDOFF

_GAUGES_PER_BLOCK: Final = 4_000_000


def rounded_planes(fan: Fan) -> NDArray[np.float64]:
    """(F, m): normals over volumes, ``planes @ v ≤ 1`` on the fan's body, each entry correctly rounded."""
    return np.array(fan.normals / fan.volumes[:, None], dtype=np.float64)


def largest_gauge(fan: Fan, points: NDArray[np.float64]) -> float:
    """The largest gauge of ±points, *rounded up*.

    Errors relative to Σ|n||p|: 2⁻⁵³ for each normal, 2⁻⁵³ for each point (a rounded quotient), and m·2⁻⁵³ for the dot
    product; doubled for safety. By symmetry of the fan the sign of a point does not matter.
    """
    normals = rounded_planes(fan)
    dimension = normals.shape[1]
    steepest = np.max(np.abs(normals), axis=0)
    largest = 0.0
    size = max(1, _GAUGES_PER_BLOCK // len(normals))
    for start in range(0, len(points), size):
        here = points[start : start + size]
        slack = (np.abs(here) @ steepest) * (2 * (dimension + 3) * UNIT_ROUNDOFF)
        largest = max(largest, float(np.max(np.max(here @ normals.T, axis=1) + slack)))
    return math.nextafter(largest * (1 + 4 * UNIT_ROUNDOFF), math.inf)
