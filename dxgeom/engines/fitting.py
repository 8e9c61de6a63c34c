"""Whether every row of a table fits a policy, and which cells do not: the reading of a release, before it plans.

What is found here quotes cells and counts rows: it is for whoever holds the table, and goes into no file.
"""

from __future__ import annotations

import csv
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dxgeom.engines.cells import BatchEncoder
from dxgeom.engines.column_names import is_total
from dxgeom.engines.opening import engine_of, opened
from dxgeom.engines.people import columns_of, rows_per_person
from dxgeom.engines.reading import RecordReader, plan_reading
from dxgeom.engines.source import Delimited, cells_of_lines, header_of, text_lines
from dxgeom.engines.watching import muted, plain_errors
from dxgeom.errors import DataError
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.numbers.numeric_attributes import NumericAttribute
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import is_nan

_FEW_TOTALS: Final = 3
"""Where so few rows do not fit, the last one is looked at."""
MOST_KEPT: Final = 10_000
"""So many different cells are remembered for each reason; of further ones only the rows are counted."""
EMPTY: Final = "empty"
NOT_LISTED: Final = "not listed"
NO_NUMBER: Final = "not a number"
NOT_WHOLE: Final = "not whole"
BEYOND: Final = "outside the ends"
NO_DAY: Final = "not a day as it is written"


@final
@dataclass
class CellsFound:
    """Some cells of an attribute: how often each comes, as far as they are remembered, and in how many rows."""

    rows: int = 0
    cells: Counter[tuple[str | None, ...]] = field(default_factory=Counter)

    def note(self, cells: Counter[tuple[str | None, ...]]) -> None:
        """Adds what a batch has."""
        self.rows += cells.total()
        for cell, times in cells.items():
            if cell in self.cells or len(self.cells) < MOST_KEPT:
                self.cells[cell] += times


@final
@dataclass
class AttributeFit:
    """How the cells of an attribute's columns fit it.

    ``refused``: by reason; ``missing``: rows that are read as the missing value; ``unlisted``: cells that are read as
    any other word; ``clamped``: numbers that count in the end cells; ``spelled``: cells that are read as a word that is
    written otherwise; ``ends``: cells at an end that look like marks for something missing.
    """

    attribute: Attribute
    columns: tuple[str, ...]
    refused: dict[str, CellsFound] = field(default_factory=dict)
    missing: int = 0
    unlisted: CellsFound = field(default_factory=CellsFound)
    clamped: CellsFound = field(default_factory=CellsFound)
    spelled: CellsFound = field(default_factory=CellsFound)
    ends: CellsFound = field(default_factory=CellsFound)

    @property
    def refused_rows(self) -> int:
        return sum(found.rows for found in self.refused.values())

    @property
    def plain(self) -> Attribute:
        """The attribute without its missing value."""
        return self.attribute.present


@final
@dataclass
class TableFit:
    """How a table fits. ``refused``: rows that are no record; ``no_record``: those of which every value exists, but
    that the policy's table of records does not list; ``people``: how many have each number of rows; ``nobodys``: rows
    that name nobody; ``single``: whether nobody may have two; ``total``: the column in which the last row says that it
    is one, and the word."""

    described: str
    attributes: list[AttributeFit]
    rows: int = 0
    refused: int = 0
    no_record: int = 0
    people: dict[int, int] = field(default_factory=dict)
    nobodys: int = 0
    single: bool = False
    total: tuple[str, str] | None = None

    @property
    def fits(self) -> bool:
        return self.refused == 0 and self.nobodys == 0 and self.rows > 0 and not self.repeated

    @property
    def repeated(self) -> int:
        """How many people have several rows where nobody may."""
        return sum(number for rows, number in self.people.items() if rows > 1) if self.single else 0


def fit_of(table: Any, universe: Universe) -> TableFit:
    """Looks at all rows of a table, as a release does.

    Raises: DataError when it cannot be read, lacks a column, or holds other types; MissingExtra.
    """
    people, reading = universe.reading.people, universe.reading
    with opened(table, (*reading.columns, *columns_of(people)), universe) as source, plain_errors(source.described):
        reader = plan_reading(source, universe, None)
        each = zip(universe.attributes, reading.attributes, strict=True)
        fit = TableFit(source.described, [AttributeFit(attribute, one.columns) for attribute, one in each])
        with source.watch.telling(f"reading {source.described}", secret=True):
            encoder = BatchEncoder(universe, frozenset())
            for batch in reader.batches_with_text():
                _note(fit, batch, encoder, reader)
            if people is not None:
                fit.people, fit.nobodys = rows_per_person(reader, people)
                fit.single = people.count == "single"
            if 0 < fit.refused + fit.nobodys <= _FEW_TOTALS and source.text is not None:
                fit.total = _total_of(source.text)
        return fit


