"""Which queries are whole tables of counts, and of what: read from their weights, whatever wrote them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.lattice import LatticeQueries
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import WeightTable, tabulated

Values: TypeAlias = bytes
"""Some values of an attribute: a byte for each, 1 where it is among them."""
_Cell: TypeAlias = dict[int, Values]

_NO_TABLES: Final = "these queries are not whole tables of counts"
_MOST_WEIGHTS: Final = 1 << 25


@final
@dataclass(frozen=True, eq=False)
class CountTables:
    """Queries that are every cell of some marginals, each once.

    ``classes``: of each attribute looked at, by its place, the class of every value, the same in all tables. ``asked``:
    the attributes of each table, as places among these; ``queries``: the query of each of its cells, the last
    attribute's class running fastest.
    """

    classes: dict[int, NDArray[np.int64]] = field(repr=False)
    asked: tuple[tuple[int, ...], ...]
    queries: tuple[NDArray[np.int64], ...] = field(repr=False)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many classes each attribute has that is looked at."""
        return tuple(int(own.max()) + 1 for _, own in sorted(self.classes.items()))


def count_tables(queries: LatticeQueries, universe: Universe | None) -> CountTables:
    """The tables that the queries are. Raises: TooLarge where they are none."""
    if universe is None or universe.listed is not None:
        raise TooLarge(f"{_NO_TABLES}: nobody says which attributes the records have, or a table lists them")
    by_axes: dict[tuple[int, ...], dict[tuple[Values, ...], int]] = {}
    for query, cell in _cells(queries, universe):
        axes = tuple(sorted(cell))
        found = by_axes.setdefault(axes, {})
        key = tuple(cell[axis] for axis in axes)
        if key in found:
            raise TooLarge(f"{_NO_TABLES}: '{queries.names[query]}' is asked twice")
        found[key] = query
    parts = _partitions(by_axes, queries)
    places = {axis: place for place, axis in enumerate(sorted(parts))}
    tables = [_ordered(axes, cells, parts) for axes, cells in by_axes.items()]
    classes = {axis: _class_of_each(own) for axis, own in parts.items()}
    return CountTables(classes, tuple(tuple(places[axis] for axis in axes) for axes in by_axes), tuple(tables))


def _cells(queries: LatticeQueries, universe: Universe) -> Iterator[tuple[int, _Cell]]:
    """Every query as the one cell that it counts."""
    for table in tables_over(queries, universe):
        flat = table.flat
        place = flat.argmax(axis=1)
        single = (np.count_nonzero(flat, axis=1) == 1) & (flat.min(axis=1) >= 0)
        for row, query in enumerate(table.queries.tolist()):
            if not single[row] and flat.shape[1] > 1:
                raise TooLarge(f"{_NO_TABLES}: '{queries.names[query]}' is no count of one cell")
            if Fraction(int(flat[row, place[row]])) * queries.steps[query] != 1:
                raise TooLarge(f"{_NO_TABLES}: '{queries.names[query]}' does not count each record once")
            own = np.unravel_index(place[row], table.shape) if table.axes else ()
            both = zip(table.axes, table.classes, own, strict=True)
            yield query, {axis: (classes == one).astype(np.uint8).tobytes() for axis, classes, one in both}


def tables_over(queries: LatticeQueries, universe: Universe) -> Iterator[WeightTable]:
    """The queries' weights as tables over the attributes, also where they are a matrix. Raises: TooLarge."""
    tables = queries.tables
    if tables.shape == universe.shape:
        yield from tables.tables
        return
    if tables.count * tables.size > _MOST_WEIGHTS:
        raise TooLarge(f"{_NO_TABLES}, or too many to tell")
    for query, row in enumerate(tables.matrix()[:, : universe.record_types]):
        table = tabulated(range(len(universe.shape)), row.reshape(1, *universe.shape))
        yield WeightTable(np.array([query]), table.axes, table.classes, table.weights)


def _partitions(
    by_axes: dict[tuple[int, ...], dict[tuple[Values, ...], int]], queries: LatticeQueries
) -> dict[int, list[Values]]:
    """The classes of each attribute, by their first value: they do not overlap, and leave no value out."""
    parts: dict[int, list[Values]] = {}
    for axes, cells in by_axes.items():
        for place, axis in enumerate(axes):
            own = sorted({key[place] for key in cells}, reverse=True)
            if parts.setdefault(axis, own) != own:
                raise TooLarge(f"{_NO_TABLES} over the same values everywhere")
        if len(cells) != math.prod(len(parts[axis]) for axis in axes):
            raise TooLarge(f"{_NO_TABLES}: some cell is missing, or the cells overlap")
    for own in parts.values():
        if not np.all(np.sum([np.frombuffer(part, dtype=np.uint8) for part in own], axis=0) == 1):
            raise TooLarge(f"{_NO_TABLES}: their cells overlap, or leave values out")
    return parts


def _class_of_each(parts: list[Values]) -> NDArray[np.int64]:
    return np.asarray(np.argmax([np.frombuffer(part, dtype=np.uint8) for part in parts], axis=0))


def _ordered(
    axes: tuple[int, ...], cells: dict[tuple[Values, ...], int], parts: dict[int, list[Values]]
) -> NDArray[np.int64]:
    """(cells,): the query of each cell."""
    rank = [{part: place for place, part in enumerate(parts[axis])} for axis in axes]
    shape = tuple(len(one) for one in rank)
    ordered = np.empty(math.prod(shape), dtype=np.int64)
    for key, query in cells.items():
        place = 0
        for one, part, size in zip(rank, key, shape, strict=True):
            place = place * size + one[part]
        ordered[place] = query
    return ordered
