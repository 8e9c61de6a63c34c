"""The counts in whole tables, read without a count of every possible record: rows are never put together into those.

The counts of keys, values of some columns together, read without a count of keys that no row has.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, final

import duckdb
import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.cells import BatchEncoder
from dxgeom.engines.histogram import Outside, Tally, counted, records_of
from dxgeom.engines.people import CountedPeople, chosen_rows, in_parts, person_periods, whole_people
from dxgeom.engines.reading import RECORDS, Grouping, RecordReader
from dxgeom.engines.source import ibis
from dxgeom.engines.tables_on_servers import tallied_there
from dxgeom.engines.watching import changed_meanwhile
from dxgeom.errors import DataError, TooLarge
from dxgeom.numeric.arrays import exact_sum
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.people.people import ComponentKeys, require_room, rows_of_each, shares_of_groups
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.groups import Groups
from dxgeom.universe.workloads.whole_tables import MarginalQueries


class CountedCells(Protocol):
    """What rows are added to. ``counts``: those so far."""

    counts: NDArray[np.int64]

    def add(self, codes: Sequence[NDArray[np.int64]], records: NDArray[np.int64] | None) -> None:
        """Adds rows inside the universe, by the code of each of its attributes; ``records``: what each stands for, None
        for one."""


@final
class Cells:
    """The cells of all tables, one table after the other, to which rows are added."""

    def __init__(self, queries: MarginalQueries) -> None:
        self._queries = queries
        sizes = [math.prod(shape) for shape in queries.shapes]
        self.counts: NDArray[np.int64] = np.zeros(sum(sizes), dtype=np.int64)
        self._tables = np.split(self.counts, np.cumsum(sizes)[:-1])

    def add(self, codes: Sequence[NDArray[np.int64]], records: NDArray[np.int64] | None) -> None:
        """Adds rows inside the universe, by the code of each of its attributes; ``records``: what each stands for, None
        for one."""
        kept = [np.asarray(own.codes[codes[own.axis]], dtype=np.int64) for own in self._queries.columns]
        number = len(codes[0])
        for one, shape, cells in zip(self._queries.attribute_sets, self._queries.shapes, self._tables, strict=True):
            flat = np.zeros(number, dtype=np.int64)
            for place, size in zip(one, shape, strict=True):
                flat = flat * size + kept[place]
            if records is None:
                cells += np.bincount(flat, minlength=len(cells))
            else:
                np.add.at(cells, flat, records)


def tallied_by_row(
    reader: RecordReader,
    cells: CountedCells,
    people: CountedPeople | None,
    texts: Mapping[int, dict[str, int]] | None = None,
) -> Tally:
    """Every row once; of people whose rows count, or who have a single one, the rows that count. ``texts``: as of
    :class:`dxgeom.engines.cells.BatchEncoder`.

    Raises: DataError for rows that do not say whose they are, or otherwise are not what is stated of people.
    """
    coded = frozenset[int]() if people is None else reader.keys.coded
    batches = reader.batches() if people is None else chosen_rows(reader, people)
    encoder = BatchEncoder(reader.universe, coded, texts)
    total = dropped = rows = outside_rows = bad_counts = 0
    for batch in in_parts(batches):
        codes = encoder.codes(batch)
        records, bad = records_of(batch) if reader.weighted or people is not None else (None, 0)
        inside = np.logical_and.reduce([column != OUTSIDE for column in codes])
        number, here = len(inside), int(inside.sum())
        cells.add([column[inside] for column in codes], None if records is None else records[inside])
        within = here if records is None else exact_sum(records[inside])
        beyond = number - here if records is None else exact_sum(records[~inside])
        total, dropped, bad_counts = total + within, dropped + beyond, bad_counts + bad
        grouped = people is not None
        rows += within + beyond if grouped else number
        outside_rows += beyond if grouped else number - here
    return Tally(cells.counts, total, dropped, rows, outside_rows, bad_counts)


_WIDEST: Final = 2**62


def tallied_in_shares(
    reader: RecordReader, cells: CountedCells, people: CountedPeople, component_keys: ComponentKeys
) -> Tally:
    """Shares in every cell; ``total`` and ``dropped`` as :func:`dxgeom.engines.histogram.tally_of_shares` has them.

    Definition: of each person what :class:`dxgeom.universe.people.people.ShareCounter` gives to possible records,
    added up
    to cells. Rows outside are absent where records may be, with their part of the shares; else they are left out.
    Raises: DataError for rows that name nobody, or more people than int64 carries.
    """
    encoder, absent = BatchEncoder(reader.universe, reader.keys.coded), reader.universe.absent
    total = dropped = rows_read = outside_rows = 0

    def encoded(batch: Any) -> NDArray[np.int64]:
        return np.stack(encoder.codes(batch), axis=1)

    axis = None if people.within is None else reader.universe.names.index(people.within)
    for person, codes, rows in whole_people(reader, people, encoded):
        if axis is not None:
            order, person = person_periods(person, codes[:, axis])
            codes, rows = codes[order], rows[order]
        outside = np.any(codes == OUTSIDE, axis=1)
        rows_read, outside_rows = rows_read + exact_sum(rows), outside_rows + exact_sum(rows[outside])
        kept = np.ones_like(outside) if absent is not None else ~outside
        each = rows_of_each(person, np.where(kept, rows, 0))
        dropped += int(np.sum(each == 0))
        total += exact_sum(np.minimum(each, people.most_rows))
        require_room(total)
        if not each.any():
            continue
        order = np.flatnonzero(kept)
        order = order[ranked(reader.universe.shape, person[kept], codes[kept], outside[kept], component_keys)]
        given = shares_of_groups(person[order], rows[order], at_most=people.most_rows)
        there = ~outside[order]
        cells.add(list(codes[order[there]].T), given[there])
    return Tally(cells.counts, total, dropped, rows_read, outside_rows, 0)


def ranked(
    shape: Sequence[int],
    person: NDArray[np.int64],
    codes: NDArray[np.int64],
    outside: NDArray[np.bool_],
    component_keys: ComponentKeys,
) -> NDArray[np.int64]:
    """The order of groups of rows (G,): by person, by component, the absent after all others, by index.

    The index of a possible record rises with the codes of its attributes, the first one first: *exactly* the order of
    indices, without any. Which component absent records are of is never asked: where there are any, all are of one.
    """
    columns = [np.where(outside, 0, column) for column in codes.T]
    components = [component[columns[place]] for place, component in component_keys]
    keys = [person, *components, outside.astype(np.int64), *_packed(shape, columns)]
    return np.lexsort(keys[::-1])


def _packed(shape: Sequence[int], columns: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Fewer keys with the same order: codes of neighbouring attributes as one number, while it fits."""
    packed: list[NDArray[np.int64]] = []
    reach = _WIDEST
    for size, column in zip(shape, columns, strict=True):
        if reach * size >= _WIDEST:
            packed.append(column)
            reach = size
        else:
            packed[-1] = packed[-1] * size + column
            reach *= size
    return packed


