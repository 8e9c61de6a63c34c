"""The ledger's file: its layout, how it is opened and created, and what SQLite's errors mean."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dxgeom.errors import LedgerError
from dxgeom.ledger.entry import FORMAT, Account

APPLICATION = 0x64786C67
"""Marks a SQLite file as a ledger."""

LOCK_SECONDS = 30.0
"""How long to wait for another process that is writing."""

RESTORE = "restore it from a copy that is not older than the last release"
"""What to do about a ledger that is damaged."""

_SCHEMA = (
    """CREATE TABLE account (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        policy_name TEXT NOT NULL,
        policy_fingerprint TEXT NOT NULL,
        budget TEXT NOT NULL
    )""",
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        spend TEXT NOT NULL,
        purpose TEXT NOT NULL,
        plan_fingerprint TEXT NOT NULL,
        time_utc TEXT NOT NULL,
        seal TEXT NOT NULL
    )""",
    # Without this, INSERT OR REPLACE would overwrite an entry unseen by the triggers below.
    """CREATE TRIGGER entries_are_appended BEFORE INSERT ON entries
        WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM entries)
        BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    *(
        f"""CREATE TRIGGER {table}_stays_on_{action} BEFORE {action} ON {table}
        BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"""
        for table in ("account", "entries")
        for action in ("UPDATE", "DELETE")
    ),
)

_MEANING = {
    sqlite3.SQLITE_BUSY: "another process kept it locked for longer than {seconds:g} seconds; try again",
    sqlite3.SQLITE_LOCKED: "another process kept it locked for longer than {seconds:g} seconds; try again",
    sqlite3.SQLITE_NOTADB: "it is not a ledger; name another file",
    sqlite3.SQLITE_CORRUPT: "it is damaged; " + RESTORE,
    sqlite3.SQLITE_READONLY: "it cannot be written; allow writing to the file and its folder",
    sqlite3.SQLITE_PERM: "it cannot be written; allow writing to the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened for writing; check that it and its folder exist and allow it",
    sqlite3.SQLITE_FULL: "the disk is full; make room",
    sqlite3.SQLITE_IOERR: "the disk failed while reading or writing; check the disk",
}


@contextmanager
def plain_errors(described: str) -> Iterator[None]:
    """Turns what SQLite and the file system raise into LedgerError about the ledger ``described``."""
    try:
        yield
    except sqlite3.Error as error:
        # The low byte is the kind of error, the others its details.
        kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        meaning = _MEANING.get(kind, f"SQLite says: {error}").format(seconds=LOCK_SECONDS)
        raise unusable(described, meaning) from error
    except OSError as error:
        raise unusable(described, f"{error.strerror}; check the file and its folder") from error


def unusable(described: str, reason: str) -> LedgerError:
    """The error that says why a ledger is refused."""
    return LedgerError(f"the ledger {described} cannot be used: {reason}")


def connected(path: Path, described: str) -> sqlite3.Connection:
    """A connection to an existing ledger, set up so that a commit is on the disk when it returns.

    Raises: LedgerError when the file is no ledger; sqlite3.Error.
    """
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=LOCK_SECONDS, isolation_level=None)
    try:
        # Before anything is set: a database of another program is left as it is.
        if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
            raise unusable(described, _MEANING[sqlite3.SQLITE_NOTADB])
        _set_up(connection)
    except (sqlite3.Error, LedgerError):
        connection.close()
        raise
    return connection


def connected_to_memory(account: Account) -> sqlite3.Connection:
    """A ledger that is forgotten when the process ends."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _lay_out(connection, account)
    return connection


def create(path: Path, account: Account) -> None:
    """Creates a ledger unless the file exists by then; it appears under its name only when it is whole.

    Raises: OSError, sqlite3.Error.
    """
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
    try:
        with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            _set_up(connection)
            _lay_out(connection, account)
        with contextlib.suppress(FileExistsError):
            # Unlike a rename, a link never takes the place of a ledger that another process has just begun.
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)


def check_layout(connection: sqlite3.Connection, described: str) -> None:
    """Refuses a ledger of a newer version, or one whose tables or triggers were altered.

    Raises: LedgerError, sqlite3.Error.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT:
        raise unusable(
            described,
            f"it has layout version {version}, and this dxgeom knows version {FORMAT}; use the dxgeom that wrote it",
        )
    found = connection.execute("SELECT sql FROM sqlite_master WHERE name <> 'sqlite_sequence'").fetchall()
    if sorted(str(sql) for (sql,) in found) != sorted(_SCHEMA):
        raise unusable(described, "its tables, or the triggers that protect them, were altered; " + RESTORE)
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise unusable(described, "it is damaged; " + RESTORE)


def try_to_write(connection: sqlite3.Connection) -> None:
    """Fails if the file cannot be written; changes nothing. The caller undoes the transaction it is in.

    Raises: sqlite3.Error.
    """
    # SQLite lets a read-only file begin a write transaction, and refuses only the first change.
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _set_up(connection: sqlite3.Connection) -> None:
    for setting in ("journal_mode = DELETE", "synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF"):
        connection.execute(f"PRAGMA {setting}").fetchall()


def _lay_out(connection: sqlite3.Connection, account: Account) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    for statement in _SCHEMA:
        connection.execute(statement)
    connection.execute(
        "INSERT INTO account VALUES (1, ?, ?, ?)",
        (account.policy_name, account.policy_fingerprint, str(account.budget)),
    )
    connection.execute("COMMIT")


def _sync_folder(folder: Path) -> None:
    # Windows has no such call; there the file system keeps the order itself.
    if os.name == "posix" and folder.is_dir():
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
