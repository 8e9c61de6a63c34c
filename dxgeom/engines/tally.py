"""Counting the records of each type, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dxgeom.engines.encoding import BatchEncoder
from dxgeom.engines.people import CountedPeople, chosen_rows
from dxgeom.engines.reading import RECORDS, RecordReader
from dxgeom.numeric.arrays import exact_sum
from dxgeom.universe.attributes import OUTSIDE


@final
@dataclass(frozen=True)
class Tally:
    """What a pass over a table found.

    ``counts`` by record type (meaningful only while ``total`` fits int64); ``total`` and ``dropped``: records
    inside and outside the universe; ``rows``, ``outside_rows`` and ``bad_counts``: rows of the table, those
    outside, and those whose number of records is no whole number.
    """

    counts: NDArray[np.int64]
    total: int
    dropped: int
    rows: int
    outside_rows: int
    bad_counts: int


def tally(reader: RecordReader, people: CountedPeople | None = None) -> Tally:
    """Counts every row once; of people whose rows count, or who have a single one, the rows that count.

    Raises: DataError for rows that do not say whose they are, or otherwise are not what is stated of people; TooLarge
    where there are too many record types to count each.
    """
    reader.universe.require_indexable("histograms")
    if people is not None:
        return _tally(reader, chosen_rows(reader, people), reader.keys.coded, grouped=True)
    if reader.written is None and reader.grouping is not None:
        try:
            return _tally(reader, reader.groups(reader.grouping), reader.grouping.coded, grouped=True)
        except duckdb.OutOfMemoryException:
            # Too many distinct rows to hold at once; reading them one after another needs no such room.
            pass
    return _tally(reader, reader.batches(), frozenset(), grouped=False)


def _tally(reader: RecordReader, batches: Iterable[pa.RecordBatch], coded: frozenset[int], *, grouped: bool) -> Tally:
    encoder = BatchEncoder(reader.universe, coded)
    counts = np.zeros(reader.universe.size, dtype=np.int64)
    total = dropped = rows = outside_rows = bad_counts = 0
    for batch in batches:
        indices = encoder.indices(encoder.codes(batch))
        records, bad = _records(batch, has_column=grouped or reader.weighted)
        inside = indices != OUTSIDE
        np.add.at(counts, indices[inside], records[inside])
        total += exact_sum(records[inside])
        dropped += exact_sum(records[~inside])
        rows += exact_sum(records) if grouped else len(records)
        outside_rows += exact_sum(records[~inside]) if grouped else int(np.sum(~inside))
        bad_counts += bad
    return Tally(counts, total, dropped, rows, outside_rows, bad_counts)


def _records(batch: pa.RecordBatch, *, has_column: bool) -> tuple[NDArray[np.int64], int]:
    if not has_column:
        return np.ones(batch.num_rows, dtype=np.int64), 0
    column = batch.column(RECORDS)
    # Neither to_numpy nor fill_null where they are not needed: they load pandas, for a quarter of a second.
    numbers = np.from_dlpack(column.fill_null(0) if column.null_count else column)
    return np.asarray(numbers, dtype=np.int64), int(column.null_count)
