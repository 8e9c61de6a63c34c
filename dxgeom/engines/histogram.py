"""A histogram: how many records of each type a table holds, and which of its rows are none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Literal, TypeAlias, final

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.engines.cells import BatchEncoder
from dxgeom.engines.opening import engine_of, opened
from dxgeom.engines.people import CountedPeople, chosen_rows, columns_of, person_periods, whole_people
from dxgeom.engines.reading import RECORDS, RecordReader, plan_reading
from dxgeom.engines.source import Source, lines_of
from dxgeom.engines.watching import muted, plain_errors
from dxgeom.errors import DataError
from dxgeom.numeric.arrays import LARGEST, exact_sum
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.people.people import Components, ShareCounter
from dxgeom.universe.reading.reading import PLAIN
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import cell_text, is_nan


@final
@dataclass(frozen=True)
class Tally:
    """What a pass over a table found.

    ``counts`` by possible record (meaningful only while ``total`` fits int64); ``total`` and ``dropped``: records
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
    where there are too many possible records to count each.
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
        records, bad = records_of(batch) if grouped or reader.weighted else (np.ones_like(indices), 0)
        inside = indices != OUTSIDE
        np.add.at(counts, indices[inside], records[inside])
        total += exact_sum(records[inside])
        dropped += exact_sum(records[~inside])
        rows += exact_sum(records) if grouped else len(records)
        outside_rows += exact_sum(records[~inside]) if grouped else int(np.sum(~inside))
        bad_counts += bad
    return Tally(counts, total, dropped, rows, outside_rows, bad_counts)


def records_of(batch: pa.RecordBatch) -> tuple[NDArray[np.int64], int]:
    """How many records each row of a batch stands for, and of how many rows that is not said."""
    column = batch.column(RECORDS)
    # Neither to_numpy nor fill_null where they are not needed: they load pandas, for a quarter of a second.
    numbers = np.from_dlpack(column.fill_null(0) if column.null_count else column)
    return np.asarray(numbers, dtype=np.int64), int(column.null_count)


def tally_of_shares(reader: RecordReader, people: CountedPeople, component_of: Components) -> Tally:
    """Shares by possible record; ``total``: people, or what their rows count; ``dropped``: people none of whose rows is
    inside.

    Rows outside are absent where records may be, with their part of the person's shares; else they are left out first,
    and the shares are those of the others. Where people count in each period, a person is one in each of theirs. How
    many rows were left out is nowhere: beyond what a person counts at most it would be told.
    Raises: DataError for rows that name nobody.
    """
    absent, encoder = reader.universe.absent, BatchEncoder(reader.universe, reader.keys.coded)
    counter = ShareCounter(reader.universe.size, component_of, at_most=people.most_rows)
    dropped = rows = outside_rows = 0
    axis = None if people.within is None else reader.universe.names.index(people.within)

    def encoded(batch: Any) -> NDArray[np.int64]:
        codes = encoder.codes(batch)
        records = encoder.indices(codes)
        return records[:, None] if axis is None else np.stack([records, codes[axis]], axis=1)

    for person, found, times in whole_people(reader, people, encoded):
        records = found[:, 0]
        if axis is not None:
            order, person = person_periods(person, found[:, 1])
            records, times = records[order], times[order]
        outside = records == OUTSIDE
        rows, outside_rows = rows + exact_sum(times), outside_rows + exact_sum(times[outside])
        kept = np.ones_like(outside) if absent is not None else ~outside
        records = np.where(outside, absent, records) if absent is not None else records
        dropped += int(person[-1]) + 1 - np.unique(person[kept]).size
        counter.add(person[kept], records[kept], times[kept])
    return Tally(counter.histogram(absent), counter.records, dropped, rows, outside_rows, 0)


_EXAMPLES = 5
_HOW = "'missing: {epsilon: …}', or 'missing: public', beside the attribute's values."


def outside_error(rows: int, outside: int, reader: RecordReader, *, secret: bool = False) -> DataError:
    """The error about rows outside the universe, with examples; it shows nothing of the rows that are right.

    Args: how many ``rows`` there are, how many of them ``outside``; ``secret``: neither is told, since how many rows
    people have is private.
    """
    verb = "is" if outside == 1 else "are"
    told = "Some rows are" if secret else f"{outside} of {rows} rows {verb}"
    empty: set[str] = set()
    return DataError(
        f"{told} outside the policy's universe ({reader.source.described}):\n"
        + _listed(_outside_rows(reader, empty), rows, reader.source)
        + "\nCorrect them, let the policy's attributes include them, or leave them out "
        + 'with outside="drop" (--drop-outside).'
        + "".join(f"\nIf {name} may be missing, the policy says how that counts: {_HOW}" for name in sorted(empty))
    )


def bad_counts_error(result: Tally, reader: RecordReader, source: Source) -> DataError:
    """The error about rows that do not say how many records they stand for, with examples."""
    return DataError(
        f"a row stands for a whole number of records, from 0 to {2**63 - 1}; {result.bad_counts} of {result.rows} "
        f"rows do not say one ({source.described}):\n" + _listed(_bad_rows(reader), result.rows, source)
    )


