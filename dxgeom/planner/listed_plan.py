"""Plans of noise on a list of queries: which mechanism, which error, and how far from the best possible."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.answers.error_bars import ErrorBars
from dxgeom.planner.answers.linear_answers import LinearAnswers
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.estimates.estimate import EstimateWish
from dxgeom.planner.measures import MeasureComparison, compared_privacy_measures
from dxgeom.planner.objectives.objective import Objective, UnitError, unit_errors
from dxgeom.planner.objectives.usefulness import UselessAnswer, useless_answers
from dxgeom.planner.overview import PlanOverview
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.planner.words import (
    acceptance_lines,
    acceptance_of,
    bound_in_words,
    each_query,
    of_privacy_measure,
    overview_of,
    privacy_measure_lines,
    reason_of,
    row_of,
    search_lines,
    search_of,
)
from dxgeom.universe.people.people import people_in_words
from dxgeom.universe.queries import LinearQueries


@final
@dataclass(frozen=True, eq=False)
class ListedNoise:
    """What was decided of noise on a list of queries. ``objective``: what was made small; ``comparison``: what else was
    considered."""

    objective: Objective
    comparison: CandidateComparison = field(repr=False)


def listed_plan(
    metric: VerifiedMetric,
    queries: LinearQueries,
    objective: Objective,
    mechanism: AdditiveMechanism,
    comparison: CandidateComparison,
    records: int | None = None,
) -> Plan:
    """The plan of this very noise."""
    return Plan(LISTED, metric, queries, mechanism, records, decided=ListedNoise(objective, comparison))


@final
class ListedPlans(PlanKind):
    """Noise on a list of queries."""

    answers_a_list = True

    def purpose(self, plan: Plan) -> str:
        return f"{plan.queries.count} queries by {plan.mechanism.name}"

    def answers(self, plan: Plan, answer: tuple[Fraction, ...], spend: Fraction, records: int | None) -> LinearAnswers:
        return LinearAnswers(plan.queries, plan.mechanism, answer, spend, records, plan.objective.factors)

    def blank(self, plan: Plan, records: int | None) -> tuple[Fraction, ...]:
        blank: tuple[Fraction, ...] = (Fraction(0),) * plan.queries.count
        return blank

    def fingerprint(self, plan: Plan) -> str:
        meaning = [plan.mechanism.fingerprint, plan.queries.fingerprint, repr(plan.objective)]
        return hashlib.sha256(json.dumps(meaning).encode()).hexdigest()

    def records(self, plan: Plan) -> int | None:
        change = plan.mechanism.change
        number: int | None = plan.queries.records or (None if change is None else change.records)
        return number

    def require_whole(self, plan: Plan) -> None:
        if plan.interrupted is not None and not plan.comparison.accepted:
            raise UnsupportedCombination(
                "planning was interrupted, so this is not the plan that would have been chosen, and a release uses up "
                "budget: plan again, or release plan.as_it_is()"
            )

    def require_estimate(self, plan: Plan, wish: EstimateWish) -> None:
        from dxgeom.planner.estimates.listed import require_few  # and a solver with it

        require_few(plan.queries.count, wish)

    def as_it_is(self, plan: Plan) -> Plan:
        decided: ListedNoise = plan.decided
        return replace(plan, decided=replace(decided, comparison=replace(decided.comparison, accepted=True)))

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> ErrorBars:
        return ErrorBars(plan.queries, plan.mechanism, spend, plan.records if records is None else records)

    def bars(self, plan: Plan, spend: Fraction, records: int | None) -> ErrorBars:
        return self.known(plan, spend, records)

    def rounding_biases(self, plan: Plan) -> NDArray[np.float64]:
        return self.known(plan, Fraction(1), None).rounding

    def useless_answers(self, plan: Plan, spend: Fraction, records: int | None) -> tuple[UselessAnswer, ...]:
        number = plan.queries.records if records is None else records
        return useless_answers(plan.queries, plan.mechanism, spend, number)

    def wants_errors(self, plan: Plan) -> bool:
        return self.objective(plan).wanted is not None

    def least_spend(self, plan: Plan) -> Fraction:
        return self.objective(plan).least_spend(plan.mechanism, plan.rounding_biases)

    def objective(self, plan: Plan) -> Objective:
        objective: Objective = plan.decided.objective
        return objective

    def loss(self, plan: Plan) -> float:
        return self.objective(plan).loss(plan.mechanism.variances())

    def lower_bound(self, plan: Plan) -> float:
        return plan.comparison.lower_bound

    def predicted_mse(self, plan: Plan) -> float:
        """Lattice rounding included."""
        return float(plan.mechanism.variances().sum())

    def comparison(self, plan: Plan) -> CandidateComparison:
        comparison: CandidateComparison = plan.decided.comparison
        return comparison

    def noise(self, plan: Plan) -> Literal["gaussian", "pure"] | None:
        law = plan.mechanism.law
        if law is None or not law.concentrated:
            return "pure"
        return "gaussian" if law.normal else None

    def covariance_gap(self, plan: Plan) -> float | None:
        law = plan.mechanism.law
        if law is None or not law.normal or plan.lower_bound <= 0:
            return None
        return max(0.0, self.objective(plan).loss(plan.mechanism.ideal_variances) / plan.lower_bound - 1)

    def bounds(self, plan: Plan) -> Mapping[str, float]:
        """See ``bounds_of``."""
        from dxgeom.planner.objectives.bounds import bounds_of

        return bounds_of(plan.mechanism.sensitivity, plan.objective, plan.lower_bound)

    def privacy_measures(self, plan: Plan) -> MeasureComparison | None:
        return compared_privacy_measures(plan.candidates)

    def units(self, plan: Plan) -> tuple[UnitError, ...]:
        return unit_errors(plan.objective, plan.queries, plan.mechanism.variances())

    def reason(self, plan: Plan) -> str:
        return reason_of(plan)

    def bound_in_words(self, plan: Plan) -> str:
        return bound_in_words(plan)

    def bias_in_words(self, plan: Plan) -> str | None:
        change = plan.mechanism.change
        if change is None:
            return None
        biases = plan.mechanism.biases
        worst = int(np.argmax(biases))
        return (
            f"answers are to changed queries: with {change.records:,} records none is further off than "
            f"{biases[worst]:.4g} ('{plan.queries.names[worst]}') apart from noise; errors are the worst over all "
            "such data"
        )

    def biases_in_words(self, plan: Plan) -> list[str]:
        changed = plan.bias_in_words
        return [*([] if changed is None else [changed]), *plan.bars().in_words()]

    def as_dict(self, plan: Plan) -> dict[str, Any]:
        objective = self.objective(plan)
        return {
            "metric": {"title": plan.metric.title, "fingerprint": plan.metric.fingerprint},
            "objective": objective.name,
            "units": [one.as_dict() for one in plan.units],
            "importance": None if objective.importance is None else [*map(str, objective.importance)],
            "mechanism": plan.mechanism.name,
            "reason": plan.reason,
            "predicted_mse": plan.predicted_mse,
            "loss": plan.loss,
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

    def lines(self, plan: Plan) -> list[str]:
        head = f"{len(plan.queries.names)} queries, objective {plan.objective}: {plan.reason}"
        told = plan.comparison.shown
        width = max((len(candidate.name) for candidate in told), default=0)
        table = [f"  {candidate.name:<{width}} {row_of(plan, candidate)}" for candidate in told]
        foot = [
            plan.bound_in_words,
            f"rounding to the lattice makes up {plan.mechanism.rounding_share:.2g} of the error",
        ]
        if plan.epsilon_dp_ratio is not None:
            foot.insert(
                0, f"ordinary ε-DP would have {plan.epsilon_dp_ratio:.3g} times this plan's {plan.objective.title}"
            )
        foot[:0] = [*privacy_measure_lines(plan), *(f"drawn {said}" for said in acceptance_lines(plan))]
        people = [] if plan.metric.people is None else [plan.metric.people.sentence]
        return [head, *search_lines(plan), *table, *people, *plan.biases_in_words, *foot]

    def overview(self, plan: Plan, spend: Fraction, level: float) -> PlanOverview:
        """What it was compared with, and what to expect of each answer."""
        return overview_of(plan, spend, level)


LISTED: Final = ListedPlans()
