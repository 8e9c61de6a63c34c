"""Which family answers linear queries: noise, a small database or multiplicative weights, by bounds of one kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from dxgeom.errors import DxgeomError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.changed_queries import public_records
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.estimates.estimate import EstimateWish
from dxgeom.planner.kind import OF_NOISE, Planning, QuestionKind
from dxgeom.planner.overview import OverviewTable, PlanOverview
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import KnownErrors, PlanKind
from dxgeom.planner.unknown import Unknown
from dxgeom.planner.wish import DATABASE, MWEM, Wish
from dxgeom.universe.people.people import people_in_words
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.questions import DatabaseTask, SynthesisTask
from dxgeom.wording.numbers import brief_or_none

NOISE: Final = "noise"
"""Noise on each answer, of the best shape."""
LEVEL: Final = 0.95
_MOST_ROWS: Final = 64
_USEFUL: Final = 0.9
"""A bound above this part of that of a guess is warned of."""
_REFUSED = (UnsupportedCombination, TooLarge, UnboundedLoss)


@final
@dataclass(frozen=True)
class FamilyCandidate:
    """A family, and what is known of it before any data are read.

    ``proved``: with probability at least 0.95 no answer is further from the truth than this, all at once, whatever the
    data; None where that is proved only of what was measured, and told with the answers. ``mean_square``: the exact
    root mean squared error of the worst answer, of noise alone; never compared with a proved bound. ``reason``: why it
    has no bound here.
    """

    name: str
    proved: float | None
    mean_square: float | None = None
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The candidate ready for JSON."""
        return {
            "family": self.name,
            "proved_bound": self.proved,
            "worst_rmse": self.mean_square,
            **({"reason": self.reason} if self.reason else {}),
        }


@final
@dataclass(frozen=True, eq=False)
class ChosenFamily:
    """The ``family`` that was named, or that has the smallest proved bound at the spend ``compared_at``.
    ``candidates``: what was compared, and what could not be."""

    family: str
    candidates: tuple[FamilyCandidate, ...]
    compared_at: Fraction


