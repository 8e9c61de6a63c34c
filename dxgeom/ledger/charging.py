"""What may be written next: an account's first rows, its division, a charge; or why it is refused. No file, no data."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final, TypeAlias, final

from dxgeom.arguments import require
from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.book import ALL, Allotment, Book, KeptAccount
from dxgeom.ledger.chances import checked_chance
from dxgeom.ledger.chronicle import Page
from dxgeom.ledger.entry import Account, amount, storable, unusable
from dxgeom.ledger.tables import (
    ACCOUNTS,
    ALLOTMENTS,
    DATA_SETS,
    DISJOINT,
    ENTRIES,
    POLICIES,
    SHARED,
    Field,
    Record,
    Table,
)
from dxgeom.metrics.metric import DataSet
from dxgeom.privacy.measures import CONCENTRATED, PrivacyMeasure, privacy_measure_of
from dxgeom.universe.columns import plain

_ELSE: Final = "use that policy, or begin a new ledger in another file (which grants a new budget for the same data)"
_HONOURED: Final = " (noise for pure privacy serves there, too)"
_ANOTHER_FILE: Final = "name the ledger of these data, or begin a new one in another file"


def checked(account: Account) -> Account:
    """The account itself, if a ledger can hold it. Raises: LedgerError."""
    storable(account.policy_name, "policy's name")
    storable(account.policy_fingerprint, "policy's fingerprint")
    amount(account.budget, "budget")
    privacy_measure_of(account.privacy_measure, "privacy_measure")
    checked_chance(account.delta)
    data_set = account.data_set
    for text, what in ((data_set.name, "data set's name"), (data_set.edition, "data set's edition")):
        if text is not None:
            storable(text, what)
    if data_set.budget is not None:
        amount(data_set.budget, "data set's budget")
    return account


def kept_account(book: Book, account: Account) -> KeptAccount | None:
    """The account in this ledger, None where its first charge is to open it.

    Raises: LedgerError when the ledger is of another data set, or of another policy's data that nobody named, or keeps
    another budget.
    """
    _check_privacy_measure(book, account)
    kept = book.account_for(account)
    if account.data_set.name != book.data_set.name:
        _check_naming(book, account, kept)
    elif kept is None and book.data_set.name is None and book.accounts:
        raise _stranger(book, account)
    _check_terms(book, account.data_set)
    if kept is not None and kept.budget != account.budget:
        raise unusable(
            book.described, f"its budget is {plain(kept.budget)}, and the policy's is {plain(account.budget)}; {_ELSE}"
        )
    return kept


def missing_rows(book: Book, account: Account) -> Iterator[tuple[Table, tuple[Field, ...]]]:
    """What is to be written about the account before it is charged: of a new ledger, all.

    Raises: LedgerError as :func:`kept_account`; rows are to be added to the book one by one.
    """
    kept = kept_account(book, account) if book.ledger else None
    declared, known = account.data_set, book.data_set
    says_more = (declared.name, declared.budget or known.budget) != (known.name, known.budget)
    if not book.ledger or (declared.name is not None and says_more):
        yield _declaration(book, declared)
    number = len(book.accounts) + 1 if kept is None else kept.number
    if kept is None:
        budget = str(account.budget)
        yield ACCOUNTS, (number, account.policy_name, account.policy_fingerprint, budget, account.privacy_measure)
    if account.policy is not None and number not in book.documents:
        document = account.policy if isinstance(account.policy, str) else account.policy()
        if document is not None:
            yield POLICIES, (number, storable(document, "policy's text"))


def open_account(page: Page, account: Account) -> None:
    """Write down what is missing about the account. Raises: as :func:`missing_rows`."""
    for table, fields in missing_rows(page.book, account):
        page.append(table, fields)


def new_book(account: Account) -> tuple[Book, list[Record]]:
    """The book and the rows of a new ledger. Raises: LedgerError."""
    book, records = Book("new"), []
    for table, fields in missing_rows(book, account):
        records.append(book.next_record(table, *fields))
        book.add(records[-1])
    return book, records


def _declaration(book: Book, declared: DataSet) -> tuple[Table, tuple[Field, ...]]:
    budget = declared.budget or book.data_set.budget
    people = DISJOINT if declared.disjoint else SHARED
    ledger = book.ledger or uuid.uuid4().hex
    return DATA_SETS, (book.declared + 1, ledger, declared.name, people, None if budget is None else str(budget), None)


def _check_privacy_measure(book: Book, account: Account) -> None:
    """A ledger has the measure of its first account: two do not mix."""
    known = book.privacy_measure.name
    if book.accounts and account.privacy_measure != known:
        raise unusable(
            book.described,
            f"it counts {known} privacy from its first entry on, and the policy says '{account.privacy_measure}'; "
            f"write 'privacy: {known}' into the policy{_HONOURED if known == CONCENTRATED else ''}"
            f", or begin a new ledger in "
            "another file (which grants a new budget for the same data)",
        )


def _check_naming(book: Book, account: Account, kept: KeptAccount | None) -> None:
    """A policy that names no data set may go on; data that nobody named may be named by a policy that is known."""
    wanted, known = account.data_set, book.data_set
    if kept is not None and known.name is None:
        return
    if known.name is None:
        raise _stranger(book, account)
    if wanted.name is not None:
        raise unusable(
            book.described, f"it is kept for data set '{known.name}', and this is '{wanted.name}'; {_ANOTHER_FILE}"
        )
    if kept is None:
        raise unusable(
            book.described,
            f"it is kept for data set '{known.name}', and policy '{account.policy_name}' does not say which data it is "
            f"about; write 'dataset: {{name: {known.name}}}' into the policy if it is these",
        )


def _check_terms(book: Book, wanted: DataSet) -> None:
    known = book.data_set
    if known.name is not None and wanted.name is not None and wanted.disjoint != book.disjoint:
        said = "other people in each edition" if book.disjoint else "the same people in its editions"
        raise unusable(
            book.described,
            f"it counts data set '{known.name}' as having {said}, and the policy says otherwise; "
            f"{'write' if book.disjoint else 'leave out'} 'people: disjoint', or begin a new ledger in another file",
        )
    if book.disjoint and wanted.edition is None:
        raise unusable(
            book.described,
            f"its editions have different people, and this release names none; add 'edition' to the dataset, with "
            f"name '{known.name}'",
        )
    if known.budget is not None and wanted.budget is not None and known.budget != wanted.budget:
        raise unusable(
            book.described,
            f"its budget for the data set as a whole is {plain(known.budget)}, and the policy's is "
            f"{plain(wanted.budget)}; state the same, or leave it out",
        )


def _stranger(book: Book, account: Account) -> Exception:
    kept = book.accounts[0]
    return unusable(
        book.described,
        f"it is kept for policy '{kept.policy_name}' ({kept.policy_fingerprint[:12]}…), and this is policy "
        f"'{account.policy_name}' ({account.policy_fingerprint[:12]}…); {_ELSE}",
    )


LARGEST_RESERVE = 2**40
"""Bytes of room that can be asked for; more is a mistake."""


@final
@dataclass(frozen=True)
class ChargeRequest:
    """What a release asks of the ledger; made by :func:`charge_request`."""

    spend: Fraction
    purpose: str
    plan_fingerprint: str
    key: str | None
    owner: str | None
    reserve: int
    chance: Fraction | None = None


def charge_request(
    spend: object,
    purpose: str,
    plan_fingerprint: str,
    key: str | None,
    owner: str | None,
    reserve: int,
    chance: Fraction | None = None,
) -> ChargeRequest:
    """The same, if a ledger can hold it. Raises: LedgerError."""
    for text, what in ((key, "key"), (owner, "owner")):
        if text is not None and not storable(text, what):
            raise LedgerError(f"the {what} is empty; leave it out, or give it a name")
    if isinstance(reserve, bool) or not isinstance(reserve, int) or not 0 <= reserve <= LARGEST_RESERVE:
        raise LedgerError(f"the room reserved for an answer is a number of bytes from 0 to 2^40; found {reserve!r}")
    return ChargeRequest(
        amount(spend, "spend"),
        storable(purpose, "purpose"),
        storable(plan_fingerprint, "plan's fingerprint"),
        key,
        owner,
        reserve,
        checked_chance(chance),
    )


Row: TypeAlias = tuple[Table, tuple[Field, ...]]


def charge_rows(
    book: Book, account: Account, wanted: ChargeRequest, now: datetime, commitment: str, who: str | None = None
) -> tuple[Row, ...]:
    """The entry's row, and behind it that of its chance where it has one; the account's own are in the book already.

    Raises: as :func:`charge_row`; LedgerError where the policy states no ``delta``.
    """
    row, kept = charge_row(book, account, wanted, now, commitment, who), book.account_for(account)
    if wanted.chance is None or kept is None:
        return (row,)
    return row, book.chances.row(book.described, len(book.entries) + 1, kept.number, account, wanted.chance)


def charge_row(
    book: Book, account: Account, wanted: ChargeRequest, now: datetime, commitment: str, who: str | None = None
) -> Row:
    """The entry's row, which commits to a secret. The account's own rows are in the book already.

    Raises: BudgetExceeded; LedgerError for a key that is taken, or sums of too many digits.
    """
    kept = book.account_for(account)
    if kept is None:
        raise unusable(book.described, "the account is not opened yet")
    if wanted.key is not None and wanted.key in book.keys:
        raise unusable(
            book.described,
            f"the key '{wanted.key}' is that of entry {book.keys[wanted.key].number}; nothing was spent; look up its "
            "answer by the key, or give this release a key of its own",
        )
    remaining, total = _after(book, kept, account, wanted.spend)
    _check_allotment(book, kept, account, wanted)
    return ENTRIES, (
        len(book.entries) + 1,
        kept.number,
        account.data_set.edition,
        wanted.owner,
        wanted.key,
        str(wanted.spend),
        str(remaining),
        str(total),
        wanted.purpose,
        wanted.plan_fingerprint,
        now.isoformat(timespec="microseconds"),
        wanted.reserve,
        commitment,
        who,
    )


def require_left(book: Book, account: Account, wanted: ChargeRequest) -> None:
    """Raises: BudgetExceeded, LedgerError as a charge of so much would, for what is not there."""
    kept, measure = book.account_for(account), privacy_measure_of(account.privacy_measure)
    if kept is not None:
        _after(book, kept, account, wanted.spend)
        _check_allotment(book, kept, account, wanted)
    elif wanted.spend > account.budget:
        whole = measure.counted(account.budget)
        raise _exceeded(f"policy '{account.policy_name}'", measure, whole, Fraction(0), wanted.spend)


def remaining_of(book: Book, account: Account) -> Fraction:
    """What the account has left, its share of the data set's own budget included."""
    kept = book.account_for(account)
    edition = account.data_set.edition
    measure = privacy_measure_of(account.privacy_measure)
    left = measure.counted(account.budget) - (Fraction(0) if kept is None else book.spent(kept.number, edition))
    cap = account.data_set.budget if book.data_set.budget is None else book.data_set.budget
    if cap is not None:
        left = max(Fraction(0), min(left, measure.counted(cap) - book.spent(ALL, edition)))
    return measure.spend_below(left)


