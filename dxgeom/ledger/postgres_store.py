"""A ledger on a PostgreSQL server; see :class:`dxgeom.ledger.chronicle.LedgerStore`.

One transaction is one session, on a connection of its own, so none is ever carried into a forked process. Writers take
turns, first come, first served: whoever inserts, even no row at all, waits for a lock that ends with the transaction.

Where a ledger on a server is, and connections under which a commit is on its disk; errors in plain words.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from dxgeom.errors import LedgerError, LedgerUnreachable
from dxgeom.ledger import postgres_layout as layout
from dxgeom.ledger.answer_files import AnswerFiles
from dxgeom.ledger.chronicle import ContentOf, LedgerStore
from dxgeom.ledger.entry import altered, busy, unusable
from dxgeom.ledger.tables import CHANCES, COMMITTED, ENTRIES, INSTALMENTS, LATER_TABLES, Record, Table
from dxgeom.numeric.optional_library import optional_library

SCHEMA: Final = "dxgeom_ledger"
"""The ledger of a database that has one only."""

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_HOST: Final = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(:[0-9]*)?")
_OPTION: Final = re.compile(r"[a-zA-Z_]+")
_SECRETS: Final = ("password", "secret")
_FALLBACKS: Final = {
    "connect_timeout": "10",
    "application_name": "dxgeom",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""A server that is gone, or a network that is cut, is noticed within half a minute."""


@final
@dataclass(frozen=True)
class LedgerAddress:
    """``server``: what libpq is given; it holds no password. ``shown``: the URL as it was given."""

    server: str
    schema: str
    shown: str


def address_of(place: str | Path) -> LedgerAddress:
    """The address that a URL states. Raises: LedgerError, which does not repeat a URL that may hold a password."""
    text = str(place)
    if isinstance(place, Path) or not re.match(r"postgres(ql)?://", text):
        raise _wrong("it is 'postgresql://user@host/database' as text, no path of a file; found another beginning")
    if re.search(r"[\s\x00-\x1f\x7f]", text):
        raise _wrong("it has a space or a control character; write these as %20 and the like")
    parts = urlsplit(text)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    user, _, hosts = parts.netloc.rpartition("@")
    if ":" in user or any(secret in option.lower() for option in options for secret in _SECRETS):
        raise _wrong(
            "it holds a password, which would be seen in lists of processes, histories and releases; leave it out, and "
            "keep the password in a password file (~/.pgpass, or PGPASSFILE=file) or a service file "
            "(postgresql:///?service=name)"
        )
    # A password with such a character of its own would be taken for a port, a database or an option.
    plain = all(_HOST.fullmatch(host) for host in hosts.split(",")) and all(map(_OPTION.fullmatch, options))
    if not plain or "#" in text or "@" in parts.path + parts.query:
        raise _wrong(
            "it is no 'postgresql://user@host:port/database?option=value'; write characters such as # / ? @ in a name "
            "as %23 and the like"
        )
    schema = options.pop("ledger", SCHEMA)
    if not _NAME.fullmatch(schema) or schema.startswith("pg_") or schema in ("public", "information_schema"):
        raise LedgerError(
            f"a ledger on a server has a schema for itself, named in small letters, digits and _; found {schema!r}; "
            "write for instance '?ledger=visits'"
        )
    given = {**_FALLBACKS, **options} if "service" not in options else options
    server = f"postgresql://{parts.netloc}{parts.path}?{urlencode(given, quote_via=quote)}"
    return LedgerAddress(server, schema, text)


def _wrong(reason: str) -> LedgerError:
    return LedgerError(f"the URL of a ledger cannot be used: {reason}")


LOCK_SECONDS = 30.0
"""How long to wait for others that are writing."""

IDLE_SECONDS: Final = 60
"""After which the server ends a transaction of ours that stands still, so that nobody waits for us for ever."""

_OLDEST: Final = 130000
_SETTINGS: Final = """SELECT
    pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
    pg_catalog.set_config('lock_timeout', %s, true),
    pg_catalog.set_config('statement_timeout', '600s', true),
    pg_catalog.set_config('idle_in_transaction_session_timeout', %s, true),
    pg_catalog.set_config('row_security', 'off', true),
    pg_catalog.set_config('client_min_messages', 'error', true),
    pg_catalog.set_config('synchronous_commit', CASE pg_catalog.current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)"""
