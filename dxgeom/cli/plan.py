"""``dxgeom plan``: how queries would be answered, and how well."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
import typer

from dxgeom.cli.plans.box_plans import show_box_plan
from dxgeom.cli.plans.planning import planned, seek_bound
from dxgeom.cli.plans.quantile_plans import show_quantile_plan
from dxgeom.cli.plans.several_plans import show_several
from dxgeom.cli.plans.table_plans import show_table_plan
from dxgeom.cli.plans.task_plans import show_family_plan, show_task_plan
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.new_files import check_new
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
    QueriesFiles,
    QuickOption,
    RecordsOption,
    errors_of,
    spend_of,
)
from dxgeom.cli.terminal.outcomes import Outcome
from dxgeom.cli.terminal.printing import brief, print_error, print_json, print_lines, print_table
from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.planner.boxes.box_plan import BoxPlan
    from dxgeom.planner.candidates import CandidateResult
    from dxgeom.planner.marginals.marginal_plan import MarginalPlan
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.quantile_plan import QuantilePlan
    from dxgeom.planner.tasks.families import FamilyPlan
    from dxgeom.planner.tasks.task_plan import TaskPlan
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


def plan(
    policy: PolicyFile,
    queries: QueriesFiles,
    records: RecordsOption = None,
    spend: ShownSpendOption = None,
    mechanism: MechanismOption = "auto",
    objective: ObjectiveOption = ObjectiveChoice.balanced,
    error: ErrorOption = None,
    coarse_facets: CoarseFacetsOption = None,
    published: PublishedOption = False,
    quick: QuickOption = False,
    level: LevelOption = 0.95,
    target: TargetOption = None,
    diff: DiffOption = False,
    output: FormatOption = Format.text,
) -> None:
    """Plan how to answer queries, and say how exact the answers will be. Reads no data and spends nothing.

    Prints every mechanism that was considered with its predicted error, the one chosen and why, what to expect of each
    answer, and how far from the best possible this is. Of several queries files it says what each has to spend, so that
    all wanted errors are met at the least cost; --spend is then for all together. Control-C ends the search with the
    best that was finished, marked so, in the file of --output too; the exit code is then 130.

    \b
    Example:
      dxgeom plan policies/adult/policy.yaml policies/adult/queries.yaml --spend 0.25 --output plan.json
      dxgeom plan --diff plan.json newer.json
    """
    with refusals(output):
        if diff and len(queries) == 1:
            _print_differences(policy, queries[0], output)
            return
        if len(queries) > 1:
            _refuse_for_several(mechanism, objective, target, diff, published, quick)
            show_several(policy, queries, records, spend, errors_of(error), output)
            return
        said: dict[str, Any] = {"mechanism": mechanism, "objective": objective.value, "coarse_facets": coarse_facets}
        said |= {"errors": errors_of(error), "published": published, "quick": quick}
        _plan_one(policy, queries[0], records, spend, said, level, target, output)


def _plan_one(
    policy: Path,
    queries: Path,
    records: int | None,
    spend: Fraction | None,
    said: dict[str, Any],
    level: float,
    target: Path | None,
    output: Format,
) -> None:
    if target is not None:
        check_new(target)
    chosen, compiled = planned(policy, queries, records, spend=spend, **said)
    from dxgeom.planner.boxes.box_plan import BoxPlan
    from dxgeom.planner.marginals.marginal_plan import MarginalPlan
    from dxgeom.planner.quantile_plan import QuantilePlan
    from dxgeom.planner.tasks.families import FamilyPlan
    from dxgeom.planner.tasks.task_plan import TaskPlan

    kept = {} if target is None else _kept(chosen, target, compiled, spend)
    if isinstance(chosen, FamilyPlan):
        show_family_plan(chosen, output, kept)
    elif isinstance(chosen, QuantilePlan):
        show_quantile_plan(chosen, spend or Fraction(1), level, output, kept)
    elif isinstance(chosen, TaskPlan):
        show_task_plan(chosen, spend or chosen.least_spend or Fraction(1), level, output, kept)
    elif isinstance(chosen, MarginalPlan):
        show_table_plan(chosen, spend, level, output, kept)
    elif isinstance(chosen, BoxPlan):
        show_box_plan(chosen, spend, level, output, kept)
    else:
        seek_bound(chosen)
        _show(chosen, spend, records, level, output, kept)
        if chosen.interrupted is not None:
            print_error("interrupted; this is the best plan that was finished")
            raise typer.Exit(Outcome.INTERRUPTED)


def _refuse_for_several(
    mechanism: str, objective: ObjectiveChoice, target: Path | None, diff: bool, published: bool, quick: bool
) -> None:
    """Raises: UnsupportedCombination for what is said of one plan."""
    said = {
        "mechanism": mechanism != "auto",
        "objective": objective is not ObjectiveChoice.balanced,
        "output": target is not None,
        "diff": diff,
        "published": published,
        "quick": quick,
    }
    for option in (name for name, given in said.items() if given):
        raise UnsupportedCombination(f"--{option} is about one plan: give one queries file")


def _kept(
    plan: Plan | QuantilePlan | MarginalPlan | BoxPlan | TaskPlan | FamilyPlan,
    target: Path,
    policy: Policy,
    spend: Fraction | None,
) -> dict[str, str]:
    """The name of the file that was written, and its digest."""
    from dxgeom.plan_files.saving import save_plan
    from dxgeom.planner.tasks.families import FamilyPlan

    plan = plan.kept if isinstance(plan, FamilyPlan) else plan
    return {"file": str(target), "digest": save_plan(plan, target, policy=policy, spend=spend).digest}


def _print_differences(old: Path, new: Path, output: Format) -> None:
    from dxgeom.plan_files.diff import differences
    from dxgeom.plan_files.loading import load_plan

    found = differences(load_plan(old), load_plan(new))
    if output is Format.json:
        print_json({"old": str(old), "new": str(new), **found.as_dict()})
    else:
        print_lines(found.lines())


def _show(
    plan: Plan, spend: Fraction | None, records: int | None, level: float, output: Format, kept: dict[str, str]
) -> None:
    """The plan at the spend that was said, or the least for wanted errors, or 1; and the file that it was kept in."""
    least = plan.least_spend if plan.objective.wanted is not None else None
    shown = spend or least or Fraction(1)
    expected, useless = expectations(plan, shown, level), plan.useless_answers(shown, records)
    if output is Format.json:
        print_json(
            {
                **plan.as_dict(),
                "gap": plan.gap if plan.comparison.bound_at_hand else None,
                "least_spend": None if least is None else str(least),
                "expected": {"spend": str(shown), "level": level, "queries": expected},
                "warnings": [one.as_dict() for one in useless],
                **kept,
            }
        )
        return
    _print(plan, expected, shown, level)
    if least is not None:
        print_lines(["", f"spend   {plain(least)} is the least for the errors asked for"])
    if useless:
        print_lines(["", *(f"warning {one.in_words}" for one in useless)])
    if kept:
        print_lines(["", *(f"{name:<7} {said}" for name, said in kept.items())])


def expectations(plan: Plan, spend: Fraction, level: float) -> list[dict[str, Any]]:
    """What to expect of each answer, beside ordinary ε-DP where it can be compared.

    What rounding of values adds is in both errors; they are compared without it.
    """
    bars = plan.bars(spend)
    rounding = np.where(np.isfinite(bars.rounding), bars.rounding, 0.0)
    noise = np.sqrt(plan.mechanism.variances(spend))
    ordinary = np.sqrt(np.array(plan.ordinary.per_query or [np.nan] * noise.size)) / float(spend)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(noise > 0, ordinary / noise, np.nan)
    return [
        {
            "name": name,
            "rmse": float(error),
            "half_width": float(width),
            "epsilon_dp_rmse": None if np.isnan(baseline) else float(baseline),
            "epsilon_dp_ratio": None if np.isnan(ratio) else float(ratio),
        }
        for name, error, width, baseline, ratio in zip(
            plan.queries.names,
            bars.rmse,
            bars.half_widths(level),
            np.hypot(ordinary, rounding),
            ratios,
            strict=True,
        )
    ]


def _print(plan: Plan, expected: list[dict[str, Any]], spend: Fraction, level: float) -> None:
    from dxgeom.planner.words import acceptance_lines, search_lines

    head = f"{plan.metric.title}: {len(expected)} queries, {plan.objective.title} (mean squared error) at spend 1"
    print_lines([head, *search_lines(plan)])
    print_table(
        ("mechanism", plan.objective.title, "times the chosen", "worst query", "set-up in s", "note"),
        [_candidate_row(candidate, plan) for candidate in plan.comparison.told],
    )
    from dxgeom.planner.words import currency_lines

    reasons = [f"{candidate.name} {candidate.reason}" for candidate in plan.comparison.told if candidate.reason]
    ratio = plan.epsilon_dp_ratio
    ordinary = (
        [] if ratio is None else [f"ε-DP    ordinary ε-DP would have {brief(ratio)} times this {plan.objective.title}"]
    )
    print_lines(
        [
            *reasons,
            "",
            f"chosen  {plan.reason}",
            *ordinary,
            f"bound   {plan.bound_in_words}",
            *(f"{'' if place else 'pure':<8}{line}" for place, line in enumerate(currency_lines(plan))),
            *(f"unit    {one.unit}: {one.ratio:.3g} times the squared error it would have alone" for one in plan.units),
            *(f"bias    {said}" for said in plan.biases_in_words),
            *(f"drawn   {said}" for said in acceptance_lines(plan)),
            *([] if plan.metric.people is None else [f"people  {plan.metric.people.sentence}"]),
            "",
            f"each answer, at spend {plain(spend)}",
        ]
    )
    print_table(
        ("query", "rmse", f"± at {level * 100:g} %", "rmse of ε-DP", "ratio"),
        [_expected_row(answer) for answer in expected],
    )


def _candidate_row(candidate: CandidateResult, plan: Plan) -> tuple[str, ...]:
    worst = candidate.worst_query
    if candidate.loss is None or worst is None:
        return candidate.name, "-", "-", "-", "-", "not built"
    ratio = brief(candidate.loss / plan.loss) if plan.loss > 0 else "-"
    took = "-" if candidate.seconds is None else f"{candidate.seconds:.2g}"
    note = "chosen" if candidate.name == plan.mechanism.name else ""
    return candidate.name, brief(candidate.loss), ratio, brief(candidate.per_query[worst]), took, note


def _expected_row(answer: dict[str, Any]) -> tuple[str, str, str, str, str]:
    error, baseline, ratio = answer["rmse"], answer["epsilon_dp_rmse"], answer["epsilon_dp_ratio"]
    ordinary, times = ("-" if number is None else brief(number) for number in (baseline, ratio))
    return answer["name"], brief(error), brief(answer["half_width"]), ordinary, times