MOST_GROUPINGS: Final = 24
"""Of more the engine would go through all rows longer than they take to come."""
_MOST_CELLS: Final = 1 << 20
_MOST_COUNTED: Final = 1 << 28
"""Cells of all tables, of eight bytes each: of more nothing is read."""


def tallied_in_groups(reader: RecordReader, queries: MarginalQueries) -> Tally | None:
    """One grouping for each table that is inside no other, and for each attribute that is in none; None where rows had
    better come one by one: many tables, rows that flow by once or are few, or rows outside the universe, which have to
    be looked at as a whole.

    Raises: DataError where the groupings are of different rows.
    """
    grouping = None if reader.weighted or reader.written is not None else reader.grouping
    if grouping is None or (reader.source.anew is not None and reader.source.there is None):
        return None
    axes = [tuple(queries.columns[place].axis for place in one) for one in _largest(queries.attribute_sets)]
    if len(axes) > MOST_GROUPINGS:
        return None
    shape = queries.universe.shape
    alone = [(axis,) for axis in range(len(shape)) if not any(axis in own for own in axes)]
    wide = any(math.prod(shape[axis] for axis in own) > _MOST_CELLS for own in axes)
    if wide or len(axes) + len(alone) > MOST_GROUPINGS:
        return None
    try:
        tables = [_grouped(reader, grouping, own) for own in (*axes, *alone)]
    except duckdb.OutOfMemoryException:
        return None
    if any(table is None for table in tables):
        return None
    found = {own: table for own, table in zip((*axes, *alone), tables, strict=True) if table is not None}
    _require_of_the_same_rows(found, reader)
    counts = [_cells(queries, place, found) for place in range(len(queries.attribute_sets))]
    total = exact_sum(next(iter(found.values())))
    return Tally(np.concatenate(counts), total, 0, total, 0, 0)


