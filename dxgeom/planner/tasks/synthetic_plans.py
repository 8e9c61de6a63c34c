"""Plans of synthetic records: by multiplicative weights, in rounds or all at once; or a small database among all."""

from __future__ import annotations

from abc import ABC
from fractions import Fraction
from typing import Any, Final, cast, final

import numpy as np

from dxgeom.mechanisms.contract.composition import followed_by
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.mechanisms.selection.small_databases import SmallDatabase, small_database
from dxgeom.mechanisms.synthetic.graphical_model import by_graphical_model, require_whole_marginals
from dxgeom.mechanisms.synthetic.multiplicative_weights import Mwem, mwem
from dxgeom.mechanisms.synthetic.synthetic import LastLook, Measurement, SyntheticHistogram
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.noisy_maximum import SelectionLaw
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.planner.releases.rehearsal import RECORDS
from dxgeom.planner.tasks.synthetic_answers import SyntheticAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.questions import DatabaseTask, SynthesisTask


class SyntheticPlans(PlanKind, ABC):
    """Records that are made up, to answer a workload nearly as the real ones do."""

    makes_records = True

    def queries(self, plan: Plan) -> LinearQueries:
        workload: LinearQueries = plan.question.workload
        return workload


def _size(records: int | None) -> str:
    return f"{records:,} records" if records else f"{RECORDS:,} records (nobody says how many there are)"


@final
class SynthesisPlans(SyntheticPlans):
    """Synthetic records by multiplicative weights."""

    called = "synthetic records"
    no_errors = Unknown(
        "how far off synthetic records are is proved of what was measured", "it is told with the answers"
    )

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
        return SyntheticHistogram(weights.start, weights.workload, plan.records or RECORDS, (nothing,), look)

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        weights: Mwem = plan.decided
        number = records or plan.records
        rounds = weights.rounds_for(number or RECORDS, spend)
        how = f"in {rounds} rounds" if rounds else "all at once"
        return (
            f"with {_size(number)}, {plan.queries.count} queries are measured {how}; how far off each answer can be, "
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


def plan_synthesis(metric: VerifiedMetric, question: SynthesisTask, records: int | None) -> Plan:
    """The plan of synthetic records: of the weights, or of what a graphical model makes of their measurements.

    Raises: as :func:`dxgeom.mwem`; UnsupportedCombination, MissingExtra where a graphical model cannot be estimated.
    """
    weights = mwem(metric, question.workload, rounds=question.rounds)
    if question.estimate == "mbi":
        require_whole_marginals(weights.workload)
    made: Mechanism[Any, SyntheticHistogram] = weights
    if question.estimate != "weights":
        made = followed_by(weights, by_graphical_model, f"mwem, {question.estimate}")
    return Plan(SYNTHESIS, metric, question, made, records, decided=weights)


@final
class SmallDatabasePlans(SyntheticPlans):
    """A small database, picked among all of its size."""

    called = "a small database"

    def purpose(self, plan: Plan) -> str:
        return f"a database of {plan.question.rows} records for {plan.queries.count} queries"

    def answers(self, plan: Plan, answer: SmallDatabase, spend: Fraction, records: int | None) -> SyntheticAnswers:
        return SyntheticAnswers(plan.question, answer, plan.mechanism, spend, plan.question.rows)

    def blank(self, plan: Plan, records: int | None) -> SmallDatabase:
        return SmallDatabase((0,) * plan.question.rows, records or plan.records or RECORDS, plan.mechanism.queries)

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> ShownAnswers:
        number = records or plan.records
        if number is None:
            raise Unknown(
                "how far off a small database is grows with the number of records", "half_widths(records=...) takes it"
            ).refusal
        return self.blank_answers(plan, spend, number)

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        number = records or plan.records
        bound = plan.mechanism.error_bound(number or RECORDS, level, spend)
        return (
            f"proved: with {_size(number)} none of {plan.queries.count} answers is off by more than {bound:.4g}, with "
            f"probability {level:g} for all at once",
        )

    def facts(self, plan: Plan) -> dict[str, Any]:
        return {
            "queries": list(plan.queries.names),
            "rows": plan.question.rows,
            "law": plan.mechanism.law,
            "databases": plan.mechanism.databases,
            "changed_queries": plan.mechanism.planned is not None,
        }


SMALL_DATABASE: Final = SmallDatabasePlans()


def plan_database(metric: VerifiedMetric, question: DatabaseTask, records: int | None) -> Plan:
    """The plan of a small database. Raises: as :func:`dxgeom.small_database`."""
    law = cast(SelectionLaw, question.law)
    made = small_database(metric, question.workload, law=law, records=records, rows=question.rows)
    return Plan(SMALL_DATABASE, metric, question, made, records)
