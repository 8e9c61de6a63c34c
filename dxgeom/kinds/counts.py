"""Counts and sums with noise on each: lists of linear queries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.planner.kind import OF_NOISE, Planning, QuestionKind, kind_of
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.universe.queries import LinearQueries

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.additive import AdditiveMechanism
    from dxgeom.planner.answers.linear_answers import ErrorBars, LinearAnswers
    from dxgeom.planner.choose import ListedNoise
    from dxgeom.planner.comparing.comparison import CandidateComparison
    from dxgeom.planner.estimates.estimate import EstimateWish
    from dxgeom.planner.measures import MeasureComparison
    from dxgeom.planner.objectives.objective import Objective, UnitError, UselessAnswer
    from dxgeom.planner.overview import PlanOverview
    from dxgeom.planner.plan import Plan


@final
class LinearQueriesKind(QuestionKind[LinearQueries], PlanKind):
    """Linear queries: noise of the best shape; or the best family of mechanisms, or noise in boxes, by its name."""

    question = LinearQueries
    about = "counts and sums"
    heeds = OF_NOISE | {"importance", "errors", "published", "body"}
    counts = answers_a_list = within_tasks = True
    codec = "dxgeom.plan_files.listed_plans:CODEC"

    def part(self, question: LinearQueries, how: Planning) -> Plan:
        from dxgeom.planner.candidates import require_known  # slow to load, as all that plans is
        from dxgeom.planner.choose import by_cost
        from dxgeom.planner.tasks.families import FAMILIES
        from dxgeom.planner.wish import BOX_NOISE, NAMED_FAMILIES
        from dxgeom.universe.workloads.spans import boxes_of

        wish = how.wish
        if wish.mechanism in BOX_NOISE:
            boxes = boxes_of(question)
            own, kind = how if wish.records != boxes.records else how.saying(records=None), kind_of(boxes)
            kind.require_heeded(own.wish)
            return kind.part(boxes, own)
        require_known(wish.mechanism)
        if wish.mechanism in NAMED_FAMILIES:
            if question.universe is not None:
                question.universe.require_indexable("synthetic records")
            return FAMILIES.part(question, how)
        return by_cost(how.metric, question, wish, in_a_task=bool(how.task))

    def purpose(self, plan: Plan) -> str:
        return f"{plan.queries.count} queries by {plan.mechanism.name}"

    def answers(self, plan: Plan, answer: tuple[Fraction, ...], spend: Fraction, records: int | None) -> LinearAnswers:
        from dxgeom.planner.answers.linear_answers import LinearAnswers

        counted = plan.objective.factors if plan.objective.size is None else None
        return LinearAnswers(plan.queries, plan.mechanism, answer, spend, records, counted)

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

    def true_answer(self, plan: Plan, data: Any, noiseless: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        mechanism: AdditiveMechanism = plan.mechanism
        return noiseless if mechanism.change is None else mechanism.unchanged_answers(data)

    def as_it_is(self, plan: Plan) -> Plan:
        decided: ListedNoise = plan.decided
        return replace(plan, decided=replace(decided, comparison=replace(decided.comparison, accepted=True)))

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> ErrorBars:
        from dxgeom.planner.answers.linear_answers import ErrorBars

        return ErrorBars(plan.queries, plan.mechanism, spend, plan.records if records is None else records)

    def bars(self, plan: Plan, spend: Fraction, records: int | None) -> ErrorBars:
        return self.known(plan, spend, records)

    def rounding_biases(self, plan: Plan) -> NDArray[np.float64]:
        return self.known(plan, Fraction(1), None).rounding

    def useless_answers(self, plan: Plan, spend: Fraction, records: int | None) -> tuple[UselessAnswer, ...]:
        from dxgeom.planner.objectives.objective import useless_answers

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
        return self.objective(plan).loss_of(plan.mechanism)

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
        from dxgeom.planner.objectives.objective import bounds_of

        return bounds_of(plan.mechanism.sensitivity, plan.objective, plan.lower_bound)

    def privacy_measures(self, plan: Plan) -> MeasureComparison | None:
        from dxgeom.planner.measures import compared_privacy_measures

        return compared_privacy_measures(plan.candidates)

    def units(self, plan: Plan) -> tuple[UnitError, ...]:
        from dxgeom.planner.objectives.objective import unit_errors

        return unit_errors(plan.objective, plan.queries, plan.mechanism.variances())

    def reason(self, plan: Plan) -> str:
        from dxgeom.planner import words

        return words.reason_of(plan)

    def bound_in_words(self, plan: Plan) -> str:
        from dxgeom.planner import words

        return words.bound_in_words(plan)

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

    def overview(self, plan: Plan, spend: Fraction, level: float) -> PlanOverview:
        """What it was compared with, and what to expect of each answer."""
        from dxgeom.planner import words

        return words.overview_of(plan, spend, level)

    def as_dict(self, plan: Plan) -> dict[str, Any]:
        from dxgeom.planner import words

        return words.document_of(plan)

    def lines(self, plan: Plan) -> list[str]:
        from dxgeom.planner import words

        return words.lines_of(plan)


COUNTS: Final = LinearQueriesKind()
