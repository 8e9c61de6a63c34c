"""How each kind of task is planned: a table, a line for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias, final

from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.planner.plan import Plan
from dxgeom.planner.quantile_plan import QuantilePlan
from dxgeom.planner.tasks.database_plan import plan_database
from dxgeom.planner.tasks.planned_task import TaskKindPlan
from dxgeom.planner.tasks.selection_plan import plan_selection
from dxgeom.planner.tasks.series_plan import plan_series
from dxgeom.planner.tasks.synthesis_plan import plan_synthesis
from dxgeom.universe.quantile_queries import QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.asked import (
    AskedTask,
    DatabaseTask,
    QueriesTask,
    SelectTask,
    SeriesTask,
    StatisticsTask,
    SynthesisTask,
)
from dxgeom.universe.tasks.tasks import TaskWithShare


@final
@dataclass(frozen=True)
class Planning:
    """A task to be planned. ``records``: their public number, None where nobody says. ``queries``: plans queries that a
    task asks, as a file of such would be."""

    metric: VerifiedMetric
    task: TaskWithShare
    records: int | None
    queries: Callable[[TaskWithShare, LinearQueries | QuantileQueries], Plan | QuantilePlan]


PartPlan: TypeAlias = Plan | QuantilePlan | TaskKindPlan[Any]
"""The plan of one task."""


def _queries(planning: Planning, asked: QueriesTask) -> PartPlan:
    return planning.queries(planning.task, asked.queries)


def _select(planning: Planning, asked: SelectTask) -> PartPlan:
    return plan_selection(planning.metric, asked, planning.records)


def _synthesize(planning: Planning, asked: SynthesisTask) -> PartPlan:
    return plan_synthesis(planning.metric, asked, planning.records)


def _database(planning: Planning, asked: DatabaseTask) -> PartPlan:
    return plan_database(planning.metric, asked, planning.records)


def _statistics(planning: Planning, asked: StatisticsTask) -> PartPlan:
    return planning.queries(planning.task, asked.sums)


def _series(planning: Planning, asked: SeriesTask) -> PartPlan:
    return plan_series(planning.metric, asked)


PLANNERS: Final[Mapping[type[AskedTask], Callable[[Planning, Any], PartPlan]]] = MappingProxyType(
    {
        QueriesTask: _queries,
        SelectTask: _select,
        SynthesisTask: _synthesize,
        DatabaseTask: _database,
        StatisticsTask: _statistics,
        SeriesTask: _series,
    }
)
"""The planner of each kind of task."""
