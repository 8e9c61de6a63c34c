"""How many facets a hull will have and how long it will take, told from hulls of a few of its corners."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.qhull import float_hull

_ENOUGH_FACETS = 8_000
"""A hull of a few corners with this many facets is not enlarged further."""
_GROWTH = 1.5
_QHULL = 2e-6
"""Seconds per facet and squared dimension, for all the hulls on the way to the last."""
_SCAN = 5e-10
"""Seconds per facet, point and dimension, to look for points beyond a facet."""
_PROOF = 3e-7
"""Seconds per facet and cubed dimension, for the certificate in exact integers."""


class HullEstimate(NamedTuple):
    """About how many simplices the boundary will have, and about how many seconds it will take to find and prove."""

    facets: float
    seconds: float


def estimate_hull(corners: NDArray[np.float64], vertices: float, points: int) -> HullEstimate:
    """The estimate for ±points of which ``corners`` (n, m) are some corners, one of each opposite pair.

    Args: ``vertices``: about how many corners the whole hull has; ``points``: among how many points they are.
    A fixed shuffle of the corners is taken in growing parts. The facets of the last two parts grow with a power of the
    number of corners, between 1 and ⌊m/2⌋ (no hull grows faster: the upper bound theorem).
    Guarantee: none, it is a guess, the same one every time; see ``benchmarks/hulls.py`` for how far off it is.
    """
    dimension = corners.shape[1]
    order = np.random.default_rng(0).permutation(len(corners))
    size, sizes, facets = 2 * dimension, [], []
    while True:
        part = corners[order[:size]]
        sizes.append(min(size, len(corners)))
        facets.append(len(float_hull(np.vstack([part, -part])).simplices))
        if size >= len(corners) or facets[-1] >= _ENOUGH_FACETS:
            break
        size = math.ceil(size * _GROWTH)
    exponent = float(dimension // 2)
    if len(sizes) > 1:
        exponent = math.log(facets[-1] / facets[-2]) / math.log(sizes[-1] / sizes[-2])
    whole = facets_after_growth(facets[-1], max(1.0, vertices / (2 * sizes[-1])), dimension, exponent)
    seconds = whole * dimension**2 * _QHULL + whole * points * dimension * _SCAN + whole * dimension**3 * _PROOF
    return HullEstimate(whole, seconds)


def facets_after_growth(facets: float, factor: float, dimension: int, exponent: float = 1.0) -> float:
    """About how many facets a hull has when its corners become ``factor`` times as many."""
    return float(facets * factor ** min(max(exponent, 1.0), max(1, dimension // 2)))
