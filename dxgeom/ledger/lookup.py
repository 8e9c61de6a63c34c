"""Entries of a ledger by their number, and what an earlier entry of the same key must have in common with a release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dxgeom.arguments import require
from dxgeom.errors import LedgerError
from dxgeom.ledger.book import Book
from dxgeom.ledger.entry import Account, Entry


@final
@dataclass(frozen=True)
class Found:
    """An earlier release of the same key: its entry, and its answer as it was shown.

    ``answer``: None when the process ended between charge and answer, or has not come to the answer yet. The entry
    counts as spent either way, and must not be drawn again. ``seal``: the ledger's once the answer was stored.
    """

    entry: Entry
    answer: bytes | None
    seal: str


def entry_of(book: Book, entry: Entry | int) -> Entry:
    """The entry of this number as the ledger has it. Raises: LedgerError when it has none."""
    require(entry, (int, Entry), "entry", "give the number of an entry, counted from 1")
    number = entry.number if isinstance(entry, Entry) else entry
    if not 1 <= number <= len(book.entries):
        raise LedgerError(f"the ledger {book.described} has entries 1 to {len(book.entries)}; found {number!r}")
    return book.entries[number - 1]


def check_same(
    book: Book, entry: Entry, account: Account, plan_fingerprint: str, spend: Fraction, who: str | None
) -> None:
    """Refuse a key that another release has, or another role, whose answer need not be one. Raises: LedgerError."""
    own = book.account_for(account)
    charged_by = who if entry.charged_by is None else entry.charged_by
    number = None if own is None else own.number
    asked_for = (number, account.data_set.edition, plan_fingerprint, spend, who)
    for there, here, what in zip(
        (entry.account, entry.edition, entry.plan_fingerprint, entry.spend, charged_by),
        asked_for,
        ("policy", "edition of the data", "plan", "spend", "role of the server"),
        strict=True,
    ):
        if there != here:
            raise LedgerError(
                f"the key '{entry.key}' is that of entry {entry.number} of the ledger {book.described}, which had "
                f"another {what}; give this release a key of its own; nothing was spent"
            )