def _listed(examples: Iterator[tuple[int, str]], rows: int, source: Source) -> str:
    text = source.text
    aligned = text is not None and text.form == PLAIN and lines_of(text).number == rows + 1
    shown = []
    for row, what in examples:
        # Rows on a server come in any order.
        where = "a row" if source.there else f"data row {row}{f' (line {row + 1})' if aligned else ''}"
        shown.append(f"  {where}: {what}")
        if len(shown) == _EXAMPLES:
            break
    return "\n".join(shown)


def _outside_rows(reader: RecordReader, empty: set[str]) -> Iterator[tuple[int, str]]:
    """Examples; the attributes that lack a value in one of them are added to ``empty``."""
    encoder, read = BatchEncoder(reader.universe, frozenset()), 0
    reading = reader.universe.reading
    attributes = list(zip(reader.universe.attributes, reading.attributes, reading.places, strict=True))
    for batch in reader.batches_outside(_EXAMPLES):
        codes = encoder.codes(batch)
        for row in np.flatnonzero(encoder.indices(codes) == OUTSIDE):
            told = []
            for k, (attribute, one, places) in enumerate(attributes):
                if codes[k][row] == OUTSIDE:
                    cells = [batch.column(f"s{place}")[int(row)].as_py() for place in places]
                    told.append(one.outside(attribute, cells))
                    empty |= {attribute.name} if lacks_a_value(attribute, cells) else set()
            yield (
                read + int(row) + 1,
                "; ".join(told) or "each value exists, but the policy's table lists no such record",
            )
        read += batch.num_rows


def lacks_a_value(attribute: Attribute, cells: Sequence[str | None]) -> bool:
    """Whether one of an attribute's cells, as they stand in the table, is empty."""
    return any(not cell or (attribute.read_as == "numbers" and is_nan(cell)) for cell in cells)


def _bad_rows(reader: RecordReader) -> Iterator[tuple[int, str]]:
    read, last = 0, len(reader.universe.reading.columns)
    for batch in reader.batches_with_text():
        for row in np.flatnonzero(batch.column(RECORDS).is_null().to_numpy(zero_copy_only=False)):
            yield read + int(row) + 1, f"the count is {cell_text(batch.column(f's{last}')[int(row)].as_py())}"
        read += batch.num_rows


Outside: TypeAlias = Literal["refuse", "drop"]


@final
@dataclass(frozen=True, eq=False)
class Histogram:
    """Exact counts of records by type.

    ``counts``: shape (universe.size,), int64, not writable, never shown by ``repr``, of shares where people are spread;
    ``total``: how many records or people they are; ``dropped``: records left out because they are outside the universe,
    or people none of whose rows is in it; ``not_declared_whole``: the attributes of
    numbers whose column has an integer type, which the policy does not say.
    """

    counts: NDArray[np.int64] = field(repr=False)
    total: int
    dropped: int = 0
    not_declared_whole: tuple[str, ...] = field(default=(), repr=False)


def histogram_of_counts(counts: Any, size: int, absent: int | None = None) -> Histogram:
    """The histogram that an array already is.

    Args: ``counts`` of shape (size,), whole numbers, none negative; where one element is the absent record, its count
    is 0 or left out.
    Raises: DataError for another shape, floats (NaN among them), booleans, negatives, or a sum beyond int64.
    """
    if isinstance(counts, np.ma.MaskedArray):
        raise DataError("a histogram has a count for every possible record, but this array is masked; fill it first")
    array = np.asarray(counts)
    if absent is not None and array.shape == (size - 1,):
        array = np.insert(array, absent, 0)
    if array.shape != (size,):
        words = "it holds words, make a data frame of it, with column names" if array.dtype.kind in "OSU" else ""
        raise DataError(
            f"a histogram for this policy is one row of {size} counts; this array has shape {array.shape}: "
            f"{words or 'give a count for each possible record, in their order'}"
        )
    if array.dtype.kind not in "iu":
        raise DataError(
            f"a histogram holds whole numbers, but this array holds {array.dtype}; convert it to int64 "
            "after checking that every count is whole"
        )
    if array.dtype.kind == "i" and np.any(array < 0):
        raise DataError(f"a count is never negative, but possible record {int(np.argmax(array < 0))} has one")
    if absent is not None and array[absent] != 0:
        raise DataError(f"nobody is counted as the absent record, but possible record {absent} has a count")
    total = exact_sum(array)
    if total > LARGEST:
        raise DataError(f"a histogram holds at most {LARGEST} records; this array has more")
    return _histogram(array.astype(np.int64), total, 0)


