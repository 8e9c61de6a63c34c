"""The differences of a map along a metric's generating pairs: all that sensitivity depends on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnboundedLoss
from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.groups import GroupedMetric
from dxgeom.metrics.combinations.one_more import OneMoreMetric
from dxgeom.metrics.combinations.presence import PresenceMetric
from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.families.axis_pairs import axis_labels, pairs_within_sets
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.families.partition import PartitionMetric
from dxgeom.metrics.families.star import StarMetric, pairs_of_classes
from dxgeom.metrics.metric import PAIRS_PER_BLOCK, Metric, PairBlock, all_pairs
from dxgeom.metrics.operations.pair_classes import PairClasses, pair_classes_of, refuse_cells, refuse_pairs
from dxgeom.metrics.operations.restriction import without_idle_attributes
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.rows import distinct_rows, joined_kinds, kinds_of_rows, least_by_row
from dxgeom.universe.weight_tables import WeightTables

DISTINCT_LIMIT = 5_000_000
"""More distinct differences than this are refused rather than swallowing all memory."""
ENTRY_LIMIT = 300_000_000
"""Differences of many queries are refused earlier: all of them together have at most so many entries."""

ENTRIES_PER_BLOCK = 1 << 22
WORK_LIMIT = 2_000_000_000
"""More entries than this are not even compared."""
SEPARATES_THE_SAME = (
    "some query separates records at distance 0, which the policy says are one and the same; "
    "no finite noise hides that: let the query treat them alike, or give the pair a positive epsilon"
)

Differences: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]


def generating_differences(metric: Metric, values: NDArray[np.int64]) -> Differences:
    """Distinct ``values[:, i] − values[:, j]`` over generating pairs, each with its smallest bound.

    Args: ``values`` (K, N), integers below 2⁵² in magnitude.
    Returns: differences (E, K) with first non-zero entry positive (a norm does not see the sign), bounds (E,)
    rounded down. Zero differences are left out.
    Guarantee: *exact* differences; every generating pair is represented by a row with a bound not above its own.
    Raises: UnboundedLoss when a pair at distance 0 has a difference; TooLarge beyond the stated limits.
    """
    _refuse_wide(values)
    return _collected(_of_matrix(metric, values), len(values))


def differences_of_tables(metric: Metric, tables: WeightTables) -> Differences:
    """The same for queries given as tables: only the classes of records that they tell apart are ever listed.

    Raises: UnboundedLoss, TooLarge.
    """
    if tables.is_matrix:
        return generating_differences(metric, tables.matrix())
    return _collected(_of_moves(pair_classes_of(metric, tables), tables.count), tables.count)


def _collected(blocks: Iterator[Differences], queries: int) -> Differences:
    rows, bounds = np.empty((0, queries), dtype=np.int64), np.empty(0)
    for block_rows, block_bounds in blocks:
        fresh_rows, fresh_bounds = _without_sign_and_zero(block_rows, block_bounds)
        rows, bounds = least_by_row(np.concatenate([rows, fresh_rows]), np.concatenate([bounds, fresh_bounds]))
        if len(rows) > DISTINCT_LIMIT or rows.size > ENTRY_LIMIT:
            raise TooLarge(
                f"the queries have more than {min(DISTINCT_LIMIT, ENTRY_LIMIT // queries):,} distinct differences "
                "between generating pairs; ask fewer queries at once, or coarsen the universe"
            )
    if np.any(bounds == 0):
        raise UnboundedLoss(SEPARATES_THE_SAME)
    return rows, bounds


def _of_matrix(metric: Metric, values: NDArray[np.int64]) -> Iterator[Differences]:
    metric, values = without_idle_attributes(metric, values)
    columns, which = distinct_rows(values.T)
    for first, second, bounds in _blocks(metric, which):
        one, other, bounds = _least_by_pair(first, second, bounds, len(columns))
        yield columns[one] - columns[other], bounds


def _of_moves(blocks: Iterable[PairClasses], queries: int) -> Iterator[Differences]:
    """Each move in each different surrounding: the classes of the attributes that it leaves alone."""
    for moves in blocks:
        axes, shape, places = _surroundings(moves)
        refuse_pairs(moves.bounds.size * len(places))
        if moves.bounds.size * len(places) * queries > WORK_LIMIT:
            raise TooLarge("the differences of so many queries are not listed one by one; ask fewer at once")
        codes = dict(zip(axes, np.unravel_index(places, shape) if axes else (), strict=True))
        step = max(1, ENTRIES_PER_BLOCK // (queries * len(places)))
        for start in range(0, moves.bounds.size, step):
            here = slice(start, start + step)
            rows = _rows(moves, moves.first[here], codes, queries) - _rows(moves, moves.second[here], codes, queries)
            yield rows.reshape(-1, queries), np.repeat(moves.bounds[here], len(places))


def _surroundings(moves: PairClasses) -> tuple[tuple[int, ...], tuple[int, ...], NDArray[np.int64]]:
    """The attributes that moves leave alone and some table looks at, their numbers of classes, and one cell of each
    kind."""
    size = {
        axis: length for table in moves.tables for axis, length in zip(table.axes, table.weights.shape[1:], strict=True)
    }
    axes = tuple(axis for axis in sorted(size) if axis not in moves.axes)
    shape = tuple(size[axis] for axis in axes)
    refuse_cells(math.prod(shape))
    everywhere = np.arange(math.prod(moves.shape))
    kinds = np.zeros((1,) * len(axes), dtype=np.int64)
    for table in moves.tables:
        seen = np.moveaxis(moves.columns(table, everywhere), 0, -1)
        sizes = [size[axis] if axis in table.axes else 1 for axis in axes]
        _, own = kinds_of_rows(np.ascontiguousarray(seen).reshape(math.prod(sizes), -1))
        kinds = joined_kinds(kinds, own.reshape(sizes))
    first, _ = kinds_of_rows(np.broadcast_to(kinds, shape).reshape(-1, 1))
    return axes, shape, first


def _rows(
    moves: PairClasses, cells: NDArray[np.int64], codes: dict[int, NDArray[np.int64]], queries: int
) -> NDArray[np.int64]:
    """(cells, surroundings, queries): the weights of every query there; 0 for those that do not see the move."""
    surroundings = max((len(own) for own in codes.values()), default=1)
    rows = np.zeros((len(cells), surroundings, queries), dtype=np.int64)
    for table in moves.tables:
        seen = moves.columns(table, cells)
        beside = tuple(codes[axis] for axis in moves.others(table))
        rows[:, :, table.queries] = seen[np.index_exp[:] + beside] if beside else seen[:, None]
    return rows


def _blocks(metric: Metric, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """Generating pairs as pairs of *distinct columns* of the values; ``which`` (N,) tells the column of each record."""
    match metric:
        case DiscreteMetric(epsilon=epsilon):
            yield from _all_columns(which, round_down(epsilon))
        case CapMetric(inner=inner, epsilon=epsilon):
            # Where the inner bound is above the ceiling, the same difference comes again with the ceiling.
            yield from _blocks(inner, which)
            yield from _all_columns(which, round_down(epsilon))
        case PresenceMetric(inner=inner, epsilon=epsilon):
            for pairs in _blocks(inner, which[:-1]):
                nearer = metric.nearer_than_through_absence(pairs.bound)
                yield PairBlock(pairs.first[nearer], pairs.second[nearer], pairs.bound[nearer])
            columns = _occurring(which[:-1])
            yield PairBlock(columns, np.full_like(columns, which[-1]), np.full(columns.size, round_down(epsilon)))
        case OneMoreMetric(inner=inner, epsilon=far):
            yield from map(metric.nearer, _blocks(inner, which[:-1]))
            if far is not None:
                columns = _occurring(which[:-1])
                yield PairBlock(columns, np.full_like(columns, which[-1]), np.full(columns.size, round_down(far)))
        case SumMetric():
            for axis in range(len(metric.parts)):
                yield from _along_axis(metric, axis, which)
        case GroupedMetric(parts=parts, groups=groups):
            yield from _blocks(SumMetric(parts), which)
            for group in groups:
                yield from _within_sets(axis_labels(metric.shape, group.places), which, round_down(group.epsilon))
        case PartitionMetric(blocks=blocks, epsilon=epsilon):
            yield from _within_sets(blocks, which, round_down(epsilon))
        case StarMetric():
            count = _occurring(which).size
            refuse_pairs(count * (count - 1) // 2)
            yield from pairs_of_classes(metric, which)
        case _:
            for pairs in metric.generating_pairs():
                yield PairBlock(which[pairs.first], which[pairs.second], pairs.bound)


def _occurring(which: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct entries, increasing; they are few, so nothing is sorted."""
    occurs = np.zeros(int(which.max()) + 1, dtype=np.bool_)
    occurs[which] = True
    return np.flatnonzero(occurs)


