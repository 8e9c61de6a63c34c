"""Which columns are read, as what, and in which batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, final

import pyarrow as pa

from dxgeom.engines.cells import MOMENT_OR_DAY, day_cell, is_text, number_cell, repeats, word_cell, wrong_type
from dxgeom.engines.expressions import carried_out, coded_by, codes_of
from dxgeom.engines.read_cells import named, prepare
from dxgeom.engines.source import ROWS, Source, ibis
from dxgeom.universe.columns import may_be_fractions
from dxgeom.universe.numbers.numeric_attributes import NumericAttribute
from dxgeom.universe.reading.expressions import MomentPart
from dxgeom.universe.reading.reading import CellReading
from dxgeom.universe.universe import Universe

SMALL: Final = 1 << 23
"""Bytes of a file whose rows are read one by one."""
_BLANKS: Final = "' \t\n\r\v\f'"


def statement(source: Source, universe: Universe, records: str | None) -> str | None:
    """The cells k0, k1, … of each row, and the last column as ``records`` if that is a name; None where Ibis is needed.

    That is for other tables than small files of text, which are read in less time than Ibis takes to load, and for what
    a policy makes of columns. Cells are what :mod:`dxgeom.engines.cells` makes of them; few rows come one by one.
    """
    reading, text = universe.reading, source.text
    if text is None or text.path.suffix == ".gz" or text.path.stat().st_size > SMALL:
        return None
    if any(one.expression is not None for one in reading.attributes):
        return None
    each = zip(reading.attributes, reading.places, strict=True)
    cells = [_cell(one, place) for one, places in each for place in places]
    columns = [f"{cell} AS k{number}" for number, cell in enumerate(cells)]
    if records is not None:
        columns.append(f"{_whole(len(reading.columns))} AS {records}")
    return f"SELECT {', '.join(columns)} FROM {ROWS}"  # noqa: S608


def _cell(reading: CellReading, place: int) -> str:
    if reading.rules is not None:
        read = {"days": "day", "numbers": "number", "words": "clean"}[reading.read_as]
        return f"{read}_{named(reading.rules)}_{place}"
    if reading.read_as == "days":
        moment = f"CASE WHEN regexp_matches(k{place}, '{MOMENT_OR_DAY}') THEN k{place} END"
        return f"coalesce(CAST(CAST(try_cast({moment} AS TIMESTAMP) AS DATE) AS VARCHAR), k{place})"
    if reading.read_as != "numbers":
        return f"k{place}"
    return (
        f"coalesce(try_cast(k{place} AS DOUBLE), CASE WHEN k{place} IS NULL THEN NULL ELSE CAST('inf' AS DOUBLE) END)"
    )


def _whole(place: int) -> str:
    """A whole number of records; a cast alone would round 1.5 to 2."""
    digits = f"trim(k{place}, {_BLANKS})"
    return f"CASE WHEN regexp_matches({digits}, '^[0-9]+$') THEN try_cast({digits} AS BIGINT) ELSE NULL END"


RECORDS: Final = "records"
"""The column of a batch that says how many records a row of it stands for."""
_FEW_WHOLE_NUMBERS: Final = 1000
_EXACT_DIGITS: Final = 15
"""Decimals of so many digits are quotients of two whole numbers in float64, which every engine rounds once."""


@final
@dataclass(frozen=True)
class Grouping:
    """How equal rows are put together before anything is encoded.

    ``keys``: what rows are equal in, over the source's rows: columns as they are, k0, k1, …, and cells that the engine
    works out, c0, c1, …; ``coded``: the attributes, by place, whose cells are worked out to their codes.
    """

    keys: dict[str, Any]
    coded: frozenset[int]
    universe: Universe
    source: Source

    def cells(self, rows: ibis.Table, axes: Iterable[int] | None = None) -> dict[str, Any]:
        """k0, k1, …: what each attribute in order is handed of a table that has the keys; of these ``axes`` alone where
        they are given."""
        reading, found = self.universe.reading, dict[str, Any]()
        for axis in range(len(reading.attributes)) if axes is None else axes:
            own = reading.cells[axis]
            if f"c{own[0]}" in self.keys:
                cells = [rows[f"c{cell}"] for cell in own]
            else:
                cells = _cells(replace(self.source, made=lambda: rows), reading.attributes[axis], reading.places[axis])
            found |= {f"k{cell}": made for cell, made in zip(own, cells, strict=True)}
        return found

    def keys_of(self, axes: Iterable[int]) -> dict[str, Any]:
        """The keys in which rows that these attributes have the same of are equal."""
        reading, found = self.universe.reading, dict[str, Any]()
        for axis in axes:
            worked_out = f"c{reading.cells[axis][0]}" in self.keys
            names = [f"c{cell}" for cell in reading.cells[axis]] if worked_out else []
            found |= {name: self.keys[name] for name in names or [f"k{place}" for place in reading.places[axis]]}
        return found


@final
@dataclass(frozen=True)
class RecordReader:
    """How a table is read.

    ``count_column``: says how many records a row stands for; ``written``: a statement that gives ``cells`` without
    Ibis, None where there is none; ``outside_there``: whether rows are outside, where their server can tell.
    """

    source: Source
    universe: Universe
    count_column: str | None
    written: str | None
    outside_there: Callable[[ibis.Table], Any] | None = None

    @property
    def weighted(self) -> bool:
        """Whether rows are counted by a column."""
        return self.count_column is not None

    @cached_property
    def columns(self) -> dict[str, Any]:
        """k0, k1, …, what each attribute in order is handed of a row, text or float64, followed, if rows are counted by
        a column, by RECORDS (null where it is no whole number)."""
        reading = self.universe.reading
        each = zip(reading.attributes, reading.places, strict=True)
        cells = [cell for one, places in each for cell in _cells(self.source, one, places)]
        columns = {f"k{place}": cell for place, cell in enumerate(cells)}
        if self.count_column is not None:
            columns[RECORDS] = _records(self.source, len(reading.columns), self.count_column)
        return columns

    @cached_property
    def grouping(self) -> Grouping | None:
        """None where hardly two rows are equal."""
        cells = [cell for name, cell in self.columns.items() if name != RECORDS]
        return _grouping(self.source, self.universe, cells) if self.count_column is None else None

    @property
    def keys(self) -> Grouping:
        """The grouping, or one by all columns where hardly two rows are equal."""
        if self.grouping is not None:
            return self.grouping
        columns = {f"k{k}": self.source.rows[f"k{k}"] for k in range(len(self.universe.reading.columns))}
        return Grouping(columns, frozenset(), self.universe, self.source)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The cells of all rows, in the table's order."""
        if self.written is not None:
            return self.source.written(self.written)
        return self.source.batches(self.source.rows.select(**self.columns))

    def groups(self, grouping: Grouping) -> Iterator[pa.RecordBatch]:
        """The cells of distinct rows, some of them codes, and RECORDS, how many rows are so."""
        rows = self.source.rows.select(**grouping.keys)
        counted = rows.group_by(rows.columns).agg(**{RECORDS: ibis._.count()})
        return self.source.finished(
            counted, lambda groups: groups.select(**grouping.cells(groups), **{RECORDS: groups[RECORDS]})
        )

    @property
    def not_declared_whole(self) -> tuple[str, ...]:
        """The attributes that are read from a column of integers, and do not say that their numbers are whole."""
        reading = self.universe.reading
        each = zip(self.universe.attributes, reading.attributes, reading.places, strict=True)
        return tuple(
            attribute.name
            for attribute, one, places in each
            if one.expression is None
            and any(may_be_fractions(column) for column in attribute.columns[:1])
            and all(pa.types.is_integer(self.source.types[place]) for place in places)
        )

    def batches_with_text(self) -> Iterator[pa.RecordBatch]:
        """All rows in the table's order: the cells, then s0, s1, …, the columns as they stand in the table, as text."""
        return self.source.batches(self._with_text())

    def batches_outside(self, most: int) -> Iterator[pa.RecordBatch]:
        """The same; where the server can tell which rows are outside these alone, and at most so many."""
        if self.outside_there is None or self.grouping is None:
            return self.batches_with_text()
        keyed = self.source.rows.mutate(**self.grouping.keys)
        few = keyed.filter(self.outside_there(keyed)).select(self.source.rows.columns).limit(most)
        return self.source.finished(
            few, lambda rows: replace(self, source=replace(self.source, made=lambda: rows))._with_text()
        )

    def _with_text(self) -> ibis.Table:
        shown = {f"s{k}": self.source.rows[f"k{k}"].cast("string") for k in range(len(self.source.types))}
        return self.source.rows.select(**self.columns, **shown)


