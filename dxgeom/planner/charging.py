"""The order of every release: the ledger is charged, on disk, and only then randomness is read."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from dxgeom.errors import LedgerError
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Answer, Data, Mechanism
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness, SystemRandomness

if TYPE_CHECKING:
    from dxgeom.ledger.ledger import Ledger


class Charge(NamedTuple):
    """What is written into the ledger. ``ledger``: path (created when new), ``":memory:"``, or an open Ledger."""

    ledger: str | Ledger
    spend: Fraction
    purpose: str
    plan_fingerprint: str


def charged_answer(
    mechanism: Mechanism[Data, Answer], data: Data, due: Charge, insecure_test_seed: int | None
) -> tuple[Answer, Fraction]:
    """One answer, and what then remains of the budget.

    Raises: what the mechanism refuses, BudgetExceeded, LedgerError, each without anything charged.
    """
    mechanism.check(data, due.spend)
    randomness = _randomness_of(insecure_test_seed)
    remaining = _charge(mechanism.account, due)
    return mechanism.draw(data, due.spend, randomness), remaining


def _charge(account: Account, due: Charge) -> Fraction:
    from dxgeom.ledger.ledger import Ledger

    entry = {"purpose": due.purpose, "plan_fingerprint": due.plan_fingerprint}
    if isinstance(due.ledger, Ledger):
        kept = due.ledger.account
        if (kept.policy_fingerprint, kept.budget) != (account.policy_fingerprint, account.budget):
            raise LedgerError("this open ledger belongs to another policy or budget than the plan; nothing was spent")
        return due.ledger.charge(due.spend, **entry).remaining
    with Ledger.open(
        due.ledger,
        policy_fingerprint=account.policy_fingerprint,
        policy_name=account.policy_name,
        budget=account.budget,
    ) as ledger:
        return ledger.charge(due.spend, **entry).remaining


def _randomness_of(insecure_test_seed: int | None) -> Randomness:
    """The operating system's source, unless a test asks for another by name."""
    return SystemRandomness() if insecure_test_seed is None else InsecureSeededRandomness(insecure_test_seed)
