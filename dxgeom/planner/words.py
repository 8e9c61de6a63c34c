"""What a plan of noise on a list of queries says of itself: why this noise, how near to the best, what to expect."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dxgeom.noise.rejection import RejectionNoise
from dxgeom.planner.candidates import CandidateResult, Kind, names
from dxgeom.planner.changed_queries import WORTH_A_BIAS
from dxgeom.planner.comparing.comparison import BOUND
from dxgeom.planner.measures import MeasureComparison
from dxgeom.planner.overview import OverviewTable, PlanOverview
from dxgeom.planner.public_numbers import public_part, public_sentences, public_words
from dxgeom.privacy.measures import CONCENTRATED, PURE
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import people_in_words
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan


def reason_of(plan: Plan) -> str:
    """Why this mechanism, in one sentence."""
    public = public_part(plan.mechanism)
    if public is not None and public.implied.all():
        return f"{plan.mechanism.name}: public numbers imply all answers, and nothing is asked of the data"
    if plan.predicted_mse == 0:
        return f"{plan.mechanism.name}: the policy protects nothing these queries see, so answers are exact"
    if plan.comparison.named is not None:
        return f"{plan.mechanism.name}: it was asked for by name, and no other was built"
    # A coarsened hull that may have every facet is the hull again.
    same = ("hull", "coarse-hull") if plan.mechanism.name == "hull" else (plan.mechanism.name,)
    others = [one for one in plan.candidates if one.loss is not None and one.name not in same]
    if not plan.candidates:
        return f"{plan.mechanism.name}: as its file says; no other was tried here"
    if not others and plan.interrupted is not None:
        return f"{plan.mechanism.name}: nothing else was finished"
    if not others:
        return f"{plan.mechanism.name}: the only candidate"
    next_best = min(others, key=lambda candidate: candidate.loss or 0.0)
    ratio = (next_best.loss or 0.0) / plan.loss
    bounded = next_best.reason or not plan.objective.is_exact(plan.mechanism)
    error = "mean squared error" if plan.objective.size is None else plan.objective.title
    error = f"{error}, as far as bounded" if bounded else error
    if abs(ratio - 1) < 1e-6:
        return f"{plan.mechanism.name}: {next_best.name} has the same {error}, and this is simpler"
    if 1 < ratio < 1.005:
        near = f"{100 * (ratio - 1):.2g} % of its {error if bounded else 'error'}"
        return f"{plan.mechanism.name}: {next_best.name} comes within {near}"
    if next_best.name in names(Kind.CHANGED_QUERIES) and 1 - WORTH_A_BIAS <= ratio < 1:
        return f"{plan.mechanism.name}: {next_best.name} saves {100 * (1 - ratio):.2g} %, which is not worth a bias"
    compared = f"{ratio:.3g} times" if ratio > 1 else f"only {ratio:.3g} of"
    return f"{plan.mechanism.name}: {next_best.name} has {compared} its {error}"


def bound_in_words(plan: Plan) -> str:
    """What the lower bound says about this plan, in one sentence."""
    if not plan.comparison.bound_at_hand or plan.lower_bound == 0 < plan.loss:
        return "how far this plan is from the best noise is not known here: only a search for one tells"
    title, bound = plan.objective.title, plan.lower_bound
    article = "an" if title.startswith("e") else "a"
    of = "" if public_part(plan.mechanism) is None else " for what is left to ask of the data"
    said = f"no additive noise that stretches to every spend has {article} {title} below {bound:.6g}{of}"
    if plan.covariance_gap is not None:
        exact = f"the covariance is within {plan.covariance_gap:.1e} of the best, relatively"
        return f"{said}, nor has any Gaussian noise: {exact}"
    if plan.mechanism.change is None:
        return f"{said}: this plan is within a factor {plan.gap:.3g} of it"
    return f"{said}: this plan's, for changed queries with a bias, is {plan.gap:.3g} times that"


def of_privacy_measure(plan: Plan) -> dict[str, Any]:
    """What is told of a plan for concentrated privacy, ready for JSON: only what is known without another search."""
    if plan.metric.privacy == PURE:
        return {}
    at_hand, compared = plan.comparison.bound_at_hand, _compared_privacy_measures(plan)
    return {
        "privacy": CONCENTRATED,
        "bounds": dict(plan.bounds) if at_hand else None,
        "covariance_gap": plan.covariance_gap if at_hand else None,
        "currencies": None if compared is None else compared.as_dict(),
    }


def privacy_measure_lines(plan: Plan) -> list[str]:
    """The same comparison for a reader."""
    compared = _compared_privacy_measures(plan)
    return [] if compared is None else compared.lines()


def search_of(plan: Plan) -> dict[str, str]:
    """How the search for noise ended, where not with all candidates looked at; ready for JSON."""
    search = plan.comparison.search
    if search == "full":
        return {}
    at = {} if plan.interrupted is None else {"interrupted_at": plan.interrupted}
    return {"search": search, **at}


def search_lines(plan: Plan) -> list[str]:
    """The same for a reader."""
    match plan.comparison.search:
        case "full":
            return []
        case "quick":
            return ["what takes long to find was left out, and may have less noise: plan thoroughly to try it"]
    if plan.interrupted == BOUND:
        return ["the search for a lower bound was interrupted; the plan is what it would have been"]
    at = "" if plan.interrupted is None else f" at {plan.interrupted}"
    return [f"planning was interrupted{at}: this is the best that was finished, and proved like any other"]


def acceptance_of(plan: Plan) -> dict[str, float]:
    """Which part of all tries is kept, where noise is drawn by rejection; a fact of two bodies, and of no data."""
    law = plan.mechanism.law
    return {"acceptance": law.acceptance} if isinstance(law, RejectionNoise) else {}


def acceptance_lines(plan: Plan) -> list[str]:
    """How noise is drawn, for a reader; nothing where it is drawn at the first try."""
    return [
        f"by rejection: {kept:.3g} of all tries are kept, {1 / kept:.3g} tries an answer"
        for kept in acceptance_of(plan).values()
    ]


def _compared_privacy_measures(plan: Plan) -> MeasureComparison | None:
    return plan.privacy_measures if plan.comparison.named is None else None


def row_of(plan: Plan, candidate: CandidateResult) -> str:
    """A candidate's row in the table: its errors, or why it was not built."""
    worst = candidate.worst_query
    if candidate.loss is None or worst is None:
        return candidate.reason
    error = f"{plan.objective.title} {candidate.loss:<12.6g} worst {candidate.per_query[worst]:.4g}"
    took = "" if candidate.seconds is None else f", {candidate.seconds:.2g} s"
    return f"{error} ('{plan.queries.names[worst]}'); {candidate.build_cost}{took}"