def plan_reading(source: Source, universe: Universe, count_column: str | None) -> RecordReader:
    """Decides how each column is read.

    Raises: DataError when a column's type does not fit its attribute.
    """
    source = prepare(source, universe.reading)
    written = statement(source, universe, None if count_column is None else RECORDS)
    reader = RecordReader(source, universe, count_column, written)
    if written is None:
        _ = reader.columns  # whose types are looked at
    return reader


def _grouping(source: Source, universe: Universe, cells: list[Any]) -> Grouping | None:
    """None where an attribute reads numbers that the engine cannot code, of which hardly two are equal.

    Measured on 10⁷ rows: grouping these doubles the time and triples the memory.
    """
    keys, coded, reading = dict[str, Any](), set[int](), universe.reading
    each = zip(universe.attributes, reading.attributes, reading.places, reading.cells, strict=True)
    for place, (attribute, one, places, own) in enumerate(each):
        numbers = coded_by(attribute, one)
        if _as_they_are(source, one, places, numbers):
            keys |= {f"k{column}": source.rows[f"k{column}"] for column in places}
        elif numbers is not None and _can_code(source, one, places):
            keys[f"c{own[0]}"] = codes_of(numbers, cells[own[0]])
            coded.add(place)
        elif source.there is not None and one.rules is not None:
            keys |= {f"k{column}": source.rows[f"k{column}"] for column in places}  # read here
        elif one.read_as == "numbers" and not isinstance(one.expression, MomentPart):
            return None
        elif source.there is not None:
            keys |= {f"k{column}": source.rows[f"k{column}"] for column in places}
        else:
            keys |= {f"c{cell}": cells[cell] for cell in own}
    return Grouping(keys, frozenset(coded), universe, source)


