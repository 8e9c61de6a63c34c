"""How each kind of task is planned: a table, a line for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, TypeAlias, final

from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.plan import Plan
from dxgeom.planner.quantile_plan import QuantilePlan
from dxgeom.planner.releases.releasable import Releasable
from dxgeom.planner.tasks.database_plan import plan_database
from dxgeom.planner.tasks.selection_plan import plan_selection
from dxgeom.planner.tasks.series_plan import plan_series
from dxgeom.planner.tasks.synthesis_plan import plan_synthesis
from dxgeom.planner.tasks.top_plan import plan_top
from dxgeom.universe.quantile_queries import QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.asked import (
    AskedTask,
    DatabaseTask,
    FitTask,
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


PartPlan: TypeAlias = Releasable[Any]
"""The plan of one task: of queries as a search decided it; of others all follows from policy, task and numbers that are
public."""


def _queries(planning: Planning, asked: QueriesTask) -> PartPlan:
    return planning.queries(planning.task, asked.queries)


def _select(planning: Planning, asked: SelectTask) -> PartPlan:
    planned = plan_selection if asked.picks == 1 else plan_top
    return planned(planning.metric, asked, planning.records)


def _synthesize(planning: Planning, asked: SynthesisTask) -> PartPlan:
    return plan_synthesis(planning.metric, asked, planning.records)


def _database(planning: Planning, asked: DatabaseTask) -> PartPlan:
    return plan_database(planning.metric, asked, planning.records)


def _statistics(planning: Planning, asked: StatisticsTask) -> PartPlan:
    return planning.queries(planning.task, asked.sums)


def _series(planning: Planning, asked: SeriesTask) -> PartPlan:
    return plan_series(planning.metric, asked)


def _fit(planning: Planning, asked: FitTask) -> PartPlan:
    """By the room of models, which is above this one, and found by its name."""
    found: PartPlan = import_module("dxgeom.learning.fit_plans").plan_fit(planning, asked)
    return found


PLANNERS: Final[Mapping[type[AskedTask], Callable[[Planning, Any], PartPlan]]] = MappingProxyType(
    {
        QueriesTask: _queries,
        SelectTask: _select,
        SynthesisTask: _synthesize,
        DatabaseTask: _database,
        StatisticsTask: _statistics,
        SeriesTask: _series,
        FitTask: _fit,
    }
)
"""The planner of each kind of task."""
