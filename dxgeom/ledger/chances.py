"""The second column of a ledger: with which chance releases are outside their promise, added up exactly.

Most releases promise what they promise always. One that reports keys that nobody listed may, with a chance δ, show one
that a single person has. Such chances add up over releases, whatever data earlier answers chose them for, and a policy
states the largest sum for all time as ``delta``. A row of chances stands right behind the row of the entry that it is
of, written with it or not at all; an entry without one has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.entry import Account, Entry, altered, amount, exact
from dxgeom.ledger.tables import CHANCES, Field, Table
from dxgeom.universe.columns import chance_in_words


@final
@dataclass(frozen=True)
class EntryChance:
    """Of one entry. ``chance``: its own; ``total``: of the account's entries up to it, whatever their edition;
    ``allowed``: what the account's policy allows for all time."""

    entry: int
    account: int
    chance: Fraction
    total: Fraction
    allowed: Fraction


@final
class Chances:
    """Those of a ledger's entries, by the entry's number."""

    def __init__(self) -> None:
        self.by_entry: dict[int, EntryChance] = {}
        self._last: dict[int, EntryChance] = {}

    def spent(self, account: int) -> Fraction:
        """The sum of an account's chances: of all editions together, also where these have other people."""
        return self._last[account].total if account in self._last else Fraction(0)

    def add(self, described: str, row: Mapping[str, Any], last: Entry | None, behind: bool) -> None:
        """Take a row in. ``last``: the entry of the newest charge; ``behind``: whether the row is right behind it.

        Raises: LedgerError where it cannot have been written.
        """
        if last is None or not behind or row["number"] != len(self.by_entry) + 1 or row["entry"] != last.number:
            raise altered(described, "it states a chance of no entry, or apart from it")
        chance, total, allowed = (
            exact(row[name], f"the {name} of entry {last.number}", described) for name in ("chance", "total", "allowed")
        )
        before = self._last.get(last.account)
        if total != self.spent(last.account) + chance or total > allowed or allowed >= 1:
            raise altered(described, f"entry {last.number} states chances that do not add up, or more than is allowed")
        if before is not None and before.allowed != allowed:
            raise altered(described, f"entry {last.number} allows other chances than the entries before it")
        self.by_entry[last.number] = self._last[last.account] = EntryChance(
            last.number, last.account, chance, total, allowed
        )

    def row(
        self, described: str, entry: int, number: int, account: Account, chance: Fraction
    ) -> tuple[Table, tuple[Field, ...]]:
        """The row of a chance of the entry that is about to be written, of the account of this number.

        Raises: BudgetExceeded for more than the policy's ``delta``; LedgerError where it states none, or another.
        """
        allowed, spent, whose = account.delta, self.spent(number), f"policy '{account.policy_name}'"
        if allowed is None:
            said = chance_in_words(chance)
            raise LedgerError(
                f"{whose} states no 'delta', and this release is outside its promise with chance {said}; nothing was "
                f"spent; write 'delta: {said}' into the policy"
            )
        before = self._last.get(number)
        if before is not None and before.allowed != allowed:
            known, stated = chance_in_words(before.allowed), chance_in_words(allowed)
            raise LedgerError(
                f"the ledger {described} allows {whose} chances of {known}, and the policy says {stated}; nothing was "
                "spent; use that policy"
            )
        if chance > allowed - spent:
            whole, gone, left, asked = map(chance_in_words, (allowed, spent, allowed - spent, chance))
            advice = f"ask with a delta of at most {left}" if spent < allowed else "no further such release is possible"
            raise BudgetExceeded(
                f"the 'delta' of {whose} is {whole}: {gone} is spent, {left} remains, and this asks for {asked}; "
                f"nothing was spent; {advice}"
            )
        total = spent + chance
        amount(total, "sum of all chances")
        return CHANCES, (len(self.by_entry) + 1, entry, str(chance), str(total), str(allowed))


def checked_chance(chance: Fraction | None) -> Fraction | None:
    """The same, if a ledger can hold it. Raises: LedgerError unless it is None or above 0 and below 1."""
    if chance is None:
        return None
    if amount(chance, "chance delta") >= 1:
        raise LedgerError(f"a chance delta is below 1; found {chance}")
    return Fraction(chance)
