"""The order of every release: the ledger is charged, on disk, and only then randomness exists."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dxgeom.errors import LedgerError
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness, SystemRandomness

if TYPE_CHECKING:
    from dxgeom.ledger.ledger import Ledger


def charge(
    metric: VerifiedMetric, ledger: str | Ledger, spend: Fraction, *, purpose: str, plan_fingerprint: str
) -> Fraction:
    """Spend a multiple of the metric in its ledger; what remains afterwards.

    Args: ``ledger``: path (created when new), ``":memory:"``, or an open Ledger.
    Raises: BudgetExceeded, LedgerError without anything charged.
    """
    from dxgeom.ledger.ledger import Ledger

    if isinstance(ledger, Ledger):
        promised = (metric.fingerprint, metric.budget)
        if (ledger.account.policy_fingerprint, ledger.account.budget) != promised:
            raise LedgerError("this open ledger belongs to another policy or budget than the plan; nothing was spent")
        return ledger.charge(spend, purpose=purpose, plan_fingerprint=plan_fingerprint).remaining
    with Ledger.open(
        ledger, policy_fingerprint=metric.fingerprint, policy_name=metric.title, budget=metric.budget
    ) as account:
        return account.charge(spend, purpose=purpose, plan_fingerprint=plan_fingerprint).remaining


def randomness_of(insecure_test_seed: int | None) -> Randomness:
    """The operating system's source, unless a test asks for another by name."""
    return SystemRandomness() if insecure_test_seed is None else InsecureSeededRandomness(insecure_test_seed)
