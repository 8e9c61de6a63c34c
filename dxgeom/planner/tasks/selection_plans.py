"""Plans of selections, of one candidate or the best few: which candidates, which law, and how far from the best."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, cast, final

from dxgeom.mechanisms.selection.selections import selection
from dxgeom.mechanisms.selection.top import top_selection
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.noisy_maximum import SelectionLaw
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.planner.tasks.selected import SelectedCandidate, SelectedFew
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.questions import SelectTask


class SelectionPlans(PlanKind):
    """The best of several candidates, one or some."""

    def queries(self, plan: Plan) -> LinearQueries:
        candidates: LinearQueries = plan.question.candidates
        return candidates

    def _by_length(self, plan: Plan) -> list[int]:
        """The candidates, those of the longest names first."""
        labels, names = plan.question.each_label, plan.question.candidates.names
        return sorted(range(len(labels)), key=lambda place: -len(labels[place]) - len(names[place]))

    @abstractmethod
    def _law(self, plan: Plan) -> dict[str, Any]:
        """How they are drawn, ready for JSON."""

    def facts(self, plan: Plan) -> dict[str, Any]:
        return {"candidates": list(plan.question.each_label), **self._law(plan)}


@final
class OneSelected(SelectionPlans):
    """The best candidate."""

    called = "a selection"

    def purpose(self, plan: Plan) -> str:
        return f"the best of {len(plan.question.each_label)} candidates by {plan.mechanism.name}"

    def answers(self, plan: Plan, answer: int, spend: Fraction, records: int | None) -> SelectedCandidate:
        return SelectedCandidate(plan.question, plan.mechanism, answer, spend)

    def blank(self, plan: Plan, records: int | None) -> int:
        return self._by_length(plan)[0]

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> Sequence[str]:
        below, expected = plan.mechanism.shortfall(level, spend), plan.mechanism.expected_shortfall(spend)
        proved = (
            f"proved: with probability {level:g} the score of the one picked is less than {below:.4g} below the best, "
            f"on average less than {expected:.4g}"
        )
        change = plan.mechanism.change
        if change is None:
            return (proved,)
        bias = f"{float(change.bias):.4g}"
        return (
            proved,
            f"picked by other scores than asked for, which need less noise, for {change.records:,} records; leads are "
            f"off by at most {bias}, which is part of that",
        )

    def _law(self, plan: Plan) -> dict[str, Any]:
        return {"law": plan.mechanism.name, "changed_scores": plan.mechanism.change is not None}


@final
class SomeSelected(SelectionPlans):
    """The best few candidates."""

    called = "the best few"

    def purpose(self, plan: Plan) -> str:
        candidates = len(plan.question.each_label)
        return f"the best {plan.mechanism.picks} of {candidates} candidates by {plan.mechanism.law}"

    def answers(self, plan: Plan, answer: tuple[int, ...], spend: Fraction, records: int | None) -> SelectedFew:
        return SelectedFew(plan.question, plan.mechanism, answer, spend)

    def blank(self, plan: Plan, records: int | None) -> tuple[int, ...]:
        return tuple(self._by_length(plan)[: plan.mechanism.picks])

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> Sequence[str]:
        below = plan.mechanism.shortfall(level, spend)
        return (
            f"proved: with probability {level:g}, for every place at once, the score of the one picked is less than "
            f"{below:.4g} below the best for that place; picked one after the other by {plan.mechanism.law}, at equal "
            "shares",
        )

    def _law(self, plan: Plan) -> dict[str, Any]:
        return {"top": plan.mechanism.picks, "law": plan.mechanism.law}


ONE: Final = OneSelected()
SOME: Final = SomeSelected()


def plan_selection(metric: VerifiedMetric, question: SelectTask, records: int | None) -> Plan:
    """The plan of a selection.

    Raises: as :func:`dxgeom.selection`, or :func:`dxgeom.mechanisms.selection.top_selection` of several.
    """
    law = cast(SelectionLaw, question.law)
    if question.picks == 1:
        return Plan(ONE, metric, question, selection(metric, question.candidates, law, records=records), records)
    return Plan(SOME, metric, question, top_selection(metric, question.candidates, question.picks, law), records)
