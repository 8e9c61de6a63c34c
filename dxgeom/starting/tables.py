"""What is found out of a table before a draft: of files and frames by looking at rows, of servers from the schema."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, final

from dxgeom.engines.column_names import names_a_person
from dxgeom.engines.embedded import ENDINGS, WORKBOOKS, file_of, opened_workbook
from dxgeom.engines.files import file_of_sqlite, files_of_folder, opened_to_read
from dxgeom.engines.opening import holds_of, opened
from dxgeom.engines.postgres import schema_of
from dxgeom.engines.source import has_scheme
from dxgeom.engines.source import quoted as sql_quoted
from dxgeom.engines.watching import plain_errors
from dxgeom.errors import DataError
from dxgeom.starting.drafts import FILL_IN, SEEN, Fact, quoted
from dxgeom.starting.form import Convention, FormDoubt, Said, TextForm, form_of, header_of_rows, rows_of
from dxgeom.starting.seen import ROWS_COUNTED, Kind, SeenColumn, SeenTable, seen, unseen
from dxgeom.universe.reading.reading import FileForm

_HELD: Final[dict[str, Kind]] = {
    "words": "words", "whole numbers": "whole numbers", "numbers": "numbers", "days": "days", "yes or no": "yes or no",
}  # fmt: skip
_KINDS: Final[tuple[tuple[str, Kind], ...]] = (
    ("bool", "yes or no"), ("interval", "unknown"), ("date", "days"), ("timestamp", "days"),
    ("int", "whole numbers"), ("serial", "whole numbers"), ("numeric", "numbers"), ("decimal", "numbers"),
    ("real", "numbers"), ("float", "numbers"), ("double", "numbers"), ("char", "words"), ("text", "words"),
    ("name", "words"), ("uuid", "codes"), ("time", "times of day"),
)  # fmt: skip
_LISTED: Final = re.compile(r"\bIN\s*\(([^()]*)\)|=\s*ANY\s*\(", re.IGNORECASE)
_WORD: Final = re.compile("'((?:[^']|'')*)'")
_OTHERWISE: Final = re.compile(r"\b(?:OR|AND|NOT)\b|<>|!=|~|\bLIKE\b|lower|upper", re.IGNORECASE)


@final
@dataclass(frozen=True)
class FoundTable:
    """A table and how its file is written. ``form``: of a file of text; ``sheet``: of a workbook; ``name``: what a
    policy for it is called."""

    table: SeenTable
    name: str
    form: TextForm | None = None
    sheet: str | None = None
    header: int | None = 1
    names: tuple[str, ...] = field(default=())

    def facts(self, said: Answers, columns: Sequence[SeenColumn]) -> Iterator[Fact]:
        """The lines of ``reading:``: how the file is written, and what cells of these columns mean."""
        yield from self._form(said)
        if not self.table.looked:
            return
        why = "" if said.confirmed else SEEN
        if said.convention is None and len(self.table.conventions) != 1:
            yield Fact("decimal", FILL_IN, 'is 1.234 more than a thousand, or little more than one? "," or "."')
        elif (one := said.convention or self.table.conventions[0]) is not None:
            yield from [Fact("decimal", quoted(one.decimal), why)] if one.decimal != "." else []
            yield from [Fact("thousands", quoted(one.thousands), why)] if one.thousands else []
        if said.tidy is not False:
            reason = "" if said.tidy else why
            yield from [Fact("trim", "true", reason)] if any(one.untidy for one in columns) else []
            yield from [Fact("case", "fold", reason)] if any(one.spellings for one in columns) else []
        if any(one.markers for one in columns) and said.markers != ():
            words = FILL_IN if said.markers is None else f"[{', '.join(map(quoted, said.markers))}]"
            yield Fact(
                "missing", words, "" if said.markers else 'words that mean that nothing is there, as in [NA, "-"]'
            )
        if self.table.total and said.total != "":
            column = quoted(self.table.total)
            word = FILL_IN if said.total is None else f"[{quoted(said.total)}]"
            asked = any(one.name == self.table.total for one in columns if not one.person)
            ways = f"take it out of the table, and this line, since {column} is asked about"
            ways = ways if asked else "what it says there, as in [Total]"
            yield Fact(
                "ignore", f"{{{column}: {word}}}", "" if said.total else f"the last row seems to be a total: {ways}"
            )

    def _form(self, said: Answers) -> Iterator[Fact]:
        if self.sheet is not None:
            yield Fact("sheet", quoted(self.sheet))
        if (form := self.form) is not None:
            name = self.table.described.lower()
            usual = "\t" if ".tsv" in name else "," if name.endswith(ENDINGS) else None
            sign = "tab" if form.separator == "\t" else quoted(form.separator)
            yield from [Fact("separator", sign)] if form.separator != usual else []
            yield from [Fact("quote", quoted(form.quote))] if form.quote not in ('"', None) else []
            if form.encoding is None:
                yield Fact("encoding", FILL_IN, "as in windows-1252 or iso-8859-15")
            elif form.encoding != "utf-8":
                yield Fact("encoding", form.encoding)
        if self.header is None:
            yield Fact("header", "none")
            yield Fact("names", f"[{', '.join(map(quoted, self.names))}]")
        elif self.header != 1:
            yield Fact("header", str(self.header))
        if self.form is not None and self.form.broken is not None:
            why = "a quotation mark opens in one line and closes in another: may cells hold line breaks, or not?"
            if said.line_breaks is None:
                yield Fact("line_breaks", FILL_IN, why)
            else:
                yield Fact("line_breaks", "true") if said.line_breaks else Fact("quote", "none")


@final
@dataclass(frozen=True)
class Answers:
    """What a person said of a table's cells; None where nobody was asked. ``confirmed``: whether what the rows show is
    known without them; ``tidy``: blanks at the ends and capitals mean nothing; ``markers``: words for nothing;
    ``total``: what the last row says, empty where it is an ordinary row."""

    confirmed: bool = False
    convention: Convention | None = None
    tidy: bool | None = None
    markers: tuple[str, ...] | None = None
    total: str | None = None
    line_breaks: bool | None = None


def found_of(table: Any, said: Said, sheet: str | None = None, *, header_only: bool = False) -> FoundTable:
    """What is found out of a table. ``header_only``: no row is looked at.

    Raises: DataError; FormDoubt where more than one form fits; MissingExtra.
    """
    if has_scheme(table, "postgresql", "postgres", "sqlite"):
        known = table_of_schema(table)
        return FoundTable(known, known.described.rpartition(".")[2])
    if not isinstance(table, str | Path):
        return FoundTable(_typed(table, "the table", look=not header_only), "policy")
    path = Path(table)
    name = path.name.split(".")[0] or "policy"
    if path.suffix.lower() in WORKBOOKS:
        return _workbook(path, name, said, sheet)
    # What separates cells is found out, whatever the name ends in.
    described = file_of(table, FileForm(separator=said.separator or ","))
    if files_of_folder(path) or path.name.lower().endswith(".parquet"):
        return FoundTable(_typed(str(table), path.name, look=not header_only), name)
    with plain_errors(described):
        form = form_of(path, said)
        kinds: list[Kind] = ["unknown"] * len(form.names)
        if header_only:
            columns = tuple(unseen(one, "unknown") for one in form.names)
            return FoundTable(_named(SeenTable(path.name, columns)), name, form, None, form.header, form.names)
        known = seen(form.names, kinds, rows_of(path, form), path.name)
    return FoundTable(_named(known), name, form, None, form.header, form.names)


def _named(table: SeenTable) -> SeenTable:
    """Without the columns that no policy can name, as a separator at the end of lines makes them."""
    return replace(table, columns=tuple(one for one in table.columns if one.name.strip()))


def _typed(table: Any, described: str, *, look: bool) -> SeenTable:
    """A table whose columns have types: a frame, or Parquet."""
    names: list[str] = []

    def every(found: Sequence[str]) -> tuple[str, ...]:
        names[:] = found
        return tuple(found)

    with opened(table, every) as source, plain_errors(source.described):
        held = [holds_of(kind) for kind in source.types]
        zoned = ["tz=" in str(kind) for kind in source.types]
        kinds = [_HELD.get(one, "unknown") for one in held]
        if not look:
            columns = list(map(unseen, names, kinds))
            return SeenTable(described, tuple(columns))
        cells = ", ".join(f"coalesce(CAST(k{place} AS VARCHAR), '')" for place in range(len(names)))
        rows = source.written(f"SELECT {cells} FROM records LIMIT {ROWS_COUNTED}")  # noqa: S608
        known = seen(names, kinds, _fetched(rows), described)
    columns = [replace(one, zoned=one.zoned or at) for one, at in zip(known.columns, zoned, strict=True)]
    return replace(known, columns=tuple(columns))


def _fetched(batches: Iterator[Any]) -> Iterator[tuple[str, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _workbook(path: Path, name: str, said: Said, sheet: str | None) -> FoundTable:
    """A sheet's rows; a cell's text is that of its value."""
    with plain_errors(f"'{path}'"), opened_workbook(path) as book:
        sheets = list(book.sheet_names)
        if sheet is None and len(sheets) > 1:
            ways = [(f'"{one}"', f"--sheet {one!r}") for one in sheets]
            raise FormDoubt("sheet", f"'{path}' has {len(sheets)} sheets.", ways)
        if sheet is not None and sheet not in sheets:
            raise DataError(f"'{path}' has no sheet '{sheet}'; it has {', '.join(map(repr, sheets))}")
        cells = book.get_sheet_by_name(sheet or sheets[0]).to_python(skip_empty_area=False)
    rows = [tuple(map(_cell_text, row)) for row in cells]
    header, names, below = header_of_rows(rows, said, path)
    known = seen(names, ["unknown"] * len(names), below, path.name)
    return FoundTable(_named(known), name, None, sheet, header, names)


def _cell_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def table_of_schema(url: str) -> SeenTable:
    """A table by its address on a server: its schema, which is no data; no row is looked at.

    Raises: DataError, without user and password; MissingExtra.
    """
    if has_scheme(url, "sqlite"):
        return _of_sqlite(url)
    described, rows = schema_of(url)
    columns = []
    for name, type_name, optional, enumerated, checks, alone in rows:
        words = tuple(enumerated) or _words_of(checks)
        columns.append(_column(name, type_name, words, optional=optional, alone=alone))
    return SeenTable(described, tuple(columns), from_schema=True)


def _column(name: str, type_name: str, words: tuple[str, ...], *, optional: bool, alone: bool) -> SeenColumn:
    """``alone``: whether no two rows can have the same entry."""
    lowered = type_name.lower()
    kind: Kind = "words" if words else next((kind for part, kind in _KINDS if part in lowered), "unknown")
    person = names_a_person(name) and not words
    if alone:
        return SeenColumn(name, "a row's own number", person=person and name.lower() != "id")
    zoned = "with time zone" in lowered or "timestamptz" in lowered
    return SeenColumn(name, kind, zoned=zoned and kind == "days", words=words, person=person, optional=optional)


def _words_of(checks: list[str]) -> tuple[str, ...]:
    """The words of the only condition on a column that lists some, and says nothing else."""
    listing = [check for check in checks if _LISTED.search(check)]
    if len(listing) != 1 or _OTHERWISE.search(_WORD.sub("''", listing[0])):
        return ()
    return tuple(word.replace("''", "'") for word in _WORD.findall(listing[0]))


def _of_sqlite(url: str) -> SeenTable:
    file, address = file_of_sqlite(url)
    try:
        with closing(opened_to_read(file)) as connection:
            columns = connection.execute(f"PRAGMA table_info({sql_quoted(address.what)})").fetchall()
            written = connection.execute(
                "SELECT sql FROM sqlite_master WHERE name = ? AND type IN ('table', 'view')", (address.what,)
            ).fetchall()
    except sqlite3.Error as error:
        raise DataError(f"{address.described} of '{file.name}' cannot be read: {error}") from None
    if not columns:
        raise DataError(f"'{file.name}' has no table '{address.what}'")
    keys = [name for _, name, _, _, _, key in columns if key]
    found = []
    for _, name, type_name, required, _, key in columns:
        checks = _checks_of(str(written[0][0]) if written else "", name)
        found.append(
            _column(name, type_name, _words_of(checks), optional=not required, alone=bool(key) and len(keys) == 1)
        )
    return SeenTable(address.what, tuple(found), from_schema=True)


def _checks_of(statement: str, column: str) -> list[str]:
    """The conditions IN of a column in the statement that made its table."""
    name = f"(?:{re.escape(column)}|{re.escape(sql_quoted(column))})"
    return re.findall(rf"CHECK\s*\(\s*({name}\s+IN\s*\([^()]*\))\s*\)", statement, re.IGNORECASE)
