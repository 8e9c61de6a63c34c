"""The differences of very many queries as pairs of kinds of records: never laid out, all of them looked at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnboundedLoss
from dxgeom.metrics.changes import (
    Changes,
    LargestLoads,
    ListedChanges,
    SparseRows,
    change_sizes,
    largest_first,
    sparse_rows,
)
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.differences import SEPARATES_THE_SAME, kinds_along, refuse_wide, surroundings_of
from dxgeom.metrics.generating_pairs import (
    Kinds,
    PairClasses,
    cells_beside_nobody,
    distinct,
    least_by_pair,
    pair_classes_of,
    pairs_of_kinds,
    presence_of,
)
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.near_places import TREE_FROM, few_kinds, near_pairs
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.restriction import without_idle_attributes
from dxgeom.numeric.arrays import FITS, distinct_rows
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, quotient_round_up, round_down
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.weight_tables import WeightTables

MOST_PAIRS: Final = 20_000_000
"""More pairs than this are not kept: half a gigabyte."""
MOST_ENTRIES: Final = 40_000_000
"""Of the weights of all kinds of records together."""
MOST_LOOKED_AT: Final = 30_000_000_000
"""Of the differences of all pairs together: minutes, at every look."""
_ENTRIES_PER_BLOCK: Final = 1 << 16
_POOL: Final = 4_000_000
"""Entries of the heaviest differences so far, which are looked at before all others."""
_SPARSE: Final = 16
"""So many times longer than an entry of a product does one that is kept without zeros take, to be found and sorted."""
_SPARSE_ENTRIES: Final = 1 << 22
"""At once."""
_ABOVE: Final = 1 + 1e-9
_NEARLY: Final = 1 - 1e-14

_Pool: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]


class _Top(NamedTuple):
    """The quotients steps/bounds that may be a query's largest, each once, and the ``place`` of one."""

    steps: NDArray[np.float64]
    bounds: NDArray[np.float64]
    place: int


