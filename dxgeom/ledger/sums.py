"""What was spent, by account, allotment and edition: sums that a ledger's rows add up to."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

ALL: Final = 0
"""Stands for all accounts together."""


@final
@dataclass(frozen=True)
class Allotment:
    """A part of an account, for an owner: a user, a team or a purpose.

    ``edition``: whose spends are counted where editions have other people, else None. ``remaining``: what the owner can
    still spend, if the account's and the data set's budgets allow it. Where squares add up ``spent`` is the root of the
    sum of squares, *rounded up*, and ``remaining`` the root of what is left of the amount's square, *rounded down*.
    """

    account: int
    owner: str
    edition: str | None
    amount: Fraction
    spent: Fraction
    remaining: Fraction


@final
class Sums:
    """Sums of spends so far. Where editions have other people each has its own, besides what was spent before that.

    All amounts here are as the ledger's currency counts them: spends, allotments and budgets, or the squares of these.
    """

    def __init__(self) -> None:
        self.disjoint = False
        self._accounts: dict[tuple[int, str | None], Fraction] = defaultdict(Fraction)
        self._parts: dict[tuple[int, str | None, str | None], Fraction] = defaultdict(Fraction)
        self._allotted: dict[tuple[int, str], Fraction] = {}

    def add(self, account: int, owner: str | None, edition: str | None, added: Fraction) -> None:
        """Count an entry: against its owner's allotment if he has one by now, else against what is not allotted."""
        counted = edition if self.disjoint else None
        for whose in (account, ALL):
            self._accounts[whose, counted] += added
        self._parts[account, self.part(account, owner), counted] += added

    def allot(self, account: int, owner: str, amount: Fraction) -> None:
        """Give an owner this much of an account from now on, in place of what he had."""
        self._allotted[account, owner] = amount

    def spent(self, account: int, edition: str | None) -> Fraction:
        """By an account, or by :data:`ALL`."""
        before = self._accounts[account, None]
        return before + self._accounts[account, edition] if self.disjoint and edition is not None else before

    def part(self, account: int, owner: str | None) -> str | None:
        """The owner if a part of the account is his, None for what is not allotted."""
        return owner if owner is not None and (account, owner) in self._allotted else None

    def spent_of_part(self, account: int, part: str | None, edition: str | None) -> Fraction:
        """Of an owner's part, or of what is not allotted (None)."""
        before = self._parts[account, part, None]
        return before + self._parts[account, part, edition] if self.disjoint and edition is not None else before

    def allotted(self, account: int) -> dict[str, Fraction]:
        """What each owner was given of an account."""
        return {owner: amount for (number, owner), amount in self._allotted.items() if number == account}

    def size_of_part(self, account: int, part: str | None, budget: Fraction) -> Fraction:
        """What was given to an owner, or what of the budget was given to none (None)."""
        return budget - sum(self.allotted(account).values()) if part is None else self._allotted[account, part]

    def most_spent(self, account: int, part: str | None) -> Fraction:
        """:meth:`spent_of_part` of the edition in which it is most."""
        editions = {edition for number, _, edition in [*self._parts] if number == account} | {None}
        return max(self.spent_of_part(account, part, edition) for edition in editions)

    def largest_allotment(self, account: int, owner: str, budget: Fraction) -> Fraction:
        """What an owner can be given at most: the budget less what others have, and what was spent of no allotment."""
        others = sum(amount for name, amount in self.allotted(account).items() if name != owner)
        return budget - others - self.most_spent(account, None)
