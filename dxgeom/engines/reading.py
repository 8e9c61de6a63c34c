"""Which columns are read, as what, and in which batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import ibis
import pyarrow as pa

from dxgeom.engines.sources import Source
from dxgeom.errors import DataError
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.universe import Universe

RECORDS = "records"
"""The column of a batch that says how many records a row of it stands for."""


@final
@dataclass(frozen=True)
class RecordReader:
    """How a table is read.

    ``cells``: k0, k1, …, the raw columns of the attributes in order, text or float64, followed, if rows are counted by
    a column, by RECORDS (null where it is no whole number); ``shown``: the same cells as text, for messages, named s0,
    s1, …
    """

    source: Source
    universe: Universe
    cells: ibis.Table
    shown: ibis.Table
    weighted: bool
    groups: bool

    def batches(self, *, grouped: bool) -> Iterator[pa.RecordBatch]:
        """The cells: one row for each distinct row of the table when grouped, else all rows in the table's order."""
        if grouped:
            return _stream(self.source, self.cells.group_by(self.cells.columns).agg(**{RECORDS: ibis._.count()}))
        return _stream(self.source, self.cells)

    def batches_with_text(self) -> Iterator[pa.RecordBatch]:
        """All rows in the table's order: the cells, then the same as they stand in the table."""
        return _stream(self.source, self.shown)


def plan_reading(source: Source, universe: Universe, count_column: str | None) -> RecordReader:
    """Decides how each column is read.

    Raises: DataError when a column's type does not fit its attribute.
    """
    columns = {
        f"k{place}": _cell(source, place, attribute, attribute.raw_columns[number])
        for attribute, places in zip(universe.attributes, universe.raw_places, strict=True)
        for number, place in enumerate(places)
    }
    if count_column is not None:
        columns[RECORDS] = _records(source, len(universe.raw_columns), count_column)
    shown = {f"s{k}": source.rows[f"k{k}"].cast("string") for k in range(len(source.types))}
    # Measured on 10⁷ rows: grouping halves the time for words and whole numbers, but doubles it and triples the
    # memory for decimals, coordinates among them, of which hardly two are equal.
    decimals = any(
        attribute.read_as == "numbers" and (len(places) > 1 or not _repeats(source.types[places[0]]))
        for attribute, places in zip(universe.attributes, universe.raw_places, strict=True)
    )
    cells, with_text = source.rows.select(**columns), source.rows.select(**columns, **shown)
    return RecordReader(
        source, universe, cells, with_text, count_column is not None, count_column is None and not decimals
    )


def _cell(source: Source, position: int, attribute: Attribute, name: str) -> Any:
    match attribute.read_as:
        case "days":
            return _day(source, position, name)
        case "numbers":
            return _number(source, position, name)
        case "words":
            return _word(source, position, name)


def _number(source: Source, position: int, name: str) -> Any:
    column, kind = source.rows[f"k{position}"], source.types[position]
    if _is_number(kind):
        return column.cast("float64")
    if _is_text(kind) and (source.text is not None or _holds_nothing(source, position)):
        return column.try_cast("float64")
    raise _wrong_type(source, name, kind, "numbers", "convert the column to numbers")


def _word(source: Source, position: int, name: str) -> Any:
    column, kind = source.rows[f"k{position}"], source.types[position]
    if _is_text(kind):
        return column
    if pa.types.is_integer(kind):
        return column.cast("string")
    raise _wrong_type(source, name, kind, "text", "convert the column to text, written as the policy writes its values")


def _day(source: Source, position: int, name: str) -> Any:
    column, kind = source.rows[f"k{position}"], source.types[position]
    if _is_text(kind):
        return column
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        return column.cast("date").cast("string")
    if _holds_nothing(source, position):
        return column.cast("string")
    if pa.types.is_timestamp(kind):
        raise _wrong_type(
            source,
            name,
            kind,
            "dates",
            "its days depend on the time zone: convert the column to dates in the one meant",
        )
    raise _wrong_type(source, name, kind, "dates", "convert the column to dates, or to text such as 2024-02-29")


def _records(source: Source, position: int, name: str) -> Any:
    column, kind = source.rows[f"k{position}"], source.types[position]
    if _is_text(kind) and source.text is not None:
        # A cast alone would round 1.5 to 2.
        digits = column.strip()
        return ibis.ifelse(digits.re_search("^[0-9]+$"), digits.try_cast("int64"), ibis.null("int64"))
    if pa.types.is_integer(kind):
        return ibis.ifelse(column >= 0, column.try_cast("int64"), ibis.null("int64"))
    raise _wrong_type(source, name, kind, "whole numbers of records", "convert the column to integers")


def _wrong_type(source: Source, name: str, kind: pa.DataType, needed: str, advice: str) -> DataError:
    found = "text" if _is_text(kind) else str(kind)
    return DataError(f"column '{name}' of {source.described} must hold {needed}, but holds {found}; {advice}")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _repeats(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind)) or _is_text(kind)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _holds_nothing(source: Source, position: int) -> bool:
    held = source.rows.agg(held=source.rows[f"k{position}"].count())
    return bool(source.query(held).fetchall() == [(0,)])


def _stream(source: Source, rows: ibis.Table) -> Iterator[pa.RecordBatch]:
    return iter(pa.RecordBatchReader.from_stream(source.query(rows)))
