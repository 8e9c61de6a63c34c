"""A plan of a small database: how many records it has, and how far off its answers can be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, cast, final

from dxgeom.mechanisms.selection.small_databases import SmallDatabase, small_database
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.noisy_maximum import SelectionLaw
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.planner.releases.rehearsal import RECORDS
from dxgeom.planner.tasks.synthetic_answers import SyntheticAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.asked import DatabaseTask


@final
class SmallDatabasePlans(PlanKind):
    """A small database, picked among all of its size."""

    called = "a small database"
    makes_records = True

    def queries(self, plan: Plan) -> LinearQueries:
        workload: LinearQueries = plan.question.workload
        return workload

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
        told = f"{number:,} records" if number else f"{RECORDS:,} records (nobody says how many there are)"
        bound = plan.mechanism.error_bound(number or RECORDS, level, spend)
        return (
            f"proved: with {told} none of {plan.queries.count} answers is off by more than {bound:.4g}, with "
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


def plan_database(metric: VerifiedMetric, asked: DatabaseTask, records: int | None) -> Plan:
    """The plan of a small database. Raises: as :func:`dxgeom.small_database`."""
    law = cast(SelectionLaw, asked.law)
    made = small_database(metric, asked.workload, law=law, records=records, rows=asked.rows)
    return Plan(SMALL_DATABASE, metric, asked, made, records)
