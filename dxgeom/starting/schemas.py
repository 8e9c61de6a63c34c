"""What a server's schema says of a table's columns; no row is looked at, since a schema is no data."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from dxgeom.engines.column_names import names_a_person
from dxgeom.engines.postgres import schema_of
from dxgeom.engines.source import address_of, has_scheme, quoted
from dxgeom.errors import DataError
from dxgeom.starting.seen import Kind, SeenColumn, SeenTable

_KINDS: Final[tuple[tuple[str, Kind], ...]] = (
    ("bool", "yes or no"), ("interval", "unknown"), ("date", "days"), ("timestamp", "days"),
    ("int", "whole numbers"), ("serial", "whole numbers"), ("numeric", "numbers"), ("decimal", "numbers"),
    ("real", "numbers"), ("float", "numbers"), ("double", "numbers"), ("char", "words"), ("text", "words"),
    ("name", "words"), ("uuid", "codes"), ("time", "times of day"),
)  # fmt: skip
_LISTED: Final = re.compile(r"\bIN\s*\(([^()]*)\)|=\s*ANY\s*\(", re.IGNORECASE)
_WORD: Final = re.compile("'((?:[^']|'')*)'")
_OTHERWISE: Final = re.compile(r"\b(?:OR|AND|NOT)\b|<>|!=|~|\bLIKE\b|lower|upper", re.IGNORECASE)
_SQLITE: Final = "sqlite:///clinic.db#visits"


def table_of_schema(url: str) -> SeenTable:
    """A table by its address on a server. Raises: DataError, without user and password; MissingExtra."""
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
    address = address_of(url, _SQLITE)
    file = Path(unquote(address.server.partition("://")[2].removeprefix("/")) or "?")
    file = file if file.exists() else Path("/") / file
    if not file.is_file():
        raise DataError(f"'{file}' does not exist; a table in SQLite is named like {_SQLITE}")
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            columns = connection.execute(f"PRAGMA table_info({quoted(address.what)})").fetchall()
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
    name = f"(?:{re.escape(column)}|{re.escape(quoted(column))})"
    return re.findall(rf"CHECK\s*\(\s*({name}\s+IN\s*\([^()]*\))\s*\)", statement, re.IGNORECASE)
