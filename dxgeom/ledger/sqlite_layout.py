"""The ledger's file: tables, triggers and settings of SQLite, written from the definition of the rows."""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dxgeom.ledger.entry import RESTORE, busy, unusable
from dxgeom.ledger.tables import (
    ALL_TABLES,
    ALLOTMENTS,
    CHANCES,
    COMMITTED,
    COUNTING_CHANCES,
    FORMAT,
    INSTALMENTS,
    LATER_COLUMNS,
    TABLES,
    Column,
    Record,
    Table,
)

# ruff: noqa: S608 (names of tables and columns are constants here)


APPLICATION: Final = 0x64786C67
"""Marks a SQLite file as a ledger."""

DIVIDED: Final = 3
"""The version of a file that has allotments, too."""

MOVED: Final = 4
"""The version of a file whose ledger went to another place."""

CURRENT: Final = 5
"""The version of a file whose charges commit to secrets; every file has it from the next row that is written on."""

CURRENT_MOVED: Final = 6
"""The version of such a file whose ledger went to another place."""

TOLD: Final = 7
"""The version of a file that opened a plan to be released in instalments; others stay as they are."""

TOLD_MOVED: Final = 8
"""The version of such a file whose ledger went to another place."""

CHANCED: Final = 9
"""The version of a file in which an entry has a chance of being outside its promise; others stay as they are."""

CHANCED_MOVED: Final = 10
"""The version of such a file whose ledger went to another place."""

LOCK_SECONDS = 30.0
"""How long to wait for another process that is writing."""

_OLDEST = (3, 37, 0)
_APPEND_ONLY = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
_BUSY = "another process kept it locked for longer than {seconds:g} seconds"
_READ_ONLY = "it cannot be written; allow writing to the file and its folder"
NO_LEDGER: Final = "it is not a ledger; name another file"
_MEANING = {
    sqlite3.SQLITE_NOTADB: NO_LEDGER,
    sqlite3.SQLITE_CORRUPT: "it is damaged; " + RESTORE,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened for writing; check that it and its folder exist and allow it",
    sqlite3.SQLITE_FULL: "the disk is full; make room",
    sqlite3.SQLITE_IOERR: "the disk failed while reading or writing; check the disk",
}


@contextmanager
def plain_errors(described: str) -> Iterator[None]:
    """Turns what SQLite and the file system raise into LedgerError about the ledger ``described``."""
    try:
        yield
    except UnicodeDecodeError as error:
        # Of texts that SQLite itself quotes; those of rows it calls undecodable.
        raise unusable(described, _MEANING[sqlite3.SQLITE_CORRUPT]) from error
    except sqlite3.Error as error:
        # The low byte is the kind of error, the others its details.
        kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise busy(described, _BUSY.format(seconds=LOCK_SECONDS)) from error
        if str(error).startswith("Could not decode"):
            kind = sqlite3.SQLITE_CORRUPT
        raise unusable(described, _MEANING.get(kind, f"SQLite says: {error}; if it is damaged, {RESTORE}")) from error
    except OSError as error:
        like = {errno.EACCES: sqlite3.SQLITE_CANTOPEN, errno.EROFS: sqlite3.SQLITE_READONLY}
        like |= {errno.ENOSPC: sqlite3.SQLITE_FULL, errno.EDQUOT: sqlite3.SQLITE_FULL}
        meaning = _MEANING.get(like.get(error.errno or 0, -1), f"{error.strerror}; check the file and its folder")
        raise unusable(described, meaning) from error


def set_up(connection: sqlite3.Connection) -> None:
    """Settings under which a commit is on the disk when it returns. Raises: sqlite3.Error."""
    for setting in ("journal_mode = DELETE", "synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF"):
        connection.execute(f"PRAGMA {setting}").fetchall()


