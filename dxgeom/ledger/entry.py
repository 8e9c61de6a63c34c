"""What a ledger speaks of: accounts and entries; which numbers and texts it can hold, and how it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

from dxgeom.errors import LedgerBusy, LedgerError
from dxgeom.metrics.metric import UNNAMED, DataSet
from dxgeom.privacy.measures import PURE, Privacy
from dxgeom.universe.columns import plain
from dxgeom.universe.labels import PolicyLabels

RESTORE: Final = "restore it from a copy that is not older than the last release"
"""What to do about a ledger that is damaged."""


def unusable(described: str, reason: str) -> LedgerError:
    """The error that says why a ledger is refused."""
    return LedgerError(f"the ledger {described} cannot be used: {reason}")


def busy(described: str, reason: str) -> LedgerBusy:
    """The error about a ledger that others kept for too long."""
    return LedgerBusy(str(unusable(described, f"{reason}; try again")))


def altered(described: str, what: str) -> LedgerError:
    """The error about a ledger that is not what was written."""
    return unusable(described, f"it was altered: {what}; {RESTORE}")


NEW_LEDGER = "this ledger is new: releases about the same data in another ledger are not counted"
"""What is said of the first entry of a ledger: no file can tell that another one lies elsewhere."""

_EXACT = re.compile(r"([1-9][0-9]{0,299})(/([1-9][0-9]{0,299}))?")
_LARGEST = 10**300


@final
@dataclass(frozen=True)
class Account:
    """Whose budget it is: one policy, one budget, for good.

    ``privacy_measure``: how spends add up, "pure" or "concentrated". ``data_set``: which data it is about. ``policy``:
    the policy itself as canonical text, or what gives it, for those who ask later what was told; None where it is not
    at hand. ``alike``: whether another policy's text means the same, whose account then is this one's, too.
    ``labels``: what readers see instead of names and values. ``delta``: with which chance all releases together may be
    outside their promise, None for never. Nothing here comes from data.
    """

    policy_name: str
    policy_fingerprint: str
    budget: Fraction
    privacy_measure: Privacy = PURE
    data_set: DataSet = UNNAMED
    policy: str | Callable[[], str | None] | None = field(default=None, repr=False, compare=False)
    alike: Callable[[str], bool] | None = field(default=None, repr=False, compare=False)
    labels: PolicyLabels | None = field(default=None, repr=False, compare=False)
    delta: Fraction | None = None


@final
@dataclass(frozen=True)
class Accounts:
    """Several accounts for the same data, each with a budget of its own; where squares add up sums are roots of these.

    ``budgets``: their sum, ``spent``: what they spent together, both *rounded up* where they are roots; ``cap``: the
    data set's own budget, None without one.
    """

    number: int
    edition: str | None
    budgets: Fraction
    spent: Fraction
    cap: Fraction | None

    def __str__(self) -> str:
        where = "" if self.edition is None else f" in edition '{self.edition}'"
        most = (
            f"may spend {plain(self.budgets)}, which nothing else bounds: state 'budget' in the dataset"
            if self.cap is None
            else f"may spend {plain(min(self.cap, self.budgets))}, as the data set's own budget has it"
        )
        return (
            f"this ledger has {self.number} accounts for the same data, each policy its own; together they have spent "
            f"{plain(self.spent)}{where}, and {most}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; amounts are exact, as text."""
        edition = {} if self.edition is None else {"edition": self.edition}
        return {"accounts": self.number, **edition, "budgets": str(self.budgets), "spent": str(self.spent)}


@final
@dataclass(frozen=True)
class Entry:
    """One charge: ``number`` counts from 1, over all accounts of the ledger.

    ``remaining``: the account's budget left right after it; ``total``: what all accounts together had spent by then
    (both of this edition, where editions have disjoint people). Where squares add up both are roots, ``remaining``
    rounded down and ``total`` up; ``counted_remaining`` is exact: what is left of the budget's square. ``key``: what
    the release was called by who asked for it, if anything; ``owner``: of the allotment that it is counted against;
    ``reserved``: bytes of room made for its answer. ``seal``: SHA-256 over the entry and all that the ledger held
    before it. ``commitment``: SHA-256 of the secret that only who charged has, and without which no answer is its;
    None of charges that older versions wrote. ``charged_by``: the role that charged, where a server vouches for it.
    ``accounts``: what all accounts together came to, where there were several by then.
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
    commitment: str | None = None
    charged_by: str | None = None
    accounts: Accounts | None = None

    @property
    def warning(self) -> str | None:
        """What whoever released should know of the ledger: that it is new, or has several accounts."""
        said = [NEW_LEDGER] if self.number == 1 else []
        return "; ".join([*said, *([] if self.accounts is None else [str(self.accounts)])]) or None


def exact(text: str, what: str, described: str) -> Fraction:
    """The positive fraction that the ledger ``described`` holds as text. Raises: LedgerError for other text."""
    match = _EXACT.fullmatch(text)
    number = Fraction(int(match[1]), int(match[3] or 1)) if match else None
    if number is None or str(number) != text:
        raise altered(described, f"{what} is no positive fraction in lowest terms")
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
