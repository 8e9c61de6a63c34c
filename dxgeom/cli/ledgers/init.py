"""``dxgeom ledger init``: a ledger begun on purpose, and whom it serves."""

from __future__ import annotations

from typing import Annotated

import typer

from dxgeom.cli.ledgers.accounts import AccountDataset, AccountPolicy, opened
from dxgeom.cli.ledgers.words import LedgerFile, about
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.options import Format, FormatOption
from dxgeom.cli.terminal.printing import print_json, print_lines
from dxgeom.universe.columns import plain


def init(
    ledger: LedgerFile,
    policy: AccountPolicy,
    dataset: AccountDataset = None,
    grant: Annotated[
        list[str] | None,
        typer.Option("--grant", metavar="ROLE", help="A role of the server that may release; may be repeated."),
    ] = None,
    output: FormatOption = Format.text,
) -> None:
    """Begin a ledger, or open one more policy's account in it; what is there already stays as it is.

    A ledger on a server, postgresql://user@host/database?ledger=name, has a schema of that name for itself and is only
    begun in this way; whoever begins it keeps it. Roles that are granted may read it and release under accounts that
    are open; they cannot open accounts, divide them, or change anything that was written.

    \b
    Example:
      dxgeom ledger init privacy.db --policy policies/clinic/policy.yaml
      dxgeom ledger init postgresql://keeper@db.example/privacy --policy policies/clinic/policy.yaml --grant analysts
    """
    with refusals(output):
        from dxgeom.ledger.history import read_ledger

        with opened(ledger, policy, dataset) as kept:
            for role in grant or ():
                kept.grant(role)
            account = kept.account
        history = read_ledger(ledger)
        if output is Format.json:
            accounts = [one.policy_fingerprint for one in history.accounts]
            print_json({"ledger": ledger, "accounts": accounts, "granted": grant or []})
            return
        granted = f"granted  {', '.join(grant)} may release on it" if grant else None
        budget = f"account  policy '{account.policy_name}', budget {plain(account.budget)}"
        print_lines([about(history), budget, *([granted] if granted else [])])
