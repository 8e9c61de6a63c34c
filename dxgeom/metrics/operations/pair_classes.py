"""The generating pairs of a metric on the product of attributes, as tables of weights see them.

A pair of records that differ in some attributes only is the same to a table as any other pair with the same classes. So
pairs of *classes* are enough, and there are few of them even where there are millions of records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.groups import GroupedMetric
from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.combinations.reordered import ReorderedMetric
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.metric import NO_PAIRS, Metric
from dxgeom.metrics.operations.pairs_of_kinds import least_by_pair, pairs_of_kinds
from dxgeom.numeric.rows import first_of_each_kind, kinds_of_rows
from dxgeom.universe.weight_table import WeightTable, on_shared_classes, shared_classes
from dxgeom.universe.weight_tables import WeightTables

CELL_LIMIT = 20_000_000
"""A grid of classes with more cells than this is refused."""
KEPT_LIMIT = 5_000_000
"""More pairs than this are not kept at once."""
_LISTED_TOGETHER = 1000
"""Pairs of up to so many kinds of records are listed."""


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


def pair_classes_of(metric: Metric, tables: WeightTables) -> Iterator[PairClasses]:
    """All generating pairs that some query can see, in blocks; of equal ones in a block, that with the least bound.

    Raises: TooLarge.
    """
    for run in _runs(metric, tables.shape, tuple(range(len(tables.shape)))):
        yield from _moves(run, tables)


def pair_classes_in_families(metric: Metric, tables: WeightTables) -> Iterator[list[list[PairClasses]]]:
    """The same, those that change the same attributes together, ready to be kept.

    A family is one list of moves. Only where any record may become any other, and there are too many kinds of
    records to list pairs of them, it is a list for each table on its own, and the largest changes of all tables are
    to be added up. No pair of records causes more than that sum; for marginal tables some pair does cause that much.
    Raises: TooLarge.
    """
    for run in _runs(metric, tables.shape, tuple(range(len(tables.shape)))):
        seen = [table for table in tables.tables if any(axis in run.axes for axis in table.axes)]
        apart = isinstance(run.metric, DiscreteMetric) and len(seen) > 1 and _kinds(seen, run) > _LISTED_TOGETHER
        members = [WeightTables(tables.shape, (table,)) for table in seen] if apart else [tables]
        family = [_kept(_moves(run, member)) for member in members]
        if all(family):
            yield family


def _kept(blocks: Iterator[PairClasses]) -> list[PairClasses]:
    kept, pairs = [], 0
    for moves in blocks:
        pairs += moves.bounds.size
        if pairs > KEPT_LIMIT:
            raise TooLarge(
                f"more than {KEPT_LIMIT:,} pairs of records would have to be kept; ask fewer queries at once, "
                "or coarsen the universe"
            )
        kept.append(moves)
    return kept


def classes_of_records(tables: WeightTables) -> NDArray[np.int64]:
    """(K, kinds): the weights of one record of each kind, where records are of one kind when all queries agree on them.

    Raises: TooLarge.
    """
    weights = np.zeros((tables.count, 1), dtype=np.int64)
    looking = tuple(table for table in tables.tables if table.axes)
    if looking:
        shared = on_shared_classes(looking)
        size = {axis: n for table in shared for axis, n in zip(table.axes, table.weights.shape[1:], strict=True)}
        axes = tuple(sorted(size))
        everything = PairClasses(shared, axes, tuple(size[axis] for axis in axes), *NO_PAIRS)
        cells = _different_cells(everything)
        weights = np.zeros((tables.count, len(cells)), dtype=np.int64)
        for table in shared:
            weights[table.queries] = everything.columns(table, cells).T
    for table in tables.tables:
        if not table.axes:
            weights[table.queries] = table.flat
    return weights


class _Run(NamedTuple):
    """A metric on the attributes ``axes``, of which the last one's code runs fastest."""

    metric: Metric
    axes: tuple[int, ...]


def _runs(metric: Metric, shape: tuple[int, ...], axes: tuple[int, ...]) -> Iterator[_Run]:
    """A metric as several, each on a few attributes, that together generate it."""
    match metric:
        case SumMetric(parts=parts) if (split := _split(parts, shape, axes)) is not None:
            for part, own in zip(parts, split, strict=True):
                yield from _runs(part, shape, own)
        case GroupedMetric(parts=parts, groups=groups) if (split := _split(parts, shape, axes)) is not None:
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


def _split(parts: Sequence[Metric], shape: tuple[int, ...], axes: tuple[int, ...]) -> list[tuple[int, ...]] | None:
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


def _moves(run: _Run, tables: WeightTables) -> Iterator[PairClasses]:
    seen = tuple(table for table in tables.tables if any(axis in run.axes for axis in table.axes))
    if not seen:
        return
    shared = on_shared_classes(seen)
    classes = {axis: own for table in shared for axis, own in zip(table.axes, table.classes, strict=True)}
    axes = tuple(axis for axis in sorted(classes) if axis in run.axes)
    shape = tuple(int(classes[axis].max()) + 1 for axis in axes)
    if isinstance(run.metric, DiscreteMetric):
        which = _different_cells(PairClasses(shared, axes, shape, *NO_PAIRS))
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


def refuse_cells(cells: int) -> None:
    """Raises: TooLarge for a grid of so many cells."""
    if cells > CELL_LIMIT:
        raise TooLarge(
            f"the queries tell {cells:,} kinds of records apart, the limit is {CELL_LIMIT:,}; ask fewer queries at "
            "once, or coarsen the universe"
        )
