"""Integer weights of many queries, each kept only over what it looks at.

A query tells apart few attributes, and few classes of their values: "women of 65 and more" sees two classes of
sex and two of age, whatever else the universe holds. Its weights are a small table over those classes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.numeric.exact_sums import integer_totals, summed_by_class
from dxgeom.numeric.rows import distinct_rows, kinds_of_rows

LARGEST_NUMERATOR = 2**52
"""Integer weights stay below this, so that their differences are exact in float64."""
MOST_WEIGHTS = 200_000_000
"""More weights than this are not laid out in memory."""


@final
@dataclass(frozen=True, eq=False)
class WeightTable:
    """Some queries of a workload that look at the same attributes.

    ``queries`` (k,): their places in the workload; ``axes``: the places of the attributes, increasing; ``classes``: for
    each axis the class of every code, 0, 1, … with none left out; ``weights`` (k, classes of axis 1, …): int64.
    """

    queries: NDArray[np.int64]
    axes: tuple[int, ...]
    classes: tuple[NDArray[np.int64], ...] = field(repr=False)
    weights: NDArray[np.int64] = field(repr=False)

    @property
    def flat(self) -> NDArray[np.int64]:
        """(k, cells): the weights with one column per cell of the table."""
        return self.weights.reshape(len(self.queries), -1)


@final
@dataclass(frozen=True, eq=False)
class WeightTables:
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
        whole = len(self.shape) == 1 and not others and table.weights.shape[1:] == self.shape
        ordered = whole and np.array_equal(table.queries, np.arange(len(table.queries)))
        return ordered and bool(np.all(table.classes[0] == np.arange(self.size)))

    @cached_property
    def extremes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(K,) and (K,): the smallest and the largest weight of each query; some record type has it."""
        low, high = np.empty(self.count, dtype=np.int64), np.empty(self.count, dtype=np.int64)
        for table in self.tables:
            low[table.queries], high[table.queries] = table.flat.min(axis=1), table.flat.max(axis=1)
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
        tables = (replace(table, weights=change(table).reshape(table.weights.shape)) for table in self.tables)
        return WeightTables(self.shape, tuple(tables))

    def matrix(self) -> NDArray[np.int64]:
        """The weights laid out, (K, N).

        Raises: TooLarge.
        """
        if self.is_matrix:
            return self.tables[0].weights
        refuse_too_many(self.count, self.size)
        laid_out = np.empty((self.count, *self.shape), dtype=np.int64)
        for table in self.tables:
            laid_out[table.queries] = _broadcast(_over_codes(table), table.axes, len(self.shape))
        return laid_out.reshape(self.count, -1)

    def totals(self, counts: NDArray[np.int64]) -> list[int]:
        """Σ_i weight[k, i]·counts[i] for each query, exactly.

        The histogram is walked once, down to the classes that any query tells apart.
        """
        found: dict[int, int] = {}
        axes, shared = self._shared
        grid = counts.reshape(self.shape)
        for axis in range(len(self.shape)):
            grid = summed_by_class(grid, axis, shared[axes.index(axis)] if axis in axes else None)
        for table in self.tables:
            small = grid
            for axis in range(len(self.shape)):
                small = summed_by_class(small, axis, self._coarser(table, axis))
            found |= dict(zip(table.queries.tolist(), integer_totals(table.flat, small.reshape(-1)), strict=True))
        return [found[query] for query in range(self.count)]

    @cached_property
    def _shared(self) -> tuple[tuple[int, ...], tuple[NDArray[np.int64], ...]]:
        axes = tuple(sorted({axis for table in self.tables for axis in table.axes}))
        return axes, tuple(shared_classes(self.tables, axis) for axis in axes)

    def _coarser(self, table: WeightTable, axis: int) -> NDArray[np.int64] | None:
        """The table's class of each shared class of an axis; None where it does not look."""
        if axis not in table.axes:
            return None
        axes, shared = self._shared
        return class_of_shared(table, axis, shared[axes.index(axis)])

    @property
    def digest(self) -> str:
        """SHA-256 of the shape and all tables."""
        digest = hashlib.sha256(repr(self.shape).encode())
        for table in self.tables:
            digest.update(repr((table.queries.tolist(), table.axes, table.weights.shape)).encode())
            for array in (*table.classes, table.weights):
                digest.update(np.ascontiguousarray(array).tobytes())
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
    placed, at = [], 0
    for table in tables:
        placed.append(replace(table, queries=np.arange(at, at + len(table.queries))))
        at += len(table.queries)
    return WeightTables(shape, tuple(placed))


def below(shape: tuple[int, ...], parts: Sequence[WeightTables]) -> WeightTables:
    """Whole workloads one below the other, each query keeping its place within its own."""
    placed, at = [], 0
    for part in parts:
        placed += [replace(table, queries=table.queries + at) for table in part.tables]
        at += part.count
    return WeightTables(shape, tuple(placed))


def tabulated(axes: Sequence[int], weights: NDArray[Any]) -> WeightTable:
    """The table of k queries from their weights by code, (k, values of axis 1, …), on as few classes as will do."""
    codes = [np.arange(size) for size in weights.shape[1:]]
    kept_axes, classes, kept = _fewest_classes(axes, codes, weights)
    return WeightTable(np.arange(len(weights)), kept_axes, classes, kept)


