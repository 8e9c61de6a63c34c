"""The generating pairs of a metric, between kinds of records that a map or a table of weights treats alike.

A pair of records that differ in some attributes only is the same to a table as any other pair with the same classes.
So pairs of *classes* are enough, and there are few of them even where there are millions of records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, final

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
from dxgeom.metrics.families import (
    DiscreteMetric,
    PartitionMetric,
    StarMetric,
    axis_labels,
    cells_moving_together,
    nearest_of_classes,
    pairs_of_classes,
    pairs_within_sets,
    refuse_pairs,
)
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.metric import NO_PAIRS, PAIRS_PER_BLOCK, Metric, PairBlock, all_pairs
from dxgeom.metrics.near_places import few_kinds, nearest_of_kinds
from dxgeom.metrics.points import PointsMetric
from dxgeom.numeric.arrays import distinct_rows, first_of_each_kind, kinds_of_rows, least_by_row
from dxgeom.numeric.rounding import round_down
from dxgeom.universe.weight_table import (
    MOST_WEIGHTS,
    WeightTable,
    on_shared_classes,
    refuse_too_many,
    shared_classes,
)
from dxgeom.universe.weight_tables import WeightTables

_ENTRIES_PER_BLOCK: Final = 1 << 20


class Kinds(NamedTuple):
    """``columns`` (R, K): int64, the weights of a record of each kind; pairs ``first``, ``second`` (E,) of these, with
    ``bounds`` (E,), rounded down."""

    columns: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    bounds: NDArray[np.float64]


def pairs_of_kinds(metric: Metric, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """The generating pairs of a metric as pairs of kinds of records; ``which`` (N,) tells the kind of each record.

    Of pairs that are the same here, some come once only, with their smallest bound.
    Raises: TooLarge.
    """
    match metric:
        case DiscreteMetric(epsilon=epsilon):
            yield from _all_kinds(which, round_down(epsilon))
        case CapMetric(inner=inner, epsilon=epsilon):
            # Where the inner bound is above the ceiling, the same difference comes again with the ceiling.
            yield from pairs_of_kinds(inner, which)
            yield from _all_kinds(which, round_down(epsilon))
        case PresenceMetric(inner=inner, epsilon=far) | OneMoreMetric(inner=inner, epsilon=far):
            yield from map(metric.nearer, pairs_of_kinds(inner, which[:-1]))
            if far is not None:
                kinds = _occurring(which[:-1])
                yield PairBlock(kinds, np.full_like(kinds, which[-1]), np.full(kinds.size, round_down(far)))
        case SumMetric():
            for axis in range(len(metric.parts)):
                yield from _along_axis(metric, axis, which)
        case GroupedMetric(parts=parts, groups=groups):
            yield from pairs_of_kinds(SumMetric(parts), which)
            for group in groups:
                yield from _within_sets(axis_labels(metric.shape, group.places), which, round_down(group.epsilon))
        case PartitionMetric(blocks=blocks, epsilon=epsilon):
            yield from _within_sets(blocks, which, round_down(epsilon))
        case StarMetric():
            count = _occurring(which).size
            refuse_pairs(count * (count - 1) // 2)
            yield from pairs_of_classes(metric, which)
        case PointsMetric() if few_kinds(metric, which):
            yield from nearest_of_kinds(metric, which)
        case _:
            for pairs in metric.generating_pairs():
                yield PairBlock(which[pairs.first], which[pairs.second], pairs.bound)


def _occurring(which: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct entries, increasing; they are few, so nothing is sorted."""
    occurs = np.zeros(int(which.max()) + 1, dtype=np.bool_)
    occurs[which] = True
    return np.flatnonzero(occurs)


