"""Answers: kept once, in the ledger or beside it, and read back as they were shown.

A charge commits to a secret that only the process that charges has, until it stores the answer with it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from dxgeom.errors import LedgerError, LedgerUnreachable
from dxgeom.ledger.answer_files import AnswerFiles, Written, tidy_drafts
from dxgeom.ledger.book import Book
from dxgeom.ledger.chronicle import Chronicle, Page, Session
from dxgeom.ledger.entry import Entry, altered, unusable
from dxgeom.ledger.sqlite_layout import plain_errors
from dxgeom.ledger.tables import ANSWERS, BESIDE, INSIDE, Field, Table, commitment_of, digest_of

INSIDE_BYTES: Final = 2**16
"""Longer answers go into a file of their own, compressed."""

PATIENCE_SECONDS = 60.0
"""How long a server that is gone is waited for with an answer that is paid for."""

_PAUSE: Final = 0.5

_SECRETS: dict[str, str] = {}
"""By commitment, of what this process charged and has not answered; gone with the process, and on no disk."""


@final
@dataclass(frozen=True)
class Receipt:
    """What proves a release later: the entry's number and the ledger's seal once its answer was stored.

    ``file``: where the answer is when it is not in the ledger itself. ``waiting``: why it is only there for now, None
    when it was booked; the seal is then of the charge.
    """

    entry: int
    seal: str
    file: Path | None
    waiting: str | None = None


def append_with_room(
    page: Page, files: AnswerFiles | None, charge: Sequence[tuple[Table, tuple[Field, ...]]], reserve: int, secret: str
) -> Entry:
    """Write a charge down, with so many bytes of room for its answer made before; all of it or nothing.

    Args: ``charge``: its rows, one right behind the other. ``secret``: what it commits to; this process keeps it for
    the answer.
    """
    number = len(page.book.entries) + 1
    try:
        if files is not None and reserve:
            files.reserve(number, reserve)
        for row in charge:
            page.append(*row)
        page.commit()
    except BaseException:
        if files is not None and reserve:
            files.drop(number)
        raise
    _SECRETS[commitment_of(secret)] = secret
    return page.book.entries[-1]


def keep_answer(chronicle: Chronicle, entry: Entry, content: bytes) -> Receipt:
    """Store an answer; see :meth:`dxgeom.ledger.ledger.Ledger.store`. Raises: LedgerError."""
    files = chronicle.store.files
    path = None if files is None else files.path_of(entry.number)
    beside = files is not None and len(content) > INSIDE_BYTES
    answer = Written(content, _SECRETS.get(entry.commitment or ""))
    if not _belongs(answer, entry):
        with chronicle.reading() as (book, _):
            raise _refusal(book, entry) or _of_another(book.described, entry)
    if files is not None and beside:
        _check_open(chronicle, entry)
        try:
            _write(chronicle, files, entry, answer)
        except LedgerError:
            if _written(files, entry) is not None:
                raise
            beside = False
    try:
        booked = _booked_in_the_end(chronicle, entry, answer, beside)
    except LedgerError as error:
        if files is None:
            raise
        if not beside:
            _write(chronicle, files, entry, answer)
        return Receipt(entry.number, entry.seal, path, waiting=str(error))
    if isinstance(booked, LedgerError):
        raise booked
    _SECRETS.pop(entry.commitment or "", None)
    if files is not None and not beside:
        files.drop(entry.number, entry.seal)
    return Receipt(entry.number, booked, path if beside else None)


def answer_in(files: AnswerFiles | None, book: Book, session: Session, entry: Entry) -> bytes | None:
    """The answer of an entry, None where there is none. Raises: LedgerError when it is not the one that was stored."""
    kept = book.answers.get(entry.number)
    if kept is None:
        waiting = None if files is None else _written(files, entry)
        return None if waiting is None else waiting.content
    if files is not None and kept.beside:
        written = files.read(entry.number, entry.seal)
        content = None if written is None else written.content
    else:
        content = session.content(entry.number)
    if content is None and files is not None and kept.beside:
        where = files.path_of(entry.number).name
        raise unusable(
            book.described, f"the answer of entry {entry.number} is not, or not whole, in '{where}' beside it"
        )
    if content is None or len(content) != kept.size or digest_of(entry.seal, content) != kept.digest:
        raise altered(book.described, f"the answer of entry {entry.number} is not the one that was stored")
    return content


def book_waiting(chronicle: Chronicle) -> None:
    """Book answers that could only be written beside the ledger, and drop drafts and rooms whose processes are gone.

    What cannot be done now is left for the next time.
    """
    files = chronicle.store.files
    if files is None:
        return
    with contextlib.suppress(LedgerError), plain_errors(chronicle.store.described):
        tidy_drafts(files.ledger)
        for number in files.entries():
            with chronicle.reading() as (book, _):
                entry = book.entries[number - 1] if number <= len(book.entries) else None
                kept = book.answers.get(number)
            answer = None if entry is None or kept is not None else _written(files, entry)
            if entry is not None and answer is not None:
                beside = len(answer.content) > INSIDE_BYTES
                if isinstance(_booked(chronicle, entry, answer, beside), str) and not beside:
                    files.drop(number, entry.seal)
            elif entry is not None and kept is not None and not kept.beside:
                files.drop(number, entry.seal)
            elif files.is_abandoned(number):
                files.drop(number)


def _belongs(answer: Written, entry: Entry) -> bool:
    """Whether it is of who charged."""
    return (None if answer.secret is None else commitment_of(answer.secret)) == entry.commitment


def _written(files: AnswerFiles, entry: Entry) -> Written | None:
    """The answer that who charged wrote into the entry's file. Raises: OSError."""
    found = files.read(entry.number, entry.seal)
    return found if found is not None and _belongs(found, entry) else None


