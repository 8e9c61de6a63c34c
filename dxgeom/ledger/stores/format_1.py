"""Ledgers of format 1, one policy's charges without answers: read with every check that format 1 had, and migrated.

All is one transaction: whoever is killed, or runs out of disk, leaves the old ledger as it was. No copy is kept beside
it, because a copy of a ledger is a second budget.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import uuid
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from dxgeom.ledger.book import Book
from dxgeom.ledger.entry import exact
from dxgeom.ledger.refusals import RESTORE, altered, unusable
from dxgeom.ledger.stores.sqlite_layout import check_schema, insert, lay_out
from dxgeom.ledger.tables import ACCOUNTS, DATA_SETS, ENTRIES, SHARED, Field, Table
from dxgeom.privacy.currencies import PURE

FORMAT: Final = 1

_SCHEMA: Final = (
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


def migrate(connection: sqlite3.Connection, described: str) -> None:
    """Rewrite the ledger that the connection holds the write lock of, and commit.

    Guarantee: same policy, budget, numbers, spends, purposes, plans and times; the last seal of format 1 is sealed into
    the first row. Raises: LedgerError when the old ledger was altered; sqlite3.Error; nothing is changed then.
    """
    check_schema(connection, described, _SCHEMA)
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise unusable(described, "it is damaged; " + RESTORE)
    accounts = connection.execute("SELECT policy_name, policy_fingerprint, budget FROM account").fetchall()
    entries = connection.execute(
        "SELECT number, spend, purpose, plan_fingerprint, time_utc, seal FROM entries ORDER BY number"
    ).fetchall()
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchall()
    rows = list(_rows(accounts, entries, last, described))
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


def _rows(accounts: Any, entries: Any, last: Any, described: str) -> Iterator[tuple[Table, tuple[Field, ...]]]:
    if len(accounts) != 1 or not all(isinstance(field, str) for field in accounts[0]):
        raise altered(described, "it does not say whose budget it keeps")
    name, fingerprint, budget = accounts[0]
    seal = _hash("dxgeom ledger", FORMAT, name, fingerprint, budget)
    spent, charges = Fraction(0), []
    for number, row in enumerate(entries, 1):
        if row[0] != number or not all(isinstance(field, str) for field in row[1:]):
            raise altered(described, f"entry {number} is missing or has fields of a wrong kind")
        seal = _hash(seal, *row[:5])
        if row[5] != seal:
            raise altered(described, f"entry {number} does not match its seal")
        spent += _exact(row[1], f"the spend of entry {number}", described)
        left = _exact(budget, "its budget", described) - spent
        if left < 0:
            raise altered(described, f"entry {number} spends more than remained")
        charges.append((number, 1, None, None, None, row[1], str(left), str(spent), *row[2:5], 0))
    if last != ([(len(entries),)] if entries else []):
        raise altered(described, "entries at its end are missing")
    yield DATA_SETS, (1, uuid.uuid4().hex, None, SHARED, None, seal)
    yield ACCOUNTS, (1, name, fingerprint, budget, PURE)
    for charge in charges:
        yield ENTRIES, charge


def _exact(text: str, what: str, described: str) -> Fraction:
    try:
        return exact(text)
    except ValueError as error:
        raise altered(described, f"{what} is no positive fraction in lowest terms") from error


def _hash(*parts: str | int) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
