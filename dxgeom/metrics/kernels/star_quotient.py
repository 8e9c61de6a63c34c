"""The largest (v_i − v_j)/(w_i + w_j) of values with weights, in a few linear passes instead of over all pairs.

For a slope s, the largest v_i − v_j − s·(w_i + w_j) separates: it is max(v_i − s·w_i) + max(−v_j − s·w_j). While it is
positive its two ends form a steeper quotient, which is the next slope (Dinkelbach 1967); i = j gives −2s·w_i, never
more than 0, so it need not be excluded. Products and differences are kept in two floats each, so that nothing cancels.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.rounding import round_up

_SPLITTER = 2.0**27 + 1
_ERROR = 2.0**-98
"""Each of the two ends is off by less than 2⁻¹⁰¹ of its terms, and so is their sum."""
_TINY = 2.0**-1000
"""What a term too small for float64 can have lost, once values are of the order of 1."""


@numba.njit(cache=True)
def _product(one: float, other: float) -> tuple[float, float]:
    """one·other as a float and its error (Dekker)."""
    product = one * other
    high = one * _SPLITTER
    high = high - (high - one)
    low = one - high
    top = other * _SPLITTER
    top = top - (top - other)
    rest = other - top
    return product, ((high * top - product) + high * rest + low * top) + low * rest


@numba.njit(cache=True)
def _sum(one: float, other: float) -> tuple[float, float]:
    """one + other as a float and its error (Knuth)."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


@numba.njit(cache=True)
def _lifted(value: float, slope: float, weight: float) -> tuple[float, float]:
    """value − slope·weight."""
    product, product_error = _product(slope, weight)
    total, total_error = _sum(value, -product)
    return _sum(total, total_error - product_error)


@numba.njit(cache=True)
def _worst(grid: NDArray[Any], weights: NDArray[np.float64], slope: float) -> tuple[float, float, float, int, int]:
    """The largest excess over all fibres ``grid[o, :, i]``, the two values and the two places behind it."""
    outer, size, inner = grid.shape
    worst, value_up, value_down, place_up, place_down = -np.inf, 0.0, 0.0, 0, 0
    for o in range(outer):
        for i in range(inner):
            up, up_error, down, down_error, first, second = -np.inf, 0.0, -np.inf, 0.0, 0, 0
            for k in range(size):
                high, high_error = _lifted(grid[o, k, i], slope, weights[k])
                if high > up or (high == up and high_error > up_error):
                    up, up_error, first = high, high_error, k
                low, low_error = _lifted(-grid[o, k, i], slope, weights[k])
                if low > down or (low == down and low_error > down_error):
                    down, down_error, second = low, low_error, k
            total, total_error = _sum(up, down)
            excess = total + (total_error + (up_error + down_error))
            if excess > worst:
                worst, place_up, place_down = excess, first, second
                value_up, value_down = grid[o, first, i], grid[o, second, i]
    return worst, value_up, value_down, place_up, place_down


def steepest_star_quotient(grid: NDArray[Any], weights: NDArray[np.float64]) -> float:
    """max over fibres ``grid[o, :, i]`` and i ≠ j of |v_i − v_j|/(w_i + w_j), *rounded up*.

    Args: ``grid`` C-contiguous, int64 below 2⁵² in magnitude or finite float64; ``weights`` positive.
    Guarantee: never below the exact quotient; above it by a relative 2⁻⁵² and 2⁻⁹⁴·(reach/range)·(largest
    weight/smallest), where reach is the range itself for integers and the largest magnitude for floats.
    """
    values, scale = _of_order_one(grid)
    slope = 0.0
    while True:
        excess, up, down, first, second = _worst(values, weights, slope)
        if up <= down:
            break
        quotient = (Fraction(up) - Fraction(down)) / (Fraction(weights[first]) + Fraction(weights[second]))
        steeper = round_up(quotient)
        if steeper <= slope:
            break
        slope = steeper
    if slope == 0:
        return 0.0
    # A pair with slope·w above the range is no steeper whatever was rounded; the others' terms are below this.
    reach = float(np.abs(values).max() + 2 * np.ptp(values))
    certain = slope + (max(excess, 0.0) + reach * _ERROR + _TINY) / float(weights.min())
    return math.nextafter(certain, math.inf) * scale if certain > slope else slope * scale


def _of_order_one(grid: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    """The values over a power of two, integers counted from the smallest, so that they neither cancel nor overflow."""
    if grid.dtype.kind != "f":
        return (grid - grid.min()).astype(np.float64), 1.0
    exponent = int(np.frexp(np.max(np.abs(grid), initial=0.0))[1])
    exponent = min(max(exponent, -1000), 1000)
    return np.ascontiguousarray(np.ldexp(grid, -exponent)), 2.0**exponent
