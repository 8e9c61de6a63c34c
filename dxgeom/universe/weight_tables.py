"""The integer weights of whole workloads: tables below each other, over any universe.

A universe is a product of attributes, or listed records, and perhaps an absent one.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.arrays import summed_by_class
from dxgeom.numeric.sealed import Sealed, cached_property
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import (
    WeightTable,
    class_of_shared,
    refuse_too_many,
    shared_classes,
    tabulated,
    with_axes,
)


@final
@dataclass(frozen=True, eq=False)
class WeightTables(Sealed):
    """The integer weights of K queries over the product of attributes with ``shape`` values, as tables.

    Every query is in exactly one table. A plain matrix is one table over one attribute.
    """

    shape: tuple[int, ...]
    tables: tuple[WeightTable, ...]

    @property
    def count(self) -> int:
        """The number K of queries."""
        return sum(len(table.queries) for table in self.tables)

    @property
    def size(self) -> int:
        """The number N of record types."""
        return math.prod(self.shape)

    @property
    def is_matrix(self) -> bool:
        """Whether this is one table over all values of the only attribute, its queries and they in order: a plain
        matrix."""
        (table, *others) = self.tables
        whole = len(self.shape) == 1 and not others and table.shape == self.shape
        ordered = whole and np.array_equal(table.queries, np.arange(len(table.queries)))
        return ordered and bool(np.all(table.classes[0] == np.arange(self.size)))

    @property
    def proper(self) -> bool:
        """Whether every table is as it has to be, and every query in exactly one."""
        placed = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *(table.queries for table in self.tables)]))
        return np.array_equal(placed, np.arange(len(placed))) and all(table.fits(self.shape) for table in self.tables)

    @cached_property
    def extremes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(K,) and (K,): the smallest and the largest weight of each query; some record type has it."""
        low, high = np.empty(self.count, dtype=np.int64), np.empty(self.count, dtype=np.int64)
        for table in self.tables:
            low[table.queries], high[table.queries] = table.extremes
        return low, high

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
        tables = (replace(table, stated=weights, counted=None) for table, weights in laid_out)
        return WeightTables(self.shape, tuple(tables))

    def only(self, places: Sequence[int]) -> WeightTables:
        """The queries at these rising places, in that order."""
        kept = []
        for table in self.tables:
            mine = np.isin(table.queries, places)
            if mine.any():
                part = table if mine.all() else replace(table, stated=table.weights[mine], counted=None)
                kept.append(replace(part, queries=np.searchsorted(places, table.queries[mine])))
        return WeightTables(self.shape, tuple(kept))

    def matrix(self) -> NDArray[np.int64]:
        """The weights laid out, (K, N).

        Raises: TooLarge.
        """
        if self.is_matrix:
            return self.tables[0].weights
        refuse_too_many(self.count, self.size)
        laid_out = np.empty((self.count, *self.shape), dtype=np.int64)
        for table in self.tables:
            by_code = table.weights[np.ix_(np.arange(len(table.queries)), *table.classes)]
            laid_out[table.queries] = with_axes(by_code, table.axes, range(len(self.shape)))
        return laid_out.reshape(self.count, -1)

    def totals(self, counts: NDArray[np.int64]) -> list[int]:
        """Σ_i weight[k, i]·counts[i] for each query, exactly.

        The histogram is walked once, down to the classes that any query tells apart.
        """
        found: dict[int, int] = {}
        axes, shared = self.shared
        grid = counts.reshape(self.shape)
        for axis in range(len(self.shape)):
            grid = summed_by_class(grid, axis, shared[axes.index(axis)] if axis in axes else None)
        for table in self.tables:
            small = grid
            for axis in range(len(self.shape)):
                small = summed_by_class(small, axis, self._coarser(table, axis))
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
        """SHA-256 of the shape and all tables."""
        digest = hashlib.sha256(repr(self.shape).encode())
        for table in self.tables:
            shape = (len(table.queries), *table.shape)
            digest.update(repr((table.queries.tolist(), table.axes, shape)).encode())
            for array in (*table.classes, *table.rows()):
                digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return digest.hexdigest()


def tables_of_matrix(matrix: NDArray[np.int64]) -> WeightTables:
    """A plain (K, N) matrix as one table over one attribute of N values."""
    count, size = matrix.shape
    return WeightTables((size,), (WeightTable(np.arange(count), (0,), (np.arange(size),), matrix),))


def over_attributes(tables: WeightTables, shape: tuple[int, ...]) -> WeightTables:
    """The same queries over the product of attributes of this ``shape``, where they were a plain matrix."""
    if tables.shape == shape or not tables.is_matrix:
        return tables
    (table,) = tables.tables
    weights = table.weights.reshape(-1, *shape)
    return WeightTables(shape, (replace(tabulated(range(len(shape)), weights), queries=table.queries),))


def stacked(shape: tuple[int, ...], tables: Iterable[WeightTable]) -> WeightTables:
    """Tables one below the other: the queries of each come after all of those before it."""
    return below(
        shape, [WeightTables(shape, (replace(table, queries=np.arange(len(table.queries))),)) for table in tables]
    )


def below(shape: tuple[int, ...], parts: Sequence[WeightTables]) -> WeightTables:
    """Whole workloads one below the other, each query keeping its place within its own."""
    placed, at = [], 0
    for part in parts:
        placed += [replace(table, queries=table.queries + at) for table in part.tables]
        at += part.count
    return WeightTables(shape, tuple(placed))


def is_plain_product(universe: Universe) -> bool:
    """Whether the elements are all combinations of values and nothing else."""
    return universe.listed is None and universe.absent is None


def along(universe: Universe, place: int, weights: NDArray[Any]) -> WeightTable:
    """Weights (k, values) by the value of the attribute at ``place``, over the universe's layout."""
    if universe.listed is None:
        return tabulated((place,), weights)
    return tabulated((0,), weights[:, universe.listed_codes[place]])


def table_of_rows(universe: Universe, rows: NDArray[np.int64]) -> WeightTable:
    """Weights (k, record types) as a table over the universe's layout."""
    return tabulated(range(len(universe.layout)), rows.reshape(-1, *universe.layout))


def over_universe(universe: Universe, over_layout: Iterable[WeightTable]) -> WeightTables:
    """Tables over the layout, one below the other, as queries over the elements: a plain matrix where a table lists
    the records or one may be absent, who then has the weight 0.

    Raises: TooLarge.
    """
    tables = stacked(universe.layout, over_layout)
    if is_plain_product(universe):
        return tables
    refuse_too_many(tables.count, universe.size)
    gone = np.zeros((tables.count, universe.size - universe.record_types), dtype=np.int64)
    return tables_of_matrix(np.concatenate([tables.matrix(), gone], axis=1))


def require_nothing_for_absence(numerators: NDArray[np.int64], absent: int) -> None:
    """A weight for the absent record would count who is not there, and hide who is.

    Raises: UnsupportedCombination.
    """
    if np.any(numerators[:, absent]):
        raise UnsupportedCombination("every query gives the absent record, the last one, the weight 0")