def lay_out(connection: sqlite3.Connection) -> None:
    """Creates the tables, in the transaction that the connection is in. Raises: sqlite3.Error."""
    if sqlite3.sqlite_version_info < _OLDEST:
        raise sqlite3.NotSupportedError(f"ledgers need SQLite 3.37 or newer, this is {sqlite3.sqlite_version}")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {CURRENT}")
    for statement in _SCHEMA[CURRENT]:
        connection.execute(statement)


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Creates tables and columns that came later where they are missing, in the transaction. Raises: sqlite3.Error."""
    version = version_of(connection)
    if version in (CURRENT, TOLD, CHANCED):
        return
    if version == FORMAT:
        for statement in _statements((ALLOTMENTS,), CURRENT):
            connection.execute(statement)
    for table, column in LATER_COLUMNS:
        connection.execute(f"ALTER TABLE {table.name} ADD COLUMN {_column(column)}")
    connection.execute(f"PRAGMA user_version = {CURRENT}")


def insert(connection: sqlite3.Connection, record: Record, content: bytes | None = None) -> None:
    """Adds a row to an up to date file, in the transaction. Raises: sqlite3.Error."""
    table = record.table
    version = version_of(connection)
    needed = {INSTALMENTS.name: TOLD, CHANCES.name: CHANCED}.get(table.name, CURRENT)
    if needed > version:
        new = [one for one in _tables(needed) if one not in _tables(version)]
        for statement in _statements(tuple(new), needed):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {needed}")
    named = {"position": record.position, "seal": record.seal, **({"content": content} if table.content else {})}
    named |= {column.name: field for column, field in zip(table.columns, record.fields, strict=True)}
    marks = ", ".join("?" * len(named))
    connection.execute(f"INSERT INTO {table.name} ({', '.join(named)}) VALUES ({marks})", tuple(named.values()))


def retire(connection: sqlite3.Connection, place: str) -> None:
    """Says where the ledger went, in the transaction; the file takes no charge after it. Raises: sqlite3.Error."""
    bring_up_to_date(connection)
    connection.execute(_WHERE)
    connection.execute("INSERT INTO moved VALUES (?)", (place,))
    connection.execute(f"PRAGMA user_version = {_AWAY[version_of(connection)]}")


def stay(connection: sqlite3.Connection) -> None:
    """Undoes :func:`retire`, in the transaction. Raises: sqlite3.Error."""
    connection.execute("DROP TABLE moved")
    before = {MOVED: DIVIDED, **{away: here for here, away in _AWAY.items()}}[version_of(connection)]
    connection.execute(f"PRAGMA user_version = {before}")


def place_of(connection: sqlite3.Connection) -> str | None:
    """Where the file's ledger went, None where it is here. Raises: sqlite3.Error."""
    if version_of(connection) not in (MOVED, *_AWAY.values()):
        return None
    return str(connection.execute("SELECT place FROM moved").fetchone()[0])


def refuse_moved(connection: sqlite3.Connection, described: str) -> None:
    """Refuses to write into a file whose ledger went to another place. Raises: LedgerError, sqlite3.Error."""
    place = place_of(connection)
    if place is not None:
        raise unusable(described, f"it was moved to '{place}', with all that it says; name that; nothing was spent")


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the file's layout. Raises: sqlite3.Error."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def tables_of(connection: sqlite3.Connection) -> Iterator[tuple[Table, tuple[Column, ...]]]:
    """Which tables the file has, and which of their columns. Raises: sqlite3.Error."""
    version = version_of(connection)
    for table in _tables(version):
        yield table, table.columns_of(COMMITTED if version >= CURRENT else FORMAT)


def _tables(version: int) -> tuple[Table, ...]:
    """Which tables a file of this version has."""
    if version == FORMAT:
        return _UNDIVIDED
    return COUNTING_CHANCES if version >= CHANCED else ALL_TABLES if version >= TOLD else TABLES


def check_layout(connection: sqlite3.Connection, described: str) -> None:
    """Refuses a file whose tables or triggers were altered, or whose pages are damaged.

    Raises: LedgerError, sqlite3.Error.
    """
    check_schema(connection, described, _SCHEMA[version_of(connection)])
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise unusable(described, "it is damaged; " + RESTORE)


