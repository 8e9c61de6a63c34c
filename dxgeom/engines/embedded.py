"""The embedded engine, DuckDB: files, frames and relations become one view with known columns and types.

Tables that Python reads before the engine does: text in other encodings than UTF-8, and sheets of workbooks.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final, final

import duckdb
import pyarrow as pa

from dxgeom.engines.files import (
    common_columns,
    extent_of,
    file_of_sqlite,
    files_of_folder,
    held_open,
    of_lake,
    state_of_files,
    unchanged,
)
from dxgeom.engines.frames import arrow_of_frame, backend_of, flowing, index_of_frame, names_of_frame
from dxgeom.engines.read_cells import TYPED, condition_of, literal
from dxgeom.engines.source import (
    CellsOfLines,
    Delimited,
    Elsewhere,
    Engine,
    Source,
    Wanted,
    cells_of_lines,
    delimited,
    has_scheme,
    header_of,
    lines_above,
    lines_broken,
    lines_of,
    located,
    text_lines,
    wanted_rows,
)
from dxgeom.engines.watching import Extent, Watch, of_other_width, plain_errors
from dxgeom.errors import DataError
from dxgeom.numeric.optional_library import optional_library
from dxgeom.universe.reading.reading import PLAIN, FileForm
from dxgeom.universe.reading.written import Ignored
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import nearest

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


ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
_MOST_COMPARED = 1000
WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods")

# Rows of people never touch the disk, and nothing is fetched from a network.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "temp_directory": "",
    "memory_limit": "2GB",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "preserve_insertion_order": "true",
    # Statistics of Parquet know of no NaN: by them one is a number between the least and the largest.
    "disabled_optimizers": "statistics_propagation",
}


@final
class DuckDB(Engine):
    """The embedded engine: files, frames, Arrow, its own relations, and what flows by from elsewhere."""

    name = "DuckDB"

    def takes(self, table: Any) -> bool:
        return True

    def look_up(self, table: Any, form: FileForm) -> None:
        if isinstance(table, str | Path):
            file_of(table, form)

    @contextmanager
    def opened(self, table: Any, wanted: Wanted, universe: Universe | None) -> Iterator[Source]:
        form = PLAIN if universe is None else universe.form
        described = file_of(table, form) if isinstance(table, str | Path) else "the table"
        with held_open(table, described) as table:
            wanted = wanted(names_of_columns(table, form)) if callable(wanted) else wanted
            with plain_errors(described):
                table = of_lake(table)
            with unchanged(described, lambda: state_of_files(table)), connected() as connection:
                with plain_errors(described):
                    source = _source(connection, table, described, wanted, universe)
                    if (text := source.text) is not None and form.utf8 and not form.line_breaks:
                        source.watch.done(lambda: _require_rows_of_one_line(connection, text, described))
                yield source


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of its own, in memory."""
    connection = duckdb.connect(":memory:", config=_SETTINGS)
    # It knows how much is done, and the line that says so is drawn here, for every engine alike. In a notebook it wants
    # to draw a bar of its own, by a package that may be missing: then nobody knows how much is done.
    with plain_errors("the database in memory"), suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = true")
        connection.execute("SET enable_progress_bar_print = false")
    try:
        yield connection
    finally:
        connection.close()


def flowing_from(connection: duckdb.DuckDBPyConnection, there: Elsewhere) -> Source:
    """The source of a table that is open elsewhere, whose rows flow through a connection here."""
    fields = {f"c{place}": kind for place, kind in enumerate(there.shipped)}
    connection.register("everything", pa.schema(fields).empty_table())
    schema = _view_of_wanted(connection, tuple(range(len(there.types))))

    def stop() -> None:
        there.stop()
        connection.interrupt()

    watch = Watch(there.fraction, stop, there.extent, there.aside)
    return Source(there.described, connection, wanted_rows(schema), there.types, None, watch, there.everything, there)