def _largest(attribute_sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The tables that are inside no other."""
    if len(attribute_sets) > MOST_GROUPINGS**2:
        return list(attribute_sets)
    return [one for one in attribute_sets if one and not any(set(one) < set(other) for other in attribute_sets)]


def _grouped(reader: RecordReader, grouping: Grouping, axes: Sequence[int]) -> NDArray[np.int64] | None:
    """Counts by the codes of these attributes, an axis for each; None where some row is outside."""
    shape = [reader.universe.shape[axis] for axis in axes]
    rows = reader.source.rows.select(**grouping.keys_of(axes))
    counted = rows.group_by(rows.columns).agg(**{RECORDS: ibis._.count()})
    batches = reader.source.finished(
        counted, lambda groups: groups.select(**grouping.cells(groups, axes), **{RECORDS: groups[RECORDS]})
    )
    encoder = BatchEncoder(reader.universe, grouping.coded)
    table = np.zeros(math.prod(shape), dtype=np.int64)
    beyond = False
    for batch in batches:
        codes = encoder.codes(batch, axes)
        beyond = beyond or any(np.any(column == OUTSIDE) for column in codes)
        if not beyond:
            np.add.at(table, np.ravel_multi_index(codes, shape), np.asarray(np.from_dlpack(batch.column(RECORDS))))
    return None if beyond else table.reshape(shape)


def _require_of_the_same_rows(found: dict[tuple[int, ...], NDArray[np.int64]], reader: RecordReader) -> None:
    """Tables that do not agree would be of different people, and what noise has to hide in one would show in another.

    Raises: DataError.
    """
    for (first, one), (second, other) in itertools.combinations(found.items(), 2):
        if not np.array_equal(_margin(one, first, second), _margin(other, second, first)):
            raise changed_meanwhile(reader.source.described)


def _margin(table: NDArray[np.int64], own: Sequence[int], kept: Sequence[int]) -> NDArray[np.int64]:
    return np.asarray(table.sum(axis=tuple(place for place, axis in enumerate(own) if axis not in kept)))


def _cells(
    queries: MarginalQueries, place_of_table: int, found: dict[tuple[int, ...], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """The cells of one table, from a grouping that it is inside of: of the classes of values that it tells apart."""
    columns = [queries.columns[place] for place in queries.attribute_sets[place_of_table]]
    axes = tuple(column.axis for column in columns)
    own, table = next((own, table) for own, table in found.items() if set(axes) <= set(own))
    table = _margin(table, own, axes)
    for place, column in enumerate(columns):
        summed = np.zeros((*table.shape[:place], len(column.words), *table.shape[place + 1 :]), dtype=np.int64)
        np.add.at(summed.swapaxes(0, place), column.codes, table.swapaxes(0, place))
        table = summed
    return table.ravel()


@final
@dataclass(frozen=True, eq=False)
class TableCounts:
    """Exact counts of some tables. ``cells``: int64 by table, flat, not shown by ``repr``, of shares where people are
    spread; ``total``: how many records or people; ``dropped``: records left out because they are outside the universe,
    or people none of whose rows is in it. ``universe``: whose records these are, where that is known."""

    cells: tuple[NDArray[np.int64], ...] = field(repr=False)
    total: int
    dropped: int = 0
    universe: Universe | None = field(default=None, repr=False)


def table_counts(
    table: Any,
    queries: MarginalQueries,
    *,
    outside: Outside = "refuse",
    count_column: str | None = None,
    quiet_data: bool = False,
    component_keys: ComponentKeys | None = None,
) -> TableCounts:
    """Counts the rows of a table in every cell that is asked for, in exact integer arithmetic; or people, as the
    universe says that they count.

    Args: as of :func:`dxgeom.engines.histogram.histogram_of_table`, but for arrays of counts, which nobody can have;
    ``component_keys``: where people are spread, see :meth:`dxgeom.metrics.components.Components.keys`.
    Raises: DataError as that; about a row outside, whichever attribute it is outside of; TooLarge.
    """
    if queries.count > _MOST_COUNTED:
        raise TooLarge(
            f"these tables have {queries.count:,} cells, and at most {_MOST_COUNTED:,} are counted at once: ask of "
            "fewer attributes together, or of coarser values"
        )
    universe, people = queries.universe, queries.universe.reading.people
    if isinstance(table, np.ndarray):
        raise DataError(
            "whole tables of counts are read from rows: pass the table, not a count of every possible record"
        )
    if people is not None and people.in_shares and component_keys is None:
        raise DataError("people are spread over their rows by components of the policy's metric; give component_keys")

    def over(reader: RecordReader) -> tuple[Tally, RecordReader]:
        return _tallied(reader, queries, component_keys)

    found = counted(table, universe, people, over, outside, count_column, quiet_data)[0]
    found.counts.setflags(write=False)
    ends = np.cumsum([np.prod(shape, dtype=np.int64) for shape in queries.shapes])
    return TableCounts(tuple(np.split(found.counts, ends[:-1])), found.total, found.dropped, universe)


def _tallied(
    reader: RecordReader, queries: MarginalQueries, component_keys: ComponentKeys | None
) -> tuple[Tally, RecordReader]:
    """The cells of all tables, one table after the other, and what looks for examples of rows outside."""
    people = queries.universe.reading.people
    grouped = tallied_in_groups(reader, queries) if people is None else None
    if grouped is not None:
        return grouped, reader
    there = tallied_there(reader, queries, component_keys)
    if there is not None:
        return there
    if people is not None and people.in_shares and component_keys is not None:
        return tallied_in_shares(reader, Cells(queries), people, component_keys), reader
    return tallied_by_row(reader, Cells(queries), people), reader


_WAITING: Final = 1 << 22
"""So many rows wait before equal keys among them are put together."""


@final
@dataclass(frozen=True, eq=False)
class KeyTable:
    """Exact counts of keys. ``keys``: the numbers of those that some row has, rising. ``counts``: of each, at least 1;
    of shares where people are spread. ``total``: how many records or people. ``dropped``: records left out because they
    are outside the policy's values, or people none of whose rows is in it. ``words``: of a column that nobody listed
    the texts that rows have, in order; a key's number is then the place of its text times the combinations of the
    other columns, plus the number of its combination."""

    keys: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    total: int
    dropped: int = 0
    words: tuple[str, ...] = field(default=(), repr=False)


@final
class _KeyCells:
    """Keys to which rows are added, as :class:`dxgeom.engines.counted_tables.Cells`."""

    def __init__(self, columns: Sequence[Groups]) -> None:
        self._columns = [one for one in columns if not one.unlisted]
        self._size = math.prod(len(one.words) for one in self._columns)
        self.texts: dict[int, dict[str, int]] = {one.axis: {} for one in columns if one.unlisted}
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._rows = 0
        self.keys: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def add(self, codes: Sequence[NDArray[np.int64]], records: NDArray[np.int64] | None) -> None:
        number = np.zeros(len(codes[0]), dtype=np.int64)
        for own in self._columns:
            number = number * len(own.words) + own.codes[codes[own.axis]]
        for axis in self.texts:
            number += codes[axis] * self._size
        added = np.ones(len(number), dtype=np.int64) if records is None else np.asarray(records, dtype=np.int64)
        self._waiting.append((number[added > 0], added[added > 0]))
        self._rows += len(number)
        if self._rows >= max(_WAITING, len(self.keys)):
            self.put_together()

    def words(self) -> tuple[str, ...]:
        """The texts of the column that nobody listed, in order, by which keys are numbered from now on."""
        self.put_together()
        for met in self.texts.values():
            words = sorted(met)
            rank = np.zeros(len(words), dtype=np.int64)
            rank[[met[word] for word in words]] = np.arange(len(words))
            keys = rank[self.keys // self._size] * self._size + self.keys % self._size
            order = np.argsort(keys, kind="stable")
            self.keys, self.counts = keys[order], self.counts[order]
            return tuple(words)
        return ()

    def put_together(self) -> None:
        """Equal keys that wait become one."""
        keys = np.concatenate([self.keys, *(keys for keys, _ in self._waiting)])
        counts = np.concatenate([self.counts, *(counts for _, counts in self._waiting)])
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        self.counts = np.add.reduceat(counts[order], begins) if len(begins) else counts[:0]
        self.keys, self._waiting, self._rows = keys[begins], [], 0


def key_counts(
    table: Any,
    columns: Sequence[Groups],
    *,
    outside: Outside = "refuse",
    count_column: str | None = None,
    quiet_data: bool = False,
    component_keys: ComponentKeys | None = None,
) -> KeyTable:
    """Counts the rows of a table by their key, in exact integer arithmetic; or people, as the policy says that they
    count. Nothing here grows with the number of keys that there can be.

    Args: ``columns``: what keys are made of, the last one's values the fastest; others as of
    :func:`dxgeom.engines.counted_tables.table_counts`.
    Raises: DataError as that.
    """
    universe = columns[0].universe
    if sum(one.unlisted for one in columns) > 1:
        raise DataError("keys have one column at most whose values nobody listed")
    people = universe.reading.people
    if isinstance(table, np.ndarray):
        raise DataError("keys are read from rows: pass the table, not a count of every possible record")
    if people is not None and people.in_shares and component_keys is None:
        raise DataError("people are spread over their rows by components of the policy's metric; give component_keys")
    if people is not None and people.in_shares and any(one.unlisted for one in columns):
        raise DataError("who is spread over rows has no number of keys that nobody listed")
    cells = _KeyCells(columns)

    def over(reader: RecordReader) -> tuple[Tally, RecordReader]:
        if people is not None and people.in_shares and component_keys is not None:
            return tallied_in_shares(reader, cells, people, component_keys), reader
        return tallied_by_row(reader, cells, people, cells.texts), reader

    found = counted(table, universe, people, over, outside, count_column, quiet_data)[0]
    words = cells.words()
    for own in (cells.keys, cells.counts):
        own.setflags(write=False)
    return KeyTable(cells.keys, cells.counts, found.total, found.dropped, words)