@final
@dataclass(frozen=True, eq=False)
class PairedChanges(Changes):
    """Δ_e = columns[first_e] − columns[second_e]: as listed ones, without a row for each.

    A linear image of all differences takes one product for each *kind*, and a subtraction for each pair.
    """

    kinds: Kinds = field(repr=False)
    _pool: list[_Pool] = field(default_factory=list, repr=False)
    _tops: list[_Top] = field(default_factory=list, repr=False)

    @property
    def count(self) -> int:
        """The number E of differences."""
        return len(self.kinds.bounds)

    @property
    def bounds(self) -> NDArray[np.float64]:
        """(E,): rounded down."""
        return self.kinds.bounds

    @cached_property
    def of_each_query(self) -> NDArray[np.float64]:
        if not self._tops:
            columns, first, second, bounds = self.kinds
            if self._sizes is not None:
                self._tops[:] = _tops_among(self._sizes, bounds)
            else:
                self._tops[:] = [_top_of(column, first, second, bounds) for column in np.ascontiguousarray(columns.T)]
        return np.array([np.max(quotient_round_up(steps, bounds), initial=0.0) for steps, bounds, _ in self._tops])

    @cached_property
    def _sizes(self) -> SparseRows | None:
        """|Δ_e| without their zeros, where one look at all of them laid out would take longer than to find these."""
        columns, first, second, _ = self.kinds
        each = np.count_nonzero(columns, axis=1)
        entries = int(each[first].sum() + each[second].sum())
        if _SPARSE * entries >= self.count * columns.shape[1]:
            return None
        exact = sparse_rows(columns)
        at_once = max(1, _SPARSE_ENTRIES * self.count // max(1, entries))
        starts = range(0, self.count, at_once)
        return change_sizes(exact, ((first[at : at + at_once], second[at : at + at_once]) for at in starts))

    @property
    def furthest(self) -> NDArray[np.int64]:
        """(K,): for each query a difference that reaches nearly furthest along it."""
        _ = self.of_each_query
        return np.array([place for _, _, place in self._tops], dtype=np.int64)

    def scaled(self, factors: NDArray[np.int64]) -> PairedChanges:
        if np.all(factors == 1):
            return self
        pairs = zip(self._tops, factors.tolist(), strict=False)  # of which there are none before somebody asks
        tops = [top._replace(steps=top.steps * factor) for top, factor in pairs]
        return PairedChanges(self.kinds._replace(columns=self.kinds.columns * factors), _tops=tops)

    def largest_loads(self, rates: NDArray[np.float64], most: int) -> LargestLoads:
        if self._pool:
            found = _largest_loads_of(self._pool[0], rates, most)
            if most > 1 and found.loads.max(initial=0.0) > _ABOVE:
                return found
        if self._sizes is not None:
            loads = self._sizes.times(rates) / self.bounds
        else:
            loads = np.concatenate([np.zeros(0), *(np.abs(rows) @ rates / bounds for rows, bounds in self.blocks())])
        places = largest_first(loads, max(most, _POOL // len(rates)))
        self._pool[:] = [(np.abs(self.rows(places)).astype(np.float64), self.bounds[places])]
        return _largest_loads_of(self._pool[0], rates, most)

    def rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The differences at these places, laid out, (n, K)."""
        columns, first, second, _ = self.kinds
        return np.asarray(columns[first[places]] - columns[second[places]])

    def blocks(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """All differences (n, K), as float64, which is exact, and their bounds, some at a time."""
        exact = self.kinds.columns.astype(np.float64)
        yield from self.steps(exact)

    def steps(self, values: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """From a value (R, m) of each kind the difference of each pair, and its bound, some at a time."""
        _, first, second, bounds = self.kinds
        for here in self._places(values):
            yield values[first[here]] - values[second[here]], bounds[here]

    def sums(self, values: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """As :meth:`steps`, but what the two kinds of a pair have together."""
        _, first, second, _ = self.kinds
        yield from (values[first[here]] + values[second[here]] for here in self._places(values))

    def _places(self, values: NDArray[np.float64]) -> Iterator[slice]:
        at_once = max(1, _ENTRIES_PER_BLOCK // values.shape[1])
        return (slice(start, start + at_once) for start in range(0, self.count, at_once))

    @cached_property
    def joined(self) -> NDArray[np.int64]:
        """(R, K): what each kind of records is above the first one that pairs join it with; of the same span."""
        columns, first, second, _ = self.kinds
        root = np.arange(len(columns))
        while True:
            nearer, least = root.copy(), np.minimum(root[first], root[second])
            np.minimum.at(nearer, first, least)
            np.minimum.at(nearer, second, least)
            nearer = nearer[nearer]
            if np.array_equal(nearer, root):
                return columns - columns[root]
            root = nearer

    def listed(self) -> ListedChanges:
        """The same, laid out."""
        rows = self.rows(np.arange(self.count))
        leading = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)]
        rows = rows * np.where(leading < 0, -1, 1)[:, None]
        order = distinct_rows(rows)[1]
        place = np.argsort(order)
        return ListedChanges(rows[place], self.bounds[place])


def _largest_loads_of(pool: _Pool, rates: NDArray[np.float64], most: int) -> LargestLoads:
    sizes, bounds = pool
    loads = (sizes @ rates) / bounds
    worst = largest_first(loads, most)
    return LargestLoads(loads[worst], sizes[worst] / bounds[worst, None])


def _top_of(
    column: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64], bounds: NDArray[np.float64]
) -> _Top:
    return _largest(np.abs(column[first] - column[second]).astype(np.float64), bounds)


def _tops_among(sizes: SparseRows, bounds: NDArray[np.float64]) -> list[_Top]:
    """The same of every query, from the differences that are not 0. Where those that are nearly largest are over one
    bound, as with one constant for all, the largest step counts, and all queries are looked at together."""
    places, steps, ends = sizes.by_column()
    own = bounds[places]
    quotients, starts = steps / own, ends[:-1][np.diff(ends) > 0]
    which = np.repeat(np.arange(len(starts)), np.diff([*starts.tolist(), len(steps)]))
    near = np.flatnonzero(quotients >= (np.maximum.reduceat(quotients, starts) * _NEARLY)[which])
    firsts = np.flatnonzero(np.diff(which[near], prepend=-1))
    least, most, top = (
        pick.reduceat(values[near], firsts)
        for pick, values in ((np.minimum, own), (np.maximum, own), (np.maximum, steps))
    )
    found = [_Top(np.zeros(1), bounds[:1], 0)] * (len(ends) - 1)
    for number, query in enumerate(np.flatnonzero(np.diff(ends)).tolist()):
        if least[number] == most[number]:
            one = slice(number, number + 1)
            found[query] = _Top(top[one], least[one], int(places[near[firsts[number]]]))
        else:
            here = slice(ends[query], ends[query + 1])
            mixed = _largest(steps[here], own[here])
            found[query] = mixed._replace(place=int(places[here][mixed.place]))
    return found


def _largest(steps: NDArray[np.float64], bounds: NDArray[np.float64]) -> _Top:
    quotients = steps / bounds
    largest = quotients.max(initial=0.0)
    near = np.flatnonzero(quotients >= largest * _NEARLY) if largest > 0 else np.arange(min(len(quotients), 1))
    place = int(near[0]) if near.size else 0
    if near.size > 1:
        # Nearly equal quotients over one bound are those of equal steps, or of steps of which the largest counts.
        order = near[np.lexsort((-steps[near], bounds[near]))] if np.ptp(bounds[near]) else near[[steps[near].argmax()]]
        near = order[np.diff(bounds[order], prepend=-1) != 0]
    return _Top(steps[near], bounds[near], place)


def paired_changes(metric: Metric, tables: WeightTables) -> PairedChanges:
    """The distinct differences of queries along generating pairs.

    Guarantee: every generating pair is represented by a difference equal to its own up to sign, with a bound not above
    its own; of very many kinds of records under one distance by an average of such.
    Raises: UnboundedLoss when a pair at distance 0 has a difference; TooLarge.
    """
    kinds = _of_places(metric, tables)
    if kinds is None:
        _refuse_ends(tables)
        kinds = _of_matrix(metric, tables.matrix()) if tables.is_matrix else _of_tables(metric, tables)
    return _finished(kinds)


def changes_of_places(metric: Metric, tables: WeightTables) -> PairedChanges | None:
    """The same of very many places of many kinds, without a look at most of their pairs; None of anything else.

    Raises: as above.
    """
    kinds = _of_places(metric, tables, of_many_kinds=True)
    return None if kinds is None else _finished(kinds)


def _finished(kinds: Kinds) -> PairedChanges:
    refuse_wide(kinds.columns)
    queries, pairs = kinds.columns.shape[1], len(kinds.bounds)
    if queries * pairs > MOST_LOOKED_AT:
        raise TooLarge(
            f"{pairs:,} pairs of kinds of records would change {queries:,} answers each: {queries * pairs:,} numbers, "
            f"at most {MOST_LOOKED_AT:,} are looked at; ask fewer queries at once, or take coarser attributes"
        )
    # Only differences count, and these are numbers nearer to zero.
    kinds = distinct(kinds._replace(columns=kinds.columns - kinds.columns[:1]))
    if np.any(kinds.bounds == 0):
        raise UnboundedLoss(SEPARATES_THE_SAME)
    return PairedChanges(kinds)


def _of_places(metric: Metric, tables: WeightTables, of_many_kinds: bool = False) -> Kinds | None:
    """Of very many places the pairs that no shorter ones stand for; None of anything else."""
    if not isinstance(metric, PointsMetric) or metric.size < TREE_FROM or metric.size * tables.count > MOST_ENTRIES:
        return None
    columns = np.ascontiguousarray(tables.matrix().T)
    if of_many_kinds and few_kinds(metric, distinct_rows(columns)[1]):
        return None
    pairs = near_pairs(metric, columns, MOST_PAIRS)
    return None if pairs is None else Kinds(columns, *pairs, metric.distance(*pairs))


def _of_matrix(metric: Metric, values: NDArray[np.int64]) -> Kinds:
    metric, values = without_idle_attributes(metric, values)
    return _of_kinds(metric, *distinct_rows(values.T))


def _of_kinds(metric: Metric, columns: NDArray[np.int64], which: NDArray[np.int64]) -> Kinds:
    _refuse_entries(columns.shape[0], columns.shape[1])
    blocks = (least_by_pair(pairs) for pairs in pairs_of_kinds(metric, which))
    return Kinds(columns, *_gathered((pairs.first, pairs.second, pairs.bound) for pairs in blocks))


def _of_tables(metric: Metric, tables: WeightTables) -> Kinds:
    known = kinds_along(metric, tables, MOST_ENTRIES) if tables.absent else None
    if known is not None:
        return _of_kinds(*known)
    axes, shared = tables.shared
    shape = tuple(int(own.max()) + 1 for own in shared)
    nobody = math.prod(shape)
    if nobody >= FITS:
        raise TooLarge("the queries tell too many kinds of records apart to number them")
    presence = presence_of(metric, tables)
    if presence is not None:  # every cell is of a pair with nobody
        _refuse_entries(nobody + 1, tables.count)
    blocks = (
        block
        for moves in pair_classes_of(metric, tables, MOST_PAIRS)
        for block in _placed(moves, dict(zip(axes, shared, strict=True)), shape)
    )
    beside = () if presence is None else (_with_nobody(presence, nobody, cells_beside_nobody(tables, nobody)),)
    triples = _gathered(chain(blocks, beside))
    used, ends = np.unique(np.concatenate(triples[:2]), return_inverse=True)
    _refuse_entries(len(used), tables.count)
    there = used[used < nobody]  # the absent record is behind all others
    codes = dict(zip(axes, np.unravel_index(there, shape) if axes else (), strict=True))
    columns = np.zeros((len(used), tables.count), dtype=np.int64)
    for table in tables.tables:
        if table.axes:
            own = [tables.class_in(table, axis)[codes[axis]] for axis in table.axes]
            columns[: len(there), table.queries] = table.flat.T[np.ravel_multi_index(own, table.shape)]
        elif tables.absent:
            columns[: len(there), table.queries] = table.flat.T
    ends = ends.reshape(2, -1)
    return Kinds(columns, ends[0], ends[1], triples[2])


def _with_nobody(presence: PresenceMetric, nobody: int, cells: NDArray[np.int64]) -> _Triple:
    """These cells, as pairs with the absent record."""
    return cells, np.full_like(cells, nobody), np.full(len(cells), round_down(presence.epsilon))


_Triple: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def _placed(moves: PairClasses, shared: dict[int, NDArray[np.int64]], shape: tuple[int, ...]) -> Iterator[_Triple]:
    """Each move in each different surrounding, as pairs of cells of the grid of classes that any query tells apart.

    Where moves and surroundings see coarser classes, any class within will do: all queries that see the move agree.
    """
    own = {axis: classes for table in moves.tables for axis, classes in zip(table.axes, table.classes, strict=True)}
    some = {axis: shared[axis][np.unique(classes, return_index=True)[1]] for axis, classes in own.items()}
    strides = dict(zip(shared, np.cumprod((1, *shape[:0:-1]))[::-1].tolist(), strict=True))
    axes, sizes, places = surroundings_of(moves)
    if moves.bounds.size * len(places) > MOST_PAIRS:
        _refuse()
    beside = np.zeros(len(places), dtype=np.int64)
    for axis, code in zip(axes, np.unravel_index(places, sizes) if axes else (), strict=True):
        beside += some[axis][code] * strides[axis]
    ends = []
    for cells in (moves.first, moves.second):
        at = np.zeros(len(cells), dtype=np.int64)
        for axis, code in zip(moves.axes, np.unravel_index(cells, moves.shape), strict=True):
            at += some[axis][code] * strides[axis]
        ends.append((at[:, None] + beside).ravel())
    yield ends[0], ends[1], np.repeat(moves.bounds, len(beside))


def _gathered(blocks: Iterable[_Triple]) -> _Triple:
    found: list[_Triple] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    left = MOST_PAIRS
    for block in blocks:
        left -= len(block[2])
        if left < 0:
            _refuse()
        found.append(block)
    first, second, bounds = zip(*found, strict=True)
    return np.concatenate(first), np.concatenate(second), np.concatenate(bounds)


def _refuse() -> None:
    raise TooLarge(
        f"more than {MOST_PAIRS:,} pairs of kinds of records would have to be kept; ask fewer queries at once, or "
        "take coarser attributes"
    )


def _refuse_ends(tables: WeightTables) -> None:
    """The ends of boxes tell kinds apart, before anything is laid out."""
    for table in tables.tables:
        if table.between is not None:
            _refuse_entries(table.kinds, len(table.queries))


def _refuse_entries(kinds: int, queries: int) -> None:
    if kinds * queries > MOST_ENTRIES:
        raise TooLarge(
            f"{queries:,} queries tell {kinds:,} kinds of records apart: more than {MOST_ENTRIES:,} weights are not "
            "laid out; ask fewer queries at once, or take coarser attributes"
        )


ROUNDING: Final = 4 * UNIT_ROUNDOFF
"""Relative: what a subtraction of two values rounds, and a sum of two errors, more than made up for."""
