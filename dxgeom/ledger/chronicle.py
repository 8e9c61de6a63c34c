"""What a store of a ledger must do, and what was verified of one: the whole chain once, then only what follows."""

from __future__ import annotations

import os
import threading
from abc import ABC
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, Self, TypeAlias, final

from dxgeom.ledger.answer_files import AnswerFiles
from dxgeom.ledger.book import Book
from dxgeom.ledger.entry import altered, unusable
from dxgeom.ledger.tables import Field, Record, Table

ContentOf: TypeAlias = Callable[[Record], bytes | None]
"""The bytes that a row carries, None of most."""


class Session(Protocol):
    """A look at one ledger, during which nobody else changes it, or, for reading, at one moment of it."""

    def identity(self) -> object:
        """What is the same as long as what was verified earlier need not be read again."""

    def check_whole(self) -> None:
        """Refuse a store that is damaged, or whose tables or safeguards were altered. Raises: LedgerError."""

    def records_from(self, position: int) -> Iterable[Record]:
        """All rows from this position on, in the order of their positions."""

    def last_given(self) -> dict[str, int]:
        """The highest position that each table ever held, as the store itself remembers it; tables never used lack."""

    def content(self, entry: int) -> bytes | None:
        """The bytes of an entry's answer, None where none are kept here."""

    def now(self) -> datetime:
        """The time, by the clock that all who write here share."""

    def who(self) -> str | None:
        """Who reads or writes, as whoever keeps the store knows him; None where nobody vouches for it."""

    def append(self, record: Record, content: bytes | None = None) -> None:
        """Add a row, to stay from :meth:`commit` on."""

    def commit(self) -> None:
        """When this returns, what was added is on the disk. Once in a session, at its end."""

    def retire(self, place: str) -> None:
        """Take no row any more, and tell whoever tries that the ledger is at this place now; on the disk when this
        returns. In place of a commit. Raises: LedgerError where a ledger stays for good."""


class LedgerStore(Protocol):
    """One ledger's store. Errors of its own kind are raised as LedgerError from within its sessions. What has a body
    here is so of most stores, which derive from this.

    ``described``: names it in messages. ``path``: what tells it from other stores, None for one in memory.
    ``files``: where answers go that are not kept among the rows; None where all are. ``begun_on_purpose``: whoever
    keeps such a ledger begins it; a release never does.
    """

    described: str
    path: str | None
    files: AnswerFiles | None
    begun_on_purpose: bool

    def exists(self) -> bool:
        """Whether a ledger was begun there. Raises: LedgerError where none can be."""

    def begin(self, records: Iterable[Record], content_of: ContentOf | None = None) -> None:
        """A new ledger of these rows, whole or not at all, unless one is there by then; ``content_of``: the answers
        that rows speak of, where there are any. Raises: LedgerError."""

    def writing(self) -> AbstractContextManager[Session]:
        """Nobody else writes meanwhile; what is not committed is undone. Raises: LedgerError."""

    def reading(self) -> AbstractContextManager[Session]:
        """For looking only; needs no right to write and no room on the disk. Raises: LedgerError."""

    def went_to(self) -> str | None:
        """Where the ledger is now, None where it is here. Raises: LedgerError."""
        return None

    def stay(self) -> None:
        """Undo a retirement, for a ledger that is at no other place. Raises: LedgerError."""
        return

    def try_to_write(self) -> None:
        """Refuse a store that cannot be written, and tidy away what killed processes left. Raises: LedgerError."""

    def grant(self, role: str) -> None:
        """Let a role look, and release under accounts that are open. Raises: LedgerError where there are no roles."""
        raise unusable(
            self.described, "it knows no roles; let people read and write its file and folder as the system has it"
        )

    def close(self) -> None:
        """Ends the use of this object; what is stored stays."""
        return


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
        last: dict[str, int] = {}
        for record in session.records_from(0):
            book.add(record)
            last[record.table.name] = record.position
        if book.ledger == "":
            raise altered(self.store.described, "it does not say whose budget it keeps")
        # The store itself remembers the highest position it ever gave out, so rows cut off at the end are missed.
        if last != session.last_given():
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
