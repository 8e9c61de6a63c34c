"""What a mechanism is handed of the data that a release is given: a histogram where it reads one.

Made-up records, for a release that is only rehearsed.

What estimates are worth on a table that is public already: releases of it, tried out before any data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, described, require
from dxgeom.errors import DataError, UnsupportedCombination, WrongArgument
from dxgeom.mechanisms.contract.composition import histogram_readers, key_reader
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.mechanisms.contract.readers import HistogramMechanism, KeyReader, RowReader, TableReader
from dxgeom.metrics.components import components_of
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.estimates.estimate import EstimateWish, require_whole_records
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import ComponentKeys, People
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.whole_tables import MarginalQueries
from dxgeom.wording.numbers import brief, counted

if TYPE_CHECKING:
    from dxgeom.engines.histogram import Histogram
    from dxgeom.planner.plan import Plan


class MadeUp(NamedTuple):
    """Counts of made-up people with a row each, as a mechanism takes them; ``people``: how many."""

    counts: NDArray[np.int64]
    people: int


class MadeUpTables(NamedTuple):
    """Counts of made-up records in tables, as a mechanism takes them; ``total``: how many."""

    cells: tuple[NDArray[np.int64], ...]
    total: int


class MadeUpKeys(NamedTuple):
    """Counts of made-up records by their keys, as a mechanism takes them; ``total``: how many."""

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    total: int


def made_up(mechanism: Mechanism[Any, Any], people: int) -> MadeUp | MadeUpTables | MadeUpKeys:
    """As :func:`made_up_counts`, in shares where people are spread; tables of them for what reads these."""
    if isinstance(mechanism, TableReader):
        return _made_up_tables(mechanism.queries, mechanism.shares, people)
    keyed = key_reader(mechanism)
    if keyed is not None and any(one.unlisted for one in keyed.columns_of_keys):
        raise UnsupportedCombination(
            "nobody listed these keys, so there are none to make up: release from data that you made"
        )
    if keyed is not None:
        drawn = np.random.default_rng().integers(0, keyed.key_count, people)
        keys, counts = np.unique(drawn, return_counts=True)
        return MadeUpKeys(keys.astype(np.int64), counts.astype(np.int64) * keyed.shares, people)
    readers = histogram_readers(mechanism)
    if len(readers) == 1 and readers[0].reads is not None:
        return _made_up_tables(readers[0].reads, readers[0].shares, people)
    counts = made_up_counts(mechanism, people)
    return MadeUp(counts * histogram_readers(mechanism)[0].shares, people)


def _made_up_tables(queries: MarginalQueries, shares: int, records: int) -> MadeUpTables:
    generator = np.random.default_rng()
    codes, cells = [generator.integers(0, size, records) for size in queries.sizes], []
    for one, shape in zip(queries.attribute_sets, queries.shapes, strict=True):
        flat = np.zeros(records, dtype=np.int64)
        for place, size in zip(one, shape, strict=True):
            flat = flat * size + codes[place]
        cells.append(np.bincount(flat, minlength=math.prod(shape)).astype(np.int64) * shares)
    return MadeUpTables(tuple(cells), records)


def made_up_counts(mechanism: Mechanism[Any, Any], records: int) -> NDArray[np.int64]:
    """(N,): so many records, each of any type of the universe alike; nobody is absent. Looks at no data.

    Raises: UnsupportedCombination for a mechanism that reads no histogram.
    """
    readers = histogram_readers(mechanism)
    if not readers:
        raise UnsupportedCombination(
            f"{mechanism.name} reads no histogram, so there are no records to make up: release from data that you made "
            "up yourself, with ledger=':memory:'"
        )
    size = readers[0].metric.size
    absent = next((reader.absent for reader in readers if reader.absent is not None), None)
    present = size if absent is None else size - 1
    counts = np.random.default_rng().multinomial(records, np.full(present, 1 / present))
    return counts.astype(np.int64) if absent is None else np.insert(counts, absent, 0).astype(np.int64)


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
    from dxgeom.engines.counted_tables import KeyTable, key_counts

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


MOST_DRAWS: Final = 1_000
_NO_NOISE: Final = Fraction(10**30)
"""At this spend noise is so narrow that all of it is rounded to nothing."""
_FEWEST: Final = 8
"""Fewer draws say too little of how much they differ."""


@final
@dataclass(frozen=True, eq=False)
class SimulatedWorth:
    """Errors of released answers and of their estimates, over some draws of noise on a public table.

    ``names``: the answers, or the tables. ``squares`` (draws, names, 2): squared errors, of a table summed over its
    cells: of what was released, and of the estimate. ``records``: of the public table; None where their number is not
    used, since the policy keeps it private. ``spend``: of the release; ``share``: the part of it that these answers
    have. ``rounded``: errors are about numbers as the policy rounds them, and leave out what that does.
    Guarantee: none. These are means over draws of a generator with a fixed seed, about this table and no other.
    """

    names: tuple[str, ...] = field(repr=False)
    squares: NDArray[np.float64] = field(repr=False)
    records: int | None
    spend: Fraction
    share: Fraction = Fraction(1)
    rounded: bool = False

    @property
    def draws(self) -> int:
        """How many releases were tried out."""
        return len(self.squares)

    @property
    def released(self) -> float:
        """The root of the mean total squared error of the released answers."""
        return math.sqrt(float(self._totals[:, 0].mean()))

    @property
    def estimated(self) -> float:
        """The same of the estimates."""
        return math.sqrt(float(self._totals[:, 1].mean()))

    @property
    def deviation(self) -> float:
        """One standard deviation of :attr:`estimated`, from the draws themselves; infinite where there is one."""
        if self.draws == 1:
            return math.inf
        spread = float(self._totals[:, 1].std(ddof=1)) / math.sqrt(self.draws)
        return spread / (2 * self.estimated) if self.estimated > 0 else 0.0

    @property
    def _totals(self) -> NDArray[np.float64]:
        return np.asarray(self.squares.sum(axis=1))

    @property
    def in_words(self) -> str:
        """The same as a sentence."""
        of = "" if self.records is None else f" of {counted(self.records, 'record')}"
        at = f"spending {plain(self.spend)}"
        if self.share != 1:
            at = f"spending {plain(self.share * self.spend)}, the task's share of {plain(self.spend)}"
        spread = f" (one standard deviation of that: {brief(self.deviation)})" if self.draws >= _FEWEST else ""
        about = ", both about numbers as the policy rounds them" if self.rounded else ""
        return (
            f"tried out on the public table{of}, with {counted(self.draws, 'draw')} of noise {at}: the estimate's "
            f"total root mean squared error is {brief(self.estimated)}{spread}, that of what is released "
            f"{brief(self.released)}{about}; other tables may gain more or less"
        )

    def as_dict(self) -> dict[str, Any]:
        """The errors ready for JSON: total squared errors."""
        before, after = self.squares.mean(axis=0).T.tolist()
        each = zip(self.names, before, after, strict=True)
        spread = self.deviation if math.isfinite(self.deviation) else None
        return {
            "records": self.records,
            "spend": str(self.spend),
            **({} if self.share == 1 else {"share": str(self.share)}),
            "of_rounded_numbers": self.rounded,
            "draws": self.draws,
            "released_total_rmse": self.released,
            "estimate_total_rmse": self.estimated,
            "standard_deviation": spread,
            "answers": [{"name": name, "released_mse": one, "estimate_mse": other} for name, one, other in each],
            "in_words": self.in_words,
        }


def simulated_worth(
    plan: Plan, table: Any, spend: Fraction, wish: EstimateWish, draws: int, count_column: str | None
) -> SimulatedWorth:
    """See :meth:`dxgeom.planner.plan.Plan.simulate_estimate`."""
    require(draws, WHOLE, "draws", "say how many releases are tried out, such as 8")
    if not 1 <= draws <= MOST_DRAWS:
        raise WrongArgument(f"'draws' are from 1 to {MOST_DRAWS:,} releases that are tried out; found {draws!r}")
    part, share = plan.kind.estimated_part(plan)
    mechanism: Any = part.mechanism
    found = read(mechanism, table, "refuse", count_column, False, any_number=True)
    require_whole_records(wish, part.metric.people)
    randomness = InsecureSeededRandomness(int(part.fingerprint[:12], 16))
    noiseless = mechanism.draw(found.data, _NO_NOISE, randomness)
    answers = partial(part.kind.answers, part)
    exact = answers(part.kind.true_answer(part, found.data, noiseless), share * spend, found.records)
    squares, names = [], tuple[str, ...]()
    for answer in mechanism.draws(found.data, share * spend, draws, randomness):
        estimate = answers(answer, share * spend, found.records).estimated(part.fingerprint, wish)
        names = estimate.names
        squares.append(estimate.squared_errors(exact))
    return SimulatedWorth(names, np.array(squares), found.records, spend, share, exact.reads_stepped_values)
