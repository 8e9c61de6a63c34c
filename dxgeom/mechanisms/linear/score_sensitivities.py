"""How fast linear scores change with the metric: all that selection has to know of them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnboundedLoss
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.restriction import without_idle_attributes
from dxgeom.numeric.rounding import quotient_round_up
from dxgeom.universe.queries import LinearQueries

LARGEST_WEIGHT = 2**50
"""Weights over a common unit stay below this, so that differences of differences are exact in float64."""
COMPARISON_LIMIT = 2_000_000_000
"""Beyond so many differences the range is bounded by twice the sensitivity instead: a quarter of a minute."""


def common_unit(queries: LinearQueries) -> tuple[NDArray[np.int64], Fraction]:
    """The coarsest unit that all queries share, and (K,) how many of it each query's own unit is; *exact*.

    Raises: TooLarge when weights in that unit need 2⁵⁰ or more.
    """
    unit = reduce(_common, queries.units)
    factors = [query_unit / unit for query_unit in queries.units]
    low, high = queries.tables.extremes
    widths = np.maximum(np.abs(low), np.abs(high)).tolist()
    if max(int(factor) * width for factor, width in zip(factors, widths, strict=True)) >= LARGEST_WEIGHT:
        raise TooLarge("over one common unit the weights of all queries stay below 2**50: round them to fewer digits")
    # A row of zeros is one in any unit, and its factor may pass 64 bits.
    whole = [int(factor) if width else 1 for factor, width in zip(factors, widths, strict=True)]
    return np.array(whole, dtype=np.int64), unit


def over_common_unit(queries: LinearQueries) -> tuple[NDArray[np.int64], Fraction]:
    """The same weights (K, N) as integers over :func:`common_unit`; *exact*.

    Raises: TooLarge as there, and when there are too many weights.
    """
    factors, unit = common_unit(queries)
    return queries.numerators * factors[:, None], unit


def query_sensitivities(metric: Metric, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """(K,): max |rows[k, i] − rows[k, j]|/d(i, j) over generating pairs, *rounded up*.

    Raises: UnboundedLoss when a row separates records at distance 0.
    """
    return _finite(np.array([lipschitz(metric, row) for row in rows]))


def range_sensitivity(metric: Metric, rows: NDArray[np.int64]) -> float:
    """max over generating pairs of (max_k Δ_k − min_k Δ_k)/d(i, j) with Δ_k = rows[k, i] − rows[k, j], *rounded up*.

    It is at most twice the largest sensitivity of a row, and equal to it when all rows move the same way. The range of
    a vector is a seminorm, so generating pairs are enough.
    Guarantee: beyond the stated number of comparisons, twice the largest sensitivity of a row, which is never smaller.
    Raises: UnboundedLoss when the range is not 0 at distance 0.
    """
    fewer, values = without_idle_attributes(metric, rows)
    widest, compared = 0.0, 0
    for block in fewer.generating_pairs():
        compared += block.bound.size * len(values)
        if compared > COMPARISON_LIMIT:
            return 2 * float(query_sensitivities(metric, rows).max())
        highest = values[0, block.first] - values[0, block.second]
        lowest = highest.copy()
        for row in values[1:]:
            change = row[block.first] - row[block.second]
            np.maximum(highest, change, out=highest)
            np.minimum(lowest, change, out=lowest)
        ranges = quotient_round_up((highest - lowest).astype(np.float64), block.bound)
        widest = max(widest, float(np.max(ranges, initial=0.0)))
    return float(_finite(np.array([widest]))[0])


def _finite(constants: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.all(np.isfinite(constants)):
        raise UnboundedLoss("a score separates records at distance 0, so no selection by it can honour the metric")
    return constants


def _common(one: Fraction, other: Fraction) -> Fraction:
    """The largest unit of which both are multiples."""
    return Fraction(
        math.gcd(one.numerator * other.denominator, other.numerator * one.denominator),
        one.denominator * other.denominator,
    )