def _all_kinds(which: NDArray[np.int64], bound: float) -> Iterator[PairBlock]:
    """Every pair of kinds that occur."""
    kinds = _occurring(which)
    count = kinds.size
    refuse_pairs(count * (count - 1) // 2)
    for first, second in all_pairs(count):
        yield PairBlock(kinds[first], kinds[second], np.full(first.size, bound))


def _within_sets(labels: NDArray[np.int64], which: NDArray[np.int64], bound: float) -> Iterator[PairBlock]:
    """Every pair of kinds that occur under one label."""
    seen = 0
    for first, second in pairs_within_sets(labels, which):
        seen += first.size
        refuse_pairs(seen)
        yield PairBlock(first, second, np.full(first.size, bound))


def _along_axis(metric: SumMetric, axis: int, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """Along one code of a product: the part's pairs, on each *distinct* fibre."""
    part = metric.parts[axis]
    grid = metric.grid_along(which[None, :, None], axis)
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


def least_by_pair(pairs: PairBlock) -> PairBlock:
    """Each unordered pair of different kinds once, with the smallest of its bounds."""
    apart = pairs.first != pairs.second
    low, high = np.minimum(pairs.first, pairs.second)[apart], np.maximum(pairs.first, pairs.second)[apart]
    distinct, least = least_by_row(np.stack([low, high], axis=1), pairs.bound[apart])
    return PairBlock(distinct[:, 0], distinct[:, 1], least)


def distinct(kinds: Kinds) -> Kinds:
    """One pair for each difference up to sign, that with the least bound, and none without a difference.

    Differences are told apart by a linear hash, of which all pairs of one value are then compared, exactly: where two
    that differ have the same hash, all of that hash stay.
    """
    columns, first, second, bounds = kinds
    odd = np.random.default_rng(0).integers(1, 2**63, columns.shape[1], dtype=np.uint64) | np.uint64(1)
    hashes = columns.astype(np.uint64) @ odd
    signed = (hashes[first] - hashes[second]).view(np.int64)
    flipped = signed < 0
    first, second = np.where(flipped, second, first), np.where(flipped, first, second)
    order = np.lexsort((bounds, np.abs(signed)))
    first, second, bounds, value = first[order], second[order], bounds[order], np.abs(signed)[order]
    head = np.flatnonzero(np.diff(value, prepend=-1) != 0)
    group = np.cumsum(np.diff(value, prepend=-1) != 0) - 1
    kept = np.zeros(len(bounds), dtype=bool)
    kept[head] = True
    kept[_unlike_their_head(columns, first, second, head[group])] = True
    kept[head[value[head] == 0]] = False
    moved = _differing(columns, first, second, np.flatnonzero((value == 0) | (value == np.iinfo(np.int64).min)))
    kept[moved] = True
    return Kinds(columns, first[kept], second[kept], bounds[kept])


def _unlike_their_head(
    columns: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64], heads: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Places whose difference is not that of the place ``heads`` (E,)."""
    others = np.flatnonzero(heads != np.arange(len(heads)))
    found = []
    at_once = max(1, _ENTRIES_PER_BLOCK // columns.shape[1])
    for start in range(0, len(others), at_once):
        here = others[start : start + at_once]
        there = heads[here]
        own = columns[first[here]] - columns[second[here]]
        own -= columns[first[there]]
        own += columns[second[there]]
        found.append(here[own.any(axis=1)])
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def _differing(
    columns: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Of these places those with a difference."""
    found = [np.empty(0, dtype=np.int64)]
    at_once = max(1, _ENTRIES_PER_BLOCK // columns.shape[1])
    for start in range(0, len(places), at_once):
        here = places[start : start + at_once]
        found.append(here[np.any(columns[first[here]] != columns[second[here]], axis=1)])
    return np.concatenate(found)


CELL_LIMIT = 20_000_000
"""A grid of classes with more cells than this is refused."""
KEPT_LIMIT = 5_000_000
"""More pairs than this are not kept at once."""
_LISTED_TOGETHER = 1000
"""Pairs of up to so many kinds of records are listed."""
_FEW_PAIRS: Final = 2_000_000
"""So many are listed as they are: plan files of older versions hold what follows from all of them."""
_MOST_COMPARED: Final = 1 << 24
"""Of a grid with more weights than this all cells stay."""
_PRODUCTS_FIT: Final = 1 << 30
"""Differences of smaller weights have products that 64 bits hold."""


@final
@dataclass(frozen=True, eq=False)
class PairClasses:
    """Pairs of records that agree outside ``axes``, whatever they have there.

    ``tables``: those that look at any of ``axes``, on shared classes; ``shape``: the numbers of classes along ``axes``;
    ``first``, ``second`` (P,): cells of that grid; ``bounds`` (P,): rounded down.
    """

    tables: tuple[WeightTable, ...] = field(repr=False)
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    first: NDArray[np.int64] = field(repr=False)
    second: NDArray[np.int64] = field(repr=False)
    bounds: NDArray[np.float64] = field(repr=False)

    def others(self, table: WeightTable) -> tuple[int, ...]:
        """The attributes a table looks at beside those that change."""
        return tuple(axis for axis in table.axes if axis not in self.axes)

    def places(self, table: WeightTable, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """(cells, classes of the other attributes …): which of the table's cells these are."""
        codes = dict(zip(self.axes, np.unravel_index(cells, self.shape), strict=True))
        moving = [axis for axis in table.axes if axis in self.axes]
        order = [table.axes.index(axis) for axis in (*moving, *self.others(table))]
        grid = np.arange(table.flat.shape[1]).reshape(table.weights.shape[1:]).transpose(order)
        return np.asarray(grid[tuple(codes[axis] for axis in moving)])

    def columns(self, table: WeightTable, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """(cells, classes of the other attributes …, k): a table's weights at cells of the grid of ``axes``."""
        return np.asarray(table.flat.T[self.places(table, cells)])


def pair_classes_of(metric: Metric, tables: WeightTables, most: int | None = None) -> Iterator[PairClasses]:
    """All generating pairs of records that some query can see, in blocks; of equal ones in a block, that with the least
    bound. Where any record may become any other at one distance, those that :func:`extreme_cells` leaves: no norm of a
    change is larger for another. Pairs with the absent record are told by :func:`presence_of`.

    Raises: TooLarge; where there are more than ``most`` of one kind of change before any is listed, if that is known.
    """
    presence = presence_of(metric, tables)
    for run in _runs(presence.inner if presence else metric, tables.shape, tuple(range(len(tables.shape)))):
        # What is as near through the absent record is left out, and so is no reason to refuse.
        for moves in _moves(run, tables, most if presence is None else None):
            yield from _nearer(moves, presence)


def presence_of(metric: Metric, tables: WeightTables) -> PresenceMetric | None:
    """The rule about presence, where tables have an absent record beside all others; None where they have none.

    Raises: TooLarge where the metric has that record among all others.
    """
    if not tables.absent:
        return None
    if isinstance(metric, PresenceMetric):
        return metric
    raise TooLarge("only under a rule about presence are weights not laid out that are 0 for the absent record")


def _nearer(moves: PairClasses, presence: PresenceMetric | None) -> Iterator[PairClasses]:
    """Those pairs that the way through the absent record does not give already."""
    if presence is None:
        yield moves
        return
    kept = presence.nearer_than_through_last(moves.bounds)
    if np.any(kept):
        first, second, bounds = moves.first[kept], moves.second[kept], moves.bounds[kept]
        yield replace(moves, first=first, second=second, bounds=bounds)


def pair_classes_in_families(metric: Metric, tables: WeightTables) -> Iterator[list[list[PairClasses]]]:
    """The same, those that change the same attributes together, ready to be kept.

    A family is one list of moves. Only where any record may become any other, and there are too many kinds of
    records to list pairs of them, it is a list for each table on its own, and the largest changes of all tables are
    to be added up. No pair of records causes more than that sum; for marginal tables some pair does cause that much.
    Raises: TooLarge.
    """
    presence = presence_of(metric, tables)
    for run in _runs(presence.inner if presence else metric, tables.shape, tuple(range(len(tables.shape)))):
        seen = [table for table in tables.tables if any(axis in run.axes for axis in table.axes)]
        apart = isinstance(run.metric, DiscreteMetric) and len(seen) > 1 and _kinds(seen, run) > _LISTED_TOGETHER
        members = [WeightTables(tables.shape, (table,)) for table in seen] if apart else [tables]
        each = (
            _collected_within_limit(one for moves in _moves(run, member) for one in _nearer(moves, presence))
            for member in members
        )
        family = [moving for moving in each if moving]  # a table that is alike along the run moves with no record
        if family:
            yield family


def _collected_within_limit(blocks: Iterable[PairClasses]) -> list[PairClasses]:
    kept, pairs = [], 0
    for moves in blocks:
        pairs += moves.bounds.size
        if pairs > KEPT_LIMIT:
            raise TooLarge(
                f"more than {KEPT_LIMIT:,} pairs of records would have to be kept; ask fewer queries at once, "
                "or take coarser attributes"
            )
        kept.append(moves)
    return kept


def classes_of_records(tables: WeightTables, *, extreme: bool = False) -> NDArray[np.int64]:
    """(K, kinds): the weights of one record of each kind, where records are of one kind when all queries agree on them;
    of the ``extreme`` kinds only, where all others lie between these.

    Raises: TooLarge.
    """
    weights = np.zeros((tables.count, 1), dtype=np.int64)
    grid = _grid_of(tables)
    if grid is not None:
        cells = _different_cells(grid)
        cells = extreme_cells(grid, cells) if extreme else cells
        weights = np.zeros((tables.count, len(cells)), dtype=np.int64)
        for table in grid.tables:
            weights[table.queries] = grid.columns(table, cells).T
    for table in tables.tables:
        if not table.axes:
            weights[table.queries] = table.flat
    return weights


def _grid_of(tables: WeightTables) -> PairClasses | None:
    """The grid of all classes that any query tells apart, without a pair; None where none looks at an attribute."""
    looking = tuple(table for table in tables.tables if table.axes)
    if not looking:
        return None
    shared = on_shared_classes(looking)
    size = {axis: n for table in shared for axis, n in zip(table.axes, table.weights.shape[1:], strict=True)}
    axes = tuple(sorted(size))
    return PairClasses(shared, axes, tuple(size[axis] for axis in axes), *NO_PAIRS)


def cells_beside_nobody(tables: WeightTables, cells: int) -> NDArray[np.int64]:
    """Which of all ``cells`` of the grid of classes are pairs with the absent record: all; or where these are many, the
    extreme ones, since what one record adds is largest there."""
    grid = _grid_of(tables) if are_many(cells) else None
    return np.arange(cells) if grid is None else extreme_cells(grid, np.arange(cells))


def kinds_of_elements(tables: WeightTables, most: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(kinds, K) and (N,): the weights of each kind of records, in lexicographic order, and the kind of every record;
    *exact*, as of the matrix laid out.

    Of a workload over attributes only cells are laid out that queries tell apart.
    Raises: TooLarge; where there are more than ``most`` of these weights mostly before any is laid out.
    """
    if tables.is_matrix:
        return distinct_rows(tables.matrix().T)
    axes, shared = tables.shared
    shape = tuple(int(own.max()) + 1 for own in shared)
    refuse_too_many(tables.count, math.prod(shape) + tables.absent)
    if tables.count * tables.size > MOST_WEIGHTS:
        refuse_cells(tables.size)
    if most is not None and tables.count * math.prod(shape) > most:
        refuse_too_many(tables.count, _kinds_at_least(tables, shape), most)
    columns = np.zeros((math.prod(shape) + tables.absent, tables.count), dtype=np.int64)
    cells = np.arange(math.prod(shape)).reshape(shape)
    codes = dict(zip(axes, np.unravel_index(cells.ravel(), shape) if axes else (), strict=True))
    for table in tables.tables:
        own = [tables.class_in(table, axis)[codes[axis]] for axis in table.axes]
        there = table.flat.T[np.ravel_multi_index(own, table.shape)] if table.axes else table.flat.T
        columns[: len(cells.ravel()), table.queries] = there
    distinct, which = distinct_rows(columns)
    of_cells = which[: math.prod(shape)].reshape(shape)
    for axis, classes in zip(axes, shared, strict=True):
        of_cells = of_cells.take(classes, axis=axes.index(axis))
    spread = [of_cells.shape[axes.index(axis)] if axis in axes else 1 for axis, size in enumerate(tables.shape)]
    everywhere = np.broadcast_to(of_cells.reshape(spread), tables.shape).ravel()
    return distinct, np.concatenate([everywhere, which[math.prod(shape) :]])


def _kinds_at_least(tables: WeightTables, shape: tuple[int, ...]) -> int:
    """So many kinds of records there are at least: what is alike to all queries has the same sum of weights times odd
    numbers."""
    odd = np.random.default_rng(0).integers(1, 2**63, tables.count, dtype=np.uint64) | np.uint64(1)
    axes, found = tables.shared[0], np.zeros(shape, dtype=np.uint64)
    for table in tables.tables:
        own = (odd[table.queries] @ table.flat.astype(np.uint64)).reshape(table.shape)
        for place, axis in enumerate(table.axes):
            own = own.take(tables.class_in(table, axis), axis=place)
        found += own.reshape([shape[place] if axis in table.axes else 1 for place, axis in enumerate(axes)])
    return len(np.unique(found))


class _Run(NamedTuple):
    """A metric on the attributes ``axes``, of which the last one's code runs fastest."""

    metric: Metric
    axes: tuple[int, ...]


def _runs(metric: Metric, shape: tuple[int, ...], axes: tuple[int, ...]) -> Iterator[_Run]:
    """A metric as several, each on a few attributes, that together generate it."""
    match metric:
        case SumMetric(parts=parts) if (split := axes_of_parts(parts, shape, axes)) is not None:
            for part, own in zip(parts, split, strict=True):
                yield from _runs(part, shape, own)
        case GroupedMetric(parts=parts, groups=groups) if (split := axes_of_parts(parts, shape, axes)) is not None:
            yield from _runs(SumMetric(parts), shape, axes)
            for group in groups:
                together = tuple(axis for place in group.places for axis in split[place])
                count = math.prod(shape[axis] for axis in together)
                yield _Run(DiscreteMetric(count, group.epsilon), together)
        case ReorderedMetric(inner=inner, order=order) if len(order) == len(axes):
            yield from _runs(inner, shape, tuple(axes[place] for place in order))
        case CapMetric(inner=inner, epsilon=epsilon):
            # Where the inner bound is above the ceiling, the same pair comes again with the ceiling.
            yield from _runs(inner, shape, axes)
            yield _Run(DiscreteMetric(metric.size, epsilon), axes)
        case _:
            yield _Run(metric, axes)


def axes_of_parts(
    parts: Sequence[Metric], shape: tuple[int, ...], axes: tuple[int, ...]
) -> list[tuple[int, ...]] | None:
    """The attributes that each part of a sum is about; None where parts and attributes do not fit."""
    found, low = [], 0
    for part in parts:
        high = low + 1
        while high < len(axes) and math.prod(shape[axis] for axis in axes[low:high]) < part.size:
            high += 1
        if low >= len(axes) or math.prod(shape[axis] for axis in axes[low:high]) != part.size:
            return None
        found.append(axes[low:high])
        low = high
    return found if low == len(axes) else None


def _kinds(tables: Sequence[WeightTable], run: _Run) -> int:
    """How many cells the grid of shared classes of the run's attributes has."""
    axes = {axis for table in tables for axis in table.axes if axis in run.axes}
    return math.prod(int(shared_classes(tables, axis).max()) + 1 for axis in axes)


def _moves(run: _Run, tables: WeightTables, most: int | None = None) -> Iterator[PairClasses]:
    seen = tuple(table for table in tables.tables if any(axis in run.axes for axis in table.axes))
    if not seen or (isinstance(run.metric, GraphMetric) and not run.metric.bounds.size):
        return
    shared = on_shared_classes(seen)
    classes = {axis: own for table in shared for axis, own in zip(table.axes, table.classes, strict=True)}
    axes = tuple(axis for axis in sorted(classes) if axis in run.axes)
    shape = tuple(int(classes[axis].max()) + 1 for axis in axes)
    if isinstance(run.metric, MaxMetric) and run.metric.step is None and len(run.metric.parts) == len(run.axes):
        parts = dict(zip(run.axes, run.metric.parts, strict=True))
        for pairs in cells_moving_together([nearest_of_classes(parts[axis], classes[axis]) for axis in axes], shape):
            yield PairClasses(shared, axes, shape, *pairs)
        return
    if isinstance(run.metric, DiscreteMetric):
        grid = PairClasses(shared, axes, shape, *NO_PAIRS)
        which = extreme_cells(grid, _different_cells(grid))
        if most is not None:
            refuse_pairs(len(which) * (len(which) - 1) // 2, most)
    else:
        which = _cell_of_record(classes, axes, run.axes, tuple(tables.shape[axis] for axis in run.axes))
    for block in pairs_of_kinds(run.metric, which):
        pairs = least_by_pair(block)
        if pairs.first.size:
            yield PairClasses(shared, axes, shape, *pairs)


def _cell_of_record(
    classes: dict[int, NDArray[np.int64]], axes: tuple[int, ...], order: tuple[int, ...], sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    """For each combination of values of the attributes ``order``, its cell in the grid of classes of ``axes``."""
    refuse_cells(math.prod(sizes))
    cells = np.zeros((1,) * len(sizes), dtype=np.int64)
    for axis in axes:
        own = classes[axis]
        along = [1] * len(sizes)
        along[order.index(axis)] = len(own)
        cells = cells * (int(own.max()) + 1) + own.reshape(along)
    return np.ascontiguousarray(np.broadcast_to(cells, sizes)).ravel()


def _different_cells(moves: PairClasses) -> NDArray[np.int64]:
    """One cell of each kind: cells are of one kind when every table has the same weights there."""
    refuse_cells(math.prod(moves.shape))
    kinds = []
    for table in moves.tables:
        sizes = [size if axis in table.axes else 1 for axis, size in zip(moves.axes, moves.shape, strict=True)]
        places = np.indices(sizes).reshape(len(sizes), -1)
        cells = np.asarray(np.ravel_multi_index(tuple(places), moves.shape), dtype=np.int64)
        _, own = kinds_of_rows(moves.columns(table, cells).reshape(len(cells), -1))
        kinds.append(own.reshape(sizes))
    return first_of_each_kind(moves.shape, kinds)


def extreme_cells(grid: PairClasses, cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of these cells those between which, in what any table weighs there, all others lie.

    Where any record may become any other at one distance, a norm is largest between two of them, for it is convex: no
    other pair has to be looked at. A cell is left out only where it lies on the line of two that stay, along one
    attribute and at the same place of it in all tables, shown in integers; in doubt it stays.
    """
    length = sum(math.prod(table.flat.shape) // _seen(grid, table) for table in grid.tables)
    total = math.prod(grid.shape)
    if not are_many(len(cells)) or total * length > _MOST_COMPARED:
        return cells
    everywhere = np.arange(total)
    values = np.concatenate([grid.columns(table, everywhere).reshape(total, -1) for table in grid.tables], axis=1)
    if np.abs(values).max(initial=0) >= _PRODUCTS_FIT:
        return cells
    left = np.zeros(total, dtype=np.bool_)
    left[cells] = True
    values, left = values.reshape(*grid.shape, -1), left.reshape(grid.shape)
    for axis in np.flatnonzero(np.array(grid.shape) > 2):
        moved = np.moveaxis(left, axis, -1)
        lines = np.moveaxis(values, axis, -2).reshape(-1, grid.shape[axis], values.shape[-1])
        there = moved.reshape(-1, grid.shape[axis])
        step = max(1, _ENTRIES_PER_BLOCK // lines[0].size)
        for start in range(0, len(lines), step):
            here = slice(start, start + step)
            there[here] &= ~_between(lines[here], there[here])
        moved[...] = there.reshape(moved.shape)
    return np.flatnonzero(left)


def are_many(kinds: int) -> bool:
    """Whether not all pairs of so many kinds of records are listed where some stand for all."""
    return kinds**2 > 2 * _FEW_PAIRS


def _seen(grid: PairClasses, table: WeightTable) -> int:
    """How many cells of the grid's attributes a table tells apart."""
    return math.prod(size for axis, size in zip(grid.axes, grid.shape, strict=True) if axis in table.axes)


def _between(points: NDArray[np.int64], there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(P, n): which of the points (P, n, L) that are ``there`` (P, n) lie on the line between two others of their n:
    the two that are furthest apart in some coordinate."""
    low = np.where(there[:, :, None], points, _PRODUCTS_FIT).min(axis=1)
    spread = np.where(there[:, :, None], points, -_PRODUCTS_FIT).max(axis=1) - low
    each, longest = np.arange(len(points)), spread.argmax(axis=1)
    along = points[each, :, longest]
    first = np.where(there, along, _PRODUCTS_FIT).argmin(axis=1)
    last = np.where(there, along, -_PRODUCTS_FIT).argmax(axis=1)
    steps = points - points[each, first][:, None]
    shares = (along - along[each, first][:, None])[:, :, None] * steps[each, last][:, None]
    inside = np.asarray(there & np.all(shares == spread[each, longest][:, None, None] * steps, axis=2))
    inside[each, first] = inside[each, last] = False
    return inside


def refuse_cells(cells: int) -> None:
    """Raises: TooLarge for a grid of so many cells."""
    if cells > CELL_LIMIT:
        raise TooLarge(
            f"the queries tell {cells:,} kinds of records apart, the limit is {CELL_LIMIT:,}; ask fewer queries at "
            "once, or take coarser attributes"
        )