def each_query(plan: Plan) -> list[dict[str, Any]]:
    """What is known of each query's error, ready for JSON."""
    queries = plan.mechanism.sensitivity.queries
    return [
        {
            "name": name,
            "unit": measure,
            "rmse": float(error),
            "bias": bias,
            "lattice_step": str(step),
            "weight_error": str(weight_error),
            **public,
        }
        for name, measure, error, bias, step, weight_error, public in zip(
            queries.names,
            plan.queries.measures or (None,) * plan.queries.count,
            plan.plan.rmse(),
            plan.bars().bias_of_each(),
            queries.steps,
            queries.weight_errors,
            public_words(plan.queries, plan.mechanism),
            strict=True,
        )
    ]


def document_of(plan: Plan) -> dict[str, Any]:
    """The plan ready for JSON."""
    objective = plan.objective
    return {
        "metric": {"title": plan.metric.title, "fingerprint": plan.metric.fingerprint},
        "objective": objective.name,
        "units": [one.as_dict() for one in plan.units],
        "importance": None if objective.importance is None else [*map(str, objective.importance)],
        "mechanism": plan.mechanism.name,
        "reason": plan.reason,
        "predicted_mse": plan.predicted_mse,
        "loss": plan.loss,
        **({} if objective.is_exact(plan.mechanism) else {"loss_is": "at most"}),
        "lower_bound": plan.lower_bound if plan.comparison.bound_at_hand else None,
        "epsilon_dp_ratio": plan.epsilon_dp_ratio,
        **of_privacy_measure(plan),
        "candidates": [candidate.as_dict() for candidate in plan.comparison.shown],
        "queries": each_query(plan),
        "records": plan.records,
        **people_in_words(plan.metric.people),
        **acceptance_of(plan),
        **search_of(plan),
        "rounding_share": plan.mechanism.rounding_share,
        "fingerprint": plan.fingerprint,
    }


def lines_of(plan: Plan) -> list[str]:
    """The plan for a reader."""
    head = f"{len(plan.queries.names)} queries, objective {plan.objective}: {plan.reason}"
    told = plan.comparison.shown
    width = max((len(candidate.name) for candidate in told), default=0)
    table = [f"  {candidate.name:<{width}} {row_of(plan, candidate)}" for candidate in told]
    foot = [
        plan.bound_in_words,
        f"rounding to the lattice makes up {plan.mechanism.rounding_share:.2g} of the error",
    ]
    if plan.epsilon_dp_ratio is not None:
        foot.insert(0, f"ordinary ε-DP would have {plan.epsilon_dp_ratio:.3g} times this plan's {plan.objective.title}")
    foot[:0] = [*privacy_measure_lines(plan), *(f"drawn {said}" for said in acceptance_lines(plan))]
    people = [] if plan.metric.people is None else [plan.metric.people.sentence]
    public = public_sentences(plan.queries, plan.mechanism)
    return [head, *search_lines(plan), *table, *people, *public, *plan.biases_in_words, *foot]


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
    of = " (mean squared error)" if plan.objective.size is None else ""
    head = f"{plan.metric.title}: {len(expected)} queries, {title}{of} at spend 1"
    compared = OverviewTable(
        ("mechanism", title, "times the chosen", "worst query", "set-up in s", "note"),
        [_candidate_row(candidate, plan) for candidate in plan.comparison.shown],
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
        *(f"{candidate.name} {candidate.reason}" for candidate in plan.comparison.shown if candidate.reason),
        "",
        f"chosen  {plan.reason}",
        *([] if ratio is None else [ordinary]),
        f"bound   {plan.bound_in_words}",
        *(f"{'' if place else 'pure':<8}{line}" for place, line in enumerate(privacy_measure_lines(plan))),
        *(f"unit    {one.unit}: {one.ratio:.3g} times the squared error it would have alone" for one in plan.units),
        *(f"public  {said}" for said in public_sentences(plan.queries, plan.mechanism)),
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
