"""The Lipschitz constant of one map: one reduction per attribute, whatever the number of records."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import NUMBER, array_of, require
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.groups import GroupedMetric
from dxgeom.metrics.combinations.largest_change import MaxMetric
from dxgeom.metrics.combinations.one_more import OneMoreMetric
from dxgeom.metrics.combinations.presence import PresenceMetric
from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.families.line import LineMetric
from dxgeom.metrics.families.partition import PartitionMetric
from dxgeom.metrics.families.points import PointsMetric
from dxgeom.metrics.families.star import StarMetric
from dxgeom.metrics.families.values import ValueSensitivityMetric
from dxgeom.metrics.kernels.axis_reductions import (
    largest_changes,
    largest_changes_from_earlier,
    largest_range,
    largest_steps,
)
from dxgeom.metrics.kernels.dual_tree import steepest_quotient
from dxgeom.metrics.kernels.star_quotient import steepest_star_quotient
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.operations.near_places import TREE_FROM, separation_of
from dxgeom.metrics.operations.restriction import without_idle_attributes
from dxgeom.numeric.rounding import quotient_round_up, round_down

COMPARISON_LIMIT = 100_000_000_000
"""More comparisons than this would take several minutes."""
_INTEGERS_BELOW = 2**52
_ROUNDING_OF_A_PRODUCT = 2.0**-51


def lipschitz(metric: VerifiedMetric | Metric, values: ArrayLike, tolerance: float = 0.0) -> float:
    """The Lipschitz constant max |v_i − v_j| / d(i, j) of one map (N,), *rounded up*.

    It is the smallest scale of Laplace noise that hides the map's value for one record under d.

    0 when the map never changes along a generating pair; ∞ when it separates records at distance 0.

    Args: ``values``: integers below 2⁵² in magnitude, whose differences are exact; or finite float64, whose differences
    are rounded up by one unit in the last place. The quotient is rounded up once more either way.
    ``tolerance``: how much too large, relatively, the result for places may be; 1e-9 saves time on near-linear maps.
    Guarantee: not below the exact constant for the metric's bounds; above it by a relative 2⁻⁵⁰ at most. From 3000
    places on, which are not compared pair by pair, their distances are lowered by another relative 2·10⁻¹⁴ first.
    Raises: TooLarge for wider integers, or beyond the stated number of comparisons.
    """
    require(metric, (VerifiedMetric, Metric), "metric", "compile a policy, or use dx.verify_metric(matrix)")
    require(tolerance, NUMBER, "tolerance", "leave it out, for the constant itself")
    if not 0 <= tolerance <= 1:
        raise UnsupportedCombination(f"a tolerance lies between 0 and 1, found {tolerance}")
    bare = metric.metric if isinstance(metric, VerifiedMetric) else metric
    rows = _checked(bare, array_of(values, "values", "give one number for each record type"))[None, :]
    fewer, rows = without_idle_attributes(bare, rows)
    return _along(fewer, np.ascontiguousarray(rows).reshape(1, -1, 1), tolerance)


def _along(metric: Metric, grid: NDArray[Any], tolerance: float) -> float:
    """The constant of the steepest fibre ``grid[o, :, i]``, each a map on the metric's records."""
    match metric:
        case DiscreteMetric(epsilon=epsilon):
            return _over_one(largest_range(grid), epsilon)
        case CapMetric(inner=inner, epsilon=epsilon):
            ceiling = DiscreteMetric(inner.size, epsilon)
            return max(_along(inner, grid, tolerance), _along(ceiling, grid, tolerance))
        case OneMoreMetric(inner=inner, epsilon=None):
            return _along(inner, np.ascontiguousarray(grid[:, :-1]), tolerance)
        case PresenceMetric(inner=inner, epsilon=epsilon) | OneMoreMetric(inner=inner, epsilon=Fraction() as epsilon):
            present = np.ascontiguousarray(grid[:, :-1])
            gone = np.max(np.abs(present - grid[:, -1:]))
            return max(_along(inner, present, tolerance), _over_one(gone, epsilon))
        case SumMetric(parts=parts):
            return max(_along(part, metric.grid_along(grid, k), tolerance) for k, part in enumerate(parts))
        case GroupedMetric(parts=parts, groups=groups):
            by_groups = (_over_one(_widest(grid, metric, group.places), group.epsilon) for group in groups)
            return max([_along(SumMetric(parts), grid, tolerance), *by_groups])
        case PartitionMetric(blocks=blocks, epsilon=epsilon):
            return _over_one(_widest_block(grid, blocks), epsilon)
        case MaxMetric(step=Fraction() as step):
            return _over_one(_widest_cube(grid, metric), step)
        case LineMetric():
            return _steepest(largest_steps(grid), metric.gaps)
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


def _widest(grid: NDArray[Any], metric: GroupedMetric, places: tuple[int, ...]) -> Any:
    """The largest difference between two records that differ in these parts only."""
    axes = tuple(place + 1 for place in places)
    laid_out = grid.reshape(len(grid), *metric.shape, -1)
    return (laid_out.max(axis=axes) - laid_out.min(axis=axes)).max()


def _widest_block(grid: NDArray[Any], blocks: NDArray[np.int64]) -> Any:
    """The largest difference between two values of one block."""
    order = np.argsort(blocks, kind="stable")
    starts = np.flatnonzero(np.diff(blocks[order], prepend=blocks[order[0]] - 1))
    by_block = grid[:, order]
    return (np.maximum.reduceat(by_block, starts, axis=1) - np.minimum.reduceat(by_block, starts, axis=1)).max()


def _widest_cube(grid: NDArray[Any], metric: MaxMetric) -> Any:
    """The largest difference of neighbours, whose codes all differ by at most one: both lie in one cube of side 1."""
    high = low = grid.reshape(len(grid), *metric.shape, -1)
    for axis, size in enumerate(metric.shape, start=1):
        if size > 1:
            one, other = ((slice(None),) * axis + (slice(start, size - 1 + start),) for start in (0, 1))
            high, low = np.maximum(high[one], high[other]), np.minimum(low[one], low[other])
    return (high - low).max()


def _by_value(metric: ValueSensitivityMetric, grid: NDArray[Any]) -> float:
    """In falling order of ε the bound of a value and any earlier one is the same: that of the later value."""
    falling = sorted(range(metric.size), key=lambda value: -metric.epsilons[value])
    order = np.array(falling, dtype=np.int64)
    return _steepest(largest_changes_from_earlier(grid, order)[1:], metric.distance(order[0], order[1:]))


def _by_tree(metric: PointsMetric, grid: NDArray[Any], tolerance: float) -> float:
    points, separation = separation_of(metric)
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


def _over_one(change: Any, epsilon: Fraction) -> float:
    return _steepest(np.array([change]), np.array([round_down(epsilon)]))


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
