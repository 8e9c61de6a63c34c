"""What a mechanism is handed of the data that a release is given: a histogram where it reads one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from dxgeom.arguments import described, require
from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.mechanisms.contract.composition import histogram_readers, key_reader
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.mechanisms.contract.readers import HistogramMechanism, KeyReader, RowReader, TableReader
from dxgeom.metrics.components import components_of
from dxgeom.planner.releases.rehearsal import MadeUp, MadeUpKeys
from dxgeom.universe.people.people import People
from dxgeom.universe.people.shares import ComponentKeys
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.whole_tables import MarginalQueries

if TYPE_CHECKING:
    from dxgeom.engines.histogram import Histogram

_TABLES: Final = "data are the path of a table, a data frame, an Arrow table, or an array of counts"


class Read(NamedTuple):
    """Data as the mechanism takes them; how many records there are and were dropped, None where that is private; and
    for the data holder, attributes whose numbers might be declared whole and columns that look like people."""

    data: Any
    records: int | None
    dropped: int | None
    not_declared_whole: tuple[str, ...] = ()
    looks_like_people: tuple[str, ...] = ()


def read(
    mechanism: Mechanism[Any, Any],
    data: Any,
    outside: Literal["refuse", "drop"],
    count_column: str | None,
    quiet_data: bool,
    *,
    any_number: bool = False,
) -> Read:
    """The histogram of a table, for what reads one; anything else as it is.

    Args: as of :func:`release`. ``any_number``: the table may have other records than the queries state, for one that
    is not released.

    Raises: DataError, UnsupportedCombination.
    """
    require(quiet_data, bool, "quiet_data", "say True or False")
    if isinstance(data, TableOfOneRecord):
        return Read(data.told_of(_one_record(data, outside, count_column, quiet_data)), None, None)
    if isinstance(mechanism, TableReader):
        return _tables(mechanism, mechanism.queries, data, outside, count_column, quiet_data, any_number=any_number)
    keyed = key_reader(mechanism)
    if keyed is not None:
        return _keys(keyed, data, outside, count_column, quiet_data)
    readers = histogram_readers(mechanism)
    if any(reader.reads is not None for reader in readers):
        (reader, *others) = readers
        if others or reader.reads is None:
            raise UnsupportedCombination(
                "several mechanisms together read a count of every possible record: plan one by one"
            )
        return _tables(reader, reader.reads, data, outside, count_column, quiet_data, any_number=any_number)
    if not readers:
        if outside != "refuse" or count_column is not None:
            raise UnsupportedCombination(
                f"{mechanism.name} reads no histogram: 'outside' and 'count_column' are about tables; leave them out"
            )
        return Read(data, None, None)
    histogram = _histogram(readers, data, outside, count_column, quiet_data)
    advised = () if quiet_data else histogram.not_declared_whole
    doubted = () if quiet_data else _looks_like_people(readers, data)
    if any(reader.absent is not None for reader in readers):
        return Read(histogram.counts, None, None, advised, doubted)
    return Read(histogram.counts, histogram.total, histogram.dropped, advised, doubted)


class TableOfOneRecord(NamedTuple):
    """A table that has one row, which is handed to a mechanism as ``told_of`` says of its possible record."""

    table: Any
    universe: Universe
    told_of: Callable[[int], Any]


def _one_record(
    data: TableOfOneRecord, outside: Literal["refuse", "drop"], count_column: str | None, quiet_data: bool
) -> int:
    """The type of the only record of a table. Raises: DataError, UnsupportedCombination."""
    from dxgeom.engines.histogram import histogram_of_table

    if outside != "refuse" or count_column is not None:
        raise UnsupportedCombination("'outside' and 'count_column' are about tables of many records; leave them out")
    _refuse_rows(data.table)
    data.universe.require_indexable("answers about one record of a table")
    counts = histogram_of_table(data.table, data.universe, outside=outside, quiet_data=quiet_data).counts
    if int(counts.sum()) != 1:
        found = "" if quiet_data else f"; found {int(counts.sum()):,} rows"
        raise DataError(f"this answers about one record: give a table with one row{found}")
    return int(counts.argmax())


def _tables(
    mechanism: TableReader[Any] | HistogramMechanism[Any],
    queries: MarginalQueries,
    data: Any,
    outside: Literal["refuse", "drop"],
    count_column: str | None,
    quiet_data: bool,
    *,
    any_number: bool,
) -> Read:
    """The counts of the tables that are asked for, and nothing else of the data."""
    from dxgeom.engines.counted_tables import TableCounts, table_counts

    if hasattr(data, "cells") and hasattr(data, "total"):  # made up for a rehearsal
        found = TableCounts(data.cells, data.total)
    else:
        found = table_counts(
            data,
            queries,
            outside=outside,
            count_column=count_column,
            quiet_data=quiet_data,
            component_keys=_component_keys(mechanism, queries.universe),
        )
    stated = None if any_number else queries.records
    if stated is not None and stated != found.total:
        raise DataError(f"the queries state {stated:,} records, the table has {found.total:,}: correct the queries")
    private = mechanism.absent is not None
    return Read(found, None if private else found.total, None if private else found.dropped)


def _keys(
    mechanism: KeyReader[Any],
    data: Any,
    outside: Literal["refuse", "drop"],
    count_column: str | None,
    quiet_data: bool,
) -> Read:
    """The counts of the keys that some row has, and nothing else of the data."""
    from dxgeom.engines.counted_keys import KeyTable, key_counts

    if isinstance(data, KeyTable | MadeUpKeys):
        found = KeyTable(data.keys, data.counts, data.total, words=getattr(data, "words", ()))
    else:
        _refuse_rows(data)
        found = key_counts(
            data,
            mechanism.columns_of_keys,
            outside=outside,
            count_column=count_column,
            quiet_data=quiet_data,
            component_keys=_component_keys(mechanism, mechanism.columns_of_keys[0].universe),
        )
    private = mechanism.absent is not None
    return Read(found, None if private else found.total, None if private else found.dropped)


def _component_keys(mechanism: RowReader[Any, Any], universe: Universe) -> ComponentKeys | None:
    if mechanism.shares == 1:
        return None
    return components_of(mechanism.metric.metric).keys(len(universe.attributes))


def _looks_like_people(readers: Sequence[HistogramMechanism[Any]], data: Any) -> tuple[str, ...]:
    universe = next((reader.universe for reader in readers if reader.universe is not None), None)
    if universe is None or isinstance(data, (np.ndarray, list, tuple, MadeUp)):
        return ()
    from dxgeom.engines.likenesses import repeated_identifiers

    with suppress(DataError):  # the table was read: what cannot be looked at again is not warned of
        return repeated_identifiers(data, universe)
    return ()


def _histogram(
    readers: Sequence[HistogramMechanism[Any]],
    data: Any,
    outside: Literal["refuse", "drop"],
    count_column: str | None,
    quiet_data: bool,
) -> Histogram:
    from dxgeom.engines.histogram import Histogram, histogram_of_counts, histogram_of_table
    from dxgeom.engines.watching import muted

    if outside not in ("refuse", "drop"):
        raise DataError(f"outside is 'refuse' or 'drop'; found {outside!r}")
    if isinstance(data, MadeUp):
        return Histogram(data.counts, data.people)
    _refuse_rows(data)
    if isinstance(data, (np.ndarray, list, tuple)):
        _require_plain_counts(readers[0].metric.people, count_column)
        absent = next((reader.absent for reader in readers if reader.absent is not None), None)
        with muted(quiet_data):
            return histogram_of_counts(_even(data), readers[0].metric.size, absent)
    universe = next((reader.universe for reader in readers if reader.universe is not None), None)
    if universe is not None:
        return histogram_of_table(
            data,
            universe,
            outside=outside,
            count_column=count_column,
            quiet_data=quiet_data,
            component_of=components_of(readers[0].metric.metric).of if readers[0].shares > 1 else None,
        )
    if isinstance(data, (str, Path)) or hasattr(data, "columns"):
        raise UnsupportedCombination(
            "a metric or queries given as a bare matrix do not know how to read a table: pass a histogram array, or "
            "give verify_metric or LinearQueries.from_matrix the universe"
        )
    raise DataError(f"data are the path of a table, a table, or an array of counts; found {described(data)}")


def _refuse_rows(data: Any) -> None:
    """Raises: DataError for rows of Python's own, whose cells have no types to rely on, and for no columns."""
    rows = isinstance(data, (list, tuple)) and bool(data) and isinstance(data[0], (Mapping, list, tuple))
    if rows and isinstance(data[0], Mapping):
        raise DataError(f"{_TABLES}; found a list of dictionaries: make a data frame of it, pandas.DataFrame(rows)")
    if rows and any(isinstance(cell, str) for cell in data[0]):
        raise DataError(
            f"{_TABLES}; found a list of rows: make a data frame of it, pandas.DataFrame(rows, columns=[…])"
        )
    if isinstance(data, Mapping) and not all(map(_holds_cells, data.values())):
        raise DataError(f"{_TABLES}; found a dictionary that is none: give a list of cells for each column's name")


def _holds_cells(column: Any) -> bool:
    return hasattr(column, "__len__") and not isinstance(column, (str, bytes, Mapping))


def _require_plain_counts(people: People | None, count_column: str | None) -> None:
    """Raises: UnsupportedCombination where counts would have to say whose they are; DataError where columns are asked
    for."""
    if people is not None:
        raise UnsupportedCombination(
            "an array of counts does not say whose its rows are, and this policy says how people count: release from "
            f"the table, with its column '{people.column}'"
        )
    if count_column is not None:
        raise DataError("an array of counts has no columns; leave count_column out")


def _even(counts: Any) -> Any:
    """The same counts.

    Raises: DataError for lists within a list that are not of one length.
    """
    try:
        np.asarray(counts)
    except ValueError as error:
        raise DataError("a histogram is one row of counts; found lists of different lengths in a list") from error
    return counts