def _after(book: Book, kept: KeptAccount, account: Account, spend: Fraction) -> tuple[Fraction, Fraction]:
    """What is left of the account, and what all have spent, after the spend, as the measure counts it."""
    edition = account.data_set.edition
    spent, all_spent, cap = book.spent(kept.number, edition), book.spent(ALL, edition), book.data_set.budget
    measure = book.privacy_measure
    counted, added = measure.counted, measure.counted(spend)
    if added > counted(kept.budget) - spent:
        raise _exceeded(f"policy '{account.policy_name}'", measure, counted(kept.budget), spent, spend)
    if cap is not None and added > counted(cap) - all_spent:
        raise _exceeded(f"{account.data_set}, for all policies together,", measure, counted(cap), all_spent, spend)
    remaining, total = counted(kept.budget) - spent - added, all_spent + added
    if remaining:
        amount(remaining, "budget that would remain")
    amount(total, "sum of all spends")
    return remaining, total


def _check_allotment(book: Book, kept: KeptAccount, account: Account, wanted: ChargeRequest) -> None:
    """Refuse what an allotment, or what is not allotted, does not allow. Raises: BudgetExceeded, LedgerError."""
    allotted, part = book.sums.allotted(kept.number), book.sums.part(kept.number, wanted.owner)
    if not allotted:
        return
    if part is None and wanted.owner is not None:
        raise no_allotment(account, wanted.owner, allotted)
    size = book.sums.size_of_part(kept.number, part, book.privacy_measure.counted(kept.budget))
    spent = book.sums.spent_of_part(kept.number, part, account.data_set.edition)
    if book.privacy_measure.counted(wanted.spend) > size - spent:
        whose = "what is not allotted" if part is None else f"the allotment '{part}'"
        raise _exceeded(f"{whose} of policy '{account.policy_name}'", book.privacy_measure, size, spent, wanted.spend)


