"""``dxgeom close``: the end of a plan that is released in instalments."""

from __future__ import annotations

import typer

from dxgeom.cli.instalments import AlongOption, PlanFile, plan_in
from dxgeom.cli.options import Format, FormatOption, LedgerOption
from dxgeom.cli.terminal import print_either, refusals
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import brief


def close(
    plan: PlanFile, ledger: LedgerOption = None, along: AlongOption = None, output: FormatOption = Format.text
) -> None:
    """End a plan that was opened: no period of it is released any more. What was charged stays charged.

    \b
    Example:
      dxgeom close plan.json --ledger privacy.db --along day
    """
    if ledger is None:
        raise typer.BadParameter("is missing", param_hint="--ledger")
    with refusals(output):
        found = plan_in(plan).close(ledger, along=along)
        document = {
            "ledger": ledger,
            "entry": found.entry,
            "spent": str(found.spent),
            "periods_told": found.released,
            "most_told": found.most_told,
        }
        lines = [
            f"closed  {plan}, entry {found.entry}, after {found.released:,} periods",
            f"spent   {plain(found.spent)}, and stays so; the periods took at most {brief(found.most_told)} of it",
        ]
        print_either(output, document, lines)