_FACTS: Final = """SELECT pg_is_in_recovery(), current_setting('fsync'), current_setting('server_encoding'),
    current_setting('server_version_num')::int"""
_MEANING: Final = {
    "25006": "the server, or this role, may only read; connect to the primary server as a role that may write",
    "53100": "the server's disk is full; make room",
    "3F000": "its schema is not there; name the ledger that was begun",
}
_BUSY: Final = {
    "55P03": "others kept it locked for longer than {seconds:g} seconds",
    "57014": "the server cancelled it, or it took too long",
}
_ENDED: Final = ("57P01", "57P02", "57P03", "25P03", "57P05")
"""The server ends a connection, because it stops or the connection stood still."""


@contextmanager
def connected(address: LedgerAddress, described: str) -> Iterator[Any]:
    """A connection, closed at the end. Raises: LedgerError, MissingExtra."""
    psycopg = optional_library("psycopg", "postgres", "ledgers on a PostgreSQL server are read and written")
    with plain_errors(described):
        try:
            connection = psycopg.connect(
                address.server, autocommit=True, prepare_threshold=None, client_encoding="utf8"
            )
        except psycopg.Error as error:
            raise _unreachable(described, error) from error
        try:
            yield connection
        finally:
            with suppress(psycopg.Error):
                connection.close()


def begin(connection: Any, described: str, *, write: bool) -> None:
    """Begin a transaction with settings of its own, so that it does not matter what the connection was used for.

    Raises: LedgerError on a server that can lose what it acknowledged, or is behind another; psycopg.Error.
    """
    kind = "READ COMMITTED READ WRITE" if write else "REPEATABLE READ READ ONLY"
    connection.execute(f"BEGIN ISOLATION LEVEL {kind}")
    connection.execute(_SETTINGS, (f"{int(LOCK_SECONDS * 1000)}ms", f"{IDLE_SECONDS}s"))
    replica, fsync, encoding, version = connection.execute(_FACTS).fetchone()
    refusal = (
        "the server is a replica, which may be behind; connect to the primary"
        if replica
        else "the server runs with fsync=off and can lose what it acknowledged; have it run with fsync=on"
        if fsync != "on"
        else f"the database's encoding is {encoding}; use one with UTF8"
        if encoding != "UTF8"
        else f"the server's version is {version // 10000}; use PostgreSQL 13 or newer"
        if version < _OLDEST
        else None
    )
    if refusal is not None:
        raise unusable(described, refusal)


@contextmanager
def plain_errors(described: str) -> Iterator[None]:
    """Turns what psycopg raises into LedgerError about the ledger ``described``. Raises: LedgerError, MissingExtra."""
    psycopg = optional_library("psycopg", "postgres", "ledgers on a PostgreSQL server are read and written")
    try:
        yield
    except psycopg.Error as error:
        raise in_words(described, error) from error


def in_words(described: str, error: Any) -> LedgerError:
    """What an error of psycopg means for a ledger."""
    state = error.sqlstate or ""
    if state == "" or state.startswith("08") or state in _ENDED:
        return _unreachable(described, error)
    if state == "42501":
        return unusable(
            described,
            f"the server says: {_first_line(error)}; whoever keeps the ledger opens accounts and divides them "
            "('dxgeom ledger init', 'allot'), and lets others release on them ('dxgeom ledger init --grant')",
        )
    if state in _BUSY:
        return busy(described, _BUSY[state].format(seconds=LOCK_SECONDS))
    return unusable(described, _MEANING.get(state, f"the server says: {_first_line(error)}"))


def _unreachable(described: str, error: Any) -> LedgerUnreachable:
    return LedgerUnreachable(
        f"the ledger {described} cannot be reached: {_first_line(error)}; check that the server runs and lets you in"
    )