def no_allotment(account: Account, owner: str, known: Iterable[str]) -> LedgerError:
    """The error about an allotment that is not there."""
    names = ", ".join(f"'{name}'" for name in known) or "none"
    return LedgerError(
        f"policy '{account.policy_name}' has no allotment '{owner}' in this ledger; it has {names}; nothing was spent; "
        "name one of these, or make it with 'dxgeom ledger allot'"
    )


def _exceeded(
    whose: str, privacy_measure: PrivacyMeasure, size: Fraction, spent: Fraction, spend: Fraction
) -> BudgetExceeded:
    """``size`` and ``spent``: as the measure counts them."""
    remaining, budget = privacy_measure.spend_below(max(Fraction(0), size - spent)), privacy_measure.spend_below(size)
    spent, how = privacy_measure.spend_above(spent), " (squares of spends add up)" if privacy_measure.squares else ""
    advice = f"ask for at most {plain(remaining)}" if remaining else "no further release is possible"
    return BudgetExceeded(
        f"the budget of {whose} is {plain(budget)}: {plain(spent)} is spent, {plain(remaining)} remains{how}, and this "
        f"asks for {plain(spend)}; nothing was spent; {advice}"
    )


def checked_parts(parts: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """The same, if a ledger can hold it. Raises: LedgerError, WrongArgument."""
    require(parts, Mapping, "parts", "name each owner with what he may spend: {'ana': Fraction('0.5')}")
    checked = {storable(owner, "owner"): _part(part) for owner, part in parts.items()}
    if "" in checked or not checked:
        raise LedgerError("an allotment has an owner, by name; found none")
    return checked


def divide(page: Page, account: Account, parts: Mapping[str, Fraction]) -> tuple[Allotment, ...]:
    """Give each owner his part, all or none, and commit; the whole division. Raises: BudgetExceeded, LedgerError."""
    had = {kept.owner: kept.amount for kept in allotments_of(page.book, account)}
    # Who gets less goes first, so that one may be given what another had.
    for owner, part in sorted(parts.items(), key=lambda one: one[1] >= had.get(one[0], 0)):
        page.append(*_row(page.book, account, owner, part))
    page.commit()
    return allotments_of(page.book, account)


def allotments_of(book: Book, account: Account) -> tuple[Allotment, ...]:
    """How the account is divided, and what was spent of each part."""
    kept = book.account_for(account)
    return () if kept is None else book.division(kept.number, account.data_set.edition)


def _row(book: Book, account: Account, owner: str, part: Fraction) -> tuple[Table, tuple[Field, ...]]:
    """The row that gives an owner this much of the account, whose own rows are in the book already.

    Raises: BudgetExceeded for more than there is; LedgerError for less than he has spent.
    """
    kept = book.account_for(account)
    if kept is None:
        raise unusable(book.described, "the account is not opened yet")
    measure = book.privacy_measure
    counted, spent = measure.counted(part), book.sums.most_spent(kept.number, owner)
    if counted < spent:
        least = plain(measure.spend_above(spent))
        raise LedgerError(
            f"the allotment '{owner}' has spent {least} already, and this would give it {plain(part)}; "
            f"give it at least {least}; nothing was changed"
        )
    left = book.sums.largest_allotment(kept.number, owner, measure.counted(kept.budget))
    if counted > left:
        most = measure.spend_below(left)
        raise BudgetExceeded(
            f"the budget of policy '{account.policy_name}' is {plain(kept.budget)}, of which {plain(most)} is neither "
            f"allotted to others nor spent by nobody's allotment, and this would give '{owner}' {plain(part)}; "
            f"nothing was changed; give it at most {plain(most)}, or others less"
        )
    return ALLOTMENTS, (book.allotted + 1, kept.number, owner, str(part))


def _part(part: object) -> Fraction:
    return Fraction(0) if part == 0 and not isinstance(part, bool) else amount(part, "part")