def _can_code(source: Source, reading: CellReading, places: tuple[int, ...]) -> bool:
    """Whether the engine makes the same float64 of a row as this one does.

    Of long decimals, and of what a policy works out, engines may not: there the columns themselves come.
    """
    if source.there is None:
        return True
    kind = source.types[places[0]]
    short = not pa.types.is_decimal(kind) or kind.precision <= _EXACT_DIGITS
    return reading.expression is None and not is_text(kind) and short


def _as_they_are(
    source: Source, reading: CellReading, places: tuple[int, ...], numbers: NumericAttribute | None
) -> bool:
    """Whether rows with equal columns are many, so that cells are worked out once for all of them."""
    if reading.expression is not None or len(places) > 1:
        return False
    if reading.rules is not None and reading.read_as == "days" and source.there is None:
        return False  # many moments are one day
    kind = source.types[places[0]]
    if reading.read_as != "numbers":
        return repeats(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind)
    few = numbers is None or numbers.ends[1] - numbers.ends[0] <= max(_FEW_WHOLE_NUMBERS, 2 * numbers.size)
    return bool(pa.types.is_integer(kind)) and few


def _cells(source: Source, reading: CellReading, places: tuple[int, ...]) -> list[Any]:
    """What an attribute is handed of each row, from its columns, which stand at ``places`` of the source."""
    if reading.expression is not None:
        columns = dict(zip(reading.columns, places, strict=True))
        return [carried_out(source, reading.expression, columns, reading.rules)]
    read: Callable[..., Any] = {"days": day_cell, "numbers": number_cell, "words": word_cell}[reading.read_as]
    each = zip(places, reading.columns, strict=True)
    return [read(source, place, name, reading.rules) for place, name in each]


def _records(source: Source, position: int, name: str) -> Any:
    column, kind = source.rows[f"k{position}"], source.types[position]
    if is_text(kind) and source.text is not None:
        # A cast alone would round 1.5 to 2.
        digits = column.strip()
        return ibis.ifelse(digits.re_search("^[0-9]+$"), digits.try_cast("int64"), ibis.null("int64"))
    if pa.types.is_integer(kind):
        return ibis.ifelse(column >= 0, column.try_cast("int64"), ibis.null("int64"))
    raise wrong_type(source, name, kind, "whole numbers of records", "convert the column to integers")
