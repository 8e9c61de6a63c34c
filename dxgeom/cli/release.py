"""``dxgeom release``: private answers, once, charged to the ledger."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dxgeom.cli.planning import plan_to_release
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.options import (
    CoarseFacetsOption,
    ErrorOption,
    Format,
    FormatOption,
    LevelOption,
    MechanismOption,
    ObjectiveChoice,
    ObjectiveOption,
    RecordsOption,
    errors_of,
    spend_of,
)
from dxgeom.cli.terminal.printing import brief, print_json, print_lines, print_table, rounded
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.planner.linear_answers import LinearAnswers
    from dxgeom.planner.release import Release


def _ledger_file(text: str) -> Path:
    if text == ":memory:":
        raise typer.BadParameter("a ledger in memory would be forgotten at once, and the budget with it; name a file")
    return Path(text)


DataFile: TypeAlias = Annotated[
    Path, typer.Argument(help="The table: .csv, .tsv (also .gz) or .parquet, one row per record.", metavar="DATA")
]
LedgerOption: TypeAlias = Annotated[
    Path, typer.Option("--ledger", parser=_ledger_file, metavar="FILE", help="The ledger; begun when there is none.")
]
PolicyOrPlanFile: TypeAlias = Annotated[
    Path, typer.Argument(help="The policy file (YAML), or a plan file (JSON) of 'plan --output'.", metavar="POLICY")
]
OptionalQueriesFile: TypeAlias = Annotated[
    Path | None, typer.Argument(help="The queries file (YAML); left out with a plan.", metavar="[QUERIES]")
]
SpendOption: TypeAlias = Annotated[
    Fraction | None,
    typer.Option(
        "--spend",
        parser=spend_of,
        metavar="S",
        help="The part of the policy's metric that this uses up; left out where a plan file states it, or errors are "
        "wanted: the least.",
    ),
]
CountColumnOption: TypeAlias = Annotated[
    str | None, typer.Option("--count-column", help="The column that says how many records a row stands for.")
]
DropOutsideOption: TypeAlias = Annotated[
    bool, typer.Option("--drop-outside", help="Leave out rows outside the universe instead of refusing the table.")
]


def release(
    policy: PolicyOrPlanFile,
    data: DataFile,
    ledger: LedgerOption,
    queries: OptionalQueriesFile = None,
    spend: SpendOption = None,
    count_column: CountColumnOption = None,
    drop_outside: DropOutsideOption = False,
    records: RecordsOption = None,
    mechanism: MechanismOption = "auto",
    objective: ObjectiveOption = ObjectiveChoice.balanced,
    error: ErrorOption = None,
    coarse_facets: CoarseFacetsOption = None,
    level: LevelOption = 0.95,
    purpose: Annotated[str, typer.Option("--purpose", help="What the answers are for; written into the ledger.")] = "",
    output: FormatOption = Format.text,
) -> None:
    """Answer queries about a table privately, once, and charge the ledger.

    Mistakes in the policy, the queries or the table are all found before the ledger is touched; a release that the
    budget does not allow changes nothing.

    \b
    Example:
      dxgeom release policies/adult/policy.yaml policies/adult/people.csv policies/adult/queries.yaml \\
        --ledger privacy.db --spend 0.25
      dxgeom release plan.json policies/adult/people.csv --ledger privacy.db
    """
    with refusals(output):
        chosen, amount = plan_to_release(
            policy,
            queries,
            spend,
            records,
            mechanism=mechanism,
            objective=objective.value,
            errors=errors_of(error),
            coarse_facets=coarse_facets,
        )
        # A level that no error bar can be computed for must not come to light when the budget is already spent.
        chosen.half_widths(level, amount)
        released = chosen.release(
            str(data),
            ledger=str(ledger),
            spend=amount,
            purpose=purpose,
            outside="drop" if drop_outside else "refuse",
            count_column=count_column,
        )
        _print(released, level, ledger, output)


def _print(released: Release[LinearAnswers], level: float, ledger: Path, output: Format) -> None:
    from dxgeom.planner.release import FORMAT

    if output is Format.json:
        print_json({"format": FORMAT, **released.as_dict(level), "ledger": str(ledger)})
        return
    dropped = f"; left out as outside the universe: {released.dropped:,}" if released.dropped else ""
    counted = "the number of records is private" if released.records is None else f"{released.records:,} records"
    print_lines([f"{released.mechanism.account.policy_name}: {counted}{dropped}"])
    widths = released.half_widths(level)
    rows = [
        (name, rounded(float(value), float(width)), brief(float(width)), brief(float(error)))
        for name, value, width, error in zip(released.names, released.values, widths, released.rmse, strict=True)
    ]
    print_table(("query", "answer", f"± at {level * 100:g} %", "rmse"), rows)
    worst = int(released.biases.argmax())
    bias = f"bias       at most {brief(released.biases[worst])} ('{released.names[worst]}'), within the error bars"
    print_lines(
        [
            "",
            f"mechanism  {released.mechanism.name}",
            *([] if released.answer.mechanism.change is None else [bias]),
            f"spent      {plain(released.spent)}, remaining {plain(released.remaining)} of "
            f"{plain(released.mechanism.account.budget)}",
            f"ledger     {ledger}",
            *(f"warning    {useless.in_words}" for useless in released.answer.useless),
        ]
    )
