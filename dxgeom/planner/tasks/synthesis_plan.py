"""A plan of synthetic records by multiplicative weights: rounds or all at once, and what estimates the records."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from dxgeom.mechanisms.contract.composition import followed_by
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.mechanisms.synthetic.graphical_model import by_graphical_model, require_whole_marginals
from dxgeom.mechanisms.synthetic.multiplicative_weights import Mwem, mwem
from dxgeom.mechanisms.synthetic.synthetic import LastLook, Measurement, SyntheticHistogram
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.planner.releases.rehearsal import RECORDS
from dxgeom.planner.tasks.synthetic_answers import SyntheticAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.asked import SynthesisTask


@final
class SynthesisPlans(PlanKind):
    """Synthetic records by multiplicative weights."""

    called = "synthetic records"
    makes_records = True
    no_errors = Unknown(
        "how far off synthetic records are is proved of what was measured", "it is told with the answers"
    )

    def queries(self, plan: Plan) -> LinearQueries:
        workload: LinearQueries = plan.question.workload
        return workload

    def purpose(self, plan: Plan) -> str:
        return f"synthetic records for {plan.queries.count} queries by {plan.mechanism.name}"

    def answers(self, plan: Plan, answer: SyntheticHistogram, spend: Fraction, records: int | None) -> SyntheticAnswers:
        asked: SynthesisTask = plan.question
        rows = answer.records if asked.rows is None else asked.rows
        return SyntheticAnswers(asked, answer, None, spend, rows, asked.estimate)

    def blank(self, plan: Plan, records: int | None) -> SyntheticHistogram:
        """A histogram that was made of nothing: the public start, and one measurement of no query of the data."""
        weights: Mwem = plan.decided
        nothing = Measurement(0, True, 0, plan.queries.names[0], Fraction(0), 1.0, Fraction(1), 0.0)
        look = LastLook(np.zeros(plan.queries.count), 1.0)
        return SyntheticHistogram(weights.start, weights.asked, plan.records or RECORDS, (nothing,), look)

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        weights: Mwem = plan.decided
        number = records or plan.records
        rounds = weights.rounds_for(number or RECORDS, spend)
        told = f"{number:,} records" if number else f"{RECORDS:,} records (nobody says how many there are)"
        how = f"in {rounds} rounds" if rounds else "all at once"
        return (
            f"with {told}, {plan.queries.count} queries are measured {how}; how far off each answer can be, "
            f"with probability {level:g} for all at once, is proved of what was measured and told beside it",
        )

    def facts(self, plan: Plan) -> dict[str, Any]:
        asked: SynthesisTask = plan.question
        return {
            "queries": list(asked.workload.names),
            "rounds": asked.rounds,
            "rows": asked.rows,
            "estimate": asked.estimate,
            "mechanism": plan.mechanism.name,
        }


SYNTHESIS: Final = SynthesisPlans()


def plan_synthesis(metric: VerifiedMetric, asked: SynthesisTask, records: int | None) -> Plan:
    """The plan of synthetic records: of the weights, or of what a graphical model makes of their measurements.

    Raises: as :func:`dxgeom.mwem`; UnsupportedCombination, MissingExtra where a graphical model cannot be estimated.
    """
    weights = mwem(metric, asked.workload, rounds=asked.rounds)
    if asked.estimate == "mbi":
        require_whole_marginals(weights.asked)
    made: Mechanism[Any, SyntheticHistogram] = weights
    if asked.estimate != "weights":
        made = followed_by(weights, by_graphical_model, f"mwem, {asked.estimate}")
    return Plan(SYNTHESIS, metric, asked, made, records, decided=weights)
