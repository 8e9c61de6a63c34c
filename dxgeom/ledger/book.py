"""Reading a ledger back, and checking that nothing in it was altered."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from dxgeom.errors import LedgerError
from dxgeom.ledger.entry import Account, Entry, exact
from dxgeom.ledger.storage import RESTORE, unusable
from dxgeom.universe.columns import plain


@final
@dataclass(frozen=True)
class Book:
    """A ledger's contents at one moment; ``seal`` is that of the last entry, or of the account."""

    entries: tuple[Entry, ...]
    remaining: Fraction
    seal: str


def read_book(connection: sqlite3.Connection, account: Account, described: str) -> Book:
    """All entries, each checked against the chain of seals and the budget.

    Raises: LedgerError when the file is kept for another policy or budget, or was altered; sqlite3.Error.
    """
    stored = _account(connection, described)
    _check_owner(stored, account, described)
    entries: list[Entry] = []
    remaining, seal = stored.budget, stored.seal
    for row in connection.execute(
        "SELECT number, spend, purpose, plan_fingerprint, time_utc, seal FROM entries ORDER BY number"
    ):
        entry = _entry(row, len(entries) + 1, remaining, described)
        remaining, seal = entry.remaining, entry.seal(seal)
        if row[5] != seal:
            raise _altered(described, f"entry {entry.number} does not match its seal")
        entries.append(entry)
    _check_end(connection, len(entries), described)
    return Book(tuple(entries), remaining, seal)


def _account(connection: sqlite3.Connection, described: str) -> Account:
    rows = connection.execute("SELECT policy_name, policy_fingerprint, budget FROM account").fetchall()
    if len(rows) != 1 or not _texts(rows[0]):
        raise _altered(described, "it does not say whose budget it keeps")
    try:
        return Account(rows[0][0], rows[0][1], exact(rows[0][2]))
    except ValueError as error:
        raise _altered(described, "its budget is no positive fraction in lowest terms") from error


def _check_owner(stored: Account, account: Account, described: str) -> None:
    advice = "use that policy, or begin a new ledger in another file (which grants a new budget for the same data)"
    if stored.policy_fingerprint != account.policy_fingerprint:
        raise unusable(
            described,
            f"it is kept for policy '{stored.policy_name}' ({stored.policy_fingerprint[:12]}…), and this is policy "
            f"'{account.policy_name}' ({account.policy_fingerprint[:12]}…); {advice}",
        )
    if stored.budget != account.budget:
        raise unusable(
            described,
            f"its budget is {plain(stored.budget)}, and the policy's is {plain(account.budget)}; {advice}",
        )


def _entry(row: Any, number: int, remaining: Fraction, described: str) -> Entry:
    if row[0] != number or not _texts(row[1:]):
        raise _altered(described, f"entry {number} is missing or has fields of a wrong kind")
    try:
        spend = exact(row[1])
    except ValueError as error:
        raise _altered(described, f"the spend of entry {number} is no positive fraction in lowest terms") from error
    if spend > remaining:
        raise _altered(described, f"entry {number} spends more than remained")
    return Entry(number, spend, row[2], row[3], row[4], remaining - spend)


def _check_end(connection: sqlite3.Connection, entries: int, described: str) -> None:
    # SQLite itself remembers the highest number it ever gave out, so entries cut off at the end are missed.
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchall()
    if last != ([(entries,)] if entries else []):
        raise _altered(described, "entries at its end are missing")


def _texts(fields: Any) -> bool:
    return all(isinstance(field, str) for field in fields)


def _altered(described: str, what: str) -> LedgerError:
    return unusable(described, f"it was altered: {what}; {RESTORE}")