def _source(
    connection: duckdb.DuckDBPyConnection,
    table: Any,
    described: str,
    named: tuple[str, ...],
    universe: Universe | None,
) -> Source:
    text = anew = None
    extent, form = Extent(), PLAIN if universe is None else universe.form
    ignored = () if universe is None else universe.reading.ignored
    wanted = (*named, *(one.column for one in ignored))
    if not isinstance(table, str | Path):
        places = located(names_of_frame(table), wanted, described, index_of_frame(table))
        anew = flowing(table, wanted)
        held = None if anew else arrow_of_frame(table, wanted, places)
        connection.register("everything", anew() if anew else held)
        extent = extent if held is None else Extent(held.num_rows, held.nbytes)
        places = tuple(range(len(wanted)))
    elif (files := files_of_folder(Path(table))) is not None or _ending(Path(table)) == ".parquet":
        files = files or [Path(table)]
        places, extent = located(_view_parquet(connection, files), wanted, described), extent_of(files)
    elif _is_workbook(Path(table)):
        places = located(sheet_names(Path(table), form), wanted, described, by_a_line=True)
        read = () if universe is None else {c for one in universe.reading.attributes if one.rules for c in one.columns}
        held = sheet_table(Path(table), form, places, [name in read for name in wanted])
        connection.register("everything", held)
        places, extent = tuple(range(len(wanted))), Extent(held.num_rows, held.nbytes)
    else:
        text = _text_of(Path(table), form)
        extent = Extent(size=text.path.stat().st_size)
        places = located(header_of(text), wanted, described, by_a_line=form.header > 0)
        if form.utf8:
            _view_text(connection, text)
        else:
            connection.register("everything", decoded_table(text, places, described))
            places = tuple(range(len(wanted)))
    schema = _view_of_wanted(connection, places, ignored)
    for name, kind in zip(named, schema.types, strict=True):
        if pa.types.is_interval(kind):
            raise DataError(f"column '{name}' of {described} holds intervals, which are not read; convert it, to text")
    bound = backend_of(table) == "sqlite"
    watch = Watch(lambda: _fraction(connection), connection.interrupt, extent, bound=bound)
    return Source(described, connection, wanted_rows(schema), tuple(schema.types), text, watch, anew)


def _fraction(connection: duckdb.DuckDBPyConnection) -> float | None:
    """DuckDB says nothing of what flows by, or lies in memory: there it stays at nothing."""
    percent = connection.query_progress()
    return percent / 100 if percent > 0 else None


def _view_of_wanted(
    connection: duckdb.DuckDBPyConnection, places: tuple[int, ...], ignored: tuple[Ignored, ...] = ()
) -> pa.Schema:
    """Makes the view ``records`` of the wanted columns; returns their types.

    A column that never held a value has no type either; as text its every cell is missing. Rows that are ``ignored`` by
    the last columns are not in the view, and neither are these.
    """
    last = len(places) - len(ignored)
    kept = " AND ".join(
        condition_of(connection, one, f"c{place}") for one, place in zip(ignored, places[last:], strict=True)
    )
    places = places[:last]
    chosen = [f"c{place} AS k{position}" for position, place in enumerate(places)]
    schema = connection.sql(f"SELECT {', '.join(chosen)} FROM everything LIMIT 0").to_arrow_table().schema  # noqa: S608
    for position, (place, kind) in enumerate(zip(places, schema.types, strict=True)):
        if pa.types.is_null(kind):
            chosen[position] = f"CAST(c{place} AS VARCHAR) AS k{position}"
            schema = schema.set(position, pa.field(f"k{position}", pa.string()))
    rows = f"SELECT {', '.join(chosen)} FROM everything" + (f" WHERE {kept}" if kept else "")  # noqa: S608
    connection.execute(f"CREATE VIEW records AS {rows}")
    return schema


def names_of_columns(table: Any, form: FileForm = PLAIN) -> tuple[str, ...]:
    """The names of a table's columns, as they stand. Raises: DataError for what cannot be read."""
    if not isinstance(table, str | Path):
        return names_of_frame(table)
    with plain_errors(file_of(table, form)):
        if (files := files_of_folder(Path(table))) is not None or _ending(Path(table)) == ".parquet":
            return common_columns(files or [Path(table)])
        if _is_workbook(Path(table)):
            return sheet_names(Path(table), form)
        return header_of(_text_of(Path(table), form))


def _text_of(path: Path, form: FileForm) -> Delimited:
    return delimited(path, form.separator or ("\t" if ".tsv" in _ending(path) else ","), form)


def _is_workbook(path: Path) -> bool:
    return path.suffix.lower() in WORKBOOKS


