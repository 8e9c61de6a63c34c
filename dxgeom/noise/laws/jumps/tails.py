"""How far noise with jumps reaches along a direction, with a proof for every level."""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

_STEPS: Final = 48
_MOST: Final = 0.99
"""Jumps are at most this much of what a moment's series adds up to, so that float64 tells the sum well."""
_OUTWARD: Final = 1 + 1e-9


def chernoff_width(
    variance: float, along: NDArray[np.float64], reaches: NDArray[np.float64], rates: NDArray[np.float64], missed: float
) -> float:
    """A t that |a·V| exceeds with probability ``missed`` at most: *rounded up*, never the least.

    Definition: P[|a·V| > t] ≤ 2e^(−θt)·M(θ) for every θ from 0 to 1/max|a·x_e|, M(θ) = e^(θ²v/2)·(1 − r)/(1 − S(θ))
    with S(θ) = Σ ρ_e·cosh(θ·s_e²·a·x_e)/(1 − (θ·a·x_e)²) < 1; nearly the least of them over θ, which has one valley
    since log M is convex.
    Args: ``variance``: v = aᵀΣa; ``along`` (E,): |a·x_e|; ``reaches`` (E,): s_e²; ``rates`` (E,): ρ_e.
    Source: Chernoff 1952.
    """
    furthest = float(np.max(along * (1 + reaches), initial=0.0))
    scale = max(math.sqrt(variance), furthest)
    if scale == 0:
        return 0.0
    longest, left = float(along.max(initial=0.0)), math.log1p(-float(rates.sum()))
    places = np.geomspace(1e-2, 1e2, _STEPS).tolist()

    @cache
    def width(place: int) -> float:
        rising = places[place] / scale
        grown = rising * along
        series = float(np.sum(rates * np.cosh(grown * reaches) / (1 - grown**2))) if rising * longest < _MOST else 1.0
        if series > _MOST:
            return math.inf
        moment = (rising * math.sqrt(variance)) ** 2 / 2 + left - math.log1p(-series)
        return float((math.log(2 / missed) + max(moment, 0.0)) / rising)

    low, high = 0, _STEPS - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if width(middle + 1) < width(middle) else (low, middle)
    return width(low) * _OUTWARD