def _first_line(error: Any) -> str:
    """What the server, or the attempt to reach it, says; libpq never repeats a password."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].removeprefix("connection failed: ") if lines else type(error).__name__


# ruff: noqa: S608 (names are constants, or those of a schema that address_of has checked)


SETTLE_SECONDS = 150.0
"""How long to ask what became of a commit: longer than the server keeps a transaction whose client is gone."""

LARGEST_ANSWER: Final = 2**28
"""Bytes of an answer: a value of PostgreSQL has at most four times as many, and may be written as twice as many."""

_PAUSE: Final = 0.2

_NEVER_YET: Final = {
    INSTALMENTS.name: (
        "no plan was ever opened there; whoever keeps it opens the first one that is released in instalments"
    ),
    CHANCES.name: (
        "no release with a chance 'delta' was ever charged there; whoever keeps it makes the first one, and others "
        "can after it"
    ),
}
"""Why somebody else cannot write a table's first row: it makes the table."""


@final
class PostgresSession:
    """One transaction; see :class:`dxgeom.ledger.chronicle.Session`."""

    def __init__(
        self, connection: Any, schema: str, described: str, became: Callable[[Record], bool] | None = None
    ) -> None:
        self._connection, self._schema, self._described, self._became = connection, schema, described, became
        self._facts: Any = None
        self._last: Record | None = None

    def identity(self) -> object:
        if self._facts is None:
            self._facts = layout.facts(self._connection, self._schema)
        return self._facts

    def check_whole(self) -> None:
        layout.check(self.identity(), self._schema, self._described)
        heads = self._connection.execute(f'SELECT position, seal FROM "{self._schema}".head').fetchall()
        last = [(record.position, record.seal) for record in self.records_from(heads[0][0])] if heads else None
        if heads != last:
            raise altered(self._described, "its end is not the one that it remembers")

    def records_from(self, position: int) -> Iterable[Record]:
        version, tables = layout.version_of(self.identity()), layout.tables_of(self.identity())
        parts = [
            f"SELECT position, {place}, seal, json_build_array({', '.join(one.name for one in columns)}) "
            f'FROM "{self._schema}".{table.name} WHERE position >= %s'
            for place, table in enumerate(tables)
            for columns in [table.columns_of(version)]
        ]
        rows = self._connection.execute(" UNION ALL ".join(parts) + " ORDER BY 1", (position,) * len(tables))
        return [Record(tables[at], number, tables[at].whole(tuple(row)), seal) for number, at, seal, row in rows]

    def last_given(self) -> dict[str, int]:
        tables = layout.tables_of(self.identity())
        names = ", ".join(table.name for table in tables)
        held = self._connection.execute(f'SELECT {names} FROM "{self._schema}".head').fetchone() or ()
        return {table.name: last for table, last in zip(tables, held, strict=True) if last}

    def content(self, entry: int) -> bytes | None:
        query = f'SELECT content FROM "{self._schema}".answers WHERE entry = %s'
        found = self._connection.execute(query, (entry,)).fetchone()
        return None if found is None or found[0] is None else bytes(found[0])

    def now(self) -> datetime:
        (seconds,) = self._connection.execute("SELECT extract(epoch FROM clock_timestamp())::text").fetchone()
        return datetime.fromtimestamp(float(seconds), UTC)

    def who(self) -> str | None:
        return str(self._connection.execute("SELECT session_user").fetchone()[0])

    def append(self, record: Record, content: bytes | None = None) -> None:
        table = record.table
        fields: dict[str, Any] = {
            column.name: field for column, field in zip(table.columns, record.fields, strict=True)
        }
        if table is ENTRIES and fields["reserved"] > LARGEST_ANSWER:
            raise unusable(self._described, "answers of more than 256 MiB have no place on a server; use a ledger file")
        if table.content:
            fields["content"] = content
        if table in LATER_TABLES and table not in layout.tables_of(self.identity()):
            self._add(table)
        marks = ", ".join(["%s"] * (len(fields) + 2))
        into = f'INSERT INTO "{self._schema}".{table.name} ({", ".join(fields)}, position, seal) VALUES ({marks})'
        self._connection.execute(into, (*fields.values(), record.position, record.seal))
        self._last = record

    def _add(self, table: Table) -> None:
        """Once, by whoever keeps the ledger. Raises: LedgerError for others."""
        if not layout.is_keeper(self._connection, self._schema):
            raise unusable(self._described, f"{_NEVER_YET[table.name]}; nothing was spent")
        layout.add_table(self._connection, self._schema, table)
        self._facts = None

    def commit(self) -> None:
        try:
            with plain_errors(self._described):
                ended = self._connection.execute("COMMIT").statusmessage
            if ended != "COMMIT":
                raise unusable(self._described, "the server undid what was written; try again")
        except LedgerError as error:
            # Whatever was said, the commit may have happened.
            self._connection.close()
            if self._last is None or self._became is None or not self._became(self._last):
                raise type(error)(f"{error}; nothing was written") from error

    def retire(self, place: str) -> None:
        raise unusable(
            self._described, "a ledger on a server stays there; move the database, or make it a new server's"
        )


