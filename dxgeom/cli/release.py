"""``dxgeom release``: private answers, once, charged to the ledger."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dxgeom.cli.agreeing import (
    Agreement,
    ConsistentOption,
    IntegersOption,
    NonnegativeOption,
)
from dxgeom.cli.planning import planned
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.options import (
    CoarseFacetsOption,
    ErrorOption,
    LevelOption,
    MechanismOption,
    ObjectiveChoice,
    ObjectiveOption,
    PolicyFile,
    QueriesFile,
    RecordsOption,
    TableFormat,
    TableFormatOption,
    errors_of,
    spend_of,
)
from dxgeom.cli.terminal.printing import brief, print_csv, print_error, print_json, print_lines, print_table, rounded
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.planner.answers.linear_answers import LinearAnswers
    from dxgeom.planner.plan import Plan
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
SpendOption: TypeAlias = Annotated[
    Fraction | None,
    typer.Option(
        "--spend",
        parser=spend_of,
        metavar="S",
        help="The part of the policy's metric that this uses up; left out where errors are wanted: the least.",
    ),
]
CountColumnOption: TypeAlias = Annotated[
    str | None, typer.Option("--count-column", help="The column that says how many records a row stands for.")
]
DropOutsideOption: TypeAlias = Annotated[
    bool, typer.Option("--drop-outside", help="Leave out rows outside the universe instead of refusing the table.")
]


def release(
    policy: PolicyFile,
    data: DataFile,
    queries: QueriesFile,
    ledger: LedgerOption,
    spend: SpendOption = None,
    count_column: CountColumnOption = None,
    drop_outside: DropOutsideOption = False,
    records: RecordsOption = None,
    mechanism: MechanismOption = "auto",
    objective: ObjectiveOption = ObjectiveChoice.balanced,
    error: ErrorOption = None,
    coarse_facets: CoarseFacetsOption = None,
    level: LevelOption = 0.95,
    consistent: ConsistentOption = False,
    nonnegative: NonnegativeOption = False,
    integers: IntegersOption = False,
    purpose: Annotated[str, typer.Option("--purpose", help="What the answers are for; written into the ledger.")] = "",
    output: TableFormatOption = TableFormat.text,
) -> None:
    """Answer queries about a table privately, once, and charge the ledger.

    Mistakes in the policy, the queries or the table are all found before the ledger is touched; a release that the
    budget does not allow changes nothing.

    \b
    Example:
      dxgeom release policies/adult/policy.yaml policies/adult/people.csv policies/adult/queries.yaml \\
        --ledger privacy.db --spend 0.25
    """
    with refusals(output):
        chosen = planned(
            policy,
            queries,
            records,
            mechanism=mechanism,
            objective=objective.value,
            errors=errors_of(error),
            coarse_facets=coarse_facets,
        )
        agreement = _agreement(chosen, output, consistent, nonnegative, integers)
        released = chosen.release(
            str(data),
            ledger=str(ledger),
            spend=_amount(chosen, spend, level),
            purpose=purpose,
            outside="drop" if drop_outside else "refuse",
            count_column=count_column,
        )
        _print(released, agreement, level, ledger, output)


def _agreement(plan: Plan, output: TableFormat, consistent: bool, nonnegative: bool, integers: bool) -> Agreement:
    """What is asked of answers that agree, where that can be done."""
    if consistent and output is TableFormat.csv:
        raise typer.BadParameter("answers that agree are told as text or JSON, beside the released ones; not as CSV")
    agreement = Agreement(consistent, nonnegative, integers)
    agreement.check(plan)
    return agreement


def _amount(plan: Plan, spend: Fraction | None, level: float) -> Fraction:
    """What to spend: what was said, or the least for the errors that are wanted."""
    if spend is None and plan.objective.wanted is None:
        raise typer.BadParameter("say how much of the budget to use, --spend S, or which errors are wanted, --error")
    amount = plan.least_spend if spend is None else spend
    # A level that no error bar can be computed for must not come to light when the budget is already spent.
    plan.half_widths(level, amount)
    return amount


def _print(
    released: Release[LinearAnswers], agreement: Agreement, level: float, ledger: Path, output: TableFormat
) -> None:
    if output is TableFormat.json:
        print_json({**released.as_dict(level), **agreement.as_document(released), "ledger": str(ledger)})
        return
    if output is TableFormat.csv:
        from dxgeom.planner.answers.answer_table import answer_columns

        columns = answer_columns(released.answer, level)
        print_csv(tuple(columns), zip(*columns.values(), strict=True))
        for useless in released.answer.useless:
            print_error(f"warning: {useless.in_words}")
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
            *(f"warning    {useless.in_words}" for useless in released.answer.useless),
        ]
    )
    agreement.print(released)