def _total_of(text: Delimited) -> tuple[str, str] | None:
    """The column in which a file's last row says that it is a total, and the word; None where it does not."""
    with text_lines(text) as lines:
        last = deque((line for line in lines if line.strip()), maxlen=1)
    with suppress(csv.Error, StopIteration):
        each = zip(header_of(text), next(cells_of_lines(iter(last), text)), strict=False)
        return next(((name, cell) for name, cell in each if is_total(cell)), None)
    return None


def _note(fit: TableFit, batch: pa.RecordBatch, encoder: BatchEncoder, reader: RecordReader) -> None:
    codes = encoder.codes(batch)
    outside = encoder.indices(codes) == OUTSIDE
    fit.rows += batch.num_rows
    fit.refused += int(np.sum(outside))
    fit.no_record += int(np.sum(outside & np.logical_and.reduce([code != OUTSIDE for code in codes])))
    reading = reader.universe.reading
    for axis, one in enumerate(fit.attributes):
        texts = [batch.column(f"s{place}") for place in reading.places[axis]]
        cells = [batch.column(f"k{cell}") for cell in reading.cells[axis]]
        attribute, own = one.attribute, codes[axis]
        for reason, rows in _reasons(one, own, texts, cells):
            one.refused.setdefault(reason, CellsFound()).note(_counted(texts, rows))
        if attribute.missing is not None:
            one.missing += int(np.sum(own == attribute.missing))
        if one.attribute.read_as == "words" and reading.attributes[axis].expression is None:
            _note_words(one, own, texts, reading.attributes[axis].unlisted)
        if isinstance(one.plain, NumericAttribute) and len(cells) == 1:
            _note_numbers(one, one.plain, own, texts, cells[0])


