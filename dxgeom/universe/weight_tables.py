"""The integer weights of whole workloads: tables below each other, over any universe.

A universe is a product of attributes, or listed records, and perhaps an absent one: that is a coordinate of its own,
beside all of the product, so nothing has to be laid out for it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.arrays import summed_by_class
from dxgeom.numeric.sealed import Sealed, cached_property
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import (
    MOST_WEIGHTS,
    WeightTable,
    class_of_shared,
    only,
    refuse_too_many,
    shared_classes,
    tabulated,
    with_axes,
)

_ENTRIES_AT_ONCE: Final = 1 << 20


@final
@dataclass(frozen=True, eq=False)
class WeightTables(Sealed):
    """The integer weights of K queries over the product of attributes with ``shape`` values, as tables.

    Every query is in exactly one table. A plain matrix is one table over one attribute. ``absent``: whether there is
    one possible record more, the last, which is no record; every query gives it the weight 0.
    """

    shape: tuple[int, ...]
    tables: tuple[WeightTable, ...]
    absent: bool = False

    @property
    def count(self) -> int:
        """The number K of queries."""
        return sum(len(table.queries) for table in self.tables)

    @property
    def size(self) -> int:
        """The number N of possible records, with the absent one."""
        return math.prod(self.shape) + self.absent

    @property
    def is_matrix(self) -> bool:
        """Whether this is one table over all values of the only attribute, its queries and they in order: a plain
        matrix."""
        (table, *others) = self.tables
        whole = len(self.shape) == 1 and not others and table.shape == self.shape and not self.absent
        ordered = whole and np.array_equal(table.queries, np.arange(len(table.queries)))
        return ordered and bool(np.all(table.classes[0] == np.arange(self.size)))

    @property
    def proper(self) -> bool:
        """Whether every table is as it has to be, and every query in exactly one."""
        placed = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *(table.queries for table in self.tables)]))
        return np.array_equal(placed, np.arange(len(placed))) and all(table.fits(self.shape) for table in self.tables)

    @cached_property
    def extremes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(K,) and (K,): the smallest and the largest weight of each query; some possible record has it."""
        low, high = np.empty(self.count, dtype=np.int64), np.empty(self.count, dtype=np.int64)
        for table in self.tables:
            low[table.queries], high[table.queries] = table.extremes
        return (np.minimum(low, 0), np.maximum(high, 0)) if self.absent else (low, high)

    @cached_property
    def table_of_each(self) -> NDArray[np.int64]:
        """(K,): the table that each query is in."""
        owner = np.empty(self.count, dtype=np.int64)
        for place, table in enumerate(self.tables):
            owner[table.queries] = place
        return owner

    def changed(self, change: Callable[[WeightTable], NDArray[np.int64]]) -> WeightTables:
        """The same tables with other weights; ``change`` gives those of a table, (k, cells)."""
        laid_out = ((table, change(table).reshape(-1, *table.shape)) for table in self.tables)
        tables = (replace(table, dense=weights, counted=None, between=None) for table, weights in laid_out)
        return replace(self, tables=tuple(tables))

    def only(self, places: Sequence[int]) -> WeightTables:
        """The queries at these rising places, in that order."""
        kept = []
        for table in self.tables:
            mine = np.isin(table.queries, places)
            if mine.any():
                part = table if mine.all() else only(table, np.flatnonzero(mine).tolist())
                kept.append(replace(part, queries=np.searchsorted(places, table.queries[mine])))
        return replace(self, tables=tuple(kept))

    def matrix(self) -> NDArray[np.int64]:
        """The weights laid out, (K, N).

        Raises: TooLarge.
        """
        if self.is_matrix:
            return self.tables[0].weights
        refuse_too_many(self.count, self.size)
        return self._laid_out(0, self.count)

    def of_records(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """(P, K): the weights of the records at these places, which may be that of the absent one."""
        weights = np.zeros((len(places), self.count), dtype=np.int64)
        there = places < math.prod(self.shape)
        codes = np.unravel_index(places[there], self.shape)
        for table in self.tables:
            cells = [own[codes[axis]] for axis, own in zip(table.axes, table.classes, strict=True)]
            at = np.ravel_multi_index(cells, table.shape) if cells else np.zeros(int(there.sum()), dtype=np.int64)
            weights[np.ix_(there, table.queries)] = table.flat.T[at]
        return weights

    def _laid_out(self, first: int, beyond: int) -> NDArray[np.int64]:
        """The weights of the queries at these places, (beyond − first, N)."""
        laid_out = np.zeros((beyond - first, self.size), dtype=np.int64)
        grid = laid_out[:, : math.prod(self.shape)].reshape(beyond - first, *self.shape) if not self.absent else None
        for table in self.tables:
            mine = np.flatnonzero((table.queries >= first) & (table.queries < beyond))
            if not mine.size:
                continue
            weights = (table if len(mine) == len(table.queries) else only(table, mine.tolist())).weights
            by_code = weights[np.ix_(np.arange(len(mine)), *table.classes)]
            over_all, places = with_axes(by_code, table.axes, range(len(self.shape))), table.queries[mine] - first
            if grid is not None:
                grid[places] = over_all
            else:
                laid_out[places, :-1] = np.broadcast_to(over_all, (len(mine), *self.shape)).reshape(len(mine), -1)
        return laid_out

    def totals(self, counts: NDArray[np.int64]) -> list[int]:
        """Σ_i weight[k, i]·counts[i] for each query, exactly.

        The histogram is walked once, down to the classes that any query tells apart.
        """
        axes, shared = self.shared
        grid = (counts[:-1] if self.absent else counts).reshape(self.shape)
        for axis in range(len(self.shape)):
            grid = summed_by_class(grid, axis, shared[axes.index(axis)] if axis in axes else None)
        everywhere = tuple(range(len(self.shape)))
        return self._totals(everywhere, lambda table: grid)

    def totals_of_tables(self, counted: Mapping[tuple[int, ...], NDArray[np.int64]]) -> list[int]:
        """The same from counts in tables: of each set of attributes that some query looks at, by :attr:`shared`
        classes, the last attribute's running fastest; *exact*."""
        axes, shared = self.shared
        size = {axis: int(own.max()) + 1 for axis, own in zip(axes, shared, strict=True)}
        return self._totals(None, lambda table: counted[table.axes].reshape([size[axis] for axis in table.axes]))

    def _totals(self, axes: tuple[int, ...] | None, counts_of: Callable[[WeightTable], NDArray[np.int64]]) -> list[int]:
        """From counts by shared class along ``axes``, or each table's own."""
        found: dict[int, int] = {}
        for table in self.tables:
            small = counts_of(table)
            for place, axis in enumerate(table.axes if axes is None else axes):
                small = summed_by_class(small, place, self._coarser(table, axis))
            found |= dict(zip(table.queries.tolist(), table.totals(small.reshape(-1)), strict=True))
        return [found[query] for query in range(self.count)]

    @cached_property
    def shared(self) -> tuple[tuple[int, ...], tuple[NDArray[np.int64], ...]]:
        """The attributes that any query looks at, and for each the class of every code, equal where none tells them
        apart."""
        axes = tuple(sorted({axis for table in self.tables for axis in table.axes}))
        return axes, tuple(shared_classes(self.tables, axis) for axis in axes)

    def class_in(self, table: WeightTable, axis: int) -> NDArray[np.int64]:
        """The table's class of each shared class of an axis that it looks at."""
        axes, shared = self.shared
        return class_of_shared(table, axis, shared[axes.index(axis)])

    def _coarser(self, table: WeightTable, axis: int) -> NDArray[np.int64] | None:
        return self.class_in(table, axis) if axis in table.axes else None

    @property
    def digest(self) -> str:
        """SHA-256 of the shape and all tables; with an absent record, of the same weights as a plain matrix, as long as
        so many are laid out: what was remembered under that digest is known by it."""
        if self.absent and self.count * self.size <= MOST_WEIGHTS:
            return self._digest_as_matrix
        digest = hashlib.sha256(repr((self.shape, "and no record") if self.absent else self.shape).encode())
        for table in self.tables:
            shape = (len(table.queries), *table.shape)
            digest.update(repr((table.queries.tolist(), table.axes, shape)).encode())
            # Nobody has remembered boxes of which so many weights were not laid out.
            listed = len(table.axes) < 2 or len(table.queries) * table.cells <= MOST_WEIGHTS
            told = table.rows() if listed or table.between is None else (table.between,)
            for array in chain(table.classes, told):
                digest.update(_bytes_of(array))
        return digest.hexdigest()

    @cached_property
    def _digest_as_matrix(self) -> str:
        digest = hashlib.sha256(repr((self.size,)).encode())
        digest.update(repr((list(range(self.count)), (0,), (self.count, self.size))).encode())
        digest.update(_bytes_of(np.arange(self.size)))
        for rows in self._rows():
            digest.update(_bytes_of(rows))
        return digest.hexdigest()

    def _rows(self) -> Iterator[NDArray[np.int64]]:
        """All weights, some queries at a time."""
        at_once = max(1, _ENTRIES_AT_ONCE // self.size)
        for first in range(0, self.count, at_once):
            yield self._laid_out(first, min(first + at_once, self.count))


def _bytes_of(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array, dtype="<i8").tobytes()


def tables_of_matrix(matrix: NDArray[np.int64]) -> WeightTables:
    """A plain (K, N) matrix as one table over one attribute of N values."""
    count, size = matrix.shape
    return WeightTables((size,), (WeightTable(np.arange(count), (0,), (np.arange(size),), matrix),))


def over_layout(tables: WeightTables, universe: Universe) -> WeightTables:
    """The same queries over the universe's layout, where they were a plain matrix of all its elements.

    Raises: TooLarge.
    """
    if tables.shape == universe.layout and tables.absent == universe.presence:
        return tables
    weights = tables.matrix()[:, : universe.record_types].reshape(-1, *universe.layout)
    return WeightTables(universe.layout, (tabulated(range(len(universe.layout)), weights),), universe.presence)


def stacked(shape: tuple[int, ...], tables: Iterable[WeightTable], absent: bool = False) -> WeightTables:
    """Tables one below the other: the queries of each come after all of those before it."""
    each = [replace(table, queries=np.arange(len(table.queries))) for table in tables]
    return below([WeightTables(shape, (), absent), *(WeightTables(shape, (one,), absent) for one in each)])


def below(parts: Sequence[WeightTables]) -> WeightTables:
    """Whole workloads over the same records one below the other, each query keeping its place within its own."""
    placed, at = [], 0
    for part in parts:
        placed += [replace(table, queries=table.queries + at) for table in part.tables]
        at += part.count
    return replace(parts[0], tables=tuple(placed))


def is_plain_product(universe: Universe) -> bool:
    """Whether the elements are all combinations of values and nothing else."""
    return universe.listed is None and universe.absent is None


def along(universe: Universe, place: int, weights: NDArray[Any]) -> WeightTable:
    """Weights (k, values) by the value of the attribute at ``place``, over the universe's layout."""
    if universe.listed is None:
        return tabulated((place,), weights)
    return tabulated((0,), weights[:, universe.listed_codes[place]])


def table_of_rows(universe: Universe, rows: NDArray[np.int64]) -> WeightTable:
    """Weights (k, possible records) as a table over the universe's layout."""
    return tabulated(range(len(universe.layout)), rows.reshape(-1, *universe.layout))


def over_universe(universe: Universe, over_layout: Iterable[WeightTable]) -> WeightTables:
    """Tables over the layout, one below the other, as queries over the elements: a plain matrix where a table lists
    the records.

    Raises: TooLarge.
    """
    tables = stacked(universe.layout, over_layout, universe.presence)
    return tables if universe.listed is None else tables_of_matrix(tables.matrix())


def require_nothing_for_absence(tables: WeightTables, absent: int) -> None:
    """A weight for the absent record would count who is not there, and hide who is.

    Raises: UnsupportedCombination.
    """
    if tables.absent and absent == tables.size - 1:
        return
    codes = np.unravel_index(absent, tables.shape)
    for table in tables.tables:
        weights = table.weights
        for axis, classes in zip(table.axes, table.classes, strict=True):
            weights = weights[:, int(classes[codes[axis]])]
        if np.any(weights):
            raise UnsupportedCombination("every query gives the absent record, the last one, the weight 0")