def histogram_of_table(
    table: Any,
    universe: Universe,
    *,
    outside: Outside = "refuse",
    count_column: str | None = None,
    quiet_data: bool = False,
    people: CountedPeople | None = None,
    component_of: Components | None = None,
) -> Histogram:
    """Counts the rows of a table by possible record, in exact integer arithmetic.

    Args:
        table: the path of a .csv, .tsv, .parquet, .csv.gz or .tsv.gz file (UTF-8, with a header, unless the policy says
            otherwise), of a workbook, of a folder of Parquet files or a pattern that finds some; columns by name;
            a pandas or polars DataFrame or LazyFrame; an Arrow table or
            reader; an Arrow dataset, DuckDB relation or Ibis table, of which only the wanted columns flow by; or a
            NumPy array, see :func:`histogram_of_counts`. It has a column for each attribute of ``universe``, under the
            same name, or the two in which located regions find their coordinates; further columns are not read.
        outside: what to do about rows that are no record of the universe (an empty cell is outside too).
        count_column: each row stands for as many records as this column says; a row that does not say it is an error,
            or outside where records may be absent and rows outside are dropped.
        quiet_data: refuse without a word about what the table holds.
        people: whose rows these are; left out, as the universe says.
        component_of: where people are spread, the component of each possible record under the policy's metric, see
            :func:`dxgeom.metrics.components.components_of`; shares are spread by it.
    Raises: DataError when the table cannot be read, lacks a column, holds rows outside, or has no rows (unless records
    may be absent).
    """
    if isinstance(table, np.ndarray):
        _require_choice(outside)
        if universe.reading.people is not None:
            raise DataError("an array of counts does not say whose its rows are, as the universe asks")
        if count_column is not None:
            raise DataError("an array of counts has no columns; leave count_column out")
        with muted(quiet_data):
            return histogram_of_counts(table, universe.size, universe.absent)
    people = universe.reading.people if people is None else people
    if people is not None and people.in_shares and component_of is None:
        raise DataError("people are spread over their rows by components of the policy's metric; give component_of")

    def over(reader: RecordReader) -> tuple[Tally, RecordReader]:
        if people is not None and component_of is not None and people.in_shares:
            return tally_of_shares(reader, people, component_of), reader
        return tally(reader, people), reader

    found, reader = counted(table, universe, people, over, outside, count_column, quiet_data)
    return _histogram(found.counts, found.total, found.dropped, reader.not_declared_whole)


def counted(
    table: Any,
    universe: Universe,
    people: CountedPeople | None,
    over: Callable[[RecordReader], tuple[Tally, RecordReader]],
    outside: Outside,
    count_column: str | None,
    quiet_data: bool,
) -> tuple[Tally, RecordReader]:
    """What a pass ``over`` a table's rows finds, and what reads it; refused here, in the words of every reading.

    Raises: DataError as :func:`histogram_of_table`.
    """
    _require_choice(outside)
    require(count_column, (str, NoneType), "count_column", "name the column that says how many records a row is")
    if not universe.attributes or count_column in universe.reading.columns:
        raise DataError("the universe needs an attribute, and the count column must not be one of them")
    if people is not None and count_column is not None:
        raise DataError("where rows belong to people a row stands for itself; leave count_column out")
    wanted = (*universe.reading.columns, *columns_of(people), *(() if count_column is None else (count_column,)))
    engine_of(table).look_up(table, universe.form)  # what is wrong with a path is told in any case
    # How many rows there are is private where people have many or may be absent.
    secret = people is not None or universe.absent is not None
    with muted(quiet_data, secret=secret), opened(table, wanted, universe) as source, plain_errors(source.described):
        reader = plan_reading(source, universe, count_column)
        with source.watch.telling(f"reading {source.described}", secret=secret or quiet_data):
            found, reader = over(reader)
        _require_sound(found, reader, source, outside, secret=people is not None)
        return found, reader


def _require_choice(outside: str) -> None:
    if outside not in ("refuse", "drop"):
        raise DataError(f"outside is 'refuse' or 'drop'; found {outside!r}")


def _require_sound(result: Tally, reader: RecordReader, source: Source, outside: Outside, *, secret: bool) -> None:
    """Refuses what a pass found. ``secret``: nothing is told of how many rows there are. Raises: DataError."""
    # Where records may be absent, so may be all of them: that nobody is there must not be told by a refusal.
    everybody = reader.universe.absent is None
    if result.rows == 0 and everybody:
        raise DataError(f"{source.described} has no rows; there is nothing to count: write a row for each record")
    if result.bad_counts and (everybody or outside == "refuse"):
        raise bad_counts_error(result, reader, source)
    if result.outside_rows and outside == "refuse":
        raise outside_error(result.rows, result.outside_rows, reader, secret=secret)
    if result.outside_rows == result.rows and everybody:
        them = "rows" if secret else f"{result.rows} rows"
        raise DataError(f"none of the {them} of {source.described} is in the policy's universe")
    if result.total + result.dropped > LARGEST:
        raise DataError(f"a histogram holds at most {LARGEST} records; {source.described} has more")


def _histogram(
    counts: NDArray[np.int64], total: int, dropped: int, not_declared_whole: tuple[str, ...] = ()
) -> Histogram:
    counts.setflags(write=False)
    return Histogram(counts, total, dropped, not_declared_whole)
