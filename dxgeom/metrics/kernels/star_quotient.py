"""The largest (v_i − v_j)/(w_i + w_j) of values with weights, in a few linear passes instead of over all pairs.

For a slope s, the largest v_i − v_j − s·(w_i + w_j) separates: it is max(v_i − s·w_i) + max(−v_j − s·w_j). While it is
positive its two ends form a steeper quotient, which is the next slope (Dinkelbach 1967); i = j gives −2s·w_i, never
more than 0, so it need not be excluded. Products and differences are kept in two floats each, so that nothing cancels.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.kernels.axis_reductions import tiles
from dxgeom.numeric.rounding import round_up

_SPLITTER = 2.0**27 + 1
_ERROR = 2.0**-98
"""Each of the two ends is off by less than 2⁻¹⁰¹ of its terms, and so is their sum."""
_TINY = 2.0**-1000
"""What a term too small for float64 can have lost, once values are of the order of 1."""
_LARGEST = 2.0**500
"""Products of larger numbers could overflow: a larger weight is lowered to this, a larger slope counts as infinite."""

_SMALLEST_NORMAL = float(np.finfo(np.float64).smallest_normal)


class _Excess(NamedTuple):
    """value up − value down − slope·(their weights) in a fibre, at two of its places."""

    size: float
    up: float
    down: float
    first: int
    second: int


def _product(one: float, other: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """one·other as floats and their errors (Dekker)."""
    product = one * other
    high, low = _halves(np.float64(one))
    top, rest = _halves(other)
    return product, ((high * top - product) + high * rest + low * top) + low * rest


def _halves(number: Any) -> tuple[Any, Any]:
    raised = number * _SPLITTER
    high = raised - (raised - number)
    return high, number - high


def _sum(one: Any, other: Any) -> tuple[Any, Any]:
    """one + other as a float and its error (Knuth)."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


def _highest(
    values: NDArray[np.float64], lowered_by: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """For each fibre the largest value − slope·weight as a float and its error, and its place."""
    products, product_errors = lowered_by
    totals, errors = _sum(values, -products[:, None])
    totals, errors = _sum(totals, errors - product_errors[:, None])
    highest = totals.max(axis=1, keepdims=True)
    errors[totals != highest] = -np.inf
    places = errors.argmax(axis=1)
    return highest[:, 0], np.take_along_axis(errors, places[:, None], axis=1)[:, 0], places


def _worst(grid: NDArray[np.float64], weights: NDArray[np.float64], slope: float) -> _Excess:
    """The largest excess over all fibres ``grid[o, :, i]``, the two values and the two places behind it."""
    worst, lowered_by = _Excess(-np.inf, 0.0, 0.0, 0, 0), _product(slope, weights)
    for tile in tiles(grid):
        up, up_errors, first = _highest(tile, lowered_by)
        down, down_errors, second = _highest(-tile, lowered_by)
        totals, errors = _sum(up, down)
        excesses = totals + (errors + (up_errors + down_errors))
        o, i = np.unravel_index(int(excesses.argmax()), excesses.shape)
        if excesses[o, i] > worst.size:
            one, other = int(first[o, i]), int(second[o, i])
            worst = _Excess(float(excesses[o, i]), float(tile[o, one, i]), float(tile[o, other, i]), one, other)
    return worst


def steepest_star_quotient(grid: NDArray[Any], weights: NDArray[np.float64]) -> float:
    """max over fibres ``grid[o, :, i]`` and i ≠ j of |v_i − v_j|/(w_i + w_j), *rounded up*.

    Args: ``grid`` C-contiguous, int64 below 2⁵² in magnitude or finite float64; ``weights`` positive.
    Guarantee: never below the exact quotient; above it by a relative 2⁻⁵¹ and by 2⁻⁹⁵·reach/(smallest weight), where
    reach is the range of the whole grid for integers and its largest magnitude for floats.
    """
    values, scale = _of_order_one(grid)
    weights = np.minimum(weights, _LARGEST)
    slope = 0.0
    while True:
        worst = _worst(values, weights, slope)
        if worst.up <= worst.down:
            break
        together = Fraction(weights[worst.first]) + Fraction(weights[worst.second])
        steeper = round_up((Fraction(worst.up) - Fraction(worst.down)) / together)
        if steeper <= slope:
            break
        if steeper > _LARGEST:
            return math.inf
        slope = steeper
    if slope == 0:
        return 0.0
    # A pair with slope·w above the range is no steeper whatever was rounded; the others' terms are below this.
    reach = float(np.abs(values).max() + 2 * np.ptp(values))
    certain = slope + (max(worst.size, 0.0) + reach * _ERROR + _TINY) / float(weights.min())
    return _scaled_up(math.nextafter(certain, math.inf) if certain > slope else slope, scale)


def _scaled_up(number: float, scale: float) -> float:
    """number·scale for a power of two, *rounded up*; float64 has fewer digits below its normal numbers."""
    product = number * scale
    return product if product >= _SMALLEST_NORMAL else math.nextafter(product, math.inf)


def _of_order_one(grid: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    """The values over a power of two, integers counted from the smallest, so that they neither cancel nor overflow."""
    if grid.dtype.kind != "f":
        return (grid - grid.min()).astype(np.float64), 1.0
    exponent = int(np.frexp(np.max(np.abs(grid), initial=0.0))[1])
    exponent = min(max(exponent, -1000), 1000)
    return np.ascontiguousarray(np.ldexp(grid, -exponent)), 2.0**exponent
