"""``dxgeom release``: private answers, once, charged to the ledger."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

import typer

from dxgeom.cli.agreeing import Agreement, ConsistentOption, IntegersOption, NonnegativeOption
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
    data_set_of,
    errors_of,
    spend_of,
)
from dxgeom.cli.terminal.printing import brief, print_json, print_lines, print_table, rounded
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.planner.answers.linear_answers import LinearAnswers
    from dxgeom.planner.answers.ratios import RatioAnswer
    from dxgeom.planner.release import Release


def _ledger(text: str) -> str:
    if text == ":memory:":
        raise typer.BadParameter("a ledger in memory would be forgotten at once, and the budget with it; name a file")
    return text if "://" in text else str(Path(text))


DataFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="The table: .csv, .tsv (also .gz) or .parquet, or a folder of Parquet files; one row per record.",
        metavar="DATA",
    ),
]
LedgerOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--ledger",
        parser=_ledger,
        metavar="FILE",
        help="The ledger: a file, begun when there is none, or postgresql://… of one that was begun.",
    ),
]
AllotmentOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--allotment", metavar="NAME", help="Whose part of the budget is charged, where it is divided."),
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
DatasetOption: TypeAlias = Annotated[
    Any,  # a DataSet, whose class is loaded when the option is used
    typer.Option(
        "--dataset",
        parser=data_set_of,
        metavar="NAME[/EDITION]",
        help="Which data these are, for the ledger; overrides nothing that the policy says of them.",
    ),
]
CountColumnOption: TypeAlias = Annotated[
    str | None, typer.Option("--count-column", help="The column that says how many records a row stands for.")
]
DropOutsideOption: TypeAlias = Annotated[
    bool, typer.Option("--drop-outside", help="Leave out rows outside the universe instead of refusing the table.")
]
QuietDataOption: TypeAlias = Annotated[
    bool, typer.Option("--quiet-data", help="Refuse a table without a word about what it holds.")
]


_OUTSIDE: Final[dict[bool, Literal["drop", "refuse"]]] = {True: "drop", False: "refuse"}


def release(
    policy: PolicyOrPlanFile,
    data: DataFile,
    ledger: LedgerOption,
    queries: OptionalQueriesFile = None,
    spend: SpendOption = None,
    dataset: DatasetOption = None,
    count_column: CountColumnOption = None,
    drop_outside: DropOutsideOption = False,
    quiet_data: QuietDataOption = False,
    records: RecordsOption = None,
    mechanism: MechanismOption = "auto",
    objective: ObjectiveOption = ObjectiveChoice.balanced,
    error: ErrorOption = None,
    coarse_facets: CoarseFacetsOption = None,
    level: LevelOption = 0.95,
    consistent: ConsistentOption = False,
    nonnegative: NonnegativeOption = False,
    integers: IntegersOption = False,
    allotment: AllotmentOption = None,
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
    agreement = Agreement(consistent, nonnegative, integers)
    with refusals(output):
        chosen, amount = plan_to_release(
            policy,
            queries,
            spend,
            records,
            dataset,
            mechanism=mechanism,
            objective=objective.value,
            errors=errors_of(error),
            coarse_facets=coarse_facets,
        )
        agreement.check(chosen, level, amount)
        paid = partial(chosen.release, ledger=ledger, spend=amount, purpose=purpose, allotment=allotment)
        released = paid(str(data), outside=_OUTSIDE[drop_outside], count_column=count_column, quiet_data=quiet_data)
        _print(released, agreement, level, ledger, output)


def _print(released: Release[LinearAnswers], agreement: Agreement, level: float, ledger: str, output: Format) -> None:
    from dxgeom.planner.release import FORMAT

    if output is Format.json:
        print_json({"format": FORMAT, **released.as_dict(level), **agreement.as_document(released)})
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
    if released.answer.queries.ratios:
        print_lines([""])
        print_table(("ratio", "value", f"within, at {level * 100:g} %"), [*map(_ratio_row, released.ratios(level))])
    changed = released.answer.mechanism.biases
    worst = int(changed.argmax())
    bias = f"bias       at most {brief(changed[worst])} ('{released.names[worst]}'), within the error bars"
    print_lines(
        [
            "",
            f"mechanism  {released.mechanism.name}",
            *([] if released.answer.mechanism.change is None else [bias]),
            *(f"bias       {said}" for said in released.answer.bars.in_words()),
            f"spent      {plain(released.spent)}, remaining {plain(released.remaining)} of "
            f"{plain(released.mechanism.account.budget)}",
            f"ledger     {ledger}",
            *(f"warning    {said}" for said in (released.booking and released.booking.warning,) if said),
            *(f"warning    {useless.in_words}" for useless in released.answer.useless),
        ]
    )
    agreement.print(released)


def _ratio_row(ratio: RatioAnswer) -> tuple[str, str, str]:
    low, high = ratio.interval
    parts = " or ".join(f"{rounded(low, high - low)} to {rounded(high, high - low)}" for low, high in ratio.parts)
    return ratio.name, "-" if ratio.value is None else rounded(ratio.value, (high - low) / 2), parts
