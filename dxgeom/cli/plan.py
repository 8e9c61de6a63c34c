"""``dxgeom plan``: how queries would be answered, and how well."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import typer

from dxgeom.cli.options import (
    AllOption,
    BodyOption,
    CoarseFacetsOption,
    ErrorOption,
    Format,
    FormatOption,
    LevelOption,
    MechanismOption,
    ObjectiveChoice,
    ObjectiveOption,
    PolicyFile,
    QueriesFiles,
    QuickOption,
    RecordsOption,
    ThoroughOption,
    errors_of,
    spend_of,
    table_of,
)
from dxgeom.cli.planning import is_thorough, planned, seek_bound
from dxgeom.cli.terminal import (
    Outcome,
    check_new,
    print_error,
    print_json,
    print_lines,
    print_screen,
    print_table,
    print_warnings,
    refusals,
    screen_width,
)
from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.planner.overview import PlanOverview
    from dxgeom.planner.plan import Plan
    from dxgeom.policy.policy import Policy

ShownSpendOption: TypeAlias = Annotated[
    Fraction | None,
    typer.Option(
        "--spend",
        parser=spend_of,
        metavar="S",
        help="Show errors at this spend, such as 1/4, and write it into the file; left out, at the least for wanted "
        "errors, or at 1.",
    ),
]
PublishedOption: TypeAlias = Annotated[
    bool, typer.Option("--published", help="List the literature's ways to scale Laplace noise, too.")
]
TargetOption: TypeAlias = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the plan to this new file, for 'release'.")
]
DiffOption: TypeAlias = Annotated[
    bool, typer.Option("--diff", help="Take two plan files, old and new, and say in words what changed.")
]
PublicTableOption: TypeAlias = Annotated[
    Any,  # a path, or the URL of a table on a server
    typer.Option(
        "--public-table",
        parser=table_of,
        metavar="TABLE",
        help="Try out on this table what estimates are worth. It has to be public already, such as that of an earlier "
        "year: what is printed tells of it.",
    ),
]

KeptBesideOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--ledger", metavar="LEDGER", help="Keep the plan beside this ledger, a file, for 'release'."),
]


def plan(
    policy: PolicyFile,
    queries: QueriesFiles,
    records: RecordsOption = None,
    spend: ShownSpendOption = None,
    mechanism: MechanismOption = "auto",
    objective: ObjectiveOption = ObjectiveChoice.balanced,
    error: ErrorOption = None,
    coarse_facets: CoarseFacetsOption = None,
    body: BodyOption = None,
    published: PublishedOption = False,
    thorough: ThoroughOption = False,
    quick: QuickOption = False,
    level: LevelOption = 0.95,
    target: TargetOption = None,
    ledger: KeptBesideOption = None,
    public_table: PublicTableOption = None,
    diff: DiffOption = False,
    everything: AllOption = False,
    output: FormatOption = Format.text,
) -> None:
    """Plan how to answer queries, and say how exact the answers will be. Reads no private data and spends nothing.

    Prints what to expect of each answer, which are of no use and what would help, and how far from the best possible
    this is. With --all also every mechanism that was considered with its predicted error, and why one was chosen. Of
    several queries files it says what each has to spend, so that all wanted errors are met at the least cost; --spend
    is then for all together. Control-C ends the search with the best that was finished, marked so, in the file of
    --output too; the exit code is then 130.

    \b
    Example:
      dxgeom plan policies/adult/policy.yaml policies/adult/queries.yaml --spend 0.25 --output plan.json
      dxgeom plan --diff plan.json newer.json
    """
    with refusals(output, everything=everything):
        if diff and len(queries) == 1:
            if public_table is not None:
                raise UnsupportedCombination(
                    "--diff compares two plan files and reads no table: leave out --public-table"
                )
            _print_differences(policy, queries[0], output)
            return
        if len(queries) > 1:
            once = {"diff": diff, "published": published, "ledger": ledger is not None}
            once |= {
                "public-table": public_table is not None,
                "body": body is not None,
                "thorough": is_thorough(thorough, quick),
            }
            _refuse_for_several(mechanism, objective, target, once)
            _show_several(policy, queries, records, spend, errors_of(error), output)
            return
        said: dict[str, Any] = {"mechanism": mechanism, "objective": objective.value, "coarse_facets": coarse_facets}
        said |= {
            "errors": errors_of(error),
            "published": published,
            "body": body,
            "thorough": is_thorough(thorough, quick),
        }
        said |= {"ledger": ledger, "anew": True}
        shown = _Shown(output, everything or published)
        _plan_one(policy, queries[0], records, spend, said, level, target, public_table, shown)


def _name_excess(spend: Fraction | None, policy: Policy, _: object = None) -> None:
    """Names what no release may spend, before anything is planned."""
    if spend is not None and spend > policy.budget:
        print_error(
            f"warning: --spend {plain(spend)} is more than the whole budget of {plain(policy.budget)}: a release at it "
            "would be refused, and ± are those of no release"
        )


class _Shown(NamedTuple):
    """How a plan is printed, and whether all of it."""

    output: Format
    everything: bool


def _next(policy: Path, queries: Path, read: Policy, spend: Fraction | None) -> list[str]:
    """The command that releases it, for a quarter of the budget where no spend is said."""
    words = [
        "next: dxgeom release",
        str(policy),
        "TABLE",
        str(queries),
        f"--ledger FILE --spend {plain(read.budget / 4 if spend is None else spend)}",
    ]
    lines = [words[0]]
    for word in words[1:]:
        if len(lines[-1]) + len(word) + 3 > screen_width():
            lines[-1] += " \\"
            lines.append(f"        {word}")
        else:
            lines[-1] += f" {word}"
    return lines


def _plan_one(
    policy: Path,
    queries: Path,
    records: int | None,
    spend: Fraction | None,
    options: dict[str, Any],
    level: float,
    target: Path | None,
    public_table: Any,
    shown: _Shown,
) -> None:
    if target is not None:
        check_new(target)
    chosen, compiled = planned(policy, queries, records, spend=spend, ready=partial(_name_excess, spend), **options)
    kept = {} if target is None else _saved(chosen, target, compiled, spend)
    seek_bound(chosen)
    tried = None if public_table is None else chosen.simulate_estimate(str(public_table), spend=spend)
    if shown.output is Format.json or shown.everything:
        said = {} if tried is None or shown.output is not Format.json else {"simulated_estimate": tried.as_dict()}
        _show(chosen.overview(spend, level), shown.output, {**kept, **said})
    else:
        from dxgeom.report.short_plan import plan_screen

        print_screen(plan_screen(chosen, chosen.spend_of_figures(spend), level, compiled))
        print_lines([f"{name:<7} {said}" for name, said in kept.items()] or _next(policy, queries, compiled, spend))
    if tried is not None and shown.output is not Format.json:
        print_lines(["", tried.in_words])
    if chosen.interrupted is not None:
        print_error("interrupted; this is the best plan that was finished")
        raise typer.Exit(Outcome.INTERRUPTED)


def _show(plan: PlanOverview, output: Format, kept: dict[str, Any]) -> None:
    """The plan, and the file that it was kept in."""
    if output is Format.json:
        print_json({**plan.document, **kept})
        return
    print_lines(plan.head)
    for table in plan.tables:
        print_table(table.titles, table.rows)
        print_lines(table.below)
    files = [f"{name:<{plan.margin}} {said}" for name, said in kept.items()]
    print_lines([*([""] if plan.apart and files else []), *files])


def _show_several(
    policy: Path,
    files: Sequence[Path],
    records: int | None,
    spend: Fraction | None,
    errors: dict[str, str] | None,
    output: Format,
) -> None:
    """Plans the files together, and prints each one's spend and errors.

    Raises: UnsupportedCombination for files of quantiles, and for an error of a query that no file, or more than one,
    has; and as plan_together.
    """
    from dxgeom.planner.kind import kind_of
    from dxgeom.planner.plan_together import plan_together
    from dxgeom.policy.policy import load_policy
    from dxgeom.queries.queries_file import load_queries

    policy_read = load_policy(policy)
    print_warnings(policy_read)
    _name_excess(spend, policy_read)
    workloads: list[Any] = []
    for file in files:
        asked = load_queries(file, policy_read, records)
        kind = kind_of(asked)
        if not kind.counts:
            raise UnsupportedCombination(f"{file} asks for {kind.about}: plan it on its own")
        workloads.append(asked)
    together = plan_together(
        policy_read.compile(), workloads, errors=_errors_of(workloads, errors), spend=spend, records=records
    )
    named = [str(file) for file in files]
    if output is Format.json:
        print_json({"files": named, **together.as_dict()})
        return
    head, *rest, foot = together.lines()
    print_lines([head, *(f"{line}  ({name})" for line, name in zip(rest, named, strict=True)), foot])


def _errors_of(workloads: Sequence[object], errors: dict[str, str] | None) -> list[dict[str, str] | None]:
    """To each workload the wanted errors of its queries."""
    names = [set(getattr(one, "names", ())) for one in workloads]
    for query in errors or ():
        holders = sum(query in own for own in names)
        if holders != 1:
            raise UnsupportedCombination(
                f"an error is wanted for {query!r}, which {holders or 'none'} of these files ask for"
            )
    return [{query: error for query, error in (errors or {}).items() if query in own} or None for own in names]


def _refuse_for_several(
    mechanism: str,
    objective: ObjectiveChoice,
    target: Path | None,
    once: dict[str, bool],
) -> None:
    """Raises: UnsupportedCombination for what is said of one plan. Args: ``once``: further options, and whether each
    was given."""
    said = {
        "mechanism": mechanism != "auto",
        "objective": objective is not ObjectiveChoice.balanced,
        "output": target is not None,
        **once,
    }
    for option in (name for name, given in said.items() if given):
        raise UnsupportedCombination(f"--{option} is about one plan: give one queries file")


def _saved(
    plan: Plan,
    target: Path,
    policy: Policy,
    spend: Fraction | None,
) -> dict[str, str]:
    """The name of the file that was written, and its digest."""
    from dxgeom.plan_files.saving import save_plan

    return {"file": str(target), "digest": str(save_plan(plan.kept, target, policy=policy, spend=spend).digest)}


def _print_differences(old: Path, new: Path, output: Format) -> None:
    from dxgeom.plan_files.diff import differences
    from dxgeom.plan_files.loading import load_plan

    found = differences(load_plan(old), load_plan(new))
    if output is Format.json:
        print_json({"old": str(old), "new": str(new), **found.as_dict()})
    else:
        print_lines(found.lines())
