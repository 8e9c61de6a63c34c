"""Tables that Python reads before the engine does: text in other encodings than UTF-8, and sheets of workbooks."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from dxgeom.engines.read_cells import TYPED
from dxgeom.engines.source import CellsOfLines, Delimited, cells_of_lines, header_of, lines_broken, text_lines
from dxgeom.engines.watching import of_other_width
from dxgeom.errors import DataError
from dxgeom.numeric.optional_library import optional_library
from dxgeom.universe.reading.form import FileForm

_AT_ONCE: Final = 1 << 16
_EXACT: Final = 2.0**53


def decoded_table(text: Delimited, places: Sequence[int], described: str) -> pa.Table:
    """The columns at these places of a text file in its own encoding, as text, c0, c1, …, row by row.

    Raises: DataError for a row of more than one line, unless the form allows it, and for one that is not as wide as the
    header; csv.Error for an open quotation mark; UnicodeError.
    """
    width, parts = len(header_of(text)), [list[pa.Array]() for _ in places]
    rows = _rows(text, width, described)
    while chunk := list(islice(rows, _AT_ONCE)):
        for part, place in zip(parts, places, strict=True):
            part.append(pa.array([row[place] or None for row in chunk], pa.string()))
    columns = [pa.chunked_array(part, pa.string()) for part in parts]
    return pa.table(columns, names=[f"c{number}" for number in range(len(places))])


def _rows(text: Delimited, width: int, described: str) -> Iterator[list[str]]:
    form, before = text.form, 0
    with text_lines(text) as lines:
        for _ in islice(lines, form.header):
            before += 1
        rows = cells_of_lines(lines, text)
        last = 0
        while (row := _next(rows, before + last + 1, described)) is not None:
            if rows.line_num > last + 1 and not form.line_breaks:
                raise lines_broken(described, f"a cell in line {before + last + 1} holds a line break")
            last = rows.line_num
            if not row and width > 1:
                continue  # an empty line is no row of several cells
            if len(row or [""]) != width:
                wrong = of_other_width(width, len(row or [""]), form.quote)
                raise DataError(f"{described}, line {before + last}: {wrong}")
            yield row or [""]


def _next(rows: CellsOfLines, line: int, described: str) -> list[str] | None:
    try:
        return next(rows)
    except StopIteration:
        return None
    except csv.Error as error:
        raise DataError(
            f"{described}, line {line}: a cell that begins with a mark of quotation does not end with one; "
            "a mark inside a cell is written twice"
        ) from error


def sheet_names(path: Path, form: FileForm) -> tuple[str, ...]:
    """What the columns of a sheet are called. Raises: DataError."""
    return _head_and_rows(path, form)[0]


def sheet_table(path: Path, form: FileForm, places: Sequence[int], read: Iterable[bool]) -> pa.Table:
    """The columns at these places of a sheet, c0, c1, …, each of the type that all its cells have, else as text.

    ``read``: of which of them a policy says what cells mean; there a cell that has a type begins with TYPED.
    Raises: DataError; MissingExtra.
    """
    rows = _head_and_rows(path, form)[1]
    columns = [_column([row[place] for row in rows], marked=marked) for place, marked in zip(places, read, strict=True)]
    return pa.table(columns, names=[f"c{number}" for number in range(len(places))])


@contextmanager
def opened_workbook(path: Path) -> Iterator[Any]:
    """A workbook, by the library for it. Raises: MissingExtra; DataError where it is none, or a sheet is broken."""
    calamine = optional_library("python_calamine", "excel", "workbooks are read")
    try:
        yield calamine.CalamineWorkbook.from_path(str(path))
    except calamine.CalamineError as error:
        raise DataError(f"'{path}' is no workbook that can be read: {error}") from error


def _head_and_rows(path: Path, form: FileForm) -> tuple[tuple[str, ...], list[list[Any]]]:
    with opened_workbook(path) as book:
        sheets = list(book.sheet_names)
        sheet = form.sheet if form.sheet is not None or len(sheets) != 1 else sheets[0]
        if sheet not in sheets:
            raise DataError(
                f"'{path}' has the sheets {', '.join(map(repr, sheets))}; the policy says which one, as in "
                f"'reading: {{sheet: {sheets[0] if sheets else 'Data'}}}'"
            )
        rows = book.get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    if len(rows) < form.header:
        raise DataError(f"'{path}' has no line {form.header} on its sheet '{sheet}', which should name the columns")
    below = [row for row in rows[form.header :] if any(cell != "" for cell in row)]
    if form.header == 0:
        return form.names, [_as_wide(row, len(form.names), path) for row in below]
    head = [_text(cell) for cell in rows[form.header - 1]]
    while head and not head[-1] and all(row[len(head) - 1] == "" for row in below):
        head.pop()
    return tuple(head), below


def _as_wide(row: list[Any], width: int, path: Path) -> list[Any]:
    if any(cell != "" for cell in row[width:]):
        raise DataError(f"a row of '{path}' has more cells than the {width} columns that 'names' lists")
    return [*row, *[""] * width][:width]


def _column(cells: list[Any], *, marked: bool) -> pa.Array:
    there = [cell for cell in cells if cell != ""]
    kinds = {type(cell) for cell in there}
    if kinds <= {bool} and kinds:
        return _typed(cells, pa.bool_())
    if kinds <= {int, float} and kinds:
        whole = all(float(cell).is_integer() and abs(cell) < _EXACT for cell in there)
        return _typed(
            [int(cell) if whole and cell != "" else cell for cell in cells], pa.int64() if whole else pa.float64()
        )
    if kinds == {date}:
        return _typed(cells, pa.date32())
    if kinds <= {date, datetime} and kinds:
        return _typed([cell if cell == "" else _moment(cell) for cell in cells], pa.timestamp("us"))
    mark = TYPED if marked and kinds - {str} else ""
    texts = [cell if isinstance(cell, str) else mark + _text(cell) for cell in cells]
    return pa.array([text or None for text in texts], pa.string())


def _typed(cells: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([None if isinstance(cell, str) else cell for cell in cells], kind)


def _moment(cell: date) -> datetime:
    return cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)


def _text(cell: Any) -> str:
    """A cell as ISO writes days, and programs numbers."""
    match cell:
        case bool():
            return "true" if cell else "false"
        case float() if cell.is_integer() and abs(cell) < _EXACT:
            return str(int(cell))
        case datetime():
            return cell.isoformat(" ")
        case date() | time():
            return cell.isoformat()
        case timedelta():
            return str(cell)
        case _:
            return str(cell)
