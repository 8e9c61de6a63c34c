"""People with many rows: each person's rows brought together, counted once or cut to the first so many.

People are taken some at a time, by a hash of who they are, so that no more than a part of them is held at once. How
shares are spread is not the engine's business: :class:`ShareCounter` is handed whole people.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dxgeom.engines.encoding import BatchEncoder
from dxgeom.engines.people.columns import has_some
from dxgeom.engines.reading import ORDER, PERSON, RECORDS, RecordReader
from dxgeom.engines.tally import Tally, tally
from dxgeom.errors import DataError
from dxgeom.numeric.exact_sums import exact_sum
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.people.people import People
from dxgeom.universe.people.shares import Components, ShareCounter

ROWS_AT_ONCE: Final = 4_000_000
"""About so many rows' people are brought together at a time."""


def tally_of_people(reader: RecordReader, people: People, component_of: Components) -> Tally:
    """What a pass over people found, in people where they count once: no figure of it is a number of rows then.

    Raises: DataError for rows that name nobody or have no place in the order of their person's rows, and for more than
    one row of a person who is single.
    """
    rows = _require_named(reader, people)
    parts = max(1, -(-rows // ROWS_AT_ONCE))
    if people.count == "once":
        return _once(reader, component_of, parts)
    if people.count == "rows":
        return _by_rows(reader, people, parts)
    for part in _parts(reader, parts):
        if has_some(reader.source, part.group_by(PERSON).agg(n=ibis._.count()).filter(ibis._.n > 1)):
            raise DataError(
                f"people are single, and some person in column '{people.column}' of {reader.source.described} has more "
                "than one row; write 'count: once' to let each person count once, whatever their number of rows"
            )
    return tally(reader)


def _require_named(reader: RecordReader, people: People) -> int:
    """The number of rows, which no caller tells."""
    missing = {"nameless": reader.by_person[PERSON].isnull().sum()}
    if people.order is not None:
        missing["placeless"] = reader.by_person[ORDER].isnull().sum()
    found = reader.source.query(reader.by_person.agg(rows=reader.by_person.count(), **missing)).fetchall()[0]
    for column, count in zip((people.column, people.order), found[1:], strict=False):
        if count:
            raise DataError(
                f"every row is of somebody and has its place among that person's rows; column '{column}' of "
                f"{reader.source.described} has empty cells: fill them, or leave those rows out of the table"
            )
    return int(found[0])


def _parts(reader: RecordReader, parts: int) -> Iterator[Any]:
    """The rows of some people at a time, of each person all."""
    whole = reader.by_person
    for part in range(parts):
        yield whole if parts == 1 else whole.filter(whole[PERSON].hash().abs() % parts == part)


def _once(reader: RecordReader, component_of: Components, parts: int) -> Tally:
    universe = reader.universe
    counter = ShareCounter(universe.size, component_of)
    outside_rows = rows = dropped = 0
    cells = [name for name in reader.by_person.columns if name != PERSON]
    for part in _parts(reader, parts):
        person, record, number = _groups(reader, part.group_by([PERSON, *cells]).agg(**{RECORDS: ibis._.count()}))
        outside = record == OUTSIDE
        outside_rows, rows = outside_rows + exact_sum(number[outside]), rows + exact_sum(number)
        if universe.absent is not None:
            record, outside = np.where(outside, universe.absent, record), np.zeros_like(outside)
        dropped += np.unique(person).size - np.unique(person[~outside]).size
        counter.add(person[~outside], record[~outside], number[~outside])
    return Tally(counter.histogram(universe.absent), counter.people, dropped, rows, outside_rows, 0)


def _groups(reader: RecordReader, table: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(G,) each: whose rows, of which record type, and how many; a person is a number of their own."""
    encoder = BatchEncoder(reader.universe)
    people: list[Any] = []
    records, numbers = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for batch in pa.RecordBatchReader.from_stream(reader.source.query(table)):
        people.append(batch.column(PERSON))
        records.append(encoder.indices(encoder.codes(batch)))
        numbers.append(np.asarray(np.from_dlpack(batch.column(RECORDS)), dtype=np.int64))
    if not people:
        return records[0], records[0], records[0]
    coded = pa.chunked_array(people).combine_chunks().dictionary_encode()
    person = np.asarray(np.from_dlpack(coded.indices), dtype=np.int64)
    return person, np.concatenate(records), np.concatenate(numbers)


def _by_rows(reader: RecordReader, people: People, parts: int) -> Tally:
    """The first rows of each person, whatever they say; of these, those in the universe are counted."""
    encoder = BatchEncoder(reader.universe)
    counts = np.zeros(reader.universe.size, dtype=np.int64)
    total = outside = 0
    cells = [name for name in reader.by_person.columns if name not in (PERSON, ORDER)]
    first = ibis.window(group_by=PERSON, order_by=ORDER)
    for part in _parts(reader, parts):
        if has_some(reader.source, part.group_by([PERSON, ORDER]).agg(n=ibis._.count()).filter(ibis._.n > 1)):
            raise DataError(
                f"the rows of a person are put in order by column '{people.order}', and two rows of one person in "
                f"{reader.source.described} have the same place; name a column that differs in all rows of a person"
            )
        kept = part.mutate(place=ibis.row_number().over(first)).filter(ibis._.place < people.at_most)
        for batch in pa.RecordBatchReader.from_stream(
            reader.source.query(kept.group_by(cells).agg(**{RECORDS: ibis._.count()}))
        ):
            indices = encoder.indices(encoder.codes(batch))
            number = np.asarray(np.from_dlpack(batch.column(RECORDS)), dtype=np.int64)
            inside = indices != OUTSIDE
            np.add.at(counts, indices[inside], number[inside])
            total, outside = total + exact_sum(number[inside]), outside + exact_sum(number[~inside])
    return Tally(counts, total, outside, total + outside, outside, 0)
