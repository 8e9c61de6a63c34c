"""Accounts of ledgers, as the policies say whose they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from dxgeom.cli.ledgers.words import brief_text
from dxgeom.cli.terminal.options import data_set_of
from dxgeom.cli.terminal.printing import print_table, print_warnings
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.ledger.book import Allotment
    from dxgeom.ledger.history import History
    from dxgeom.ledger.ledger import Ledger
    from dxgeom.metrics.data_set import DataSet

AccountPolicy: TypeAlias = Annotated[
    Path, typer.Option("--policy", metavar="POLICY", help="The policy whose account it is, and its budget.")
]
AccountDataset: TypeAlias = Annotated[
    Any,  # a DataSet, whose class is loaded when the option is used
    typer.Option("--dataset", parser=data_set_of, metavar="NAME[/EDITION]", help="Which data the policy is about."),
]


def opened(ledger: str, policy: Path, data_set: DataSet | None) -> Ledger:
    """The ledger, begun where there is none, with the policy's account. Raises: PolicyError, LedgerError."""
    from dxgeom.ledger.ledger import Ledger
    from dxgeom.mechanisms.contract.mechanism import account_of
    from dxgeom.policy.policy import load_policy

    policy_read = load_policy(policy)
    print_warnings(policy_read)
    metric = policy_read.compile()
    account = account_of(metric if data_set is None else metric.about(data_set))
    stated = account.policy if isinstance(account.policy, str | None) else account.policy()
    kept = Ledger.open(
        ledger,
        policy_fingerprint=account.policy_fingerprint,
        policy_name=account.policy_name,
        budget=account.budget,
        data_set=account.data_set,
        policy=stated,
        alike=account.alike,
        currency=account.currency,
    )
    kept.open_account()
    return kept


def print_division(history: History) -> None:
    """A table of the allotments, with a blank line above, where there are any."""
    if history.allotments:
        typer.echo()
        rows = [
            (
                f"{brief_text(history.accounts[one.account - 1].policy_name)}, allotment {brief_text(one.owner)}"
                + ("" if one.edition is None else f", edition {brief_text(one.edition)}"),
                plain(one.amount),
                plain(one.spent),
                plain(one.remaining),
            )
            for one in history.allotments
        ]
        print_table(("allotment", "part", "spent", "remaining"), rows)


def allotment_dict(history: History, one: Allotment) -> dict[str, Any]:
    """An allotment ready for JSON; amounts are exact, as text."""
    account = history.accounts[one.account - 1]
    return {
        "policy": {"name": account.policy_name, "fingerprint": account.policy_fingerprint},
        "allotment": one.owner,
        "edition": one.edition,
        "amount": str(one.amount),
        "spent": str(one.spent),
        "remaining": str(one.remaining),
    }