def check_schema(connection: sqlite3.Connection, described: str, schema: tuple[str, ...]) -> None:
    """Refuses a file that has other tables, views or triggers than these. Raises: LedgerError, sqlite3.Error."""
    # Indexes that SQLite makes for UNIQUE have no text.
    found = connection.execute("SELECT sql FROM sqlite_master WHERE name <> 'sqlite_sequence' AND sql IS NOT NULL")
    if sorted(_spaced(str(sql)) for (sql,) in found.fetchall()) != sorted(map(_spaced, schema)):
        raise unusable(described, "its tables, or the triggers that protect them, were altered; " + RESTORE)


def _spaced(sql: str) -> str:
    """The same whatever spaces stand around commas and brackets: SQLite has ways of its own where columns are added."""
    return re.sub(r"\s*([,()])\s*", r"\1", sql)


def check_version(version: int, described: str) -> None:
    """Refuses a file of another format. Raises: LedgerError."""
    if version not in _SCHEMA:
        raise unusable(
            described,
            f"it has layout version {version}, and this dxgeom knows versions {FORMAT} to {CHANCED_MOVED}; use the "
            "dxgeom that wrote it",
        )


def _table(table: Table, version: int) -> str:
    content = "content BLOB,\n    " if table.content else ""
    columns = "".join(f"{_column(column)},\n    " for column in table.columns_of(FORMAT))
    later = "".join(
        f",\n    {_column(column)}" for owner, column in LATER_COLUMNS if owner is table and version >= CURRENT
    )
    return (
        f"CREATE TABLE {table.name} (\n    position INTEGER PRIMARY KEY AUTOINCREMENT,\n    {columns}{content}"
        f"seal TEXT NOT NULL{later}\n) STRICT"
    )


def _column(column: Column) -> str:
    kind = "INTEGER" if column.kind is int else "TEXT"
    return f"{column.name} {kind}{'' if column.optional else ' NOT NULL'}{' UNIQUE' if column.unique else ''}"


def _triggers(table: Table) -> Iterator[str]:
    # Without the first, INSERT OR REPLACE would overwrite a row unseen by the others.
    known = "".join(
        f" OR EXISTS (SELECT 1 FROM {table.name} WHERE {column.name} = NEW.{column.name})"
        for column in table.columns
        if column.unique and column.name != "number"
    )
    numbered = any(column.name == "number" for column in table.columns)
    order = "" if not numbered else f" OR NEW.number IS NOT 1 + (SELECT coalesce(max(number), 0) FROM {table.name})"
    yield (
        f"CREATE TRIGGER {table.name}_are_appended BEFORE INSERT ON {table.name}\n"
        f"WHEN NEW.position <= (SELECT max(position) FROM {table.name}){order}{known}\n{_APPEND_ONLY}"
    )
    for action in ("UPDATE", "DELETE"):
        yield f"CREATE TRIGGER {table.name}_stay_on_{action} BEFORE {action} ON {table.name}\n{_APPEND_ONLY}"


def _statements(tables: tuple[Table, ...], version: int) -> tuple[str, ...]:
    triggers = (trigger for table in tables for trigger in _triggers(table))
    return (*(_table(table, version) for table in tables), *triggers)


_UNDIVIDED: Final = tuple(table for table in TABLES if table is not ALLOTMENTS)
_AWAY: Final = {CURRENT: CURRENT_MOVED, TOLD: TOLD_MOVED, CHANCED: CHANCED_MOVED}
_WHERE: Final = "CREATE TABLE moved (place TEXT NOT NULL) STRICT"
_SCHEMA: Final = {
    FORMAT: _statements(_UNDIVIDED, FORMAT),
    DIVIDED: _statements(TABLES, DIVIDED),
    MOVED: (*_statements(TABLES, MOVED), _WHERE),
    CURRENT: _statements(TABLES, CURRENT),
    CURRENT_MOVED: (*_statements(TABLES, CURRENT_MOVED), _WHERE),
    TOLD: _statements(ALL_TABLES, TOLD),
    TOLD_MOVED: (*_statements(ALL_TABLES, TOLD_MOVED), _WHERE),
    CHANCED: _statements(COUNTING_CHANCES, CHANCED),
    CHANCED_MOVED: (*_statements(COUNTING_CHANCES, CHANCED_MOVED), _WHERE),
}