@final
class FamiliesKind(QuestionKind[LinearQueries], PlanKind):
    """Linear queries by noise or by synthetic records, by their mechanism's name; what is asked is no kind of its own.

    A plan has a part, the plan that is released, and ``decided``: which.
    """

    question = LinearQueries
    about = "several families"
    heeds = OF_NOISE
    counts = True
    no_loss = Unknown(
        "families are compared by their proved bounds", "candidates have these; plan.chosen has its own loss"
    )
    no_list = Unknown("a family is told by the plan of it", "ask plan.chosen")
    why = "it was named, or has the smallest proved bound"

    def part(self, question: LinearQueries, how: Planning) -> Plan:
        """The family that was named, or, for "families", the one with the smallest bound that is proved beforehand.

        Multiplicative weights have no such bound: what they prove follows from what they measured. They are taken when
        they are named, and listed beside the others else.
        Raises: UnsupportedCombination, TooLarge, UnboundedLoss where the family that was named cannot answer; for
        "families" where answers are measured in several units, or no family can.
        """
        self.require_heeded(how.wish)
        alone = how.saying(mechanism="auto")
        metric, queries, family, amount = how.metric, question, how.wish.mechanism, how.wish.spend
        number = public_records(metric, queries, how.wish.records)
        if queries.derived or queries.importance is not None or any(queries.errors):
            raise UnsupportedCombination(
                "families are compared by the error of each count or sum alone: ratios, 'importance' and 'error' are "
                "about noise, name its mechanism or leave it at 'auto'"
            )
        if family == MWEM:
            made = _planned(metric, SynthesisTask(queries), number)
            return _plan(metric, queries, made, ChosenFamily(MWEM, (_with_the_answer(),), amount), number)
        if family == DATABASE:
            database = _best_database(metric, queries, number, amount)
            told = (_of_database(database, amount),)
            return _plan(metric, queries, database, ChosenFamily(DATABASE, told, amount), number)
        if len(queries.by_measure) > 1:
            raise UnsupportedCombination(
                "families are compared by the largest error: ask for answers measured in one unit"
            )
        built: dict[str, Plan] = {}
        listed = [
            _tried(NOISE, built, lambda: _of_noise(built, alone.of(queries), amount)),
            _tried(DATABASE, built, lambda: _built_database(built, metric, queries, number, amount)),
            _tried(MWEM, built, lambda: _built_weights(metric, queries, number)),
        ]
        proved = {one.name: one.proved for one in listed if one.proved is not None and np.isfinite(one.proved)}
        if not proved:
            raise UnsupportedCombination(
                f"no family has a proved bound here: {'; '.join(one.reason for one in listed)}"
            )
        best = min(proved, key=lambda name: proved[name])
        return _plan(metric, queries, built[best], ChosenFamily(best, tuple(listed), amount), number)

    def _decided(self, plan: Plan) -> ChosenFamily:
        decided: ChosenFamily = plan.decided
        return decided

    def chosen(self, plan: Plan) -> Plan:
        chosen: Plan = plan.parts[0]
        return chosen

    def family(self, plan: Plan) -> str:
        return self._decided(plan).family

    def warnings(self, plan: Plan) -> tuple[str, ...]:
        taken, guess = next(one.proved for one in plan.candidates if one.name == plan.family), guess_of(plan)
        if taken is None or guess is None or taken < _USEFUL * guess:
            return ()
        return (f"the bound is hardly smaller than {guess:.4g}, that of a guess without any data: take a larger spend",)

    def purpose(self, plan: Plan) -> str:
        return plan.chosen.purpose

    def answers(self, plan: Plan, answer: Any, spend: Fraction, records: int | None) -> ShownAnswers:
        return plan.chosen.kind.answers(plan.chosen, answer, spend, records)

    def blank(self, plan: Plan, records: int | None) -> Any:
        return plan.chosen.kind.blank(plan.chosen, records)

    def fingerprint(self, plan: Plan) -> str:
        return plan.chosen.fingerprint

    def records(self, plan: Plan) -> int | None:
        return plan.chosen.kind.records(plan.chosen)

    def inside(self, plan: Plan) -> tuple[Plan, ...]:
        return (plan.chosen,)

    def require_estimate(self, plan: Plan, wish: EstimateWish) -> None:
        plan.chosen.kind.require_estimate(plan.chosen, wish)

    def estimated_part(self, plan: Plan) -> tuple[Plan, Fraction]:
        return plan.chosen, Fraction(1)

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> KnownErrors:
        return plan.chosen.kind.known(plan.chosen, spend, records)

    def comparison(self, plan: Plan) -> CandidateComparison:
        return plan.chosen.comparison

    def candidates(self, plan: Plan) -> tuple[FamilyCandidate, ...]:
        return self._decided(plan).candidates

    def compared_at(self, plan: Plan) -> Fraction:
        return self._decided(plan).compared_at

    def records_of(self, plan: Plan) -> tuple[str, ...]:
        return plan.chosen.records_of

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> Sequence[str]:
        return plan.chosen.statements(spend, level, records)

    def kept(self, plan: Plan) -> Plan:
        if plan.family == NOISE:
            return plan.chosen
        task = plan.chosen.question.word
        raise UnsupportedCombination(
            f"{plan.family} was chosen, which a plan file holds as a task: write a file with the task '{task}'"
        )

    def as_dict(self, plan: Plan) -> dict[str, Any]:
        return {
            "metric": {"title": plan.metric.title, "fingerprint": plan.metric.fingerprint},
            "family": plan.family,
            "candidates": [one.as_dict() for one in plan.candidates],
            "level": LEVEL,
            "compared_at_spend": str(plan.compared_at),
            "records": plan.records,
            **people_in_words(plan.metric.people),
            "warnings": list(plan.warnings),
            "plan": plan.chosen.as_dict(),
            "fingerprint": plan.fingerprint,
        }

    def overview(self, plan: Plan, spend: Fraction, level: float) -> PlanOverview:
        """What each family proves of its answers, and which was taken."""
        rows = [
            (
                one.name,
                brief_or_none(one.proved),
                brief_or_none(one.mean_square),
                "taken" if one.name == plan.family else "",
            )
            for one in plan.candidates
        ]
        reasons = [f"{one.name}: {one.reason}" for one in plan.candidates if one.reason]
        statements = [] if plan.family == NOISE else plan.chosen.statements(plan.compared_at)
        compared = "proved bounds are compared with each other alone, and hold whatever the data"
        warned = [f"warning {warning}" for warning in plan.warnings]
        people = [f"{name:<7} {said}" for name, said in people_in_words(plan.metric.people).items()]
        table = OverviewTable(
            ("family", "proved at 95 %, all at once", "exact worst rmse", ""),
            rows,
            ["", compared, *reasons, *statements, *warned, *people],
        )
        head = f"{plan.metric.title}: {plan.queries.count} queries, families at spend {plan.compared_at}"
        return PlanOverview(plan.as_dict(), [head], (table,))

    def lines(self, plan: Plan) -> list[str]:
        head = (
            f"{plan.queries.count} queries by {plan.family}: the largest error of any answer at spend "
            f"{plan.compared_at}, proved at {LEVEL:.0%} for all at once, whatever the data"
        )
        return [head, *(f"  {one.name:<15} {_error_in_words(one)}" for one in plan.candidates), *plan.warnings]


