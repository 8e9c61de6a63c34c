"""Which columns are read, as what, and in which batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import ibis
import pyarrow as pa

from dxgeom.engines.cells import day_cell, is_text, number_cell, repeats, word_cell, wrong_type
from dxgeom.engines.expressions import carried_out
from dxgeom.engines.people.columns import order_cell, person_cell
from dxgeom.engines.sources import Source
from dxgeom.universe.columns import may_be_fractions
from dxgeom.universe.reading.expressions import MomentPart
from dxgeom.universe.reading.reading import CellReading, Reading
from dxgeom.universe.universe import Universe

PERSON, ORDER = "person", "place_in_order"
"""The columns that say whose a row is, and which of that person's rows comes first."""
RECORDS = "records"
"""The column of a batch that says how many records a row of it stands for."""


@final
@dataclass(frozen=True)
class RecordReader:
    """How a table is read.

    ``cells``: k0, k1, …, what each attribute in order is handed of a row, text or float64, followed, if rows are
    counted by a column, by RECORDS (null where it is no whole number); ``shown``: the columns that were read, as text,
    for messages, named s0, s1, …; ``by_person``: where the policy says who people are, the cells with PERSON, and with
    ORDER where rows are kept by it, else the cells alone.
    """

    source: Source
    universe: Universe
    cells: ibis.Table
    shown: ibis.Table
    by_person: ibis.Table
    weighted: bool
    groups: bool

    def batches(self, *, grouped: bool) -> Iterator[pa.RecordBatch]:
        """The cells: one row for each distinct row of the table when grouped, else all rows in the table's order."""
        if grouped:
            return _stream(self.source, self.cells.group_by(self.cells.columns).agg(**{RECORDS: ibis._.count()}))
        return _stream(self.source, self.cells)

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
        """All rows in the table's order: the cells, then the same as they stand in the table."""
        return _stream(self.source, self.shown)


def plan_reading(source: Source, universe: Universe, count_column: str | None) -> RecordReader:
    """Decides how each column is read.

    Raises: DataError when a column's type does not fit its attribute.
    """
    reading = universe.reading
    each = list(zip(reading.attributes, reading.places, strict=True))
    cells = [cell for one, places in each for cell in _cells(source, one, places)]
    columns = {f"k{place}": cell for place, cell in enumerate(cells)}
    if count_column is not None:
        columns[RECORDS] = _records(source, len(reading.columns), count_column)
    shown = {f"s{k}": source.rows[f"k{k}"].cast("string") for k in range(len(source.types))}
    # Measured on 10⁷ rows: grouping halves the time for words and whole numbers, but doubles it and triples the
    # memory for decimals, coordinates among them, of which hardly two are equal.
    decimals = any(_are_decimals(source, one, places) for one, places in each)
    rows, with_text = source.rows.select(**columns), source.rows.select(**columns, **shown)
    by_person = source.rows.select(**columns, **_people(source, reading))
    return RecordReader(
        source, universe, rows, with_text, by_person, count_column is not None, count_column is None and not decimals
    )


def _people(source: Source, reading: Reading) -> dict[str, Any]:
    """Whose a row is and which comes first; these columns stand behind those of the attributes."""
    people, place = reading.people, len(reading.columns)
    if people is None:
        return {}
    person = {PERSON: person_cell(source, place, people.column)}
    return person if people.order is None else {**person, ORDER: order_cell(source, place + 1, people.order)}


def _are_decimals(source: Source, reading: CellReading, places: tuple[int, ...]) -> bool:
    """Whether hardly two rows hand an attribute the same."""
    if reading.read_as != "numbers" or isinstance(reading.expression, MomentPart):
        return False
    return len(places) > 1 or not repeats(source.types[places[0]])


def _cells(source: Source, reading: CellReading, places: tuple[int, ...]) -> list[Any]:
    """What an attribute is handed of each row, from its columns, which stand at ``places`` of the source."""
    if reading.expression is not None:
        return [carried_out(source, reading.expression, dict(zip(reading.columns, places, strict=True)))]
    read = {"days": day_cell, "numbers": number_cell, "words": word_cell}[reading.read_as]
    return [read(source, place, name) for place, name in zip(places, reading.columns, strict=True)]


def _records(source: Source, position: int, name: str) -> Any:
    column, kind = source.rows[f"k{position}"], source.types[position]
    if is_text(kind) and source.text is not None:
        # A cast alone would round 1.5 to 2.
        digits = column.strip()
        return ibis.ifelse(digits.re_search("^[0-9]+$"), digits.try_cast("int64"), ibis.null("int64"))
    if pa.types.is_integer(kind):
        return ibis.ifelse(column >= 0, column.try_cast("int64"), ibis.null("int64"))
    raise wrong_type(source, name, kind, "whole numbers of records", "convert the column to integers")


def _stream(source: Source, rows: ibis.Table) -> Iterator[pa.RecordBatch]:
    return iter(pa.RecordBatchReader.from_stream(source.query(rows)))