def _reasons(
    one: AttributeFit, codes: NDArray[np.int64], texts: list[Any], cells: list[Any]
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Why rows are outside, and which."""
    outside = codes == OUTSIDE
    if not np.any(outside):
        return
    empty = outside & np.logical_or.reduce([_is_empty(text) for text in texts])
    rest = outside & ~empty
    kind, attribute = one.attribute.read_as, one.plain
    if kind == "numbers":
        numbers = np.stack([_floats(cell) for cell in cells])
        unreadable = rest & ~np.all(np.isfinite(numbers), axis=0)
        yield NO_NUMBER, unreadable
        rest = rest & ~unreadable
        if isinstance(attribute, NumericAttribute) and attribute.raw.whole:
            broken = rest & (numbers[0] != np.floor(numbers[0]))
            yield NOT_WHOLE, broken
            rest = rest & ~broken
        yield BEYOND, rest
    elif kind == "days":
        day = np.array([_is_day(cell) for cell in cells[0].to_pylist()]) if np.any(rest) else rest
        yield NO_DAY, rest & ~day
        yield BEYOND, rest & day
    else:
        yield NOT_LISTED, rest
    yield EMPTY, empty


def _is_day(cell: str | None) -> bool:
    return cell is not None and len(cell) == 10 and cell[4] == cell[7] == "-"


def _is_empty(text: Any) -> NDArray[np.bool_]:
    if text.null_count == 0:
        coded = text.dictionary_encode()
        empty = [place for place, word in enumerate(coded.dictionary.to_pylist()) if not word or is_nan(word)]
        return np.isin(np.asarray(np.from_dlpack(coded.indices)), empty)
    return np.array([not word or is_nan(word) for word in text.to_pylist()])


def _floats(column: Any) -> NDArray[np.float64]:
    numbers = column.cast(pa.float64())
    return np.array(np.from_dlpack(numbers.fill_null(np.nan) if numbers.null_count else numbers))


def _counted(texts: list[Any], rows: NDArray[np.bool_]) -> Counter[tuple[str | None, ...]]:
    """How often the cells of these rows come."""
    if not np.any(rows):
        return Counter()
    # Arrow loads pandas, for half a second, to make an array of NumPy's: of its bytes it does not.
    wanted = pa.Array.from_buffers(pa.bool_(), len(rows), [None, pa.py_buffer(np.packbits(rows, bitorder="little"))])
    chosen = [text.filter(wanted).to_pylist() for text in texts]
    return Counter(zip(*chosen, strict=True))


def _note_words(one: AttributeFit, codes: NDArray[np.int64], texts: list[Any], unlisted: int | None) -> None:
    """Words that are read as another one: as any other, or as one that is written otherwise."""
    labels = one.attribute.labels
    if unlisted is not None:
        other = codes == unlisted
        if np.any(other):
            found = _counted(texts, other)
            one.unlisted.note(Counter({cell: times for cell, times in found.items() if cell[0] != labels[unlisted]}))
    coded = texts[0].dictionary_encode(null_encoding="encode")
    words, places = coded.dictionary.to_pylist(), np.asarray(np.from_dlpack(coded.indices))
    known = set(labels)
    strange = [place for place, word in enumerate(words) if word and word not in known]
    if strange and len(strange) < MOST_KEPT:
        otherwise = np.isin(places, strange) & (codes != OUTSIDE) & (codes != one.attribute.missing)
        otherwise &= True if unlisted is None else codes != unlisted
        one.spelled.note(_counted(texts, otherwise))


MARKS: Final = frozenset((-1.0, -9.0, -99.0, -999.0, 99.0, 199.0, 999.0, 9999.0, 99999.0))
"""Numbers that are often written where one is missing."""


def _note_numbers(
    one: AttributeFit, attribute: NumericAttribute, codes: NDArray[np.int64], texts: list[Any], cell: Any
) -> None:
    """Numbers that are clamped, and marks at an end."""
    numbers = _floats(cell)
    low, high = map(float, attribute.ends)
    inside = codes != OUTSIDE
    with np.errstate(invalid="ignore"):
        clamped = inside & np.isfinite(numbers) & ((numbers < low) | (numbers > high))
        marks = inside & np.isin(numbers, [mark for mark in MARKS if mark in (low, high)])
    one.clamped.note(_counted(texts, clamped))
    one.ends.note(_counted(texts, marks))


def require_fit(
    table: str | Path, policy: str, universe: Universe, *, count_column: str | None = None, quiet_data: bool = False
) -> None:
    """Refuses a table that a release would refuse, before anything is planned: its rows are read as a release does.

    Args: ``policy``: the policy's file, for the message. How many rows there are is not told where people have several,
    or may be absent.
    Raises: DataError, which shows no cell.
    """
    people, reading = universe.reading.people, universe.reading
    wanted = (*reading.columns, *columns_of(people), *(() if count_column is None else (count_column,)))
    engine_of(table).look_up(table, universe.form)
    secret = people is not None or universe.absent is not None
    with muted(quiet_data, secret=secret), opened(table, wanted, universe) as source, plain_errors(source.described):
        reader, encoder = plan_reading(source, universe, count_column), BatchEncoder(universe, frozenset())
        rows, refused, columns = 0, 0, Counter[str]()
        with source.watch.telling(f"reading {source.described}", secret=True):
            for batch in reader.batches():
                codes = encoder.codes(batch)
                outside = encoder.indices(codes) == OUTSIDE
                rows, refused = rows + batch.num_rows, refused + int(np.sum(outside))
                for one, own in zip(reading.attributes, codes, strict=True):
                    columns[", ".join(one.columns)] += int(np.sum(own == OUTSIDE))
        if refused:
            raise _unfit(str(table), policy, rows, refused, +columns, secret=secret)


def _unfit(table: str, policy: str, rows: int, refused: int, columns: Counter[str], *, secret: bool) -> DataError:
    if secret:
        begin, where = "some rows do not fit the policy", ", ".join(columns)
    else:
        begin = f"{refused:,} of {rows:,} rows do not fit the policy"
        where = ", ".join(f"{column} {times:,}" for column, times in columns.most_common())
    return DataError(
        f"{begin}: {where or 'its table lists no such records'}\n"
        f"  dxgeom check {policy} --table {without_password(table)} shows them and the lines to add\n"
        "  Nothing was planned or spent."
    )


def without_password(table: str) -> str:
    """A path, or a table's URL without who asks for it."""
    scheme, sign, rest = table.partition("://")
    if not sign:
        return table
    return f"{scheme}://{rest.rpartition('@')[2] if '@' in rest.partition('#')[0] else rest}"
