"""``dxgeom ledger told``: what all releases so far may have told about a policy's pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dxgeom.cli.ledgers.words import LedgerFile
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.options import Format, FormatOption
from dxgeom.cli.terminal.printing import print_json, print_lines


def told(
    ledger: LedgerFile,
    policy: Annotated[Path, typer.Option("--policy", metavar="POLICY", help="Whose pairs of records are asked about.")],
    others: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="POLICY", help="A further policy, under which was released; may be repeated."),
    ] = None,
    edition: Annotated[
        str | None, typer.Option("--edition", help="Of the data, where editions have different people.")
    ] = None,
    plans: Annotated[
        list[Path] | None,
        typer.Option("--plan", metavar="PLAN", help="A plan file, by which was released; may be repeated."),
    ] = None,
    output: FormatOption = Format.text,
) -> None:
    """Say what all releases so far, under whatever policies, may have told about a policy's pairs of records.

    About a pair, a release at spend s tells at most s times its own policy's distance; these add up. Policies that read
    the same columns otherwise are compared value by value, and what one of them hides another may have told. Very many
    releases under one policy are told as a curve, too; where it counts concentrated privacy, plan files say which of
    them had Gaussian noise.

    \b
    Example:
      dxgeom ledger told privacy.db --policy policies/clinic/policy.yaml
    """
    with refusals(output):
        from dxgeom.disclosure.all_releases import disclosed_loss
        from dxgeom.ledger.history import read_ledger
        from dxgeom.plan_files.loading import load_plan
        from dxgeom.policy.policy import load_policy

        history = read_ledger(ledger)
        noises = {plan.fingerprint: plan.noise for plan in map(load_plan, plans or ()) if plan.noise is not None}
        found = disclosed_loss(history, load_policy(policy), map(load_policy, others or ()), edition, noises)
        if output is Format.json:
            print_json({"ledger": ledger, **found.as_dict()})
        else:
            print_lines(found.lines())