@final
class PostgresLedger(LedgerStore):
    """A ledger on a server. All answers are in it."""

    files: AnswerFiles | None = None
    begun_on_purpose = True

    def __init__(self, place: str | Path) -> None:
        self._address = address_of(place)
        self._schema = self._address.schema
        self.described = f"'{self._address.shown}'"
        self.path: str | None = self._address.shown

    def exists(self) -> bool:
        with self._transaction(write=False) as connection:
            return layout.is_there(connection, self._schema)

    def begin(self, records: Iterable[Record], content_of: ContentOf | None = None) -> None:
        with self._transaction(write=True) as connection:
            # Of those who begin it at once, one does, and the others find it there.
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self._schema,))
            if not layout.is_there(connection, self._schema):
                layout.lay_out(connection, self._schema)
                session = PostgresSession(connection, self._schema, self.described)
                for record in records:
                    session.append(record, None if content_of is None else content_of(record))
                session.commit()

    @contextmanager
    def writing(self) -> Iterator[PostgresSession]:
        with self._turn() as connection:
            session = PostgresSession(connection, self._schema, self.described, self._became)
            if layout.version_of(session.identity()) == COMMITTED:
                yield session
                return
        self._bring_up_to_date()
        with self._turn() as connection:
            yield PostgresSession(connection, self._schema, self.described, self._became)

    @contextmanager
    def reading(self) -> Iterator[PostgresSession]:
        with self._transaction(write=False) as connection:
            yield PostgresSession(connection, self._schema, self.described)

    def try_to_write(self) -> None:
        with self._turn():
            pass

    def grant(self, role: str) -> None:
        with self._transaction(write=True) as connection:
            layout.grant(connection, self._schema, role)
            if not layout.is_granted(connection, self._schema, role):
                raise unusable(self.described, f"you may not grant it to '{role}'; whoever keeps the ledger may")
            connection.execute("COMMIT")

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Any]:
        with connected(self._address, self.described) as connection, plain_errors(self.described):
            begin(connection, self.described, write=write)
            # A connection that is closed within a transaction undoes it.
            yield connection

    @contextmanager
    def _turn(self) -> Iterator[Any]:
        with self._transaction(write=True) as connection:
            entries = f'"{self._schema}".entries'
            connection.execute(f"INSERT INTO {entries} (position) SELECT position FROM {entries} WHERE false")
            yield connection

    def _bring_up_to_date(self) -> None:
        """Once, by whoever keeps the ledger. Raises: LedgerError for others, and for a schema that was altered."""
        with self._transaction(write=True) as connection:
            if not layout.is_keeper(connection, self._schema):
                raise unusable(
                    self.described,
                    "an older dxgeom began it, and charges do not yet say who may answer them there; whoever keeps it "
                    "brings it up to date: 'dxgeom ledger migrate LEDGER'; nothing was spent",
                )
            layout.bring_up_to_date(connection, self._schema, self.described)
            connection.execute("COMMIT")

    def _became(self, record: Record) -> bool:
        """Whether the row was committed, asked until the server has settled it: till then nobody gets a turn.

        Raises: LedgerUnreachable when nobody says.
        """
        until = time.monotonic() + SETTLE_SECONDS
        while True:
            try:
                with self._turn() as connection:
                    query = f'SELECT seal FROM "{self._schema}".{record.table.name} WHERE position = %s'
                    return bool(connection.execute(query, (record.position,)).fetchone() == (record.seal,))
            except LedgerError as error:
                if time.monotonic() > until:
                    raise LedgerUnreachable(
                        f"the ledger {self.described} has not said whether row {record.position} was written, a row of "
                        f"its table '{record.table.name}'; look at it when the server answers again: what is there "
                        "counts; nothing was drawn for a charge, and nothing is"
                    ) from error
                time.sleep(_PAUSE)
