"""A store and what was verified of it: the whole chain once, and then only what follows the last verified seal."""

from __future__ import annotations

import os
import threading
from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self, final

from dxgeom.ledger.book import Book
from dxgeom.ledger.refusals import altered, unusable
from dxgeom.ledger.stores.store import LedgerStore, Session
from dxgeom.ledger.tables import TABLES, Field, Table


class Uncopied(ABC):  # noqa: B024 - it says only that it is one thing
    """What is one thing however often it is copied: no copy of an account is a budget of its own."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


@final
@dataclass
class Verified:
    """What this process read of one store: its book, and the store's identity then."""

    book: Book | None = None
    identity: object = None
    turn: threading.RLock = field(default_factory=threading.RLock)


_VERIFIED: dict[tuple[int, str], Verified] = {}
"""By process and path: a forked process verifies anew."""


@final
class Page:
    """The end of a ledger, at which its only writer writes."""

    def __init__(self, session: Session, book: Book) -> None:
        self._session, self.book = session, book

    def now(self) -> datetime:
        """The time, by the store's clock."""
        return self._session.now()

    def who(self) -> str | None:
        """Who writes, where the store vouches for it."""
        return self._session.who()

    def append(self, table: Table, fields: tuple[Field, ...], content: bytes | None = None) -> str:
        """Add a row, checked as every row that is read; its seal."""
        record = self.book.next_record(table, *fields)
        self.book.add(record)
        self._session.append(record, content)
        return record.seal

    def commit(self) -> None:
        """When this returns, the rows are on the disk."""
        self._session.commit()

    def retire(self, place: str) -> None:
        """In place of a commit: the ledger is elsewhere now. Raises: LedgerError."""
        self._session.retire(place)


@final
class Chronicle:
    """One ledger as seen by this process: nothing that it verified may be gone when it looks again."""

    def __init__(self, store: LedgerStore) -> None:
        self.store = store
        self._own = Verified()
        self._seen: tuple[str, int, str] | None = None
        """The ledger, the position and the seal that this very object saw last."""

    @contextmanager
    def writing(self) -> Iterator[Page]:
        """The write lock, and the book up to date. Rows that are added and not committed are undone."""
        with self._verified().turn, self.store.writing() as session:
            kept = self._verified()
            book = self._up_to_date(session, kept)
            before = book.position
            try:
                yield Page(session, book)
            except BaseException:
                if book.position != before:
                    # It holds rows that the store does not, or does not surely.
                    kept.book = None
                raise
            self._seen = (book.ledger, book.position, book.seal)

    @contextmanager
    def reading(self, *, whole: bool = False) -> Iterator[tuple[Book, Session]]:
        """The book at one moment; needs no right to write. ``whole``: verified anew from its first row."""
        with self._verified().turn, self.store.reading() as session:
            yield self._up_to_date(session, self._verified(), whole=whole), session

    def _verified(self) -> Verified:
        if self.store.path is None:
            return self._own
        # No lock: a fork would carry one along that some other thread held.
        return _VERIFIED.setdefault((os.getpid(), self.store.path), Verified())

    def _up_to_date(self, session: Session, kept: Verified, *, whole: bool = False) -> Book:
        identity = session.identity()
        book = kept.book
        if whole or book is None or kept.identity != identity or not _continued(book, session):
            book = self._read_whole(session)
            self._check_nothing_gone(book, kept.book)
            kept.book, kept.identity = book, identity
        self._seen = (book.ledger, book.position, book.seal)
        return book

    def _read_whole(self, session: Session) -> Book:
        session.check_whole()
        book = Book(self.store.described)
        last = {table.name: 0 for table in TABLES}
        for record in session.records_from(0):
            book.add(record)
            last[record.table.name] = record.position
        if book.ledger == "":
            raise altered(self.store.described, "it does not say whose budget it keeps")
        # The store itself remembers the highest position it ever gave out, so rows cut off at the end are missed.
        if {name: position for name, position in last.items() if position} != session.last_given():
            raise altered(self.store.described, "rows at its end are missing")
        return book

    def _check_nothing_gone(self, book: Book, earlier: Book | None) -> None:
        """A ledger that was swapped for an older copy is consistent in itself; only memory can tell."""
        known = [] if self._seen is None else [self._seen]
        if earlier is not None and earlier.ledger == book.ledger:
            known.append((earlier.ledger, earlier.position, earlier.seal))
        for ledger, position, seal in known:
            if book.ledger != ledger or book.seals[position - 1 : position] != [seal]:
                raise unusable(
                    self.store.described, "entries seen earlier by this process are gone; put the file back as it was"
                )


def _continued(book: Book, session: Session) -> bool:
    """Whether the rows so far end as they did; reads what follows them into the book."""
    records = iter(session.records_from(book.position))
    first = next(records, None)
    if first is None or (first.position, first.seal) != (book.position, book.seal):
        return False
    for record in records:
        book.add(record)
    return True