def _all_columns(which: NDArray[np.int64], bound: float) -> Iterator[PairBlock]:
    """Every pair of distinct columns."""
    columns = _occurring(which)
    count = columns.size
    refuse_pairs(count * (count - 1) // 2)
    for first, second in all_pairs(count):
        yield PairBlock(columns[first], columns[second], np.full(first.size, bound))


def _within_sets(labels: NDArray[np.int64], which: NDArray[np.int64], bound: float) -> Iterator[PairBlock]:
    """Every pair of distinct columns that occur under one label."""
    seen = 0
    for first, second in pairs_within_sets(labels, which):
        seen += first.size
        refuse_pairs(seen)
        yield PairBlock(first, second, np.full(first.size, bound))


def _along_axis(metric: SumMetric, axis: int, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """Along one code of a product: the part's pairs, on each *distinct* fibre of the values."""
    part = metric.parts[axis]
    grid = which.reshape(math.prod(metric.shape[:axis]), part.size, -1)
    fibres, _ = distinct_rows(grid.transpose(0, 2, 1).reshape(-1, part.size))
    if isinstance(part, StarMetric) and part.size > len(fibres):
        for fibre in fibres:
            yield from pairs_of_classes(part, fibre)
        return
    seen = 0
    for pairs in part.generating_pairs():
        seen += len(fibres) * pairs.bound.size
        refuse_pairs(seen)
        rows = max(1, PAIRS_PER_BLOCK // max(pairs.bound.size, 1))
        for start in range(0, len(fibres), rows):
            here = fibres[start : start + rows]
            first, second = here[:, pairs.first].ravel(), here[:, pairs.second].ravel()
            yield PairBlock(first, second, np.tile(pairs.bound, len(here)))


def _least_by_pair(
    first: NDArray[np.int64], second: NDArray[np.int64], bounds: NDArray[np.float64], count: int
) -> PairBlock:
    """Each unordered pair of different columns once, with the smallest of its bounds."""
    apart = first != second
    low, high = np.minimum(first, second)[apart], np.maximum(first, second)[apart]
    pairs, least = least_by_row((low * count + high)[:, None], bounds[apart])
    return PairBlock(pairs[:, 0] // count, pairs[:, 0] % count, least)


def _refuse_wide(values: NDArray[np.int64]) -> None:
    if values.size and (values.max() >= 2**52 or values.min() <= -(2**52)):
        raise TooLarge("integer values must stay below 2**52 in magnitude, so that their differences are exact")


def _without_sign_and_zero(rows: NDArray[np.int64], bounds: NDArray[np.float64]) -> Differences:
    moved = np.any(rows != 0, axis=1)
    rows, bounds = rows[moved], bounds[moved]
    leading = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)] if len(rows) else np.empty(0)
    return rows * np.where(leading < 0, -1, 1)[:, None], bounds
