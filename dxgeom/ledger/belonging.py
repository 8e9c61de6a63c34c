"""Whose ledger it is: which policies a ledger takes, and what it writes down about one before its first charge."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Final

from dxgeom.ledger.book import Book, KeptAccount
from dxgeom.ledger.chronicle import Page
from dxgeom.ledger.entry import Account, amount, storable
from dxgeom.ledger.refusals import unusable
from dxgeom.ledger.tables import ACCOUNTS, DATA_SETS, DISJOINT, POLICIES, SHARED, Field, Record, Table
from dxgeom.metrics.data_set import DataSet
from dxgeom.privacy.currencies import CONCENTRATED, currency_of
from dxgeom.universe.columns import plain

_ELSE: Final = "use that policy, or begin a new ledger in another file (which grants a new budget for the same data)"
_HONOURED: Final = " (noise for pure privacy serves there, too)"
_ANOTHER_FILE: Final = "name the ledger of these data, or begin a new one in another file"


def checked(account: Account) -> Account:
    """The account itself, if a ledger can hold it. Raises: LedgerError."""
    storable(account.policy_name, "policy's name")
    storable(account.policy_fingerprint, "policy's fingerprint")
    amount(account.budget, "budget")
    currency_of(account.currency, "currency")
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
    _check_currency(book, account)
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
        yield ACCOUNTS, (number, account.policy_name, account.policy_fingerprint, budget, account.currency)
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


def _check_currency(book: Book, account: Account) -> None:
    """A ledger has the currency of its first account: two do not mix."""
    known = book.currency.name
    if book.accounts and account.currency != known:
        raise unusable(
            book.described,
            f"it counts {known} privacy from its first entry on, and the policy says '{account.currency}'; write "
            f"'privacy: {known}' into the policy{_HONOURED if known == CONCENTRATED else ''}, or begin a new ledger in "
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
