"""A plan of very many counts on the command line, in whole tables or in boxes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dxgeom.cli.options import Format
from dxgeom.cli.terminal import MOST_SHOWN, print_json, print_lines, print_table
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.planner.releases.structured_plan import StructuredPlan


def show_structured_plan(
    plan: StructuredPlan[Any], spend: Fraction | None, level: float, output: Format, kept: dict[str, str]
) -> None:
    """The noise that was chosen, what is known of each table's, or box's, error, and the file that it was kept in."""
    least = plan.least_spend if plan.wants_errors else None
    amount = spend or least or Fraction(1)
    errors, widths, shapes = plan.rmse(amount), plan.half_widths(level, amount), plan.shapes
    if output is Format.json:
        each = [
            {plan.one: name, **({} if shapes is None else {"shape": [*shapes[k]]}), "rmse": error, "half_width": width}
            for k, (name, error, width) in enumerate(
                zip(plan.queries.names, errors.tolist(), widths.tolist(), strict=True)
            )
        ]
        expected = {"spend": str(amount), "level": level, plan.asked: each}
        told = {"gap": plan.gap, "least_spend": None if least is None else str(least), "expected": expected}
        print_json({**plan.as_dict(), **told, **kept})
        return
    print_lines([f"{plan.metric.title}: {plan.lines()[0]}", *plan.lines()[1:], ""])
    title = f"each {plan.counted}, at spend {plain(amount)}"
    few = len(errors) <= MOST_SHOWN
    print_lines([title if few else f"{title}; the {MOST_SHOWN} {plan.asked} with the largest errors"])
    rows = [
        (
            plan.queries.name(place),
            *([] if shapes is None else [plan.cells(place)]),
            brief(float(errors[place])),
            brief(float(widths[place])),
        )
        for place in np.argsort(-errors, kind="stable")[:MOST_SHOWN].tolist()
    ]
    print_table((plan.one, *([] if shapes is None else ["cells"]), "rmse", f"± at {level * 100:g} %"), rows)
    more = [] if least is None else ["", f"spend   {plain(least)} is the least for the errors asked for"]
    print_lines([*more, *([""] if kept else []), *(f"{name:<7} {said}" for name, said in kept.items())])