def products(first: WeightTable, second: WeightTable) -> WeightTable:
    """Each query of ``first`` times each of ``second``, record by record: their Kronecker product where they look at
    different attributes. The queries of ``second`` run fastest.

    Raises: TooLarge when there are too many weights, or one is too wide for exact arithmetic.
    """
    if not second.axes and second.weights.tolist() == [1]:
        return first
    axes = tuple(sorted({*first.axes, *second.axes}))
    shared = [shared_classes((first, second), axis) for axis in axes]
    sizes = [int(classes.max()) + 1 for classes in shared]
    count = len(first.queries) * len(second.queries)
    refuse_too_many(count, math.prod(sizes))
    if _largest(first) * _largest(second) >= LARGEST_NUMERATOR:
        raise TooLarge("the products of these weights pass 2**52 over their common units: round them to fewer digits")
    one, other = (_over_shared(table, axes, shared) for table in (first, second))
    weights = (one[:, None] * other[None, :]).reshape(count, *sizes)
    if not {*first.axes} & {*second.axes}:
        return WeightTable(np.arange(count), axes, tuple(shared), weights)
    return WeightTable(np.arange(count), *_fewest_classes(axes, shared, weights))


def refuse_too_many(queries: int, cells: int) -> None:
    """Raises: TooLarge when so many queries over so many cells are not laid out in memory."""
    if queries * cells > MOST_WEIGHTS:
        raise TooLarge(
            f"{queries:,} queries over {cells:,} cells make {queries * cells:,} weights; at most {MOST_WEIGHTS:,} are "
            "laid out: ask fewer queries at once, or coarsen the universe"
        )


def shared_classes(tables: Sequence[WeightTable], axis: int) -> NDArray[np.int64]:
    """The class of every code of an attribute when codes are the same that no table tells apart."""
    looking = [table.classes[table.axes.index(axis)] for table in tables if axis in table.axes]
    return distinct_rows(np.stack(looking, axis=1))[1]


def on_shared_classes(tables: Sequence[WeightTable]) -> tuple[WeightTable, ...]:
    """The same tables with one numbering of classes for each attribute, so that a cell means the same in all of them.

    Raises: TooLarge.
    """
    axes = sorted({axis for table in tables for axis in table.axes})
    shared = {axis: shared_classes(tables, axis) for axis in axes}
    count = {axis: int(classes.max()) + 1 for axis, classes in shared.items()}
    for table in tables:
        refuse_too_many(len(table.queries), math.prod(count[axis] for axis in table.axes))
    return tuple(
        WeightTable(
            table.queries,
            table.axes,
            tuple(shared[axis] for axis in table.axes),
            _over_shared(table, table.axes, [shared[axis] for axis in table.axes]),
        )
        for table in tables
    )


def class_of_shared(table: WeightTable, axis: int, shared: NDArray[np.int64]) -> NDArray[np.int64]:
    """The table's own class of each shared class of one of its axes."""
    own = np.empty(int(shared.max()) + 1, dtype=np.int64)
    own[shared] = table.classes[table.axes.index(axis)]
    return own


def _over_codes(table: WeightTable) -> NDArray[np.int64]:
    return table.weights[np.ix_(np.arange(len(table.queries)), *table.classes)]


def _over_shared(table: WeightTable, axes: tuple[int, ...], shared: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The weights by shared class, (k, …), with an axis of length one where the table does not look."""
    looking = [(axis, classes) for axis, classes in zip(axes, shared, strict=True) if axis in table.axes]
    own = [class_of_shared(table, axis, classes) for axis, classes in looking]
    weights = table.weights
    if not all(np.array_equal(one, np.arange(size)) for one, size in zip(own, weights.shape[1:], strict=True)):
        weights = weights[np.ix_(np.arange(len(table.queries)), *own)]
    sizes = iter(weights.shape[1:])
    return weights.reshape(len(weights), *(next(sizes) if axis in table.axes else 1 for axis in axes))


def _largest(table: WeightTable) -> int:
    return max(int(table.weights.max(initial=0)), -int(table.weights.min(initial=0)))


def _broadcast(weights: NDArray[np.int64], axes: tuple[int, ...], dimensions: int) -> NDArray[np.int64]:
    """(k, …) with an axis of length one for every attribute that a table does not look at."""
    sizes = iter(weights.shape[1:])
    return weights.reshape(len(weights), *(next(sizes) if axis in axes else 1 for axis in range(dimensions)))


def _fewest_classes(
    axes: Sequence[int], classes: Sequence[NDArray[np.int64]], weights: NDArray[Any]
) -> tuple[tuple[int, ...], tuple[NDArray[np.int64], ...], NDArray[np.int64]]:
    """The same weights (k, …) with classes joined that no query tells apart, and without attributes left with one."""
    kept_axes: list[int] = []
    kept_classes: list[NDArray[np.int64]] = []
    for axis, own in zip(axes, classes, strict=True):
        place = len(kept_axes) + 1
        first, which = kinds_of_rows(np.moveaxis(weights, place, 0))
        if len(first) < weights.shape[place]:
            weights = np.take(weights, first, axis=place)
        if len(first) == 1:
            weights = weights.reshape(*weights.shape[:place], *weights.shape[place + 1 :])
        else:
            kept_axes.append(axis)
            kept_classes.append(which[own])
    return tuple(kept_axes), tuple(kept_classes), np.ascontiguousarray(weights, dtype=np.int64)
