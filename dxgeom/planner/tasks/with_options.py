"""Tasks and families with the options of a plan: what each heeds, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dxgeom.errors import UnsupportedCombination
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.objectives.objective import ObjectiveName
from dxgeom.planner.options import NAMED_FAMILIES, PlanOptions
from dxgeom.planner.plan import Plan
from dxgeom.planner.quantile_plan import QuantilePlan, plan_quantiles
from dxgeom.planner.tasks.families import FamilyPlan, plan_family
from dxgeom.planner.tasks.task_plan import TaskPlan, plan_tasks
from dxgeom.universe.quantile_queries import QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.tasks import Tasks, TaskWithShare


def tasks_with(
    plan: Callable[..., Any],
    metric: VerifiedMetric,
    tasks: Tasks,
    options: PlanOptions,
    objective: ObjectiveName,
    spend: Fraction,
    said: tuple[object, ...],
) -> TaskPlan:
    """Each task by itself; ``plan``: plans linear queries; ``said``: what else was said, of one workload.

    Raises: UnsupportedCombination where anything is said that is about the answers of one workload.
    """
    if any(one is not None for one in (*said, options.body)) or options.published:
        raise UnsupportedCombination(
            "importance, errors, bodies and published baselines are about one workload: say the first two in the file, "
            "and plan the others by themselves"
        )
    if options.mechanism in NAMED_FAMILIES:
        raise UnsupportedCombination(
            f"'{options.mechanism}' is about one workload: a file of tasks asks for 'synthesize' or 'small_database'"
        )

    def planned(task: TaskWithShare, queries: LinearQueries | QuantileQueries) -> Plan | QuantilePlan:
        share = spend * task.share
        if isinstance(queries, QuantileQueries):
            return plan_quantiles(metric, queries, records=tasks.records or options.records, spend=share)
        found: Plan = plan(metric, queries, mechanism=options.mechanism, **_of_noise(options, objective))
        return found.uninterrupted()

    return plan_tasks(metric, tasks, planned, records=options.records, spend=spend)


def family_with(
    plan: Callable[..., Any],
    metric: VerifiedMetric,
    queries: LinearQueries,
    options: PlanOptions,
    objective: ObjectiveName,
    spend: Fraction,
    said: tuple[object, ...],
) -> FamilyPlan:
    """The family that the options name. Raises: UnsupportedCombination where anything is said that is about noise."""
    if any(one is not None for one in (*said, options.body)) or options.published:
        raise UnsupportedCombination(
            "importance, errors, bodies and published baselines are about noise: leave them out"
        )

    def noise() -> Plan:
        found: Plan = plan(metric, queries, **_of_noise(options, objective))
        return found.uninterrupted()

    return plan_family(metric, queries, options.mechanism, noise, records=options.records, spend=spend)


def _of_noise(options: PlanOptions, objective: ObjectiveName) -> dict[str, Any]:
    return {
        "objective": objective,
        "records": options.records,
        "hull_limits": options.hull_limits,
        "coarse_facets": options.coarse_facets,
        "progress": options.progress,
        "quick": options.quick,
    }
