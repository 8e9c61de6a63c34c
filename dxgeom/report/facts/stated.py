"""Plans of which no errors are foretold answer by answer: quantiles, tasks and whole tables of counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, final

from dxgeom.planner.boxes.box_plan import BoxPlan
from dxgeom.planner.marginals.marginal_plan import MarginalPlan
from dxgeom.planner.quantile_plan import QuantilePlan
from dxgeom.planner.releases.structured_plan import StructuredPlan
from dxgeom.planner.tasks.task_plan import TaskPlan
from dxgeom.report.facts.exactness import LEVEL
from dxgeom.universe.columns import plain
from dxgeom.universe.quantile_queries import AskedQuantiles
from dxgeom.universe.tasks.tasks import TaskWithShare

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
