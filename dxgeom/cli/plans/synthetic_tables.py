"""Synthetic records as a file: which task makes them."""

from __future__ import annotations

from typing import Any

from dxgeom.errors import UnsupportedCombination

KINDS = ("synthesize", "small_database")
"""The kinds of tasks that make records."""


def task_of_records(plan: Any) -> str | None:
    """The name of the task whose records a table is to hold, empty for a release of records alone; None where no task
    makes any.

    Raises: UnsupportedCombination where several do.
    """
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.tasks.families import FamilyPlan
    from dxgeom.planner.tasks.task_plan import TaskPlan

    if isinstance(plan, FamilyPlan):
        return None if isinstance(plan.chosen, Plan) else ""
    parts = plan.tasks.parts if isinstance(plan, TaskPlan) else ()
    names = [str(part.name) for part in parts if part.asked.word in KINDS]
    if len(names) > 1:
        raise UnsupportedCombination(
            f"a file of records holds those of one task, and {' and '.join(map(repr, names))} make some: put them into "
            "files of their own, or write the release as JSON"
        )
    return names[0] if names else None
