"""Fits that a queries file asks for, each as the plan of a task."""

from __future__ import annotations

from typing import Any

from dxgeom.errors import UnsupportedCombination
from dxgeom.learning.linear_plan import linear_plan_of
from dxgeom.learning.logistic_plan import logistic_plan_of
from dxgeom.planner.plan import Plan
from dxgeom.planner.releases.releasable import Releasable
from dxgeom.planner.tasks.planners import Planning
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.asked import FitTask


def plan_fit(planning: Planning, asked: FitTask) -> Releasable[Any]:
    """The plan of a regression. Raises: UnsupportedCombination, TooLarge, UnboundedLoss."""
    if asked.model == "logistic":
        return logistic_plan_of(planning.metric, asked.response, asked.by, asked.ridge, planning.records)
    universe = planning.metric.universe
    if universe is None:
        raise UnsupportedCombination("this metric knows no records")

    def planned(queries: LinearQueries) -> Plan:
        found = planning.queries(planning.task, queries)
        if not isinstance(found, Plan):
            raise UnsupportedCombination("sums of features are answered by noise on linear queries")
        return found

    return linear_plan_of(universe, asked.response, asked.by, asked.ridge, planned, planning.records)