def _booked_in_the_end(chronicle: Chronicle, entry: Entry, answer: Written, beside: bool) -> str | LedgerError:
    """:func:`_booked`, tried again for a while where a server is gone, beside which an answer has no place."""
    again, until = False, time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return _booked(chronicle, entry, answer, beside, again)
        except LedgerUnreachable:
            if chronicle.store.files is not None or time.monotonic() > until:
                raise
            again = True
            time.sleep(_PAUSE)


def _booked(
    chronicle: Chronicle, entry: Entry, answer: Written, beside: bool, again: bool = False
) -> str | LedgerError:
    """The seal of the answer's row, or why it must not be stored at all. Raises: LedgerError when it cannot be now.

    Args: ``again``: this very answer may have been stored without our knowing.
    """
    content, secret = answer
    with chronicle.writing() as page:
        digest, kept = digest_of(entry.seal, content), page.book.answers.get(entry.number)
        if again and kept is not None and kept.digest == digest:
            return kept.seal
        refusal = _refusal(page.book, entry)
        if refusal is not None:
            return refusal
        fields = (entry.number, BESIDE if beside else INSIDE, len(content), digest, secret)
        seal = page.append(ANSWERS, fields, None if beside else content)
        page.commit()
        return seal


def _write(chronicle: Chronicle, files: AnswerFiles, entry: Entry, answer: Written) -> None:
    with plain_errors(chronicle.store.described):
        try:
            files.write(entry.number, entry.seal, answer)
        except FileExistsError:
            if _written(files, entry) is None:
                raise
            raise _answered(chronicle.store.described, entry) from None


def _check_open(chronicle: Chronicle, entry: Entry) -> None:
    """Refuse, before any file is written, an entry of another ledger or one that is answered. Raises: LedgerError."""
    # A ledger that cannot be read now must not cost the answer; the file tells, too, whether there is one.
    refusal = None
    with contextlib.suppress(LedgerError), chronicle.reading() as (book, _):
        refusal = _refusal(book, entry)
    if refusal is not None:
        raise refusal


def _refusal(book: Book, entry: Entry) -> LedgerError | None:
    if book.entries[entry.number - 1 : entry.number] != [entry]:
        return LedgerError(f"entry {entry.number} is not of the ledger {book.described}; store it in its own")
    return _answered(book.described, entry) if entry.number in book.answers else None


def _answered(described: str, entry: Entry) -> LedgerError:
    return LedgerError(
        f"entry {entry.number} of the ledger {described} has its answer already, and keeps it; a "
        "second answer needs a charge of its own"
    )


def _of_another(described: str, entry: Entry) -> LedgerError:
    return LedgerError(
        f"entry {entry.number} of the ledger {described} takes its answer from the process that charged it only, and "
        "this is another; nothing was stored; it counts as spent; charge for an answer of your own"
    )
