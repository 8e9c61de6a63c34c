"""What a ledger speaks of: accounts, and entries; and which numbers and texts it can hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from dxgeom.errors import LedgerError
from dxgeom.metrics.checking.data_set import UNNAMED, DataSet
from dxgeom.privacy.currencies import PURE, Privacy

NEW_LEDGER = "this ledger is new: releases about the same data in another ledger are not counted"
"""What is said of the first entry of a ledger: no file can tell that another one lies elsewhere."""

_EXACT = re.compile(r"([1-9][0-9]{0,299})(/([1-9][0-9]{0,299}))?")
_LARGEST = 10**300


@final
@dataclass(frozen=True)
class Account:
    """Whose budget it is: one policy, one budget, for good.

    ``currency``: how spends add up, "pure" or "concentrated". ``data_set``: which data it is about. ``policy``: the
    policy itself as canonical text, or what gives it, for those who ask later what was told; None where it is not at
    hand. Nothing here comes from data.
    """

    policy_name: str
    policy_fingerprint: str
    budget: Fraction
    currency: Privacy = PURE
    data_set: DataSet = UNNAMED
    policy: str | Callable[[], str | None] | None = field(default=None, repr=False, compare=False)


@final
@dataclass(frozen=True)
class Entry:
    """One charge: ``number`` counts from 1, over all accounts of the ledger.

    ``remaining``: the account's budget left right after it; ``total``: what all accounts together had spent by then
    (both of this edition, where editions have disjoint people). Where squares add up both are roots, ``remaining``
    rounded down and ``total`` up; ``counted_remaining`` is exact: what is left of the budget's square. ``key``: what
    the release was called by who asked for it, if anything; ``owner``: of the allotment that it is counted against;
    ``reserved``: bytes of room made for its answer. ``seal``: SHA-256 over the entry and all that the ledger held
    before it.
    """

    number: int
    spend: Fraction
    purpose: str
    plan_fingerprint: str
    time_utc: str
    remaining: Fraction
    counted_remaining: Fraction
    total: Fraction
    account: int
    edition: str | None
    owner: str | None
    key: str | None
    reserved: int
    seal: str

    @property
    def warning(self) -> str | None:
        """What whoever released should know of the ledger; None of any entry but the first."""
        return warning_of(self.number)


def warning_of(entry: int) -> str | None:
    """:attr:`Entry.warning` of the entry with this number."""
    return NEW_LEDGER if entry == 1 else None


def exact(text: str) -> Fraction:
    """The positive fraction that a ledger holds as text.

    Raises: ValueError when the text is not one in lowest terms.
    """
    match = _EXACT.fullmatch(text)
    number = Fraction(int(match[1]), int(match[3] or 1)) if match else None
    if number is None or str(number) != text:
        raise ValueError("not a positive fraction in lowest terms")
    return number


def amount(number: object, what: str) -> Fraction:
    """The number itself, if a ledger can hold it.

    Raises: LedgerError when it is not exact, not positive, or has more than 300 digits.
    """
    if isinstance(number, bool) or not isinstance(number, int | Fraction):
        raise LedgerError(
            f"the {what} is an exact fraction, so that sums are exact; found {type(number).__name__} {number!r}; "
            "write for instance Fraction('0.1')"
        )
    if number <= 0:
        raise LedgerError(f"the {what} is more than 0; found {number}")
    fraction = Fraction(number)
    if max(fraction.numerator, fraction.denominator) >= _LARGEST:
        raise LedgerError(f"the {what} has more than 300 digits as an exact fraction; use a short decimal number")
    return fraction


def storable(text: str, what: str) -> str:
    """The text itself, if a ledger can hold it.

    Raises: LedgerError when it is not text that UTF-8 can write, or has a character of code 0, which SQL cannot read.
    """
    if not isinstance(text, str):
        raise LedgerError(f"the {what} is text; found {type(text).__name__}")
    if "\0" in text:
        raise LedgerError(f"the {what} has a character of code 0; leave it out")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LedgerError(f"the {what} has characters that cannot be written as UTF-8; leave them out") from error
    return text
