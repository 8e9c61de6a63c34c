"""``dxgeom release``: private answers, once, charged to the ledger."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from dxgeom.cli.agreeing import (
    Agreement,
    ConsistentOption,
    IntegersOption,
    NonnegativeOption,
)
from dxgeom.cli.planning import planned
from dxgeom.cli.showing import kept_safe, print_release, whatever_becomes_of_the_terminal
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.new_files import begun_file
from dxgeom.cli.terminal.options import (
    CoarseFacetsOption,
    ErrorOption,
    Format,
    FormatOption,
    LevelOption,
    MechanismOption,
    ObjectiveChoice,
    ObjectiveOption,
    PolicyFile,
    RecordsOption,
    data_set_of,
    errors_of,
    spend_of,
)
from dxgeom.cli.terminal.printing import json_lines, print_json

if TYPE_CHECKING:
    from dxgeom.planner.answers.linear_answers import LinearAnswers
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.release import Release


def _ledger_file(text: str) -> Path:
    if text == ":memory:":
        raise typer.BadParameter("a ledger in memory would be forgotten at once, and the budget with it; name a file")
    return Path(text)


DataFile: TypeAlias = Annotated[
    Path | None,
    typer.Argument(
        help="The table: .csv, .tsv (also .gz) or .parquet, one row per record; left out when rehearsing.",
        metavar="DATA",
    ),
]
OptionalQueriesFile: TypeAlias = Annotated[
    Path | None, typer.Argument(help="The queries file (YAML).", metavar="QUERIES")
]
LedgerOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--ledger", parser=_ledger_file, metavar="FILE", help="The ledger; begun when there is none."),
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


IdOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--id", metavar="KEY", help="A name of this release: asked for again, its stored answers are shown."),
]
OutputOption: TypeAlias = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the release as JSON to this new file, too.")
]
PublicOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--public", metavar="FILE", help="Write it to this new file, too, without what only the curator may see."
    ),
]
RehearseOption: TypeAlias = Annotated[
    bool, typer.Option("--rehearse", help="Do all of it on made-up records: DATA and --ledger are left out.")
]
PurposeOption: TypeAlias = Annotated[
    str, typer.Option("--purpose", help="What the answers are for; written into the ledger.")
]


def release(
    policy: PolicyFile,
    data: DataFile = None,
    queries: OptionalQueriesFile = None,
    ledger: LedgerOption = None,
    spend: SpendOption = None,
    dataset: DatasetOption = None,
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
    purpose: PurposeOption = "",
    key: IdOption = None,
    written: OutputOption = None,
    public: PublicOption = None,
    rehearse: RehearseOption = False,
    output: FormatOption = Format.text,
) -> None:
    """Answer queries about a table privately, once, and charge the ledger.

    Mistakes in the policy, the queries or the table are all found before the ledger is touched; a release that the
    budget does not allow changes nothing. The answers are stored in the ledger before they are shown: a full disk, a
    closed pipe or a lost terminal costs nothing, 'dxgeom ledger show' shows them again.

    \b
    Example:
      dxgeom release policies/adult/policy.yaml policies/adult/queries.yaml --rehearse --spend 0.25
      dxgeom release policies/adult/policy.yaml policies/adult/people.csv policies/adult/queries.yaml \\
        --ledger privacy.db --spend 0.25
    """
    queries, data, book = _files(data, queries, ledger, key, rehearse)
    agreement = Agreement(consistent, nonnegative, integers)
    with refusals(output):
        options = {"mechanism": mechanism, "objective": objective.value, "coarse_facets": coarse_facets}
        chosen = planned(policy, queries, records, dataset, errors=errors_of(error), **options)
        amount = _amount(chosen, spend, level)
        agreement.check(chosen)
        reading: dict[str, Any] = {"count_column": count_column, "outside": "drop" if drop_outside else "refuse"}
        with begun_file(written, 0o600) as write, begun_file(public) as publish, whatever_becomes_of_the_terminal():
            if book is None:
                released = chosen.rehearse(spend=amount, records=records)
            else:
                released = chosen.release(str(data), ledger=str(book), spend=amount, purpose=purpose, id=key, **reading)
            _show(released, agreement, level, output, write, publish)


def _show(
    released: Release[LinearAnswers],
    agreement: Agreement,
    level: float,
    output: Format,
    write: Callable[[str], None] | None,
    publish: Callable[[str], None] | None,
) -> None:
    with kept_safe(released):
        if write is not None:
            write(json_lines({**released.as_dict(level), **agreement.as_document(released)}))
        if publish is not None:
            publish(json_lines({**released.public_dict(level), **agreement.as_document(released)}))
        if output is Format.json:
            print_json({**released.as_dict(level), **agreement.as_document(released)})
        else:
            print_release(released, agreement, level)


def _files(
    data: Path | None, queries: Path | None, ledger: Path | None, key: str | None, rehearse: bool
) -> tuple[Path, Path | None, Path | None]:
    """The queries file, the data, and the ledger; a rehearsal has no data and no ledger.

    Raises: typer.BadParameter.
    """
    if rehearse:
        if key is not None:
            raise typer.BadParameter("a rehearsal is not kept, so it has no name; leave it out", param_hint="--id")
        # Without data the queries file comes second.
        asked = data if queries is None else queries
        if asked is None:
            raise typer.BadParameter("name the queries file", param_hint="QUERIES")
        return asked, None, None
    if data is None or queries is None or ledger is None:
        missing = "DATA" if data is None else "QUERIES" if queries is None else "--ledger"
        raise typer.BadParameter("is missing; only a rehearsal goes without data and ledger", param_hint=missing)
    return queries, data, ledger


def _amount(plan: Plan, spend: Fraction | None, level: float) -> Fraction:
    """What to spend: what was said, or the least for the errors that are wanted."""
    if spend is None and plan.objective.wanted is None:
        raise typer.BadParameter("say how much of the budget to use, --spend S, or which errors are wanted, --error")
    amount = plan.least_spend if spend is None else spend
    # A level that no error bar can be computed for must not come to light when the budget is already spent.
    plan.half_widths(level, amount)
    return amount
