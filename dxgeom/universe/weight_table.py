"""Integer weights of queries that look at the same attributes, kept only over what they look at.

A query tells apart few attributes, and few classes of their values: "women of 65 and more" sees two classes of
sex and two of age, whatever else the universe holds. Its weights are a small table over those classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.numeric.arrays import distinct_rows, integer_totals, kinds_of_rows
from dxgeom.numeric.sealed import Sealed, cached_property

LARGEST_NUMERATOR = 2**52
"""Integer weights stay below this, so that their differences are exact in float64."""
MOST_WEIGHTS = 200_000_000
"""More weights than this are not laid out in memory."""
_CELLS_AT_ONCE = 1 << 20
_SUMS_BELOW = 2.0**62


@final
@dataclass(frozen=True, eq=False)
class WeightTable(Sealed):
    """Some queries of a workload that look at the same attributes.

    ``queries`` (k,): their places in the workload; ``axes``: the places of the attributes, increasing; ``classes``: for
    each axis the class of every code, 0, 1, … with none left out. The weights are ``dense`` (k, classes of axis 1, …),
    int64; or that is None, and each query counts one cell of the table, that of the place ``counted`` (k,); or a box,
    ``between`` (2, k, axes): along each axis the first class inside, and the first beyond.
    """

    queries: NDArray[np.int64]
    axes: tuple[int, ...]
    classes: tuple[NDArray[np.int64], ...] = field(repr=False)
    dense: NDArray[np.int64] | None = field(repr=False)
    counted: NDArray[np.int64] | None = field(repr=False, default=None)
    between: NDArray[np.int64] | None = field(repr=False, default=None)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of classes of each axis."""
        return tuple(int(own.max()) + 1 for own in self.classes)

    @property
    def cells(self) -> int:
        """The number of cells: of combinations of classes."""
        return math.prod(self.shape)

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """(k, classes of axis 1, …): int64.

        Raises: TooLarge.
        """
        if self.dense is not None:
            return self.dense
        refuse_too_many(len(self.queries), self.cells)
        return self._laid_out(slice(None)).reshape(-1, *self.shape)

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether it is as it has to be, over attributes with so many values."""
        if [*self.axes] != sorted({*self.axes} & {*range(len(shape))}) or len(self.classes) != len(self.axes):
            return False
        sizes = [shape[axis] for axis in self.axes]
        if not all(are_classes(own, size) for own, size in zip(self.classes, sizes, strict=True)):
            return False
        if self.dense is not None:
            laid_out = (len(self.queries), *self.shape)
            alone = self.counted is None and self.between is None
            return alone and self.dense.dtype == np.int64 and self.dense.shape == laid_out
        if self.between is not None:
            if self.between.dtype != np.int64 or self.between.shape != (2, len(self.queries), len(self.axes)):
                return False
            lower, upper = self.between
            proper = bool(np.all((lower >= 0) & (lower < upper) & (upper <= np.array(self.shape))))
            return self.counted is None and len(self.axes) > 0 and proper
        counted = self.queries if self.counted is None else self.counted
        inside = counted.shape == self.queries.shape and bool(np.all((counted >= 0) & (counted < self.cells)))
        return self.counted is not None and inside

    @property
    def flat(self) -> NDArray[np.int64]:
        """(k, cells): the weights with one column per cell of the table."""
        return self.weights.reshape(len(self.queries), -1)

    @cached_property
    def cell_of(self) -> NDArray[np.int64] | None:
        """(k,): the only cell that each query counts, once; None where some query does not count just one."""
        if self.counted is not None:
            return self.counted
        if self.between is not None:
            lower, upper = self.between
            one = np.all(upper == lower + 1)
            return np.asarray(np.ravel_multi_index(tuple(lower.T), self.shape)) if one else None
        single = np.all((self.flat.sum(axis=1) == 1) & (self.flat.min(axis=1) >= 0))
        return np.asarray(self.flat.argmax(axis=1)) if single else None

    @cached_property
    def meanings(self) -> tuple[object, ...]:
        """(k,): what each query has in common with all that weigh records alike, in whatever table."""
        each = each_alone(self)
        return tuple((one.axes, *(own.tobytes() for own in one.classes), one.weights.tobytes()) for one in each)

    @property
    def every_cell_once(self) -> bool:
        """Whether the queries are the cells of the table, each once: a marginal, of which a record is in one cell."""
        counted = self.cell_of
        return counted is not None and len(counted) == self.cells == len(np.unique(counted))

    @property
    def extremes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(k,) and (k,): the smallest and the largest weight of each query."""
        if self.dense is not None:
            return self.flat.min(axis=1), self.flat.max(axis=1)
        everything = np.full(len(self.queries), self.cells == 1)
        if self.between is not None:
            everything = np.all(self.between[1] - self.between[0] == np.array(self.shape), axis=1)
        return everything.astype(np.int64), np.ones(len(self.queries), dtype=np.int64)

    @property
    def kinds(self) -> int:
        """How many kinds of records boxes tell apart at the most."""
        ends = () if self.between is None else self.between.transpose(2, 0, 1)
        return math.prod(
            len(np.unique([*own.ravel(), 0, size])) - 1 for own, size in zip(ends, self.shape, strict=True)
        )

    def totals(self, counts: NDArray[np.int64]) -> list[int]:
        """Each query's exact sum over a histogram of the cells."""
        if self.counted is not None:
            return [int(total) for total in counts[self.counted]]
        if self.between is None:
            return integer_totals(self.flat, counts)
        small = np.abs(counts.astype(np.float64)).sum() < _SUMS_BELOW
        below = (counts if small else counts.astype(object)).reshape(self.shape)
        for axis in range(below.ndim):
            below = np.cumsum(np.insert(below, 0, 0, axis=axis), axis=axis)
        corners = product((0, 1), repeat=len(self.axes))
        ends = [(sum(corner), self.between[list(corner), :, range(len(corner))]) for corner in corners]
        totals = sum((-1) ** (len(self.axes) - upper) * below[tuple(places)] for upper, places in ends)
        return [int(total) for total in totals]

    def rows(self) -> Iterator[NDArray[np.int64]]:
        """The weights as in :attr:`flat`, some queries at a time."""
        if self.dense is not None:
            yield self.flat
            return
        at_once = max(_CELLS_AT_ONCE // self.cells, 1)
        for first in range(0, len(self.queries), at_once):
            yield self._laid_out(slice(first, first + at_once))

    def _laid_out(self, queries: slice) -> NDArray[np.int64]:
        if self.between is not None:
            boxes = self.between[:, queries]
            laid_out = np.ones((boxes.shape[1], 1), dtype=np.int64)
            for size, (lower, upper) in zip(self.shape, boxes.transpose(2, 0, 1)[..., None], strict=True):
                inside = (np.arange(size) >= lower) & (np.arange(size) < upper)
                laid_out = (laid_out[:, :, None] * inside[:, None, :]).reshape(len(laid_out), -1)
            return laid_out
        counted = () if self.counted is None else self.counted[queries]
        laid_out = np.zeros((len(counted), self.cells), dtype=np.int64)
        laid_out[np.arange(len(counted)), counted] = 1
        return laid_out


def are_classes(codes: NDArray[np.int64], values: int, classes: int | None = None) -> bool:
    """Whether these are the classes of so many values, 0, 1, … with none left out; so many, where that is said."""
    if codes.dtype.kind != "i" or codes.shape != (values,) or codes.min(initial=0) < 0:
        return False
    found = np.bincount(codes)
    return bool(np.all(found)) and classes in (None, len(found))


def counts_of_cells(axes: Sequence[int], classes: Sequence[NDArray[np.int64]]) -> WeightTable:
    """One count for each combination of the classes of different attributes, the last one's running fastest."""
    sizes = [int(own.max()) + 1 for own in classes]
    each = np.indices(sizes).reshape(len(sizes), -1)
    looking = sorted((axis, place) for place, axis in enumerate(axes) if sizes[place] > 1)
    order = [place for _, place in looking]
    kept = tuple(sizes[place] for place in order)
    cells = np.ravel_multi_index(tuple(each[order]), kept) if kept else np.zeros(1, dtype=np.int64)
    own = tuple(classes[place] for place in order)
    return WeightTable(np.arange(each.shape[1]), tuple(axis for axis, _ in looking), own, None, np.asarray(cells))


def counts_between(
    axis: int, classes: NDArray[np.int64], lower: NDArray[np.int64], upper: NDArray[np.int64]
) -> WeightTable:
    """For each pair of ends one count of the classes of an attribute from the one to before the other."""
    return WeightTable(np.arange(len(lower)), (axis,), (classes,), None, None, np.stack([lower, upper])[:, :, None])


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
    return _multiplied(first, second, len(first.queries) * len(second.queries), in_all_pairs=True)


def one_by_one(first: WeightTable, second: WeightTable) -> WeightTable:
    """Each query of ``first`` times the one of ``second`` in its place, record by record.

    Raises: TooLarge as :func:`products`.
    """
    return _multiplied(first, second, len(first.queries), in_all_pairs=False)


def _multiplied(first: WeightTable, second: WeightTable, count: int, *, in_all_pairs: bool) -> WeightTable:
    axes = tuple(sorted({*first.axes, *second.axes}))
    shared = [shared_classes((first, second), axis) for axis in axes]
    sizes = [int(classes.max()) + 1 for classes in shared]
    refuse_too_many(count, math.prod(sizes))
    if _largest(first) * _largest(second) >= LARGEST_NUMERATOR:
        raise TooLarge("the products of these weights pass 2**52 over their common units: round them to fewer digits")
    one, other = (_over_shared(table, axes, shared) for table in (first, second))
    weights = (one[:, None] * other[None, :] if in_all_pairs else one * other).reshape(count, *sizes)
    if not {*first.axes} & {*second.axes}:
        return WeightTable(np.arange(count), axes, tuple(shared), weights)
    return WeightTable(np.arange(count), *_fewest_classes(axes, shared, weights))


def each_alone(table: WeightTable) -> Iterator[WeightTable]:
    """Every query as a table of its own, on as few classes as will do, numbered in order of appearance: equal queries
    are equal tables, wherever they come from."""
    for rows in table.rows():
        for row in rows:
            axes, classes, weights = _fewest_classes(table.axes, table.classes, row.reshape(1, *table.shape))
            for place, own in enumerate(classes):
                first, _ = kinds_of_rows(own[:, None])
                weights = np.take(weights, own[first], axis=place + 1)
            numbered = tuple(kinds_of_rows(own[:, None])[1] for own in classes)
            yield WeightTable(np.arange(1), axes, numbered, np.ascontiguousarray(weights))


def only(table: WeightTable, places: Sequence[int]) -> WeightTable:
    """The queries at these rising places, as they were kept; of all of them the table itself."""
    if np.array_equal(table.queries, np.arange(len(places))):
        return table
    counted = None if table.counted is None else table.counted[list(places)]
    stated = None if table.dense is None else table.dense[list(places)]
    between = None if table.between is None else table.between[:, list(places)]
    return WeightTable(np.arange(len(places)), table.axes, table.classes, stated, counted, between)


def refuse_too_many(queries: int, cells: int, most: int = MOST_WEIGHTS) -> None:
    """Raises: TooLarge when so many queries over so many cells are not laid out in memory."""
    if queries * cells > most:
        raise TooLarge(
            f"{queries:,} queries over {cells:,} cells make {queries * cells:,} weights; at most {most:,} are "
            "laid out: ask fewer queries at once, or take coarser attributes"
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


def _over_shared(table: WeightTable, axes: tuple[int, ...], shared: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The weights by shared class, (k, …), with an axis of length one where the table does not look."""
    looking = [(axis, classes) for axis, classes in zip(axes, shared, strict=True) if axis in table.axes]
    own = [class_of_shared(table, axis, classes) for axis, classes in looking]
    weights = table.weights
    if not all(np.array_equal(one, np.arange(size)) for one, size in zip(own, weights.shape[1:], strict=True)):
        weights = weights[np.ix_(np.arange(len(table.queries)), *own)]
        weights.setflags(write=False)  # nobody else has it: a table does not copy it
    return with_axes(weights, table.axes, axes)


def with_axes(weights: NDArray[np.int64], own: Sequence[int], axes: Sequence[int]) -> NDArray[np.int64]:
    """(k, an axis for each of ``own``) with an axis of length one for every other one of ``axes``."""
    sizes = iter(weights.shape[1:])
    return weights.reshape(len(weights), *(next(sizes) if axis in own else 1 for axis in axes))


def _largest(table: WeightTable) -> int:
    low, high = table.extremes
    return max(int(high.max(initial=0)), -int(low.min(initial=0)))


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
