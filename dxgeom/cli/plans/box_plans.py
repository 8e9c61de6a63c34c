"""A plan of counts in very many boxes on the command line."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dxgeom.cli.terminal.options import Format
from dxgeom.cli.terminal.printing import MOST_SHOWN, print_json, print_lines, print_table
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.planner.boxes.box_plan import BoxPlan


def show_box_plan(plan: BoxPlan, spend: Fraction | None, level: float, output: Format, kept: dict[str, str]) -> None:
    """The noise that was chosen, what is known of each count's error at a spend, and the file that it was kept in."""
    least = plan.least_spend if plan.wants_errors else None
    amount = spend or least or Fraction(1)
    errors, widths = plan.rmse(amount), plan.half_widths(level, amount)
    if output is Format.json:
        each = zip(plan.queries.names, errors.tolist(), widths.tolist(), strict=True)
        boxes = [{"box": name, "rmse": error, "half_width": width} for name, error, width in each]
        expected = {"spend": str(amount), "level": level, "boxes": boxes}
        told = {"gap": plan.gap, "least_spend": None if least is None else str(least), "expected": expected}
        print_json({**plan.as_dict(), **told, **kept})
        return
    print_lines([f"{plan.metric.title}: {plan.lines()[0]}", *plan.lines()[1:], ""])
    title = f"each count, at spend {plain(amount)}"
    few = plan.queries.count <= MOST_SHOWN
    print_lines([title if few else f"{title}; the {MOST_SHOWN} boxes with the largest errors"])
    worst = np.argsort(-errors, kind="stable")[:MOST_SHOWN].tolist()
    rows = [(plan.queries.name(place), brief(float(errors[place])), brief(float(widths[place]))) for place in worst]
    print_table(("box", "rmse", f"± at {level * 100:g} %"), rows)
    more = [] if least is None else ["", f"spend   {plain(least)} is the least for the errors asked for"]
    print_lines([*more, *([""] if kept else []), *(f"{name:<7} {said}" for name, said in kept.items())])
