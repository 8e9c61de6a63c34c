"""A ledger in a file brought to a server: all of it or nothing, and the file takes no charge afterwards."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dxgeom.arguments import require
from dxgeom.errors import LedgerError
from dxgeom.ledger.answers import answer_in, book_waiting
from dxgeom.ledger.book import Book
from dxgeom.ledger.chronicle import Chronicle, LedgerStore, Session
from dxgeom.ledger.entry import unusable
from dxgeom.ledger.history import History, read_ledger
from dxgeom.ledger.stores import store_at
from dxgeom.ledger.tables import Record


def move_ledger(source: str | Path, target: str, *, grant: Sequence[str] = ()) -> History:
    """Bring a ledger's file to a server: the same rows, seals and answers, so that seals printed before hold there.

    The file says from then on where its ledger went, and takes no charge: two ledgers would be two budgets. It can
    still be looked at. It says so before the server has anything, so that at no moment both take charges: whoever is
    killed in between does the same again, which ends it.
    Args: ``target``: the URL of a ledger that nobody has begun. ``grant``: roles of the server that may release on it.
    Returns: what the server has.
    Raises: LedgerError, with the file as it was: unless the source is a file and the target a server; when the file was
    altered, or a release on it is under way; when the target is a ledger of its own. And when a role cannot be granted,
    or the server does not answer: then the file may be one that was moved, and the same command ends the move.
    """
    require(source, (str, os.PathLike), "source", "name the file of a ledger")
    require(
        target, str, "target", "give the URL of a ledger on a server, 'postgresql://user@host/database?ledger=name'"
    )
    require(grant, (list, tuple), "grant", "list the roles of the server that may release, or leave it out")
    old, new = store_at(source), store_at(target)
    if old.files is None or not new.begun_on_purpose:
        raise LedgerError(
            f"a ledger is moved from a file to a server; found {old.described} and {new.described}; nothing was changed"
        )
    if not old.exists():
        raise unusable(old.described, "there is no such ledger; name one that was begun")
    chronicle, went = Chronicle(old), old.went_to()
    if went is None:
        _retire(chronicle, new, target)
    elif went != target:
        raise unusable(
            old.described, f"it was moved to '{went}', with all that it says; name that; nothing was changed"
        )
    try:
        with chronicle.reading(whole=True) as (book, session):
            _bring(old, new, book, session)
    except BaseException:
        if went is None and _is_nowhere(new):
            old.stay()
        raise
    for role in grant:
        new.grant(role)
    return read_ledger(target)


def _retire(chronicle: Chronicle, new: LedgerStore, target: str) -> None:
    """The file takes no charge any more, if it can be moved at all. Raises: LedgerError, with the file as it was."""
    old = chronicle.store
    book_waiting(chronicle)
    with chronicle.writing() as page:
        # Nobody else writes meanwhile; a second look reads what is there, from its first row.
        with chronicle.reading(whole=True) as (book, session):
            _refuse_unfinished(old, book, session)
            if new.exists():
                with Chronicle(new).reading(whole=True) as (there, _):
                    _require_same(new, there, book)
        page.retire(target)


def _is_nowhere(new: LedgerStore) -> bool:
    """Whether the server surely has no ledger of this name."""
    try:
        return not new.exists()
    except LedgerError:
        return False


def _require_same(new: LedgerStore, there: Book, book: Book) -> None:
    if there.seals[: book.position] != book.seals:
        raise unusable(new.described, "another ledger is there already; name one that nobody has begun")


def _refuse_unfinished(store: LedgerStore, book: Book, session: Session) -> None:
    """Raises: LedgerError while answers are still to be written into the file, or lie beside it and are not booked."""
    files = store.files
    for number in () if files is None else files.entries():
        entry = book.entries[number - 1] if number <= len(book.entries) else None
        if entry is None or number in book.answers or files is None:
            continue
        if answer_in(files, book, session, entry) is not None or not files.is_abandoned(number):
            raise unusable(store.described, f"the release of entry {number} is under way; move it when that has ended")


def _bring(old: LedgerStore, new: LedgerStore, book: Book, session: Session) -> None:
    """Write all rows and answers, unless they are there already; read them from there, and compare.

    Raises: LedgerError.
    """

    def content_of(record: Record) -> bytes | None:
        number = record.fields[0]
        entry = book.entries[number - 1] if record.table.content and isinstance(number, int) else None
        return None if entry is None else answer_in(old.files, book, session, entry)

    if not new.exists():
        new.begin(session.records_from(0), content_of)
    with Chronicle(new).reading(whole=True) as (there, held):
        _require_same(new, there, book)
        for number in book.answers:
            answer_in(new.files, there, held, there.entries[number - 1])
