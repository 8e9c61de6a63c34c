"""The Lipschitz constant of one map: one reduction per attribute, whatever the number of records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.metrics.cap import CapMetric
from dxgeom.metrics.discrete import DiscreteMetric
from dxgeom.metrics.distances import EARTH_RADIUS_KM, absolute_error, on_the_unit_sphere
from dxgeom.metrics.line import LineMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.presence import PresenceMetric
from dxgeom.metrics.product import SumMetric
from dxgeom.metrics.restriction import without_idle_attributes
from dxgeom.metrics.star import StarMetric
from dxgeom.metrics.values import ValueSensitivityMetric
from dxgeom.numeric.dual_tree import Separation, steepest_quotient
from dxgeom.numeric.fibres import largest_changes, largest_changes_from_earlier, largest_range, largest_steps
from dxgeom.numeric.rounding import quotient_round_up, round_down
from dxgeom.numeric.star_quotient import steepest_star_quotient

COMPARISON_LIMIT = 100_000_000_000
"""More comparisons than this would take several minutes."""
TREE_FROM = 3000
"""Fewer places are compared pair by pair."""
_INTEGERS_BELOW = 2**52
_ROUNDING_OF_A_PRODUCT = 2.0**-51


def lipschitz(metric: Metric, values: NDArray[np.int64] | NDArray[np.float64], tolerance: float = 0.0) -> float:
    """The Lipschitz constant max |v_i − v_j| / d(i, j) of one map (N,), *rounded up*.

    0 when the map never changes along a generating pair; ∞ when it separates records at distance 0.

    Args: ``values``: integers below 2⁵² in magnitude, whose differences are exact; or finite float64, whose differences
    are rounded up by one unit in the last place. The quotient is rounded up once more either way.
    ``tolerance``: how much too large, relatively, the result for places may be; 1e-9 saves time on near-linear maps.
    Guarantee: not below the exact constant for the metric's bounds; above it by a relative 2⁻⁵⁰ at most. From 3000
    places on, which are not compared pair by pair, their distances are lowered by another relative 2·10⁻¹⁴ first.
    Raises: TooLarge for wider integers, or beyond the stated number of comparisons.
    """
    if not 0 <= tolerance <= 1:
        raise UnsupportedCombination(f"a tolerance lies between 0 and 1, found {tolerance}")
    rows = _checked(metric, values)[None, :]
    fewer, rows = without_idle_attributes(metric, rows)
    return _along(fewer, np.ascontiguousarray(rows).reshape(1, -1, 1), tolerance)


def _along(metric: Metric, grid: NDArray[Any], tolerance: float) -> float:
    """The constant of the steepest fibre ``grid[o, :, i]``, each a map on the metric's records."""
    match metric:
        case DiscreteMetric(epsilon=epsilon):
            return _steepest(np.array([largest_range(grid)]), np.array([round_down(epsilon)]))
        case CapMetric(inner=inner, epsilon=epsilon):
            ceiling = DiscreteMetric(inner.size, epsilon)
            return max(_along(inner, grid, tolerance), _along(ceiling, grid, tolerance))
        case PresenceMetric(inner=inner, epsilon=epsilon):
            present = np.ascontiguousarray(grid[:, :-1])
            gone = np.max(np.abs(present - grid[:, -1:]), keepdims=True).reshape(1)
            return max(_along(inner, present, tolerance), _steepest(gone, np.array([round_down(epsilon)])))
        case SumMetric(parts=parts):
            return max(_along(part, _regrouped(grid, metric, axis), tolerance) for axis, part in enumerate(parts))
        case LineMetric():
            bounds = [pairs.bound for pairs in metric.generating_pairs()]
            return _steepest(largest_steps(grid), np.concatenate([*bounds, np.empty(0)]))
        case ValueSensitivityMetric():
            return _by_value(metric, grid)
        case StarMetric(epsilons=epsilons) if len(epsilons) > 1:
            # A generating bound is a sum of two floats rounded down: below it by less than 3·2⁻⁵³.
            quotient = steepest_star_quotient(grid, metric.rounded)
            return math.nextafter(quotient * (1 + _ROUNDING_OF_A_PRODUCT), math.inf) if quotient else 0.0
        case PointsMetric(coordinates=coordinates) if metric.size >= TREE_FROM and coordinates.shape[1] <= 3:
            return _by_tree(metric, grid, tolerance)
        case _:
            return _pair_by_pair(metric, grid)


