"""A ledger in one SQLite file, or in memory; and files of format 1, read with every check that it had, and migrated."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

from dxgeom.ledger import sqlite_layout
from dxgeom.ledger.answer_files import AnswerFiles, draft_of, maker_mark, owner_only, sync_folder, tidy_drafts
from dxgeom.ledger.book import Book
from dxgeom.ledger.chronicle import ContentOf, LedgerStore
from dxgeom.ledger.entry import RESTORE, altered, busy, exact, unusable
from dxgeom.ledger.sqlite_layout import check_schema, insert, lay_out, plain_errors
from dxgeom.ledger.tables import ACCOUNTS, DATA_SETS, ENTRIES, SHARED, Field, Record, Table
from dxgeom.privacy.measures import PURE

FORMAT_1: Final = 1

_SCHEMA_1: Final = (
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


def migrate_format_1(connection: sqlite3.Connection, described: str) -> None:
    """Rewrite the ledger that the connection holds the write lock of, and commit: all or nothing, whoever is killed or
    runs out of disk. No copy is kept beside it, because a copy of a ledger is a second budget.

    Guarantee: same policy, budget, numbers, spends, purposes, plans and times; the last seal of format 1 is sealed into
    the first row. Raises: LedgerError when the old ledger was altered; sqlite3.Error; nothing is changed then.
    """
    check_schema(connection, described, _SCHEMA_1)
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise unusable(described, "it is damaged; " + RESTORE)
    accounts = connection.execute("SELECT policy_name, policy_fingerprint, budget FROM account").fetchall()
    entries = connection.execute(
        "SELECT number, spend, purpose, plan_fingerprint, time_utc, seal FROM entries ORDER BY number"
    ).fetchall()
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchall()
    rows = list(_rows_of_format_1(accounts, entries, last, described))
    # The implicit deletion of a dropped table's rows fires no trigger.
    for old in ("account", "entries"):
        connection.execute(f"DROP TABLE {old}")
    lay_out(connection)
    book = Book(described)
    for table, fields in rows:
        record = book.next_record(table, *fields)
        book.add(record)
        insert(connection, record)
    connection.execute("COMMIT")


def _rows_of_format_1(
    accounts: Any, entries: Any, last: Any, described: str
) -> Iterator[tuple[Table, tuple[Field, ...]]]:
    if len(accounts) != 1 or not all(isinstance(field, str) for field in accounts[0]):
        raise altered(described, "it does not say whose budget it keeps")
    name, fingerprint, budget = accounts[0]
    seal = _format_1_seal("dxgeom ledger", FORMAT_1, name, fingerprint, budget)
    spent, charges = Fraction(0), []
    for number, row in enumerate(entries, 1):
        if row[0] != number or not all(isinstance(field, str) for field in row[1:]):
            raise altered(described, f"entry {number} is missing or has fields of a wrong kind")
        seal = _format_1_seal(seal, *row[:5])
        if row[5] != seal:
            raise altered(described, f"entry {number} does not match its seal")
        spent += exact(row[1], f"the spend of entry {number}", described)
        left = exact(budget, "its budget", described) - spent
        if left < 0:
            raise altered(described, f"entry {number} spends more than remained")
        charges.append((number, 1, None, None, None, row[1], str(left), str(spent), *row[2:5], 0))
    if last != ([(len(entries),)] if entries else []):
        raise altered(described, "entries at its end are missing")
    yield DATA_SETS, (1, uuid.uuid4().hex, None, SHARED, None, seal)
    yield ACCOUNTS, (1, name, fingerprint, budget, PURE)
    for charge in charges:
        yield ENTRIES, charge


def _format_1_seal(*parts: str | int) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@final
class SqliteSession:
    """One transaction; see :class:`dxgeom.ledger.chronicle.Session`."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None, described: str) -> None:
        self._connection, self._path, self._described = connection, path, described

    def identity(self) -> object:
        schema = self._connection.execute("PRAGMA schema_version").fetchone()
        if self._path is None:
            return schema
        held = self._path.stat()
        return schema, held.st_dev, held.st_ino

    def check_whole(self) -> None:
        sqlite_layout.check_layout(self._connection, self._described)

    def records_from(self, position: int) -> Iterable[Record]:
        found: list[Record] = []
        last = self.last_given()
        tables = sqlite_layout.tables_of(self._connection)
        for table, columns in ((table, columns) for table, columns in tables if last.get(table.name, 0) >= position):
            names = ", ".join(column.name for column in columns)
            query = f"SELECT position, seal, {names} FROM {table.name} WHERE position >= ?"  # noqa: S608
            rows = self._connection.execute(query, (position,))
            found += [Record(table, row[0], table.whole(tuple(row[2:])), row[1]) for row in rows]
        return sorted(found, key=lambda record: record.position)

    def last_given(self) -> dict[str, int]:
        return dict(self._connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall())

    def content(self, entry: int) -> bytes | None:
        found = self._connection.execute("SELECT content FROM answers WHERE entry = ?", (entry,)).fetchone()
        if found is not None and not isinstance(found[0], bytes | None):
            raise altered(self._described, f"the answer of entry {entry} is of a wrong kind")
        return None if found is None else found[0]

    def now(self) -> datetime:
        return datetime.now(UTC)

    def who(self) -> str | None:
        return None

    def append(self, record: Record, content: bytes | None = None) -> None:
        sqlite_layout.bring_up_to_date(self._connection)
        sqlite_layout.insert(self._connection, record, content)

    def commit(self) -> None:
        sqlite_layout.bring_up_to_date(self._connection)
        self._connection.execute("COMMIT")

    def retire(self, place: str) -> None:
        sqlite_layout.retire(self._connection, place)
        self._connection.execute("COMMIT")


