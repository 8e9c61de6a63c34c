"""How exact answers will be: ± of each beside ordinary noise, or what a plan states of its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.laplace import epsilon_dp_laplace
from dxgeom.planner.answers.error_bars import ErrorBars
from dxgeom.planner.boxes.box_plan import BoxPlan
from dxgeom.planner.marginals.marginal_plan import MarginalPlan
from dxgeom.planner.plan import Plan
from dxgeom.planner.quantile_plan import QuantilePlan
from dxgeom.planner.releases.structured_plan import StructuredPlan
from dxgeom.planner.tasks.task_plan import TaskPlan
from dxgeom.report.facts import Facts
from dxgeom.universe.columns import plain
from dxgeom.universe.quantile_queries import AskedQuantiles
from dxgeom.universe.tasks.tasks import TaskWithShare

LEVEL: Final = 0.95
"""Nineteen times in twenty."""
_USELESS, _COARSE = 0.5, 0.1


@final
@dataclass(frozen=True)
class Expected:
    """A question with the error its answer will have.

    ``half_width``: ± at 19 times in 20; ``closest``, ``farthest``: the same if every pair were as hidden as the closest
    two, or as the farthest, None where that cannot be had; ``bias``: inside ±; ``possible``: the ends of what the
    answer can be whatever the records are, None where their number is not public.
    """

    name: str
    half_width: float
    closest: float | None
    farthest: float | None
    bias: float
    possible: tuple[float, float] | None

    @property
    def useless(self) -> bool:
        """Whether ± covers half or more of what is possible."""
        return covers(self.half_width, self.possible, _USELESS)

    @property
    def coarse(self) -> bool:
        """Whether ± covers more than a tenth of what is possible."""
        return covers(self.half_width, self.possible, _COARSE)


def covers(half_width: float | None, possible: tuple[float, float] | None, share: float = _USELESS) -> bool:
    """Whether a bar of that half-width covers this share of what is possible."""
    if half_width is None or possible is None or half_width == 0:
        return False
    return 2 * half_width >= share * (possible[1] - possible[0])


def possible_ranges(plan: Plan, records: int | None) -> list[tuple[float, float] | None]:
    """For each query the ends of what its answer can be, with a public number of records."""
    queries = plan.queries
    people = None if queries.universe is None else queries.universe.reading.people
    if records is None or (people is not None and people.most_rows > 1):
        return [None] * queries.count
    low, high = queries.tables.extremes
    each = zip(low.tolist(), high.tolist(), queries.units, strict=True)
    return [(float(one * unit * records), float(other * unit * records)) for one, other, unit in each]


def expected(facts: Facts, plan: Plan, spend: Fraction) -> tuple[Expected, ...]:
    """What to expect of each answer."""
    widths = plan.half_widths(LEVEL, spend, facts.records)
    near, far = _ordinary(facts, plan, spend)
    biases = plan.bars(spend, facts.records).biases
    ranges = possible_ranges(plan, facts.records)
    return tuple(
        Expected(
            name,
            float(widths[k]),
            None if near is None else float(near[k]),
            None if far is None else float(far[k]),
            float(biases[k]),
            ranges[k],
        )
        for k, name in enumerate(plan.queries.names)
    )


def _ordinary(
    facts: Facts, plan: Plan, spend: Fraction
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Half-widths under ordinary noise, if every pair were as hidden as the closest two, and as the farthest."""
    try:
        mechanism = epsilon_dp_laplace(plan.mechanism.sensitivity)
    except (TooLarge, CertificateRefused):
        return None, None
    near, far = facts.extremes.closest.distance, facts.extremes.farthest.distance
    closest = ErrorBars(plan.queries, mechanism, spend, facts.records).half_widths(LEVEL)
    if not (math.isfinite(near) and near > 0):
        return closest, None
    if math.isinf(far):
        return closest, np.zeros_like(closest)
    wider = spend * Fraction(far) / Fraction(near)
    return closest, ErrorBars(plan.queries, mechanism, wider, facts.records).half_widths(LEVEL)


OtherPlan: TypeAlias = QuantilePlan | TaskPlan | MarginalPlan | BoxPlan
_MEDIAN: Final = (Fraction(1, 2),)


@final
@dataclass(frozen=True)
class Statement:
    """A question in words, and what holds of its errors 19 times in 20, whatever the data."""

    name: str
    asked: str
    holds: str


@final
@dataclass(frozen=True)
class TableErrors:
    """A whole table of counts: how many cells, and ± of each, 19 times in 20."""

    name: str
    cells: str
    half_width: float


@final
@dataclass(frozen=True, eq=False)
class StatedPlan:
    """A plan by what it states; of queries for quantiles and tasks sentences, of whole tables ± of their cells."""

    plan: OtherPlan

    @property
    def questions(self) -> tuple[str, str]:
        """What is asked in words, and its SHA-256."""
        plan = self.plan
        if isinstance(plan, TaskPlan):
            return _count(len(plan.parts), "task"), plan.tasks.fingerprint
        if isinstance(plan, MarginalPlan):
            said = f"{_count(len(plan.queries.asked), 'table')} with {plan.queries.count:,} cells"
            return said, plan.queries.fingerprint
        if isinstance(plan, BoxPlan):
            return _count(plan.queries.count, "box", "boxes"), plan.queries.fingerprint
        return f"Quantiles, in {_count(len(plan.queries.asked), 'question')}", plan.queries.fingerprint

    def tables(self, spend: Fraction) -> tuple[TableErrors, ...]:
        """Of whole tables, and of boxes, the error of each at a spend; nothing for other plans."""
        plan = self.plan
        if not isinstance(plan, StructuredPlan):
            return ()
        each = zip(plan.queries.names, plan.half_widths(LEVEL, spend).tolist(), strict=True)
        return tuple(TableErrors(name, plan.cells(place), width) for place, (name, width) in enumerate(each))

    def statements(self, spend: Fraction) -> tuple[Statement, ...]:
        """What holds of each query for quantiles, or each task, at a spend; nothing for whole tables."""
        if isinstance(self.plan, QuantilePlan):
            names = (_quantiles_in_words(asked) for asked in self.plan.queries.asked)
            each = zip(self.plan.queries.names, names, self.plan.statements(spend, level=LEVEL), strict=True)
            return tuple(Statement(*one) for one in each)
        if isinstance(self.plan, TaskPlan):
            return tuple(_of_tasks(self.plan, spend))
        return ()


def _of_tasks(plan: TaskPlan, spend: Fraction) -> list[Statement]:
    each = zip(plan.tasks.parts, plan.statements(spend, LEVEL), strict=True)
    return [Statement(task.name, _task_in_words(task), "; ".join(said)) for task, said in each]


def _task_in_words(task: TaskWithShare) -> str:
    return f"{task.asked.word}, with {plain(task.share)} of the spend"


def _quantiles_in_words(asked: AskedQuantiles) -> str:
    which = "the median" if asked.at == _MEDIAN else f"quantiles at {', '.join(map(str, asked.at))}"
    condition = "" if asked.where is None else f", of records with {asked.where}"
    groups = f", by {' and '.join(group.title for group in asked.by)}" if asked.by else ""
    return f"{which} of {asked.attribute}{condition}{groups}"


def _count(number: int, what: str, several: str = "") -> str:
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"
