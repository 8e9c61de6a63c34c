"""``dxgeom open``: all periods of a plan charged at once, to be released one by one."""

from __future__ import annotations

import typer

from dxgeom.cli.instalments import AlongOption, PlanFile, plan_in
from dxgeom.cli.options import AllotmentOption, Format, FormatOption, LedgerOption, PurposeOption
from dxgeom.cli.release import SpendOption
from dxgeom.cli.terminal import print_either, refusals
from dxgeom.universe.columns import plain


def open(
    plan: PlanFile,
    ledger: LedgerOption = None,
    along: AlongOption = None,
    spend: SpendOption = None,
    purpose: PurposeOption = "",
    allotment: AllotmentOption = None,
    output: FormatOption = Format.text,
) -> None:
    """Charge a ledger with all periods of a plan, once; then 'release --period' tells one after the other.

    A plan that is open already is charged nothing. 'close' ends it.

    \b
    Example:
      dxgeom key make
      dxgeom open plan.json --ledger privacy.db --along day --spend 1
      dxgeom release plan.json visits.csv --ledger privacy.db --along day --period 2027-03-01
    """
    if ledger is None:
        raise typer.BadParameter("is missing", param_hint="--ledger")
    with refusals(output):
        found = plan_in(plan).open(ledger, along=along, spend=spend, purpose=purpose, allotment=allotment)
        document = {
            "ledger": ledger,
            "entry": found.entry,
            "spent": str(found.spent),
            "along": found.along,
            "periods": len(found.periods),
            "first": found.periods[0],
            "last": found.periods[-1],
            "repeated": found.repeated,
        }
        was = "was open already, as" if found.repeated else "is open, as"
        lines = [
            f"opened   {plan} {was} entry {found.entry}",
            f"spent    {plain(found.spent)}, on all periods together",
            f"periods  {len(found.periods):,} along {found.along}, from {found.periods[0]} to {found.periods[-1]}",
        ]
        print_either(output, document, lines)
