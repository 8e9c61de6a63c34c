"""How far apart records are, at least and at most, and how much a workload can change at most.

Upper distances are paths along the bounds that mechanisms hide, never shorter than they are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations import (
    CapMetric,
    GroupedMetric,
    MaxMetric,
    OneMoreMetric,
    PresenceMetric,
    ReorderedMetric,
    SumMetric,
)
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric, StarMetric, ValueSensitivityMetric
from dxgeom.metrics.generating_pairs import classes_of_records, kinds_of_elements, refuse_cells
from dxgeom.metrics.metric import Metric, PairBlock, all_pairs, gathered, pairs_at_a_finite_distance
from dxgeom.metrics.near_places import TREE_FROM, nearest_at_all
from dxgeom.metrics.points import PointsMetric
from dxgeom.numeric.arrays import distinct_rows
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, round_down
from dxgeom.numeric.shortest_paths import distances_from, edge_graph
from dxgeom.universe.weight_table import WeightTable
from dxgeom.universe.weight_tables import WeightTables

_SIGN_PATTERN_LIMIT = 12
_PAIR_LIMIT = 200_000_000
_LISTED_QUERIES = 64
_SMALL_TABLE = 1 << 16
_LAID_OUT = 40_000_000
"""More weights of kinds of records are not laid out, nor are pairs of them compared."""


def smallest_distance(metric: Metric) -> float:
    """The smallest positive distance between two records, *rounded down*; ∞ when nothing is protected.

    A shortest path of positive length has a positive step, so the smallest positive generating bound it is.
    """
    match metric:
        case DiscreteMetric(count=count, epsilon=epsilon):
            return round_down(epsilon) if count > 1 else np.inf
        case StarMetric():
            nearest = np.argsort(metric.rounded, kind="stable")[:2]
            return float(metric.distance(*nearest)) if metric.size > 1 else np.inf
        case SumMetric(parts=parts):
            return min(smallest_distance(part) for part in parts)
        case GroupedMetric(parts=parts, groups=groups):
            wide = [group.epsilon for group in groups if any(parts[place].size > 1 for place in group.places)]
            return min(smallest_distance(SumMetric(parts)), *map(round_down, wide), np.inf)
        case PartitionMetric(epsilon=epsilon):
            return round_down(epsilon) if metric.components()[0] < metric.size else np.inf
        case MaxMetric(step=Fraction() as step):
            return round_down(step)
        case MaxMetric(parts=parts):
            # No pair is nearer than in a part where it moves, and one that moves there alone is as near.
            return min(map(_smallest_of_all_pairs, parts))
        case ReorderedMetric(inner=inner):
            return smallest_distance(inner)
        case OneMoreMetric(inner=inner, epsilon=None):
            return smallest_distance(inner)
        case PresenceMetric(inner=inner, epsilon=epsilon) | OneMoreMetric(inner=inner, epsilon=Fraction() as epsilon):
            return min(smallest_distance(inner), round_down(epsilon))
        case CapMetric(inner=inner, epsilon=epsilon):
            return min(smallest_distance(inner), round_down(epsilon)) if inner.size > 1 else np.inf
        case PointsMetric() if metric.size >= TREE_FROM and (least := nearest_at_all(metric)) > 0:
            return least
        case _:
            return _smallest_positive(metric.generating_pairs())


def _smallest_of_all_pairs(part: Metric) -> float:
    return _smallest_positive(pairs_at_a_finite_distance(part))


def _smallest_positive(blocks: Iterable[PairBlock]) -> float:
    positive = (pairs.bound[pairs.bound > 0] for pairs in blocks)
    return min((float(np.min(bounds, initial=np.inf)) for bounds in positive), default=np.inf)


def closed_form(metric: Metric) -> tuple[float | None, float | None]:
    """The largest distance and the smallest above 0, without looking at pairs; None where that is not known."""
    match metric:
        case CapMetric(inner=inner, epsilon=epsilon):
            diameter, smallest = closed_form(inner)
            ceiling = round_down(epsilon)
            return (None if diameter is None else min(diameter, ceiling)), (
                None if smallest is None else min(smallest, ceiling)
            )
        case OneMoreMetric(inner=inner, epsilon=Fraction() as epsilon):
            diameter, smallest = closed_form(inner)
            away = round_down(epsilon)
            return (None if diameter is None else max(away, min(diameter, 2 * away))), (
                None if smallest is None else min(smallest, away)
            )
        case DiscreteMetric(epsilon=epsilon):
            return round_down(epsilon), round_down(epsilon)
        case LineMetric(positions=positions, rate=rate):
            gap = min(high - low for low, high in pairwise(positions))
            return round_down(rate * (positions[-1] - positions[0])), round_down(rate * gap)
        case ValueSensitivityMetric(epsilons=epsilons):
            second = sorted(epsilons)[-2]
            return round_down(min(second, 2 * min(epsilons))), round_down(min(epsilons))
        case StarMetric(epsilons=epsilons):
            ordered = sorted(epsilons)
            return round_down(ordered[-1] + ordered[-2]), round_down(ordered[0] + ordered[1])
        case _:
            return None, None


def l1_diameter(values: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    """max over all pairs of Σ_k weights[k]·|values[k, i] − values[k, j]|, *rounded up*.

    Exact up to rounding: that of the two longest columns where they have no row in common, as two cells of a table;
    else by the 2^(K−1) sign patterns for few rows or by pairs of distinct columns; where both are too many, the sum of
    the rows' ranges or of the two longest columns, which are never smaller.
    """
    columns, _ = distinct_rows(values.T)
    points = columns * weights
    rows, lengths = len(weights), np.abs(points).sum(axis=1)
    longest = np.argsort(lengths)[-2:]
    two_longest, one, other = float(lengths[longest].sum()), points[longest[0]], points[longest[-1]]
    if float(np.abs(one - other).sum()) == two_longest:
        widest = two_longest
    elif rows <= _SIGN_PATTERN_LIMIT:
        patterns = itertools.product([1.0, -1.0], repeat=rows - 1)
        widest = max(float(np.ptp(points @ np.array([1.0, *pattern]))) for pattern in patterns)
    elif len(columns) * (len(columns) - 1) // 2 * rows <= _PAIR_LIMIT:
        widest = max(
            float(np.abs(points[first] - points[second]).sum(axis=1).max()) for first, second in all_pairs(len(columns))
        )
    else:
        widest = min(float(np.ptp(points, axis=0).sum()), two_longest)
    return widest + 4 * (rows + 4) * UNIT_ROUNDOFF * (widest + float(lengths.max()))


def l1_diameter_of_tables(tables: WeightTables, weights: NDArray[np.float64]) -> float:
    """The same for queries given as tables: exact where the kinds of records that they tell apart can be listed;
    else the sum over the tables, which is never smaller."""
    if tables.is_matrix:
        return l1_diameter(tables.matrix(), weights)
    try:
        if tables.absent:
            if tables.count * math.prod(int(own.max()) + 1 for own in tables.shared[1]) > _LAID_OUT:
                return _longest_two(tables, weights)
            return l1_diameter(kinds_of_elements(tables)[0].T, weights)
        if tables.count <= _LISTED_QUERIES:
            return l1_diameter(classes_of_records(tables), weights)
    except TooLarge:
        pass
    each = (_l1_diameter_of_table(table, weights[table.queries], tables.absent) for table in tables.tables)
    return math.nextafter(math.fsum(each), math.inf)


def _longest_two(tables: WeightTables, weights: NDArray[np.float64]) -> float:
    """As :func:`l1_diameter` of as many kinds of records, without laying them out: the sum of the queries' ranges or of
    the two longest columns, *rounded up*; there is one of zeros.

    Raises: TooLarge.
    """
    axes, shared = tables.shared
    shape = [int(own.max()) + 1 for own in shared]
    refuse_cells(math.prod(shape))
    lengths = np.zeros(shape)
    for table in tables.tables:
        own = (weights[table.queries] @ np.abs(table.flat)).reshape(table.shape)
        for place, axis in enumerate(table.axes):
            own = own.take(tables.class_in(table, axis), axis=place)
        lengths += own.reshape([shape[place] if axis in table.axes else 1 for place, axis in enumerate(axes)])
    low, high = tables.extremes
    ranges = float(weights @ (high - low))
    return min(float(np.sort(lengths, axis=None)[-2:].sum()), ranges) * (1 + 4 * (len(weights) + 4) * UNIT_ROUNDOFF)


def _l1_diameter_of_table(table: WeightTable, weights: NDArray[np.float64], absent: bool) -> float:
    """Where a table is large, the sum of its queries' ranges or of its two longest columns, *rounded up*; ``absent``:
    with a column of zeros besides."""
    nobody = np.zeros((len(weights), int(absent)), dtype=np.int64)
    if table.flat.size <= _SMALL_TABLE:
        return l1_diameter(np.concatenate([table.flat, nobody], axis=1), weights)
    lengths = np.zeros(table.flat.shape[1])
    for row, weight in zip(table.flat, weights, strict=True):
        lengths += weight * np.abs(row)
    low, high = table.extremes
    ranges = float(weights @ (np.maximum(high, 0) - np.minimum(low, 0) if absent else high - low))
    return min(float(np.sort(lengths)[-2:].sum()), ranges) * (1 + 4 * (len(weights) + 4) * UNIT_ROUNDOFF)


MOST_PAIRS = 5_000_000


def path_lengths(metric: Metric, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """(S, E): the shortest path from each start to each end over the generating pairs' float bounds, *rounded up*.

    What every mechanism here bounds is the loss along these very pairs; :meth:`Metric.distance` is rounded down, and so
    may state a little less than their sum.
    Raises: TooLarge when a metric that is no sum has more than five million generating pairs.
    """
    if isinstance(metric, SumMetric):
        shape = metric.shape
        lengths = np.zeros((len(starts), len(ends)))
        for part, i, j in zip(
            metric.parts, np.unravel_index(starts, shape), np.unravel_index(ends, shape), strict=True
        ):
            lengths = (lengths + _between_codes(part, i, j)) * (1 + 2 * UNIT_ROUNDOFF)
        return lengths
    refusal = f"paths are sought over at most {MOST_PAIRS:,} generating pairs"
    pairs = gathered(metric.generating_pairs(), MOST_PAIRS, refusal)
    lengths = distances_from(edge_graph(metric.size, *pairs), starts)[:, ends]
    return np.asarray(lengths * (1 + (metric.size + 4) * 2 * UNIT_ROUNDOFF))


def _between_codes(part: Metric, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
    """Codes repeat among records, so each is looked up once."""
    starts, from_start = np.unique(i, return_inverse=True)
    ends, from_end = np.unique(j, return_inverse=True)
    return path_lengths(part, starts, ends)[np.ix_(from_start, from_end)]
