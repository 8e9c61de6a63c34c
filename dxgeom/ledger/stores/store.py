"""What a store of a ledger must do; it keeps rows and bytes, and knows nothing of budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol, TypeAlias

from dxgeom.ledger.stores.answer_files import AnswerFiles
from dxgeom.ledger.tables import Record

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
    """One ledger's store. Errors of its own kind are raised as LedgerError from within its sessions.

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

    def stay(self) -> None:
        """Undo a retirement, for a ledger that is at no other place. Raises: LedgerError."""

    def try_to_write(self) -> None:
        """Refuse a store that cannot be written, and tidy away what killed processes left. Raises: LedgerError."""

    def grant(self, role: str) -> None:
        """Let a role look, and release under accounts that are open. Raises: LedgerError where there are no roles."""

    def close(self) -> None:
        """Ends the use of this object; what is stored stays."""
