"""Which family answers linear queries: noise, a small database or multiplicative weights, by bounds of one kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias, cast, final

import numpy as np

from dxgeom.errors import DxgeomError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.changed_queries import public_records
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.options import DATABASE, MWEM
from dxgeom.planner.overview import PlanOverview
from dxgeom.planner.plan import Plan
from dxgeom.planner.releases.releasable import KnownErrors, Releasable, Releasing
from dxgeom.planner.tasks.database_plan import DatabasePlan, plan_database
from dxgeom.planner.tasks.synthesis_plan import SynthesisPlan, plan_synthesis
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.people.people import people_in_words
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.asked import DatabaseTask, SynthesisTask
from dxgeom.wording.numbers import brief_or_none

NOISE: Final = "noise"
"""Noise on each answer, of the best shape."""
LEVEL: Final = 0.95
_MOST_ROWS: Final = 64
_USEFUL: Final = 0.9
"""A bound above this part of that of a guess is warned of."""
_REFUSED = (UnsupportedCombination, TooLarge, UnboundedLoss)

FamilyMember: TypeAlias = Plan | SynthesisPlan | DatabasePlan


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
@dataclass(frozen=True, eq=False, repr=False)
class FamilyPlan(Releasable[Any]):
    """How linear queries are answered by one of several families; reusable for many releases, each charged on its own.

    ``chosen``: the plan of the family that was named, or of the one with the smallest proved bound at ``compared_at``.
    ``candidates``: what was compared, and what could not be.
    """

    no_loss = Unknown(
        "families are compared by their proved bounds", "candidates have these; plan.chosen has its own loss"
    )
    no_list = Unknown("a family is told by the plan of it", "ask plan.chosen")
    why = "it was named, or has the smallest proved bound"

    metric: VerifiedMetric = field(repr=False)
    queries: LinearQueries = field(repr=False)
    chosen: FamilyMember
    family: str
    candidates: tuple[FamilyCandidate, ...] = field()
    compared_at: Fraction = field()
    records: int | None

    @property
    def comparison(self) -> CandidateComparison:
        """That of the chosen plan."""
        return self.chosen.comparison

    def _known(self, spend: Fraction, records: int | None) -> KnownErrors:
        return self.chosen._known(spend, records)

    def statements(self, spend: Amount | None = None, level: float = 0.95) -> Sequence[str]:
        return self.chosen.statements(self.spend_of_figures(spend), level)

    @property
    def fingerprint(self) -> str:
        """That of the plan that was chosen."""
        return self.chosen.fingerprint

    def require_agreement(self) -> None:
        self.chosen.require_agreement()

    def _releasing(self) -> Releasing[Any]:
        return self.chosen.releasing

    @property
    def records_of(self) -> tuple[str, ...]:
        return self.chosen.records_of

    @property
    def guess(self) -> float | None:
        """How far the middle of all that an answer can be is from the truth at most, for the worst answer: what needs
        no data at all; None where nobody says how many records there are."""
        if self.records is None:
            return None
        low, high = self.queries.tables.extremes
        units = np.array([float(unit) for unit in self.queries.units])
        return float(np.max((high - low).astype(np.float64) * units)) * self.records / 2

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know of the choice, in sentences."""
        taken = next(one.proved for one in self.candidates if one.name == self.family)
        if taken is None or self.guess is None or taken < _USEFUL * self.guess:
            return ()
        return (
            f"the bound is hardly smaller than {self.guess:.4g}, that of a guess without any data: take a larger spend",
        )

    @property
    def kept(self) -> Plan:
        """The plan of noise that was chosen, for a plan file.

        Raises: UnsupportedCombination for another family.
        """
        if self.family == NOISE:
            return cast(Plan, self.chosen)
        task = {MWEM: "synthesize", DATABASE: "small_database"}[self.family]
        raise UnsupportedCombination(
            f"{self.family} was chosen, which a plan file holds as a task: write a file with the task '{task}'"
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "metric": {"title": self.metric.title, "fingerprint": self.metric.fingerprint},
            "family": self.family,
            "candidates": [one.as_dict() for one in self.candidates],
            "level": LEVEL,
            "compared_at_spend": str(self.compared_at),
            "records": self.records,
            **people_in_words(self.metric.people),
            "warnings": list(self.warnings),
            "plan": self.chosen.as_dict(),
            "fingerprint": self.fingerprint,
        }

    def overview(self, spend: Amount | None = None, level: float = 0.95) -> PlanOverview:
        """What each family proves of its answers, and which was taken."""
        del spend, level
        rows = [
            (
                one.name,
                brief_or_none(one.proved),
                brief_or_none(one.mean_square),
                "taken" if one.name == self.family else "",
            )
            for one in self.candidates
        ]
        reasons = [f"{one.name}: {one.reason}" for one in self.candidates if one.reason]
        statements = [] if self.family == NOISE else self.chosen.statements(self.compared_at)
        compared = "proved bounds are compared with each other alone, and hold whatever the data"
        warned = [f"warning {warning}" for warning in self.warnings]
        people = [f"{name:<7} {said}" for name, said in people_in_words(self.metric.people).items()]
        return PlanOverview(
            self.as_dict(),
            [f"{self.metric.title}: {self.queries.count} queries, families at spend {self.compared_at}"],
            ("family", "proved at 95 %, all at once", "exact worst rmse", ""),
            rows,
            ["", compared, *reasons, *statements, *warned, *people],
        )

    def lines(self) -> list[str]:
        head = (
            f"{self.queries.count} queries by {self.family}: the largest error of any answer at spend "
            f"{self.compared_at}, proved at {LEVEL:.0%} for all at once, whatever the data"
        )
        return [head, *(f"  {one.name:<15} {_told(one)}" for one in self.candidates), *self.warnings]


