"""Looking at a ledger without charging it: what it holds, and whether it is what it was.

A ledger in a file brought to a server: all of it or nothing, and the file takes no charge afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, final

from dxgeom.arguments import require
from dxgeom.errors import LedgerError, WrongArgument
from dxgeom.ledger.answers import answer_in, book_waiting
from dxgeom.ledger.book import Allotment, Book, KeptAccount, KeptAnswer
from dxgeom.ledger.chances import EntryChance
from dxgeom.ledger.chronicle import Chronicle, LedgerStore, Session
from dxgeom.ledger.entry import Account, Accounts, Entry, unusable
from dxgeom.ledger.stores import store_at
from dxgeom.ledger.tables import Record
from dxgeom.ledger.windows import Window
from dxgeom.privacy.measures import PURE, PrivacyMeasure, privacy_measure_of

if TYPE_CHECKING:
    from dxgeom.metrics.metric import DataSet


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


@final
@dataclass(frozen=True)
class History:
    """What a ledger holds, verified as a whole at one moment.

    ``data_set``: as the ledger knows it, its editions being those of the entries; ``disjoint``: these have different
    people. ``answers``: what is known of the answers, by entry. ``waiting``: sizes of answers that lie beside the
    ledger and are booked when it is written next, by entry. ``receipt``: number of the entry and seal that cover all of
    it, None where nothing was charged. ``documents``: policies as canonical text, by account, where they are known.
    ``together``: what the accounts come to where there are several, once for each edition that has other people.
    ``windows``: plans that are released in instalments, by the entry that paid for all periods.
    ``allotments``: how accounts are divided; where editions have other people, once for each edition.
    ``chances``: with which chance entries are outside their promise, of those that may be.
    """

    described: str
    data_set: DataSet
    disjoint: bool
    accounts: tuple[KeptAccount, ...]
    entries: tuple[Entry, ...]
    answers: dict[int, KeptAnswer] = field(repr=False)
    waiting: dict[int, int]
    receipt: tuple[int, str] | None
    documents: dict[int, str] = field(repr=False)
    allotments: tuple[Allotment, ...]
    together: tuple[Accounts, ...] = ()
    windows: dict[int, Window] = field(default_factory=dict, repr=False)
    chances: dict[int, EntryChance] = field(default_factory=dict, repr=False)

    @property
    def privacy_measure(self) -> PrivacyMeasure:
        """How spends add up here."""
        return privacy_measure_of(self.accounts[0].privacy_measure if self.accounts else PURE)

    def account_of(self, entry: Entry) -> KeptAccount:
        """Under which policy an entry was charged."""
        return self.accounts[entry.account - 1]


def read_ledger(path: str | Path) -> History:
    """Read a ledger and verify its whole chain of seals; needs no right to write, and changes nothing.

    Raises: LedgerError when there is none, or it was altered.
    """
    with _chronicle(path).reading(whole=True) as (book, session):
        return history_of(book, _waiting(path, book, session))


def read_answer(path: str | Path, entry: int) -> bytes | None:
    """An entry's answer as it was shown; None when it was charged and not answered. Costs nothing.

    Raises: LedgerError as :func:`read_ledger`, and for an entry that is not there or an answer that was altered.
    """
    chronicle = _chronicle(path)
    with chronicle.reading(whole=True) as (book, session):
        return answer_in(chronicle.store.files, book, session, entry_of(book, entry))


def verify_ledger(path: str | Path, *, seal: tuple[int, str] | None = None) -> History:
    """Read a ledger as :func:`read_ledger` does, every answer against its digest, and compare it with a printed seal.

    Args: ``seal``: an entry's number and the seal that its release printed. Whoever rewrites a ledger can make its
    chain fit itself, but not a seal that was printed before; an older copy lacks the entry.
    Raises: LedgerError.
    """
    chronicle = _chronicle(path)
    if seal is not None:
        _check_kind(seal)
    with chronicle.reading(whole=True) as (book, session):
        if seal is not None:
            _check_seal(book, *seal)
        for number in book.answers:
            answer_in(chronicle.store.files, book, session, book.entries[number - 1])
        return history_of(book, _waiting(path, book, session))


def migrate_ledger(path: str | Path) -> History:
    """Bring a ledger of an older format to this one, as a release does, and read it.

    Raises: LedgerError; nothing is changed then.
    """
    with _chronicle(path).writing() as page:
        page.commit()
    return read_ledger(path)


def _chronicle(path: str | Path) -> Chronicle:
    require(path, (str, os.PathLike), "path", "name the file of a ledger")
    chronicle = Chronicle(store_at(path))
    if not chronicle.store.exists():
        raise unusable(chronicle.store.described, "there is no such ledger; name one that was begun")
    return chronicle


def history_of(book: Book, waiting: dict[int, int]) -> History:
    """What a book that was read holds; ``waiting``: as the history has it."""
    return History(
        book.described,
        book.data_set,
        book.disjoint,
        tuple(book.accounts),
        tuple(book.entries),
        dict(book.answers),
        waiting,
        book.receipt,
        dict(book.documents),
        tuple(_allotments(book)),
        tuple(one for edition in _editions(book, book.entries) if (one := book.together(edition)) is not None),
        dict(book.windows),
        dict(book.chances.by_entry),
    )


def _allotments(book: Book) -> Iterator[Allotment]:
    for account in book.accounts:
        for edition in _editions(book, [entry for entry in book.entries if entry.account == account.number]):
            yield from book.division(account.number, edition)


def _editions(book: Book, charged: Sequence[Entry]) -> Iterable[str | None]:
    """Those with other people, of entries; where there are none, all together."""
    return dict.fromkeys(entry.edition for entry in charged) if book.disjoint and charged else (None,)


def _waiting(path: str | Path, book: Book, session: Session) -> dict[int, int]:
    files = store_at(path).files
    if files is None:
        return {}
    open_ones = (number for number in files.entries() if number <= len(book.entries) and number not in book.answers)
    found = {number: answer_in(files, book, session, book.entries[number - 1]) for number in open_ones}
    return {number: len(answer) for number, answer in found.items() if answer is not None}


def _check_kind(seal: object) -> None:
    pair = seal if isinstance(seal, tuple) else ()
    if [type(part) for part in pair] != [int, str]:
        raise WrongArgument("'seal' is an entry's number and the seal that its release printed, such as (3, 'ab12…')")


def _check_seal(book: Book, number: int, seal: str) -> None:
    if number > len(book.entries):
        raise unusable(
            book.described,
            f"it ends with entry {len(book.entries)}, and entry {number} was released once: it is an older copy, or "
            "its end was cut off; put back the file that has this entry",
        )
    entry, answer = entry_of(book, number), book.answers.get(number)
    if seal == entry.seal or (answer is not None and seal == answer.seal):
        return
    if answer is None:
        raise unusable(
            book.described,
            f"entry {number} has another seal than was printed, or the answer that the seal covers is gone: this is an "
            "older copy, another ledger, or was rewritten; put back the file that this seal is of",
        )
    raise unusable(
        book.described,
        f"entry {number} has another seal than was printed: this is another ledger, or it was rewritten up to there; "
        "put back the file that this seal is of",
    )


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
