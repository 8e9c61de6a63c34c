"""Where a ledger on a server is, and connections under which a commit is on its disk; errors in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from dxgeom.errors import LedgerError, LedgerUnreachable
from dxgeom.ledger.entry import busy, unusable
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
