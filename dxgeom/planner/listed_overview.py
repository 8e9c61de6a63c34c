"""A plan of noise on a list of queries as it is shown: what it was compared with, and what to expect of each answer."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dxgeom.planner.candidates import CandidateResult
from dxgeom.planner.overview import OverviewTable, PlanOverview
from dxgeom.planner.plan import Plan
from dxgeom.planner.words import acceptance_lines, currency_lines, search_lines
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import brief


def overview_of(plan: Plan, spend: Fraction, level: float) -> PlanOverview:
    """The plan at a spend."""
    least = plan.least_spend if plan.wants_errors else None
    expected, useless = _expectations(plan, spend, level), plan.useless_answers(spend)
    document = {
        **plan.as_dict(),
        "gap": plan.gap if plan.comparison.bound_at_hand else None,
        "least_spend": None if least is None else str(least),
        "expected": {"spend": str(spend), "level": level, "queries": expected},
        "warnings": [one.as_dict() for one in useless],
    }
    title = plan.objective.title
    head = f"{plan.metric.title}: {len(expected)} queries, {title} (mean squared error) at spend 1"
    compared = OverviewTable(
        ("mechanism", title, "times the chosen", "worst query", "set-up in s", "note"),
        [_candidate_row(candidate, plan) for candidate in plan.comparison.told],
        [*_below_candidates(plan), "", f"each answer, at spend {plain(spend)}"],
    )
    foot = [] if least is None else ["", f"spend   {plain(least)} is the least for the errors asked for"]
    foot += ["", *(f"warning {one.in_words}" for one in useless)] if useless else []
    answers = OverviewTable(
        ("query", "rmse", f"± at {level * 100:g} %", "rmse of ε-DP", "ratio"), [*map(_expected_row, expected)], foot
    )
    return PlanOverview(document, [head, *search_lines(plan)], (compared, answers), apart=True)


def _below_candidates(plan: Plan) -> list[str]:
    ratio = plan.epsilon_dp_ratio
    ordinary = f"ε-DP    ordinary ε-DP would have {brief(ratio or 0)} times this {plan.objective.title}"
    return [
        *(f"{candidate.name} {candidate.reason}" for candidate in plan.comparison.told if candidate.reason),
        "",
        f"chosen  {plan.reason}",
        *([] if ratio is None else [ordinary]),
        f"bound   {plan.bound_in_words}",
        *(f"{'' if place else 'pure':<8}{line}" for place, line in enumerate(currency_lines(plan))),
        *(f"unit    {one.unit}: {one.ratio:.3g} times the squared error it would have alone" for one in plan.units),
        *(f"bias    {said}" for said in plan.biases_in_words),
        *(f"drawn   {said}" for said in acceptance_lines(plan)),
        *([] if plan.metric.people is None else [f"people  {plan.metric.people.sentence}"]),
    ]


def _expectations(plan: Plan, spend: Fraction, level: float) -> list[dict[str, Any]]:
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
