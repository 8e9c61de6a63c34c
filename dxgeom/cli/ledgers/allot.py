"""``dxgeom ledger allot``: an account divided among users, teams or purposes."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import typer

from dxgeom.cli.ledgers.accounts import AccountDataset, AccountPolicy, allotment_dict, opened, print_division
from dxgeom.cli.ledgers.words import LedgerFile, about
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.options import Format, FormatOption, spend_of
from dxgeom.cli.terminal.printing import print_json, print_lines


def _part_of(text: str) -> tuple[str, Fraction]:
    owner, equals, amount = text.rpartition("=")
    if not equals or not owner:
        raise typer.BadParameter("write each allotment as NAME=AMOUNT, as in ana=0.25")
    return owner, Fraction(0) if amount.strip() == "0" else spend_of(amount)


def allot(
    ledger: LedgerFile,
    parts: Annotated[list[str], typer.Argument(metavar="NAME=AMOUNT...", help="What each may spend; 0 ends it.")],
    policy: AccountPolicy,
    dataset: AccountDataset = None,
    output: FormatOption = Format.text,
) -> None:
    """Divide a policy's account: each name may spend its own part and no more, all together never above the budget.

    Releases say whom they charge with --allotment NAME. What is not allotted stays for releases without a name. A name
    that is given again gets the new part in place of the old, but never less than it has spent. All or nothing.

    \b
    Example:
      dxgeom ledger allot privacy.db ana=0.25 'weekly report=0.5' --policy policies/clinic/policy.yaml
    """
    wanted = dict(map(_part_of, parts))
    if len(wanted) < len(parts):
        raise typer.BadParameter("a name is given twice")
    with refusals(output):
        from dxgeom.ledger.history import read_ledger

        with opened(ledger, policy, dataset) as kept:
            kept.allot(wanted)
        history = read_ledger(ledger)
        if output is Format.json:
            print_json({"ledger": ledger, "allotments": [allotment_dict(history, one) for one in history.allotments]})
        else:
            print_lines([about(history)])
            print_division(history)
