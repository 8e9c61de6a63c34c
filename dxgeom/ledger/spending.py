"""What the next charge would be, or why it is refused: no file, no clock, no data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import final

from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.book import Book, KeptAccount
from dxgeom.ledger.entry import Account, amount, storable
from dxgeom.ledger.refusals import unusable
from dxgeom.ledger.sums import ALL
from dxgeom.ledger.tables import ENTRIES, Field, Table
from dxgeom.privacy.currencies import Currency, currency_of
from dxgeom.universe.columns import plain

LARGEST_RESERVE = 2**40
"""Bytes of room that can be asked for; more is a mistake."""


@final
@dataclass(frozen=True)
class Asked:
    """What a release asks of the ledger; made by :func:`asked`."""

    spend: Fraction
    purpose: str
    plan_fingerprint: str
    key: str | None
    owner: str | None
    reserve: int


def asked(
    spend: object, purpose: str, plan_fingerprint: str, key: str | None, owner: str | None, reserve: int
) -> Asked:
    """The same, if a ledger can hold it. Raises: LedgerError."""
    for text, what in ((key, "key"), (owner, "owner")):
        if text is not None and not storable(text, what):
            raise LedgerError(f"the {what} is empty; leave it out, or give it a name")
    if isinstance(reserve, bool) or not isinstance(reserve, int) or not 0 <= reserve <= LARGEST_RESERVE:
        raise LedgerError(f"the room reserved for an answer is a number of bytes from 0 to 2^40; found {reserve!r}")
    return Asked(
        amount(spend, "spend"),
        storable(purpose, "purpose"),
        storable(plan_fingerprint, "plan's fingerprint"),
        key,
        owner,
        reserve,
    )


def charge_row(
    book: Book, account: Account, wanted: Asked, now: datetime, commitment: str, who: str | None = None
) -> tuple[Table, tuple[Field, ...]]:
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


def remaining_of(book: Book, account: Account) -> Fraction:
    """What the account has left, its share of the data set's own budget included."""
    kept = book.account_for(account)
    edition = account.data_set.edition
    currency = currency_of(account.currency)
    left = currency.counted(account.budget) - (Fraction(0) if kept is None else book.spent(kept.number, edition))
    cap = account.data_set.budget if book.data_set.budget is None else book.data_set.budget
    if cap is not None:
        left = max(Fraction(0), min(left, currency.counted(cap) - book.spent(ALL, edition)))
    return currency.spend_below(left)


def _after(book: Book, kept: KeptAccount, account: Account, spend: Fraction) -> tuple[Fraction, Fraction]:
    """What is left of the account, and what all have spent, after the spend, as the currency counts it."""
    edition = account.data_set.edition
    spent, all_spent, cap = book.spent(kept.number, edition), book.spent(ALL, edition), book.data_set.budget
    currency = book.currency
    counted, added = currency.counted, currency.counted(spend)
    if added > counted(kept.budget) - spent:
        raise _exceeded(f"policy '{account.policy_name}'", currency, counted(kept.budget), spent, spend)
    if cap is not None and added > counted(cap) - all_spent:
        raise _exceeded(f"{account.data_set}, for all policies together,", currency, counted(cap), all_spent, spend)
    remaining, total = counted(kept.budget) - spent - added, all_spent + added
    if remaining:
        amount(remaining, "budget that would remain")
    amount(total, "sum of all spends")
    return remaining, total


def _check_allotment(book: Book, kept: KeptAccount, account: Account, wanted: Asked) -> None:
    """Refuse what an allotment, or what is not allotted, does not allow. Raises: BudgetExceeded, LedgerError."""
    allotted, part = book.sums.allotted(kept.number), book.sums.part(kept.number, wanted.owner)
    if not allotted:
        return
    if part is None and wanted.owner is not None:
        raise no_allotment(account, wanted.owner, allotted)
    size = book.sums.size_of_part(kept.number, part, book.currency.counted(kept.budget))
    spent = book.sums.spent_of_part(kept.number, part, account.data_set.edition)
    if book.currency.counted(wanted.spend) > size - spent:
        whose = "what is not allotted" if part is None else f"the allotment '{part}'"
        raise _exceeded(f"{whose} of policy '{account.policy_name}'", book.currency, size, spent, wanted.spend)


def no_allotment(account: Account, owner: str, known: Iterable[str]) -> LedgerError:
    """The error about an allotment that is not there."""
    names = ", ".join(f"'{name}'" for name in known) or "none"
    return LedgerError(
        f"policy '{account.policy_name}' has no allotment '{owner}' in this ledger; it has {names}; nothing was spent; "
        "name one of these, or make it with 'dxgeom ledger allot'"
    )


def _exceeded(whose: str, currency: Currency, size: Fraction, spent: Fraction, spend: Fraction) -> BudgetExceeded:
    """``size`` and ``spent``: as the currency counts them."""
    remaining, budget = currency.spend_below(max(Fraction(0), size - spent)), currency.spend_below(size)
    spent, how = currency.spend_above(spent), " (squares of spends add up)" if currency.squares else ""
    advice = f"ask for at most {plain(remaining)}" if remaining else "no further release is possible"
    return BudgetExceeded(
        f"the budget of {whose} is {plain(budget)}: {plain(spent)} is spent, {plain(remaining)} remains{how}, and this "
        f"asks for {plain(spend)}; nothing was spent; {advice}"
    )
