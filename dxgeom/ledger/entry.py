"""What a ledger holds: the account it is kept for, its entries, and the chain of hashes that ties them."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dxgeom.errors import LedgerError

FORMAT = 1
"""The version of the file's layout that is written and read here."""

_EXACT = re.compile(r"([1-9][0-9]{0,299})(/([1-9][0-9]{0,299}))?")
_LARGEST = 10**300


@final
@dataclass(frozen=True)
class Account:
    """Whose budget it is: one policy, one budget, for good."""

    policy_name: str
    policy_fingerprint: str
    budget: Fraction

    @property
    def seal(self) -> str:
        """The hash that the first entry builds upon."""
        return _hash("dxgeom ledger", FORMAT, self.policy_name, self.policy_fingerprint, str(self.budget))


@final
@dataclass(frozen=True)
class Entry:
    """One charge: ``number`` counts from 1; ``remaining`` is the budget left right after it."""

    number: int
    spend: Fraction
    purpose: str
    plan_fingerprint: str
    time_utc: str
    remaining: Fraction

    def seal(self, previous: str) -> str:
        """SHA-256 of the previous seal and this entry's own fields."""
        return _hash(previous, self.number, str(self.spend), self.purpose, self.plan_fingerprint, self.time_utc)


def exact(text: str) -> Fraction:
    """The positive fraction that a ledger holds as text.

    Raises: ValueError when the text is not one in lowest terms.
    """
    match = _EXACT.fullmatch(text)
    number = Fraction(int(match[1]), int(match[3] or 1)) if match else Fraction(0)
    if str(number) != text:
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

    Raises: LedgerError when it is not text that UTF-8 can write.
    """
    if not isinstance(text, str):
        raise LedgerError(f"the {what} is text; found {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LedgerError(f"the {what} has characters that cannot be written as UTF-8; leave them out") from error
    return text


def _hash(*parts: str | int) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