FAMILIES: Final = FamiliesKind()


def guess_of(plan: Plan) -> float | None:
    """How far the middle of all that an answer can be is from the truth at most, for the worst answer: what needs
    no data at all; None where nobody says how many records there are."""
    if plan.records is None:
        return None
    low, high = plan.queries.tables.extremes
    units = np.array([float(unit) for unit in plan.queries.units])
    return float(np.max((high - low).astype(np.float64) * units)) * plan.records / 2


def _error_in_words(candidate: FamilyCandidate) -> str:
    bound = candidate.reason if candidate.proved is None else f"{candidate.proved:.4g}"
    exact = "" if candidate.mean_square is None else f"   (exact worst rmse, not compared: {candidate.mean_square:.4g})"
    return f"{bound}{exact}"


def _plan(
    metric: VerifiedMetric, queries: LinearQueries, chosen: Plan, decided: ChosenFamily, records: int | None
) -> Plan:
    return Plan(FAMILIES, metric, queries, chosen.mechanism, records, (chosen,), decided)


def _tried(name: str, built: dict[str, Plan], build: Callable[[], FamilyCandidate]) -> FamilyCandidate:
    try:
        return build()
    except DxgeomError as error:
        built.pop(name, None)
        return FamilyCandidate(name, None, reason=f"not built: {error}")


def _of_noise(built: dict[str, Plan], plan: Plan, spend: Fraction) -> FamilyCandidate:
    built[NOISE] = plan
    bars = plan.bars(spend)
    return FamilyCandidate(NOISE, float(bars.joint_half_widths(LEVEL).max()), float(bars.rmse.max()))


def _built_database(
    built: dict[str, Plan],
    metric: VerifiedMetric,
    queries: LinearQueries,
    records: int | None,
    spend: Fraction,
) -> FamilyCandidate:
    database = _best_database(metric, queries, records, spend)
    built[DATABASE] = database
    return _of_database(database, spend)


def _of_database(plan: Plan, spend: Fraction) -> FamilyCandidate:
    return FamilyCandidate(DATABASE, _bound_of(plan, spend))


def _bound_of(plan: Plan, spend: Fraction) -> float:
    """With probability at least 0.95 no answer is further from the truth than this, whatever the data."""
    return float(plan.mechanism.error_bound(plan.records, LEVEL, spend))


def _built_weights(metric: VerifiedMetric, queries: LinearQueries, records: int | None) -> FamilyCandidate:
    _planned(metric, SynthesisTask(queries), records)
    return _with_the_answer()


def _planned(metric: VerifiedMetric, questions: SynthesisTask | DatabaseTask, records: int | None) -> Plan:
    return Planning(metric, Wish(records=records)).of(questions)


def _with_the_answer() -> FamilyCandidate:
    return FamilyCandidate(
        MWEM, None, reason="proved of what is measured, so told with the answers and not compared beforehand"
    )


def _best_database(metric: VerifiedMetric, queries: LinearQueries, records: int | None, spend: Fraction) -> Plan:
    """The size of database with the smallest bound at a spend; the larger ones are too many to be scored.

    Raises: UnsupportedCombination without a public number of records; TooLarge, UnboundedLoss.
    """
    if records is None:
        raise UnsupportedCombination("the bound of a small database needs the public number of records: state it")
    law, found = "permute-and-flip", list[Plan]()
    for rows in range(1, _MOST_ROWS + 1):
        try:
            found.append(_planned(metric, DatabaseTask(queries, rows, law), records))
        except TooLarge:
            if not found:
                raise
            break
    return min(found, key=lambda one: _bound_of(one, spend))
