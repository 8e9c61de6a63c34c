"""What a plan says of itself: why this mechanism, and how near to the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dxgeom.noise.rejection import RejectionNoise
from dxgeom.planner.candidates import CandidateResult, Kind, names
from dxgeom.planner.changed_queries import WORTH_A_BIAS
from dxgeom.planner.comparing.comparison import BOUND
from dxgeom.planner.currencies import CurrencyComparison
from dxgeom.privacy.currencies import CONCENTRATED, PURE

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan


def reason_of(plan: Plan) -> str:
    """Why this mechanism, in one sentence."""
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
    if abs(ratio - 1) < 1e-6:
        return f"{plan.mechanism.name}: {next_best.name} has the same mean squared error, and this is simpler"
    if 1 < ratio < 1.005:
        return f"{plan.mechanism.name}: {next_best.name} comes within {100 * (ratio - 1):.2g} % of its error"
    if next_best.name in names(Kind.CHANGED_QUERIES) and 1 - WORTH_A_BIAS <= ratio < 1:
        return f"{plan.mechanism.name}: {next_best.name} saves {100 * (1 - ratio):.2g} %, which is not worth a bias"
    compared = f"{ratio:.3g} times" if ratio > 1 else f"only {ratio:.3g} of"
    return f"{plan.mechanism.name}: {next_best.name} has {compared} its mean squared error"


def bound_in_words(plan: Plan) -> str:
    """What the lower bound says about this plan, in one sentence."""
    if not plan.comparison.bound_at_hand or plan.lower_bound == 0 < plan.loss:
        return "how far this plan is from the best noise is not known here: only a search for one tells"
    title, bound = plan.objective.title, plan.lower_bound
    said = f"no additive noise that stretches to every spend has a {title} below {bound:.6g}"
    if plan.covariance_gap is not None:
        exact = f"the covariance is within {plan.covariance_gap:.1e} of the best, relatively"
        return f"{said}, nor has any Gaussian noise: {exact}"
    if plan.mechanism.change is None:
        return f"{said}: this plan is within a factor {plan.gap:.3g} of it"
    return f"{said}: this plan's, for changed queries with a bias, is {plan.gap:.3g} times that"


def of_currency(plan: Plan) -> dict[str, Any]:
    """What is told of a plan for concentrated privacy, ready for JSON: only what is known without another search."""
    if plan.metric.privacy == PURE:
        return {}
    at_hand, compared = plan.comparison.bound_at_hand, _told_currencies(plan)
    return {
        "privacy": CONCENTRATED,
        "bounds": dict(plan.bounds) if at_hand else None,
        "covariance_gap": plan.covariance_gap if at_hand else None,
        "currencies": None if compared is None else compared.as_dict(),
    }


def currency_lines(plan: Plan) -> list[str]:
    """The same comparison for a reader."""
    compared = _told_currencies(plan)
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
            return ["a quick plan: only what is found at once was looked at, more time may find less noise"]
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


def _told_currencies(plan: Plan) -> CurrencyComparison | None:
    return plan.currencies if plan.comparison.named is None else None


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
        }
        for name, measure, error, bias, step, weight_error in zip(
            queries.names,
            plan.queries.measures or (None,) * plan.queries.count,
            plan.plan.rmse(),
            plan.bars().bias_of_each(),
            queries.steps,
            queries.weight_errors,
            strict=True,
        )
    ]