def file_of(table: str | Path, form: FileForm = PLAIN) -> str:
    """What messages call the file, the folder or the pattern. Raises: DataError for what is no table by its path."""
    if has_scheme(table, "sqlite"):
        return file_of_sqlite(str(table))[1].described
    if "\n" in str(table):
        raise DataError(
            "a file's name has one line, and this is a text of several: make a data frame of it, "
            "pandas.read_csv(io.StringIO(text))"
        )
    path = Path(table)
    described = f"'{table}'"
    with plain_errors(described):
        if files_of_folder(path) is not None or of_lake(path) is not path:
            return described
        if path.is_dir():
            raise DataError(f"{described} is a folder; name one file, or a folder of Parquet files")
        if "://" in str(table) and not path.exists():
            raise DataError(f"{described} is an address elsewhere, and tables are files here: download it first")
        if not path.exists():
            raise DataError(f"{described} does not exist{_looked_in(path)}")
        if path.suffix.lower() in (".yaml", ".yml"):
            raise DataError(
                f"{described} is no table but a file of policies or queries; the order is policy, data, queries"
            )
        if not path.is_file():
            raise DataError(f"{described} is not an ordinary file")
        if path.stat().st_size == 0:
            raise DataError(f"{described} is empty; it should begin with a header that names the columns")
    if _is_workbook(path):
        optional_library("python_calamine", "excel", f"{described} is a workbook, and workbooks are read")
    if not _ending(path) and not _is_workbook(path) and form.separator is None:
        raise DataError(
            f"a table is a file that ends in {', '.join((*ENDINGS, *WORKBOOKS))}, or whose separator the policy states "
            f"('reading: {{separator: tab}}'); found {described}: write it as one of these"
        )
    return described


def _looked_in(path: Path) -> str:
    """In which folder there is no such file, and what it holds that is named alike; nothing of addresses elsewhere."""
    if path.parts and path.parts[0].endswith(":"):
        return ""
    try:
        folder = path.parent.resolve()
        if not folder.is_dir():
            home = "; '~' is no folder here: write the whole path" if path.parts[0] == "~" else ""
            return f": there is no folder {folder} to look in{home}"
        alike = nearest(path.name, [one.name for one in islice(folder.iterdir(), _MOST_COMPARED)])
    except (OSError, RuntimeError):
        return ""
    advice = f"did you mean '{alike}'?" if alike else ""
    if path.name[:7].lower() == "select ":
        advice = "a query stands behind the address of a server: postgresql://server/database#SELECT …"
    elif "*" in path.name:
        advice = "several files are one table where they are Parquet files of a folder, which is named: 'visits'"
    return f" in the folder {folder}" + (f"; {advice}" if advice else "")


def _ending(path: Path) -> str:
    return next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), "")


def _view_parquet(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> tuple[str, ...]:
    names = common_columns(files)
    listed = ", ".join(map(_quoted, files))
    _view(connection, f"read_parquet([{listed}], hive_partitioning = false)", len(names))
    return names


def _view_text(connection: duckdb.DuckDBPyConnection, text: Delimited) -> None:
    """Every option is stated: nothing that one person wrote decides how the rows of others are split."""
    form, names = text.form, header_of(text)
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(names)))
    quote, above = literal(form.quote), f", skip = {form.header - 1}" if form.header > 1 else ""
    options = (
        f"auto_detect = false, columns = {{{columns}}}, header = {str(form.header > 0).lower()}{above}, "
        f"delim = {literal(text.separator)}, quote = {quote}, escape = {quote}, nullstr = '', strict_mode = true, "
        "null_padding = false, ignore_errors = false"
    )
    _view(connection, f"read_csv({_quoted(text.path)}, {options})", len(names))


def _require_rows_of_one_line(connection: duckdb.DuckDBPyConnection, text: Delimited, described: str) -> None:
    """What one person writes moves no other row: each line is a row by itself.

    *Reason.* A row begins where a line does and ends where one does, so it is one line or several; as many rows as
    lines are one each. Else a quotation mark, opened in one row and closed in another, would swallow all between.
    Raises: DataError for a cell with a line break, or lines that are in no row.
    """
    (rows,), columns = connection.sql("SELECT count(*) FROM everything").fetchall(), header_of(text)
    if lines_of(text).rows(len(columns), lines_above(text)) == rows[0]:
        return
    broken = " OR ".join(f"regexp_matches(c{place}, '[\\r\\n]')" for place in range(len(columns)))
    numbered = f"SELECT row_number() OVER () AS number, {broken} AS broken FROM everything"  # noqa: S608
    ((first,),) = connection.sql(f"SELECT min(number) FROM ({numbered}) WHERE broken").fetchall()  # noqa: S608
    where = "the lines are not the rows" if first is None else f"a cell of data row {first} holds a line break"
    raise lines_broken(described, where)


def _view(connection: duckdb.DuckDBPyConnection, reading: str, width: int) -> None:
    names = ", ".join(f"c{place}" for place in range(width))
    connection.execute(f"CREATE VIEW everything({names}) AS SELECT * FROM {reading}")  # noqa: S608


def _quoted(path: Path) -> str:
    # DuckDB reads a path as a pattern; a bracketed character stands for itself.
    exact = "".join(f"[{letter}]" if letter in "[*?" else letter for letter in str(path.absolute()))
    return "'" + exact.replace("'", "''") + "'"
