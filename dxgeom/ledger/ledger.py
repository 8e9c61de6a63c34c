"""The ledger: what was spent of a policy's budget, written down before anything is released, and what was released."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from types import NoneType, TracebackType
from typing import Any, final

from dxgeom.arguments import described, require
from dxgeom.displayed import Displayed
from dxgeom.errors import LedgerError, WrongArgument
from dxgeom.ledger.answers import Receipt, answer_in, append_with_room, book_waiting, keep_answer
from dxgeom.ledger.book import Allotment, Book
from dxgeom.ledger.charging import (
    allotments_of,
    charge_request,
    charge_row,
    charge_rows,
    checked,
    checked_parts,
    divide,
    kept_account,
    new_book,
    open_account,
    remaining_of,
    require_left,
)
from dxgeom.ledger.chronicle import Chronicle, Page, Uncopied
from dxgeom.ledger.entry import Account, Entry, storable, unusable
from dxgeom.ledger.history import Found, check_same, entry_of, history_of
from dxgeom.ledger.stores import store_at
from dxgeom.ledger.tables import INSTALMENTS, Field, Record, Table, commitment_of
from dxgeom.ledger.windows import OPEN, InstalmentStep, Window
from dxgeom.metrics.metric import UNNAMED, DataSet
from dxgeom.old_names import OldName, old_keyword
from dxgeom.privacy.measures import PURE, Privacy


@final
class Ledger(Displayed, Uncopied):
    """An append-only account of spends and answers, exact to the last fraction; made by :meth:`open`.

    A release goes: :meth:`find` the key before any data are read; :meth:`charge`, with room for the answer; draw;
    :meth:`store` the answer; show it.

    Guarantees: what :meth:`charge` and :meth:`store` returned is on the disk; the spends never exceed the budget,
    whatever processes and threads charge at once and whenever they are killed; storing cannot fail for want of room
    that was reserved; an altered file is refused. Whoever can write the file can still replace it by an older copy:
    keep it where only releases write, and compare with the seals that releases print.
    """

    def __init__(self, chronicle: Chronicle, account: Account | None = None) -> None:
        if not isinstance(chronicle, Chronicle) or account is None:
            raise WrongArgument(
                f"a ledger is opened and not made; found {described(chronicle)}: a release opens the one that it is "
                "given the name of, plan.release(…, ledger='my.db'); directly, it is dx.Ledger.open('my.db', …)"
            )
        self._held, self._account = chronicle, account
        self._closed = False
        # Only a file that was not there when this object was made is begun: one that vanished is not begun anew.
        self._new = not chronicle.store.exists()

    @classmethod
    @old_keyword(currency="privacy_measure")
    def open(
        cls,
        path: str | Path,
        *,
        policy_fingerprint: str,
        policy_name: str,
        budget: Fraction,
        data_set: DataSet = UNNAMED,
        policy: str | None = None,
        privacy_measure: Privacy = PURE,
        alike: Callable[[str], bool] | None = None,
        delta: Fraction | None = None,
    ) -> Ledger:
        """Opens the ledger at ``path``, or begins one if there is none: in a file, or on a server by its URL.

        ":memory:" is a ledger that is forgotten when it is closed: it protects nobody across runs. ``data_set``: which
        data the policy is about; a named data set's takes several policies. ``policy``: its text, for
        :meth:`disclosed_loss`. ``privacy_measure``: how spends add up, "pure" (sums) or "concentrated" (squares), as in
        the ledger's first account. ``alike``: whether another policy's text means the same, whose account then is this
        one's, too. ``delta``: with which chance all releases together may be outside their promise.

        Raises: LedgerError when the file cannot be used, is damaged, or belongs to another policy, budget or data set.
        """
        require(data_set, DataSet, "data_set", "give dx.ledger.DataSet(…), or leave it out")
        require(policy, (str, NoneType), "policy", "give the policy as text, or leave it out")
        given: object = alike
        if not (given is None or callable(given)):
            require(given, NoneType, "alike", "give a function that is handed a policy's text, or leave it out")
        said = (policy_name, policy_fingerprint, budget, privacy_measure, data_set, policy, alike)
        ledger = cls._at(path, Account(*said, delta=delta))
        ledger._begin()
        ledger._chronicle.store.try_to_write()
        return ledger

    @classmethod
    def at(cls, path: str | Path, account: Account) -> Ledger:
        """The same, but a new file is begun with the first charge that it takes, and not before.

        A ledger on a server is begun by whoever keeps it, never by a charge: a mistyped name would be a new budget.
        Raises: LedgerError as :meth:`open`, but for what a file reveals only when it is written.
        """
        ledger = cls._at(path, account)
        store = ledger._chronicle.store
        if ledger._new and store.begun_on_purpose:
            what = "whoever keeps it begins it: 'dxgeom ledger init LEDGER --policy POLICY'; nothing was spent"
            raise unusable(store.described, f"there is none yet; {what}")
        return ledger

    @classmethod
    def _at(cls, path: str | Path, account: Account) -> Ledger:
        require(path, (str, os.PathLike), "path", "name the file in which spends are written down, or ':memory:'")
        ledger = cls(Chronicle(store_at(path)), checked(account))
        if not ledger._new:
            with ledger._chronicle.writing() as page:
                kept_account(page.book, account)
            book_waiting(ledger._chronicle)
        return ledger

    @property
    def account(self) -> Account:
        """Whose budget this is: the policy's name, its fingerprint, its budget, and the data set."""
        return self._account

    @property
    def file(self) -> str | None:
        """Where it is kept, None for a ledger in memory."""
        return self._held.store.path

    def charge(
        self,
        spend: Fraction,
        *,
        purpose: str,
        plan_fingerprint: str,
        key: str | None = None,
        owner: str | None = None,
        reserve: int = 0,
        chance: Fraction | None = None,
    ) -> Entry:
        """Spends; when this returns, the entry is on the disk, and only then may noise be drawn.

        ``key``: a name of this release, by which :meth:`find` finds it again; no two entries have the same.
        ``owner``: whose allotment it is counted against; where nothing is allotted it is only noted. ``reserve``: bytes
        that the answer has at most, as the plan fixes them; room for so many is made on the disk, so that storing the
        answer needs none. ``chance``: with which the release is outside its promise, None for never; such chances add
        up to the policy's ``delta`` at most.

        Raises: BudgetExceeded, with nothing spent; LedgerError when the ledger cannot be written or the key is taken
        (the release must not happen; at worst budget is lost).
        """
        wanted = charge_request(spend, purpose, plan_fingerprint, key, owner, reserve, chance)
        secret = token_hex(32)
        if self._new:
            # A new ledger has the whole budget: what this refuses, a file would refuse, too.
            book, records = new_book(self._account)
            charge_rows(book, self._account, wanted, datetime.now(UTC), "")
            self._begin(records)
        with self._chronicle.writing() as page:
            open_account(page, self._account)
            rows = charge_rows(page.book, self._account, wanted, page.now(), commitment_of(secret), page.who())
            return append_with_room(page, self._chronicle.store.files, rows, wanted.reserve, secret)

    def open_account(self) -> None:
        """Begins the ledger and writes down this policy and its budget, as far as that is still to be done.

        Raises: LedgerError.
        """
        self._begin()
        with self._chronicle.writing() as page:
            before = page.book.position
            open_account(page, self._account)
            if page.book.position > before:
                page.commit()

    def grant(self, role: str) -> None:
        """Lets a role of the server look at this ledger, and release under accounts that are open, and nothing else.

        Raises: LedgerError for a ledger in a file, which the system guards; or without the right to grant.
        """
        self._chronicle.store.grant(storable(role, "role"))

    def allot(self, parts: Mapping[str, Fraction]) -> tuple[Allotment, ...]:
        """Divide this account: each owner may spend at most his part from now on, and nobody else may.

        What is not allotted stays for charges without an owner. An owner who is named again has the new part in place
        of the old; 0 ends it. All of ``parts`` or none.

        Returns: the whole division, as :meth:`allotments`.
        Raises: BudgetExceeded for more than there is; LedgerError for less than an owner has spent.
        """
        wanted = checked_parts(parts)
        self._begin()
        with self._chronicle.writing() as page:
            open_account(page, self._account)
            return divide(page, self._account, wanted)

    def allotments(self) -> tuple[Allotment, ...]:
        """How this account is divided, and what was spent of each part."""
        with self._book_so_far() as book:
            return allotments_of(book, self._account)

    def store(self, entry: Entry | int, answer: bytes | str) -> Receipt:
        """Keeps an entry's answer, once and for good; when this returns, it is on the disk and may be shown.

        Only the process that charged can store it: the entry commits to a secret that no other has.
        Where the ledger itself cannot be written at this moment, the answer waits in the entry's file beside it, and
        is booked when the ledger is opened next. Answers of more than 64 KiB stay in that file, compressed.
        Raises: LedgerError when the entry has an answer, which stays as it is, or is another's; or when neither ledger
        nor file can be written, which reserved room excludes but for a broken disk.
        """
        require(answer, (bytes, str), "answer", "give it as it was shown")
        content = answer if isinstance(answer, bytes) else answer.encode("utf-8", "surrogatepass")
        if not isinstance(entry, Entry):
            with self._book() as book:
                entry = entry_of(book, entry)
        return keep_answer(self._chronicle, entry, content)

    def find(self, key: str, *, plan_fingerprint: str, spend: Fraction) -> Found | None:
        """The earlier release of this key, None if there is none; to be asked before any data are read.

        Raises: LedgerError when the key is that of another plan, spend, policy or edition of the data, or of another
        role where a server vouches for who charged.
        """
        require(key, str, "key", "give the name that the release was given")
        if self._new and not self._chronicle.store.exists():
            return None
        with self._chronicle.reading() as (book, session):
            entry = book.keys.get(key)
            if entry is None:
                return None
            check_same(book, entry, self._account, plan_fingerprint, spend, session.who())
            kept = book.answers.get(entry.number)
            answer = answer_in(self._chronicle.store.files, book, session, entry)
            return Found(entry, answer, entry.seal if kept is None else kept.seal)

    def answer_of(self, entry: Entry | int) -> bytes | None:
        """The answer that an entry paid for, None when it was charged and not answered. Costs nothing.

        Raises: LedgerError for an entry that is not there, or an answer that was altered.
        """
        with self._chronicle.reading() as (book, session):
            return answer_in(self._chronicle.store.files, book, session, entry_of(book, entry))

    def open_window(self, spend: Fraction, text: str, *, key: str, **said: Any) -> Window:
        """Charge a plan that is released in instalments, whole and once, and say what it is; both rows or none.

        Args: ``text``: what is opened. ``said``: as of :meth:`charge`, but for what answers need.
        Raises: BudgetExceeded, LedgerError with nothing spent; of a server's ledger, too, where whoever keeps it has to
        open its first such plan.
        """
        wanted = charge_request(spend, said["purpose"], said["plan_fingerprint"], key, said["owner"], 0)
        self._begin()
        with self._chronicle.writing() as page:
            open_account(page, self._account)
            secret = token_hex(32)
            page.append(*charge_row(page.book, self._account, wanted, page.now(), commitment_of(secret), page.who()))
            number = len(page.book.entries)
            page.append(*_row_of(page, InstalmentStep(number, OPEN, 0, "", None, "", storable(text, "plan"))))
            page.commit()
            return page.book.windows[number]

    def window(self, key: str, *, plan_fingerprint: str) -> Window | None:
        """The plan that was opened under this key, None where none was.

        Raises: LedgerError where the key is that of another plan, policy or edition, or of a release.
        """
        if self._new and not self._chronicle.store.exists():
            return None
        with self._chronicle.reading() as (book, _):
            entry = book.keys.get(key)
            if entry is None:
                return None
            check_same(book, entry, self._account, plan_fingerprint, entry.spend, entry.charged_by)
            if entry.number not in book.windows:
                raise unusable(book.described, f"the key '{key}' is that of a release, which opened no plan")
            return book.windows[entry.number]

    def take_step(self, step: InstalmentStep) -> InstalmentStep:
        """Write down a step of a plan that is released in instalments; what another process wrote first stands.

        Returns: the step that is written there now, this one or the other.
        Raises: LedgerError where it cannot be the next, or nothing can be written.
        """
        with self._chronicle.writing() as page:
            window = page.book.windows.get(step.entry)
            known = None if window is None else window.like(step)
            if known is not None:
                return known
            if window is None:
                raise unusable(page.book.described, f"entry {step.entry} opened no plan; nothing was written")
            refusal = window.refusal(step)
            if refusal is not None:
                raise unusable(page.book.described, f"{refusal}; nothing was written")
            page.append(*_row_of(page, step))
            page.commit()
            return window.like(step) or step

    def now(self) -> datetime:
        """The time, by the clock that all who write here share."""
        if self._new:
            return datetime.now(UTC)
        with self._chronicle.reading() as (_, session):
            return session.now()

    def spent(self) -> Fraction:
        """The sum of this policy's spends, of this edition only where editions have other people; *rounded up* where
        squares add up, whose root it is then."""
        with self._book() as book:
            kept = book.account_for(self._account)
            edition = self._account.data_set.edition
            return Fraction(0) if kept is None else book.privacy_measure.spend_above(book.spent(kept.number, edition))

    def remaining(self) -> Fraction:
        """What can still be spent under this policy: its budget less its spends, or what is left of the data set's;
        where squares add up the root of what is left of the budget's, *rounded down*."""
        with self._book() as book:
            return remaining_of(book, self._account)

    def require_left(self, spend: Fraction, owner: str | None = None) -> None:
        """Raises: BudgetExceeded where a charge of so much would be refused by now; LedgerError for no such owner. Who
        charges is asked again: others may charge in between."""
        wanted = charge_request(spend, "", "", None, owner, 0)
        with self._book_so_far() as book:
            require_left(book, self._account, wanted)

    def entries(self) -> tuple[Entry, ...]:
        """Every charge so far, of all the ledger's policies, oldest first."""
        with self._book() as book:
            return tuple(book.entries)

    def disclosed_loss(self, policy: Any, **more: Any) -> Any:
        """What all releases so far may have told: :func:`dxgeom.disclosure.disclosed_loss` of this ledger as it is."""
        with self._book() as book:
            return import_module("dxgeom.disclosure.all_releases").disclosed_loss(history_of(book, {}), policy, **more)

    told = OldName("disclosed_loss")

    def close(self) -> None:
        """Ends the use of this object; the file stays."""
        self._closed = True
        self._held.store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _book_so_far(self) -> AbstractContextManager[Book]:
        """As it is, or as it would begin."""
        return nullcontext(new_book(self._account)[0]) if self._new else self._book()

    @contextmanager
    def _book(self) -> Iterator[Book]:
        with self._chronicle.reading() as (book, _):
            yield book

    @property
    def _chronicle(self) -> Chronicle:
        """Raises: LedgerError once the ledger was closed."""
        if self._closed:
            raise unusable(self._held.store.described, "it was closed; open it again")
        return self._held

    def _begin(self, records: list[Record] | None = None) -> None:
        if self._new and not self._chronicle.store.exists():
            self._chronicle.store.begin(new_book(self._account)[1] if records is None else records)
        self._new = False


@contextmanager
def ledger_of(ledger: str | Path | Ledger, account: Account) -> Iterator[Ledger]:
    """The ledger, open for this account; closed at the end if it was named by its path.

    A new file is begun with the first charge that it takes, and not before.
    Raises: LedgerError when it cannot be used, or is another policy's.
    """
    if isinstance(ledger, Ledger):
        kept = ledger.account
        if (kept.policy_fingerprint, kept.budget, kept.privacy_measure, kept.data_set) != (
            account.policy_fingerprint,
            account.budget,
            account.privacy_measure,
            account.data_set if account.data_set.name is not None else kept.data_set,
        ):
            raise LedgerError("this open ledger belongs to another policy or budget than the plan; nothing was spent")
        yield ledger
        return
    with Ledger.at(ledger, account) as opened:
        yield opened


def _row_of(page: Page, step: InstalmentStep) -> tuple[Table, tuple[Field, ...]]:
    """The step's row, at the end of the ledger, by its clock."""
    time = page.now().isoformat(timespec="microseconds")
    return INSTALMENTS, (page.book.steps + 1, step.entry, step.place, step.key, time, step.text)
