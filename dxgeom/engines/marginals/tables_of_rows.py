"""Whole tables of counts in one pass over rows, or over those rows of people that count."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.encoding import BatchEncoder
from dxgeom.engines.people import ROWS_AT_ONCE, CountedPeople, chosen_rows
from dxgeom.engines.reading import RECORDS, RecordReader
from dxgeom.engines.tally import Tally
from dxgeom.numeric.arrays import exact_sum
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.workloads.whole_tables import MarginalQueries


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
        for one, shape, cells in zip(self._queries.asked, self._queries.shapes, self._tables, strict=True):
            flat = np.zeros(number, dtype=np.int64)
            for place, size in zip(one, shape, strict=True):
                flat = flat * size + kept[place]
            if records is None:
                cells += np.bincount(flat, minlength=len(cells))
            else:
                np.add.at(cells, flat, records)


def tallied_by_row(reader: RecordReader, queries: MarginalQueries, people: CountedPeople | None) -> Tally:
    """Every row once; of people whose rows count, or who have a single one, the rows that count.

    Raises: DataError for rows that do not say whose they are, or otherwise are not what is stated of people.
    """
    coded = frozenset[int]() if people is None else reader.keys.coded
    batches = reader.batches() if people is None else chosen_rows(reader, people)
    cells, encoder = Cells(queries), BatchEncoder(reader.universe, coded)
    total = dropped = rows = outside_rows = bad_counts = 0
    for batch in _in_parts(batches):
        codes = encoder.codes(batch)
        records, bad = _records(batch) if reader.weighted or people is not None else (None, 0)
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


def _in_parts(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            yield batch.slice(start, ROWS_AT_ONCE)


def _records(batch: Any) -> tuple[NDArray[np.int64], int]:
    """How many records each row stands for, and of how many rows that is not said."""
    column = batch.column(RECORDS)
    filled = column.fill_null(0) if column.null_count else column
    return np.asarray(np.from_dlpack(filled), dtype=np.int64), int(column.null_count)