def _regrouped(grid: NDArray[Any], metric: SumMetric, axis: int) -> NDArray[Any]:
    before = len(grid) * math.prod(metric.shape[:axis])
    return grid.reshape(before, metric.shape[axis], -1)


def _by_value(metric: ValueSensitivityMetric, grid: NDArray[Any]) -> float:
    """In falling order of ε the bound of a value and any earlier one is the same: that of the later value."""
    falling = sorted(range(metric.size), key=lambda value: -metric.epsilons[value])
    order = np.array(falling, dtype=np.int64)
    return _steepest(largest_changes_from_earlier(grid, order)[1:], metric.distance(order[0], order[1:]))


def _by_tree(metric: PointsMetric, grid: NDArray[Any], tolerance: float) -> float:
    points, radius = metric.coordinates, 0.0
    if metric.geometry == "great circle":
        points, radius = on_the_unit_sphere(points), EARTH_RADIUS_KM
    error = absolute_error(metric.coordinates, metric.geometry)
    rate = round_down(metric.rate) * (1 - _ROUNDING_OF_A_PRODUCT)
    separation = Separation(rate, round_down(metric.floor), error, radius)
    fibres = grid.transpose(0, 2, 1).reshape(-1, metric.size).astype(np.float64)
    return max(steepest_quotient(points, fibre, separation, tolerance) for fibre in fibres)


def _pair_by_pair(metric: Metric, grid: NDArray[Any]) -> float:
    largest, seen, fibres = 0.0, 0, grid.size // metric.size
    for pairs in metric.generating_pairs():
        seen += fibres * pairs.bound.size
        if seen > COMPARISON_LIMIT:
            raise TooLarge(
                f"more than {COMPARISON_LIMIT:,} comparisons would be needed for the Lipschitz constant; "
                "let the map depend on fewer attributes, or coarsen the universe"
            )
        changes = largest_changes(grid, pairs.first.astype(np.int64), pairs.second.astype(np.int64))
        largest = max(largest, _steepest(changes, pairs.bound))
    return largest


def _steepest(changes: NDArray[Any], bounds: NDArray[np.float64]) -> float:
    """max changes/bounds, *rounded up*; differences of floats were rounded to nearest before."""
    heights = changes.astype(np.float64)
    if changes.dtype.kind == "f":
        heights = np.where(heights == 0, 0.0, np.nextafter(heights, np.inf))
    return float(np.max(quotient_round_up(heights, bounds), initial=0.0))


def _checked(metric: Metric, values: NDArray[Any]) -> NDArray[Any]:
    if values.shape != (metric.size,):
        raise UnsupportedCombination(
            f"a map has one number per record type, {metric.size:,} here; found shape {values.shape}"
        )
    if values.dtype.kind not in "iuf":
        raise UnsupportedCombination(f"a map's values are integers or float64, found {values.dtype}")
    low, high = values.min(), values.max()
    if values.dtype.kind == "f":
        if not (np.isfinite(low) and np.isfinite(high)):
            raise UnsupportedCombination("a map's values are finite numbers")
        return values.astype(np.float64, copy=False)
    if high >= _INTEGERS_BELOW or low <= -_INTEGERS_BELOW:
        raise TooLarge("integer values must stay below 2**52 in magnitude, so that their differences are exact")
    return values.astype(np.int64, copy=False)
