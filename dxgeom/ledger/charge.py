"""Charging a ledger that is open already, or named by its path: a new one is begun only for a charge that it takes."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

from dxgeom.errors import LedgerError
from dxgeom.ledger.entry import Account, Entry
from dxgeom.ledger.ledger import Ledger


def charge(
    ledger: str | Path | Ledger, account: Account, spend: Fraction, *, purpose: str, plan_fingerprint: str
) -> Entry:
    """Spend of the account; when this returns, the entry is on the disk.

    Args: ``ledger``: path (created when new), ``":memory:"``, or an open Ledger.
    Raises: BudgetExceeded, LedgerError, each with nothing spent and no new ledger begun.
    """
    if isinstance(ledger, Ledger):
        kept = ledger.account
        if (kept.policy_fingerprint, kept.budget) != (account.policy_fingerprint, account.budget):
            raise LedgerError("this open ledger belongs to another policy or budget than the plan; nothing was spent")
        return ledger.charge(spend, purpose=purpose, plan_fingerprint=plan_fingerprint)
    if not os.path.exists(ledger):  # noqa: PTH110 (a name that no file can have is refused when it is opened)
        # A new ledger has the whole budget: what this one refuses, a file would refuse once it is begun.
        _charge_at(":memory:", account, spend, purpose, plan_fingerprint)
    return _charge_at(ledger, account, spend, purpose, plan_fingerprint)


def _charge_at(path: str | Path, account: Account, spend: Fraction, purpose: str, plan_fingerprint: str) -> Entry:
    with Ledger.open(
        path, policy_fingerprint=account.policy_fingerprint, policy_name=account.policy_name, budget=account.budget
    ) as opened:
        return opened.charge(spend, purpose=purpose, plan_fingerprint=plan_fingerprint)
