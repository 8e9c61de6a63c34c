"""``dxgeom plan``: how queries would be answered, and how well."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dxgeom.cli.planning import planned
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
    PolicyFile,
    QueriesFile,
    RecordsOption,
    errors_of,
    spend_of,
)
from dxgeom.cli.terminal.printing import brief, print_json, print_lines, print_table
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.planner.candidates import CandidateResult
    from dxgeom.planner.plan import Plan


def plan(
    policy: PolicyFile,
    queries: QueriesFile,
    records: RecordsOption = None,
    spend: Annotated[
        Fraction | None,
        typer.Option(
            "--spend",
            parser=spend_of,
            metavar="S",
            help="Show errors at this spend, such as 1/4; left out, at the least for wanted errors, or at 1.",
        ),
    ] = None,
    mechanism: MechanismOption = "auto",
    objective: ObjectiveOption = ObjectiveChoice.balanced,
    error: ErrorOption = None,
    coarse_facets: CoarseFacetsOption = None,
    published: Annotated[
        bool, typer.Option("--published", help="List the literature's ways to scale Laplace noise, too.")
    ] = False,
    level: LevelOption = 0.95,
    output: FormatOption = Format.text,
) -> None:
    """Plan how to answer queries, and say how exact the answers will be. Reads no data and spends nothing.

    Prints every mechanism that was considered with its predicted error, the one chosen and why, what to expect of each
    answer, and how far from the best possible this is.

    \b
    Example:
      dxgeom plan policies/adult/policy.yaml policies/adult/queries.yaml --spend 0.25
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
            published=published,
        )
        _show(chosen, spend, records, level, output)


def _show(plan: Plan, spend: Fraction | None, records: int | None, level: float, output: Format) -> None:
    """The plan at the spend that was said, or the least for wanted errors, or 1."""
    least = plan.least_spend if plan.objective.wanted is not None else None
    shown = spend or least or Fraction(1)
    expected, useless = expectations(plan, shown, level), plan.useless_answers(shown, records)
    if output is Format.json:
        print_json(
            {
                **plan.as_dict(),
                "gap": plan.gap,
                "least_spend": None if least is None else str(least),
                "expected": {"spend": str(shown), "level": level, "queries": expected},
                "warnings": [one.as_dict() for one in useless],
            }
        )
        return
    _print(plan, expected, shown, level)
    if least is not None:
        print_lines(["", f"spend   {plain(least)} is the least for the errors asked for"])
    if useless:
        print_lines(["", *(f"warning {one.in_words}" for one in useless)])


def expectations(plan: Plan, spend: Fraction, level: float) -> list[dict[str, Any]]:
    """What to expect of each answer, beside ordinary ε-DP where it can be compared."""
    errors, widths = plan.rmse(spend), plan.half_widths(level, spend)
    ordinary: list[float | None] = [math.sqrt(variance) / float(spend) for variance in plan.ordinary.per_query]
    ordinary = ordinary or [None] * len(errors)
    return [
        {"name": name, "rmse": float(error), "half_width": float(width), "epsilon_dp_rmse": baseline}
        for name, error, width, baseline in zip(plan.queries.names, errors, widths, ordinary, strict=True)
    ]


def _print(plan: Plan, expected: list[dict[str, Any]], spend: Fraction, level: float) -> None:
    print_lines(
        [f"{plan.metric.title}: {len(expected)} queries, {plan.objective.title} (mean squared error) at spend 1"]
    )
    print_table(
        ("mechanism", plan.objective.title, "times the chosen", "worst query", "set-up in s", "note"),
        [_candidate_row(candidate, plan) for candidate in plan.candidates],
    )
    reasons = [f"{candidate.name} {candidate.reason}" for candidate in plan.candidates if candidate.reason]
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
            *(f"unit    {one.unit}: {one.ratio:.3g} times the squared error it would have alone" for one in plan.units),
            *(f"bias    {said}" for said in plan.biases_in_words),
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
    error, baseline = answer["rmse"], answer["epsilon_dp_rmse"]
    ratio = "-" if baseline is None or error == 0 else brief(baseline / error)
    ordinary = "-" if baseline is None else brief(baseline)
    return answer["name"], brief(error), brief(answer["half_width"]), ordinary, ratio
