"""A plan of several tasks on the command line."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dxgeom.cli.options import Format
from dxgeom.cli.terminal import print_json, print_lines, print_table
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import people_in_words
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.planner.tasks.families import FamilyPlan
    from dxgeom.planner.tasks.task_plan import TaskPlan


def show_task_plan(plan: TaskPlan, spend: Fraction, level: float, output: Format, kept: dict[str, str]) -> None:
    """How each task is answered, what is known of its errors at its share of a spend, and the file that was kept."""
    statements = plan.statements(spend, level)
    if output is Format.json:
        told = [
            {"name": name, "statements": list(said)} for name, said in zip(plan.tasks.names, statements, strict=True)
        ]
        print_json({**plan.as_dict(), "expected": {"spend": str(spend), "level": level, "tasks": told}, **kept})
        return
    print_lines([f"{plan.metric.title}: {len(plan.parts)} tasks, in one release"])
    rows = [
        (task.name, task.asked.word, part.releasing.mechanism.name, plain(task.share), plain(task.share * spend))
        for task, part in zip(plan.tasks.parts, plan.parts, strict=True)
    ]
    print_table(("task", "kind", "mechanism", "share", "spend"), rows)
    each = zip(plan.tasks.names, statements, strict=True)
    print_lines(
        [
            "",
            *(f"error   '{name}': {sentence}" for name, said in each for sentence in said),
            *(f"{name:<7} {said}" for name, said in {**people_in_words(plan.metric.people), **kept}.items()),
        ]
    )


def show_family_plan(plan: FamilyPlan, output: Format, kept: dict[str, str]) -> None:
    """What each family proves of its answers, which was taken, and the file that was kept."""
    from dxgeom.planner.plan import Plan

    if output is Format.json:
        print_json({**plan.as_dict(), **kept})
        return
    print_lines([f"{plan.metric.title}: {plan.queries.count} queries, families at spend {plan.compared_at}"])
    rows = [
        (one.name, _number(one.proved), _number(one.mean_square), "taken" if one.name == plan.family else "")
        for one in plan.candidates
    ]
    print_table(("family", "proved at 95 %, all at once", "exact worst rmse", ""), rows)
    reasons = [f"{one.name}: {one.reason}" for one in plan.candidates if one.reason]
    statements = [] if isinstance(plan.chosen, Plan) else plan.chosen.statements(plan.compared_at)
    compared = "proved bounds are compared with each other alone, and hold whatever the data"
    warned = [f"warning {warning}" for warning in plan.warnings]
    files = [f"{name:<7} {said}" for name, said in {**people_in_words(plan.metric.people), **kept}.items()]
    print_lines(["", compared, *reasons, *statements, *warned, *files])


def _number(error: float | None) -> str:
    return "-" if error is None else brief(error)