@final
class SqliteFile(LedgerStore):
    """A ledger in a file.

    Connections last one session only, so none is ever carried into a forked process.
    """

    begun_on_purpose = False

    def __init__(self, place: str | Path) -> None:
        self.described = f"'{place}'"
        with plain_errors(self.described):
            if "\0" in str(place):
                raise unusable(self.described, "its name holds a character that no file name has; name another file")
            self._path = Path(os.path.realpath(place))
        self.path: str | None = str(self._path)
        self.files: AnswerFiles | None = AnswerFiles(self._path)

    def exists(self) -> bool:
        with plain_errors(self.described):
            if self._path.is_dir():
                raise unusable(self.described, "it is a folder; name a file in it")
            if not self._path.parent.is_dir():
                raise unusable(self.described, "its folder does not exist; create the folder first")
            if self._path.exists() and not self._path.is_file():
                raise unusable(self.described, "it is not an ordinary file; name another file")
            return self._path.exists()

    def begin(self, records: Iterable[Record], content_of: ContentOf | None = None) -> None:
        with plain_errors(self.described):
            tidy_drafts(self._path)
            draft = draft_of(self._path, maker_mark())
            try:
                _create_empty(draft)
                with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                    sqlite_layout.set_up(connection)
                    _write_whole(connection, records, content_of)
                with contextlib.suppress(FileExistsError):
                    # Unlike a rename, a link never takes the place of a ledger that another process has just begun.
                    os.link(draft, self._path)
            finally:
                draft.unlink(missing_ok=True)
            sync_folder(self._path.parent)

    @contextmanager
    def writing(self) -> Iterator[SqliteSession]:
        with plain_errors(self.described), self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("PRAGMA user_version").fetchone() == (FORMAT_1,):
                migrate_format_1(connection, self.described)
                connection.execute("BEGIN IMMEDIATE")
            yield from self._session(connection, sqlite_layout.refuse_moved)

    @contextmanager
    def reading(self) -> Iterator[SqliteSession]:
        with plain_errors(self.described), self._connected() as connection:
            connection.execute("BEGIN")
            if connection.execute("PRAGMA user_version").fetchone() == (FORMAT_1,):
                raise unusable(
                    self.described,
                    "it is of format 1, which can be released on, and then is of a newer one, but not looked at; write "
                    f"'dxgeom ledger migrate {self._path.name}' to bring it to that now",
                )
            yield from self._session(connection)

    def went_to(self) -> str | None:
        with plain_errors(self.described), self._connected() as connection:
            return sqlite_layout.place_of(connection)

    def stay(self) -> None:
        with plain_errors(self.described), self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if sqlite_layout.place_of(connection) is not None:
                sqlite_layout.stay(connection)
            connection.execute("COMMIT")

    def try_to_write(self) -> None:
        with plain_errors(self.described), self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            # SQLite lets a read-only file begin a write transaction, and refuses only the first change.
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            connection.execute(f"PRAGMA user_version = {int(version)}")
            connection.execute("ROLLBACK")

    def _session(
        self, connection: sqlite3.Connection, check: Callable[[sqlite3.Connection, str], None] | None = None
    ) -> Iterator[SqliteSession]:
        try:
            sqlite_layout.check_version(connection.execute("PRAGMA user_version").fetchone()[0], self.described)
            if check is not None:
                check(connection, self.described)
            yield SqliteSession(connection, self._path, self.described)
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        name, wait = f"{self._path.as_uri()}?mode=rw", sqlite_layout.LOCK_SECONDS
        with closing(sqlite3.connect(name, uri=True, timeout=wait, isolation_level=None)) as connection:
            # Before anything is set: a database of another program is left as it is.
            if connection.execute("PRAGMA application_id").fetchone() != (sqlite_layout.APPLICATION,):
                raise unusable(self.described, sqlite_layout.NO_LEDGER)
            sqlite_layout.set_up(connection)
            yield connection


@final
class SqliteMemory(LedgerStore):
    """A ledger that is forgotten when it is closed."""

    described = "in memory"
    path: str | None = None
    files: AnswerFiles | None = None
    begun_on_purpose = False

    def __init__(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._turn = threading.Lock()

    def exists(self) -> bool:
        return self._connection is not None

    def begin(self, records: Iterable[Record], content_of: ContentOf | None = None) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        # Nobody has to close a ledger in memory, and from Python 3.13 on one that is just dropped is warned of.
        weakref.finalize(self, self._connection.close)
        _write_whole(self._connection, records, content_of)

    @contextmanager
    def writing(self) -> Iterator[SqliteSession]:
        if self._connection is None or self._process != os.getpid():
            raise unusable(self.described, "it belongs to another process; open a ledger in a file to share it")
        if not self._turn.acquire(timeout=sqlite_layout.LOCK_SECONDS):
            raise busy(self.described, "another thread kept it locked")
        with plain_errors(self.described):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield SqliteSession(self._connection, None, self.described)
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._turn.release()

    reading = writing

    def try_to_write(self) -> None:
        """Memory can."""

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _create_empty(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        owner_only(descriptor)
    finally:
        os.close(descriptor)


def _write_whole(connection: sqlite3.Connection, records: Iterable[Record], content_of: ContentOf | None) -> None:
    connection.execute("BEGIN IMMEDIATE")
    sqlite_layout.lay_out(connection)
    session = SqliteSession(connection, None, "")
    for record in records:
        session.append(record, None if content_of is None else content_of(record))
    session.commit()
