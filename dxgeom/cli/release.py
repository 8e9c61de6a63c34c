"""``dxgeom release``: private answers, once, charged to the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias

import typer

from dxgeom.cli.instalments import AlongOption, KeyOption, PeriodOption, release_period
from dxgeom.cli.options import (
    AllOption,
    AllotmentOption,
    CoarseFacetsOption,
    ErrorOption,
    IdOption,
    JointOption,
    LedgerOption,
    LevelOption,
    MechanismOption,
    ObjectiveChoice,
    ObjectiveOption,
    PurposeOption,
    QuickOption,
    RecordsOption,
    TableFormat,
    TableFormatOption,
    ThoroughOption,
    data_set_of,
    errors_of,
    require_shown,
    spend_of,
    table_of,
)
from dxgeom.cli.planning import is_thorough, plan_to_release
from dxgeom.cli.showing import (
    Bars,
    ConsistentOption,
    EstimateOption,
    IntegersOption,
    NonnegativeOption,
    ShownEstimate,
    kept_safe,
    print_answer_table,
    print_release,
    whatever_becomes_of_the_terminal,
    write_answer_table,
    write_records,
)
from dxgeom.cli.terminal import Content, begun_file, json_lines, print_error, print_json, refusals
from dxgeom.errors import DxgeomError, UnsupportedCombination

if TYPE_CHECKING:
    from dxgeom.metrics.verification import VerifiedMetric
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.release import Release
    from dxgeom.policy.policy import Policy


DataFile: TypeAlias = Annotated[
    Any,  # a path, or the URL of a table on a server
    typer.Argument(
        parser=table_of,
        help="The table: .csv, .tsv (also .gz) or .parquet, a folder of Parquet files, postgresql://…#table or "
        "spark://…#table; one row per record. Left out when rehearsing.",
        metavar="DATA",
    ),
]
PolicyOrPlanFile: TypeAlias = Annotated[
    Path, typer.Argument(help="The policy file (YAML), or a plan file (JSON) of 'plan --output'.", metavar="POLICY")
]
OptionalQueriesFile: TypeAlias = Annotated[
    Path | None, typer.Argument(help="The queries file (YAML); left out with a plan.", metavar="QUERIES")
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
    bool, typer.Option("--drop-outside", help="Leave out rows that do not fit instead of refusing the table.")
]
QuietDataOption: TypeAlias = Annotated[
    bool, typer.Option("--quiet-data", help="Refuse a table without a word about what it holds.")
]


ReleaseOutputOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Write the release to this new file, too: as JSON, or as .csv or .parquet its answers, or the "
        "records of a task that makes synthetic ones.",
    ),
]
PublicOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--public", metavar="FILE", help="Write it to this new file, too, without what only the data holder may see."
    ),
]
RehearseOption: TypeAlias = Annotated[
    bool, typer.Option("--rehearse", help="Do all of it on made-up records: DATA and --ledger are left out.")
]


def release(
    policy: PolicyOrPlanFile,
    data: DataFile = None,
    queries: OptionalQueriesFile = None,
    ledger: LedgerOption = None,
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
    thorough: ThoroughOption = False,
    quick: QuickOption = False,
    level: LevelOption = 0.95,
    joint: JointOption = False,
    estimate: EstimateOption = None,
    consistent: ConsistentOption = False,
    nonnegative: NonnegativeOption = False,
    integers: IntegersOption = False,
    purpose: PurposeOption = "",
    allotment: AllotmentOption = None,
    key: IdOption = None,
    written: ReleaseOutputOption = None,
    public: PublicOption = None,
    rehearse: RehearseOption = False,
    everything: AllOption = False,
    period: PeriodOption = None,
    along: AlongOption = None,
    key_file: KeyOption = None,
    output: TableFormatOption = TableFormat.text,
) -> None:
    """Answer queries about a table privately, once, and charge the ledger.

    All mistakes in files are found before the ledger is touched; a release beyond the budget changes nothing. Answers
    are stored before they are shown: whatever becomes of disk and terminal, 'dxgeom ledger show' shows them again.

    \b
    Example:
      dxgeom release policies/adult/policy.yaml policies/adult/queries.yaml --rehearse --spend 0.25
      dxgeom release policies/adult/policy.yaml policies/adult/people.csv policies/adult/queries.yaml \\
        --ledger privacy.db --spend 0.25
      dxgeom release plan.json policies/adult/people.csv --ledger privacy.db --id 2026-11
      dxgeom release plan.json visits.csv --ledger privacy.db --along day --period 2027-03-01
    """
    require_shown(output)
    if period is not None:
        values = (queries, spend, dataset, records, error, coarse_facets, estimate, purpose, allotment, key, public)
        switches = (thorough, quick, joint, consistent, nonnegative, integers, rehearse, mechanism != "auto")
        reading = {"along": along, "key": key_file, **_reading(drop_outside, count_column, quiet_data)}
        release_period(policy, data, period, ledger, output, written, level, reading, decided=any(values + switches))
        return
    queries, data, book = _files(policy, data, queries, ledger, key, rehearse)
    shown = ShownEstimate(estimate, consistent, nonnegative, integers, output, Bars(level, joint, everything))
    with refusals(output, everything=everything):
        how = {"objective": objective.value, "errors": errors_of(error), "coarse_facets": coarse_facets}
        how |= {"thorough": is_thorough(thorough, quick), "mechanism": mechanism}
        ready = None
        if book is not None:
            read = _read_before(queries is None or drop_outside or key is not None, count_column, quiet_data)
            _require_there(data, read)
            ready = partial(_require_ready, policy, data, book, read, None if key is not None else (spend, allotment))
        chosen, amount = plan_to_release(policy, queries, spend, records, dataset, ready, book, **how)
        shown.check(chosen, amount)
        _name_useless(chosen, amount, level)
        draw = partial(chosen.rehearse, spend=amount, records=records)
        if book is not None:
            kept = {**_reading(drop_outside, count_column, quiet_data), "purpose": purpose, "id": key}
            draw = partial(chosen.release, str(data), ledger=book, spend=amount, allotment=allotment, **kept)
        _draw_and_show(draw, shown, output, written, public, _table_of(chosen, written))


_MOST_NAMED: Final = 3


def _name_useless(plan: Plan, spend: Fraction, level: float) -> None:
    """What is of no use at this spend, on standard error before anything is spent."""
    from dxgeom.report.usefulness import useless_of

    found = useless_of(plan, spend, level)
    for one in found[:_MOST_NAMED]:
        print_error(f"advice: '{one.name}' is {one.note}")
    if len(found) > _MOST_NAMED:
        print_error(f"advice: so are {len(found) - _MOST_NAMED:,} more; 'dxgeom plan' names them")


_Read: TypeAlias = tuple[str | None, bool] | None
"""The column that counts rows, and whether a table is refused without a word about it; None where rows are left out, or
an earlier release of that name may be shown again, which needs no table."""


def _read_before(later: bool, count_column: str | None, quiet_data: bool) -> _Read:
    """``later``: the table is read after its plan file, or its rows are left out, or it may not be needed."""
    return None if later else (count_column, quiet_data)


def _require_there(data: Any, read: _Read) -> None:
    """Raises: DataError for a table that is not there, before its policy is looked at."""
    from dxgeom.engines.opening import engine_of
    from dxgeom.universe.reading.reading import PLAIN

    if read is not None and isinstance(data, Path) and not data.exists():
        engine_of(str(data)).look_up(str(data), PLAIN)


def _require_ready(
    file: Path,
    data: Any,
    book: str,
    read: _Read,
    charged: tuple[Fraction | None, str | None] | None,
    policy: Policy,
    metric: VerifiedMetric,
) -> None:
    """Ledger, what is left there, and rows are looked at before anything is planned.

    Args: ``charged``: the spend, as far as it is known, and whose allotment it is from; None where an earlier release
    may be shown again, which is charged nothing. Raises: DataError, LedgerError, BudgetExceeded.
    """
    from dxgeom.engines.fitting import require_fit
    from dxgeom.ledger.ledger import ledger_of
    from dxgeom.mechanisms.contract.mechanism import account_of
    from dxgeom.planner.releases.paying import check_allotment

    with ledger_of(book, account_of(metric)) as ledger:
        check_allotment(ledger, None if charged is None else charged[1])
        if charged is not None and charged[0] is not None:
            ledger.require_left(charged[0], charged[1])
    if read is not None:
        require_fit(str(data), str(file), policy.universe, count_column=read[0], quiet_data=read[1])


def _draw_and_show(
    draw: Callable[[], Release[Any]],
    shown: ShownEstimate,
    output: TableFormat,
    written: Path | None,
    public: Path | None,
    table: _Table | None,
) -> None:
    """The release, shown and written into both files, which are begun before it is drawn."""
    with begun_file(written, 0o600) as write, begun_file(public) as publish, whatever_becomes_of_the_terminal():
        _show(draw(), shown, output, write, publish, table)


def _show(
    released: Release[Any],
    shown: ShownEstimate,
    output: TableFormat,
    write: Callable[[Content], None] | None,
    publish: Callable[[Content], None] | None,
    table: _Table | None,
) -> None:
    from dxgeom.planner.release import FORMAT

    bars = shown.bars
    with kept_safe(released):
        for warning in released.warnings:
            print_error(f"warning: {warning}")
        for advice in released.advice:
            print_error(f"advice: {advice}")
        estimate = shown.of(released)
        released = replace(released, shown_estimate=None)  # made once, and told below
        told = shown.document(estimate)
        curators = {"format": FORMAT, **released.as_dict(bars.level, joint=bars.joint), **told}
        if write is not None and table is not None and table.task is not None:
            write(partial(write_records, released, table.task, suffix=table.suffix))
        elif write is not None and table is not None:
            beside = None if shown.name is None or isinstance(estimate, DxgeomError) else estimate
            write(partial(write_answer_table, released, bars, suffix=table.suffix, estimate=beside))
        elif write is not None:
            write(json_lines(curators))
        if publish is not None:
            readers = released.public_dict(bars.level, joint=bars.joint)
            publish(json_lines({"format": FORMAT, **readers, **told}))
        if output is TableFormat.json:
            print_json(curators)
        elif output is not TableFormat.text:
            print_answer_table(released, bars, output, estimate)
        else:
            print_release(released, bars, estimate)


class _Table(NamedTuple):
    """A file that is no JSON document but a table: how its name ends, and the task whose records it holds; None for
    one of answers."""

    suffix: str
    task: str | None


def _table_of(plan: Any, written: Path | None) -> _Table | None:
    """Raises: UnsupportedCombination where several tasks make records."""
    suffix = "" if written is None else written.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        return None
    names = plan.records_of
    if len(names) > 1:
        raise UnsupportedCombination(
            f"a file of records holds those of one task, and {' and '.join(map(repr, names))} make some: put them into "
            "files of their own, or write the release as JSON"
        )
    return _Table(suffix, names[0] if names else None)


def _reading(drop_outside: bool, count_column: str | None, quiet_data: bool) -> dict[str, Any]:
    """How the table is read."""
    outside = "drop" if drop_outside else "refuse"
    return {"outside": outside, "count_column": count_column, "quiet_data": quiet_data}


def _files(
    policy: Path, data: Any, queries: Path | None, ledger: str | None, key: str | None, rehearse: bool
) -> tuple[Path | None, Any, str | None]:
    """The queries file, the data, and the ledger; a rehearsal has no data and no ledger, a plan no queries file.

    Raises: typer.BadParameter.
    """
    if rehearse:
        if key is not None:
            raise typer.BadParameter("a rehearsal is not kept, so it has no name; leave it out", param_hint="--id")
        # Without data the queries file comes second.
        return (queries if queries is not None or policy.suffix == ".json" else data), None, None
    if data is None or ledger is None:
        missing = "DATA" if data is None else "--ledger"
        raise typer.BadParameter("is missing; only a rehearsal goes without data and ledger", param_hint=missing)
    return queries, data, ledger