def _told(candidate: FamilyCandidate) -> str:
    bound = candidate.reason if candidate.proved is None else f"{candidate.proved:.4g}"
    exact = "" if candidate.mean_square is None else f"   (exact worst rmse, not compared: {candidate.mean_square:.4g})"
    return f"{bound}{exact}"


def plan_family(
    metric: VerifiedMetric,
    queries: LinearQueries,
    family: str,
    noise: Callable[[], Any],
    *,
    records: int | None,
    spend: Amount = 1,
) -> FamilyPlan:
    """The family that was named, or, for "families", the one with the smallest bound that is proved beforehand.

    Multiplicative weights have no such bound: what they prove follows from what they measured. They are taken when they
    are named, and listed beside the others else.
    Args: ``noise``: the best plan of noise. ``records``: their public number, which bounds of small databases need.
    Raises: UnsupportedCombination, TooLarge, UnboundedLoss where the family that was named cannot answer; for
    "families" where answers are measured in several units, or no family can.
    """
    amount, number = exact_amount(spend, "spend"), public_records(metric, queries, records)
    if queries.ratios or queries.importance is not None or any(queries.errors):
        raise UnsupportedCombination(
            "families are compared by the error of each count or sum alone: ratios, 'importance' and 'error' are about "
            "noise, name its mechanism or leave it at 'auto'"
        )
    if family == MWEM:
        made = plan_synthesis(metric, SynthesisTask(queries), number)
        return FamilyPlan(metric, queries, made, MWEM, (_with_the_answer(),), amount, number)
    if family == DATABASE:
        database = _best_database(metric, queries, number, amount)
        told = (_of_database(database, amount),)
        return FamilyPlan(metric, queries, database, DATABASE, told, amount, number)
    if len(queries.by_measure) > 1:
        raise UnsupportedCombination("families are compared by the largest error: ask for answers measured in one unit")
    built: dict[str, FamilyMember] = {}
    listed = [
        _tried(NOISE, built, lambda: _of_noise(built, noise(), amount)),
        _tried(DATABASE, built, lambda: _built_database(built, metric, queries, number, amount)),
        _tried(MWEM, built, lambda: _built_weights(metric, queries, number)),
    ]
    proved = {one.name: one.proved for one in listed if one.proved is not None and np.isfinite(one.proved)}
    if not proved:
        raise UnsupportedCombination(f"no family has a proved bound here: {'; '.join(one.reason for one in listed)}")
    best = min(proved, key=lambda name: proved[name])
    return FamilyPlan(metric, queries, built[best], best, tuple(listed), amount, number)


def _tried(name: str, built: dict[str, FamilyMember], build: Callable[[], FamilyCandidate]) -> FamilyCandidate:
    try:
        return build()
    except DxgeomError as error:
        built.pop(name, None)
        return FamilyCandidate(name, None, reason=f"not built: {error}")


def _of_noise(built: dict[str, FamilyMember], plan: Plan, spend: Fraction) -> FamilyCandidate:
    built[NOISE] = plan
    bars = plan.bars(spend)
    return FamilyCandidate(NOISE, float(bars.joint_half_widths(LEVEL).max()), float(bars.rmse.max()))


def _built_database(
    built: dict[str, FamilyMember],
    metric: VerifiedMetric,
    queries: LinearQueries,
    records: int | None,
    spend: Fraction,
) -> FamilyCandidate:
    database = _best_database(metric, queries, records, spend)
    built[DATABASE] = database
    return _of_database(database, spend)


def _of_database(plan: DatabasePlan, spend: Fraction) -> FamilyCandidate:
    return FamilyCandidate(DATABASE, plan.error_bound(spend, LEVEL))


def _built_weights(metric: VerifiedMetric, queries: LinearQueries, records: int | None) -> FamilyCandidate:
    plan_synthesis(metric, SynthesisTask(queries), records)
    return _with_the_answer()


def _with_the_answer() -> FamilyCandidate:
    return FamilyCandidate(
        MWEM, None, reason="proved of what is measured, so told with the answers and not compared beforehand"
    )


def _best_database(
    metric: VerifiedMetric, queries: LinearQueries, records: int | None, spend: Fraction
) -> DatabasePlan:
    """The size of database with the smallest bound at a spend; the larger ones are too many to be scored.

    Raises: UnsupportedCombination without a public number of records; TooLarge, UnboundedLoss.
    """
    if records is None:
        raise UnsupportedCombination("the bound of a small database needs the public number of records: state it")
    law, found = "permute-and-flip", list[DatabasePlan]()
    for rows in range(1, _MOST_ROWS + 1):
        try:
            found.append(plan_database(metric, DatabaseTask(queries, rows, law), records))
        except TooLarge:
            if not found:
                raise
            break
    return min(found, key=lambda one: one.error_bound(spend, LEVEL))
