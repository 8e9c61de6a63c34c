"""The account of plain arrays: any record may be any other, and a spend is an epsilon."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Final

from dxgeom.arguments import require
from dxgeom.errors import LedgerError
from dxgeom.ledger.entry import Account
from dxgeom.ledger.ledger import Ledger
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount, exact_amount

PLAIN: Final = canonical_digest("plain arrays", "replacing a record by any other is one nat at spend 1")
"""One account for whatever columns and bounds: the promise is about whole records, so spends on them add up."""
TITLE: Final = "plain arrays"


def plain_account(budget: Fraction) -> Account:
    """The account of people whose records are rows of arrays, under ordinary differential privacy."""
    return Account(TITLE, PLAIN, budget)


def open_ledger(path: str | Path, budget: Amount) -> Ledger:
    """A ledger for estimators on plain arrays, with so many nats of ε in all; begun where there is none.

    ":memory:" is one that is forgotten when it is closed; estimators that share it share its budget.
    Raises: LedgerError when the file cannot be used or is another policy's.
    """
    return Ledger.open(path, policy_fingerprint=PLAIN, policy_name=TITLE, budget=exact_amount(budget, "budget"))


def usable_ledger(ledger: object) -> str | Path | Ledger:
    """The ledger that an estimator was given.

    Raises: LedgerError for none, and for one in memory by name, which would begin anew with every fit.
    """
    if ledger is None:
        raise LedgerError(
            "a fit is a release, and its spend is written down before anything is drawn: give the estimator a ledger, "
            "ledger='privacy.db', or one that is open"
        )
    require(ledger, (str, Path, Ledger), "ledger", "name a file, such as 'privacy.db', or give an open ledger")
    if isinstance(ledger, str) and ledger == ":memory:":
        raise LedgerError(
            "':memory:' would be a new budget with every fit: open it once, ledger=dx.learning.open_ledger(':memory:', "
            "budget), and let all estimators share it"
        )
    return ledger  # type: ignore[return-value]
