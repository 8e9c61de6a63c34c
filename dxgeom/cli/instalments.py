"""What the commands about instalments share: their options, a plan from its file, and how answers of a period look."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from dxgeom.cli.options import TableFormat, leave_unloaded
from dxgeom.cli.terminal import begun_file, json_lines, print_json, print_lines, refusals
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.planner.instalments.instalment import Instalment
    from dxgeom.planner.plan import Plan

PlanFile: TypeAlias = Annotated[Path, typer.Argument(help="A plan file of 'plan --output'.", metavar="PLAN")]
AlongOption: TypeAlias = Annotated[
    str | None, typer.Option("--along", metavar="ATTRIBUTE", help="The attribute whose values are the periods.")
]
KeyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="The key that seals are closed with; left out, the one that DXGEOM_KEY names, or the user's.",
    ),
]
PeriodOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--period", metavar="PERIOD", help="Of an opened plan the answers of this period; with a plan file."),
]
_DECIDED: Final = "goes with --along, --key, --ledger, --level and --output: the plan decides all else"


def plan_in(file: Path) -> Plan:
    """The plan of a file. Raises: PlanError."""
    leave_unloaded()
    from dxgeom.plan_files.loading import load_plan

    return load_plan(file)


def release_period(
    file: Path,
    data: Any,
    period: str,
    ledger: str | None,
    output: TableFormat,
    written: Path | None,
    level: float,
    how: dict[str, Any],
    *,
    decided: bool,
) -> None:
    """``dxgeom release PLAN DATA --period PERIOD``. ``decided``: whether an option was given that the plan decides.

    Raises: typer.BadParameter.
    """
    if decided:
        raise typer.BadParameter(_DECIDED, param_hint="--period")
    if data is None or ledger is None or file.suffix != ".json" or output not in (TableFormat.text, TableFormat.json):
        raise typer.BadParameter(
            "goes with a plan file, DATA and --ledger, and with --format text or json", param_hint="--period"
        )
    with refusals(output), begun_file(written, 0o600) as write:
        released = plan_in(file).release_period(str(data), period=period, ledger=ledger, **how)
        document = released.as_dict(level)
        if write is not None:
            write(json_lines(document))
        if output is TableFormat.json:
            print_json(document)
        else:
            print_lines(_lines(released, level))


def _lines(released: Instalment, level: float) -> list[str]:
    number, periods = 1 + released.schedule.periods.index(released.period), len(released.schedule.periods)
    width = max(map(len, released.names), default=0)
    rows = zip(released.names, released.values.tolist(), released.half_widths(level).tolist(), strict=True)
    return [
        f"period  {released.period}, {number:,} of {periods:,}" + (", released before" if released.repeated else ""),
        *(f"{name:<{width}}  {brief(value)} ± {brief(half)}" for name, value, half in rows),
        *([] if released.names else ["no answer ends in this period; its rows are in later ones"]),
        f"ledger  entry {released.entry}, which paid {plain(released.spent)} for all periods, seal {released.seal}",
    ]
