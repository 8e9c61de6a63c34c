"""Fits that a queries file asks for, each as the plan of a task."""

from __future__ import annotations

from dxgeom.errors import UnsupportedCombination
from dxgeom.learning.linear_plan import linear_plan_of
from dxgeom.learning.logistic_plan import logistic_plan_of
from dxgeom.planner.kind import Planning
from dxgeom.planner.plan import Plan
from dxgeom.universe.tasks.asked import FitTask


def plan_fit(how: Planning, asked: FitTask) -> Plan:
    """The plan of a regression. Raises: UnsupportedCombination, TooLarge, UnboundedLoss."""
    if asked.model == "logistic":
        return logistic_plan_of(how.metric, asked.response, asked.by, asked.ridge, how.wish.records)
    universe = how.metric.universe
    if universe is None:
        raise UnsupportedCombination("this metric knows no records")

    return linear_plan_of(universe, asked.response, asked.by, asked.ridge, how.of, how.wish.records)
