"""A histogram: how many records of each type a table holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.failures import muted, plain_errors
from dxgeom.engines.outside import bad_counts_error, outside_error
from dxgeom.engines.people import CountedPeople, columns_of
from dxgeom.engines.reading import RecordReader, plan_reading
from dxgeom.engines.shares import tally_of_shares
from dxgeom.engines.tables.source import Source
from dxgeom.engines.tables.sources import engine_of, opened
from dxgeom.engines.tally import Tally, tally
from dxgeom.errors import DataError
from dxgeom.numeric.arrays import LARGEST, exact_sum
from dxgeom.universe.people.shares import Components
from dxgeom.universe.universe import Universe

Outside: TypeAlias = Literal["refuse", "drop"]


@final
@dataclass(frozen=True, eq=False)
class Histogram:
    """Exact counts of records by type.

    ``counts``: shape (universe.size,), int64, not writable, never shown by ``repr``, of shares where people count once;
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
        raise DataError("a histogram has a count for every record type, but this array is masked; fill it first")
    array = np.asarray(counts)
    if absent is not None and array.shape == (size - 1,):
        array = np.insert(array, absent, 0)
    if array.shape != (size,):
        raise DataError(
            f"a histogram for this policy is one row of {size} counts; this array has shape {array.shape}: "
            "give a count for each record type, in their order"
        )
    if array.dtype.kind not in "iu":
        raise DataError(
            f"a histogram holds whole numbers, but this array holds {array.dtype}; convert it to int64 "
            "after checking that every count is whole"
        )
    if array.dtype.kind == "i" and np.any(array < 0):
        raise DataError(f"a count is never negative, but record type {int(np.argmax(array < 0))} has one")
    if absent is not None and array[absent] != 0:
        raise DataError(f"nobody is counted as the absent record, but record type {absent} has a count")
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
    """Counts the rows of a table by record type, in exact integer arithmetic.

    Args:
        table: the path of a .csv, .tsv, .parquet, .csv.gz or .tsv.gz file (UTF-8, with a header), of a folder of
            Parquet files or a pattern that finds some; a pandas or polars DataFrame or LazyFrame; an Arrow table or
            reader; an Arrow dataset, DuckDB relation or Ibis table, of which only the wanted columns flow by; or a
            NumPy array, see :func:`histogram_of_counts`. It has a column for each attribute of ``universe``, under the
            same name, or the two in which located regions find their coordinates; further columns are not read.
        outside: what to do about rows that are no record of the universe (an empty cell is outside too).
        count_column: each row stands for as many records as this column says; a row that does not say it is an error,
            or outside where records may be absent and rows outside are dropped.
        quiet_data: refuse without a word about what the table holds.
        people: whose rows these are; left out, as the universe says.
        component_of: where people count once, the component of each record type under the policy's metric, see
            :func:`dxgeom.metrics.components.components_of`; shares are spread by it.
    Raises: DataError when the table cannot be read, lacks a column, holds rows outside, or has no rows (unless records
    may be absent).
    """
    if outside not in ("refuse", "drop"):
        raise DataError(f"outside is 'refuse' or 'drop'; found {outside!r}")
    if isinstance(table, np.ndarray):
        if universe.reading.people is not None:
            raise DataError("an array of counts does not say whose its rows are, as the universe asks")
        if count_column is not None:
            raise DataError("an array of counts has no columns; leave count_column out")
        with muted(quiet_data):
            return histogram_of_counts(table, universe.size, universe.absent)
    if not universe.attributes or count_column in universe.reading.columns:
        raise DataError("the universe needs an attribute, and the count column must not be one of them")
    people = universe.reading.people if people is None else people
    if people is not None and count_column is not None:
        raise DataError("where rows belong to people a row stands for itself; leave count_column out")
    if people is not None and people.count == "once" and component_of is None:
        raise DataError("people who count once are spread by the components of the policy's metric; give component_of")
    wanted = (*universe.reading.columns, *columns_of(people), *(() if count_column is None else (count_column,)))
    engine_of(table).look_up(table)  # what is wrong with a path is told in any case
    # How many rows there are is private where people have many or may be absent.
    secret = quiet_data or people is not None or universe.absent is not None
    with muted(quiet_data), opened(table, wanted) as source, plain_errors(source.described):
        reader = plan_reading(source, universe, count_column)
        with source.watch.telling(f"reading {source.described}", secret=secret):
            if people is not None and component_of is not None and people.count == "once":
                found = tally_of_shares(reader, people, component_of)
            else:
                found = tally(reader, people)
        require_sound(found, reader, source, outside, secret=people is not None)
        return _histogram(found.counts, found.total, found.dropped, reader.not_declared_whole)


def require_sound(result: Tally, reader: RecordReader, source: Source, outside: Outside, *, secret: bool) -> None:
    """Refuses what a pass over a table found, in the words of every reading; ``secret``: nothing is told of how many
    rows there are.

    Raises: DataError.
    """
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
