"""Dividing an account: how much of it each owner may spend, and nobody else."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dxgeom.arguments import require
from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.book import Book
from dxgeom.ledger.chronicle import Page
from dxgeom.ledger.entry import Account, amount, storable
from dxgeom.ledger.refusals import unusable
from dxgeom.ledger.sums import Allotment
from dxgeom.ledger.tables import ALLOTMENTS, Field, Table
from dxgeom.universe.columns import plain


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
    currency = book.currency
    counted, spent = currency.counted(part), book.sums.most_spent(kept.number, owner)
    if counted < spent:
        least = plain(currency.spend_above(spent))
        raise LedgerError(
            f"the allotment '{owner}' has spent {least} already, and this would give it {plain(part)}; "
            f"give it at least {least}; nothing was changed"
        )
    left = book.sums.largest_allotment(kept.number, owner, currency.counted(kept.budget))
    if counted > left:
        most = currency.spend_below(left)
        raise BudgetExceeded(
            f"the budget of policy '{account.policy_name}' is {plain(kept.budget)}, of which {plain(most)} is neither "
            f"allotted to others nor spent by nobody's allotment, and this would give '{owner}' {plain(part)}; "
            f"nothing was changed; give it at most {plain(most)}, or others less"
        )
    return ALLOTMENTS, (book.allotted + 1, kept.number, owner, str(part))


def _part(part: object) -> Fraction:
    return Fraction(0) if part == 0 and not isinstance(part, bool) else amount(part, "part")
