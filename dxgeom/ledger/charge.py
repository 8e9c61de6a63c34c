"""A ledger that is open already, or is named by its path: charged for the account of a release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from dxgeom.errors import LedgerError
from dxgeom.ledger.entry import Account, Entry
from dxgeom.ledger.ledger import Ledger


@contextmanager
def ledger_of(ledger: str | Path | Ledger, account: Account) -> Iterator[Ledger]:
    """The ledger, open for this account; closed at the end if it was named by its path.

    A new file is begun with the first charge that it takes, and not before.
    Raises: LedgerError when it cannot be used, or is another policy's.
    """
    if isinstance(ledger, Ledger):
        kept = ledger.account
        if (kept.policy_fingerprint, kept.budget, kept.currency, kept.data_set) != (
            account.policy_fingerprint,
            account.budget,
            account.currency,
            account.data_set if account.data_set.name is not None else kept.data_set,
        ):
            raise LedgerError("this open ledger belongs to another policy or budget than the plan; nothing was spent")
        yield ledger
        return
    with Ledger.at(ledger, account) as opened:
        yield opened


def charge(
    ledger: str | Path | Ledger, account: Account, spend: Fraction, *, purpose: str, plan_fingerprint: str
) -> Entry:
    """Spend of the account; when this returns, the entry is on the disk.

    Args: ``ledger``: path (created when new), ``":memory:"``, or an open Ledger.
    Raises: BudgetExceeded, LedgerError, each with nothing spent and no new ledger begun.
    """
    with ledger_of(ledger, account) as opened:
        return opened.charge(spend, purpose=purpose, plan_fingerprint=plan_fingerprint)
