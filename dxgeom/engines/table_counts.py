"""The counts in whole tables, read in one pass: rows are never put together into record types."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.encoding import BatchEncoder
from dxgeom.engines.failures import muted, plain_errors
from dxgeom.engines.histogram import Outside
from dxgeom.engines.outside import bad_counts_error, outside_error
from dxgeom.engines.reading import RECORDS, RecordReader, plan_reading
from dxgeom.engines.tables.source import Source
from dxgeom.engines.tables.sources import engine_of, opened
from dxgeom.errors import DataError
from dxgeom.numeric.exact_sums import LARGEST, exact_sum
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.workloads.whole_tables import MarginalQueries

_ROWS_AT_ONCE = 1 << 17


@final
@dataclass(frozen=True, eq=False)
class TableCounts:
    """Exact counts of some tables. ``cells``: int64 by table, flat, not shown by ``repr``; ``total``: how many records;
    ``dropped``: records left out because they are outside the universe."""

    cells: tuple[NDArray[np.int64], ...] = field(repr=False)
    total: int
    dropped: int = 0


def table_counts(
    table: Any,
    queries: MarginalQueries,
    *,
    outside: Outside = "refuse",
    count_column: str | None = None,
    quiet_data: bool = False,
) -> TableCounts:
    """Counts the rows of a table in every cell that is asked for, in exact integer arithmetic.

    Args: as of :func:`dxgeom.engines.histogram.histogram_of_table`, but for arrays of counts, which nobody can have.
    Raises: DataError as that; about a row outside, whichever attribute it is outside of.
    """
    universe = queries.universe
    if outside not in ("refuse", "drop"):
        raise DataError(f"outside is 'refuse' or 'drop'; found {outside!r}")
    if isinstance(table, np.ndarray):
        raise DataError("whole tables of counts are read from rows: pass the table, not a count of every record type")
    if universe.reading.people is not None:
        raise DataError(
            "whole tables of counts are of rows, each a person's only one; this policy says how people count"
        )
    if count_column in universe.reading.columns:
        raise DataError("the count column must not be one of the universe's attributes")
    wanted = (*universe.reading.columns, *(() if count_column is None else (count_column,)))
    engine_of(table).look_up(table)
    with muted(quiet_data), opened(table, wanted) as source, plain_errors(source.described):
        reader = plan_reading(source, universe, count_column)
        return _Tally(queries, reader).counted(source, outside)


@final
class _Tally:
    """Counts batch by batch."""

    def __init__(self, queries: MarginalQueries, reader: RecordReader) -> None:
        self.queries, self.reader = queries, reader
        self.cells = [np.zeros(math.prod(shape), dtype=np.int64) for shape in queries.shapes]
        self.rows = self.total = self.dropped = self.outside_rows = self.bad_counts = 0

    def counted(self, source: Source, outside: Outside) -> TableCounts:
        """All rows. Raises: DataError."""
        encoder = BatchEncoder(self.reader.universe, frozenset())
        for batch in self.reader.batches():
            for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                part = batch.slice(start, _ROWS_AT_ONCE)
                self._add(encoder.codes(part), self._records(part))
        everybody = self.reader.universe.absent is None
        if self.rows == 0 and everybody:
            raise DataError(f"{source.described} has no rows; there is nothing to count")
        if self.bad_counts and (everybody or outside == "refuse"):
            found = self._as_tally
            raise bad_counts_error(found, self.reader, source)
        if self.outside_rows and outside == "refuse":
            raise outside_error(self.rows, self.outside_rows, self.reader, secret=False)
        if self.outside_rows == self.rows and everybody:
            raise DataError(f"none of the {self.rows} rows of {source.described} is in the policy's universe")
        if self.total + self.dropped > LARGEST:
            raise DataError(f"at most {LARGEST} records are counted; {source.described} has more")
        for own in self.cells:
            own.setflags(write=False)
        return TableCounts(tuple(self.cells), self.total, self.dropped)

    @property
    def _as_tally(self) -> Any:
        from dxgeom.engines.tally import Tally

        nothing = np.zeros(0, dtype=np.int64)
        return Tally(nothing, self.total, self.dropped, self.rows, self.outside_rows, self.bad_counts)

    def _records(self, batch: Any) -> NDArray[np.int64] | None:
        """How many records each row stands for; None where that is one."""
        if not self.reader.weighted:
            return None
        column = batch.column(RECORDS)
        self.bad_counts += int(column.null_count)
        return np.asarray(np.from_dlpack(column.fill_null(0) if column.null_count else column), dtype=np.int64)

    def _add(self, codes: list[NDArray[np.int64]], records: NDArray[np.int64] | None) -> None:
        inside = np.ones(len(codes[0]), dtype=np.bool_)
        for column in codes:
            inside &= column != OUTSIDE
        number = len(inside)
        self.rows += number
        self.outside_rows += number - int(inside.sum())
        if records is None:
            self.total += int(inside.sum())
            self.dropped += number - int(inside.sum())
        else:
            self.total += exact_sum(records[inside])
            self.dropped += exact_sum(records[~inside])
            records = records[inside]
        kept = [np.asarray(own.codes[codes[own.axis][inside]], dtype=np.int64) for own in self.queries.columns]
        del codes
        for one, shape, cells in zip(self.queries.asked, self.queries.shapes, self.cells, strict=True):
            flat = np.zeros(int(inside.sum()), dtype=np.int64)
            for place, size in zip(one, shape, strict=True):
                flat = flat * size + kept[place]
            if records is None:
                cells += np.bincount(flat, minlength=len(cells))
            else:
                np.add.at(cells, flat, records)
