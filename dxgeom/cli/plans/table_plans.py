"""A plan of whole tables of counts on the command line, and their released cells."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dxgeom.cli.terminal.options import Format
from dxgeom.cli.terminal.printing import MOST_SHOWN, print_json, print_lines, print_table
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.planner.marginals.marginal_plan import MarginalPlan


def show_table_plan(
    plan: MarginalPlan, spend: Fraction | None, level: float, output: Format, kept: dict[str, str]
) -> None:
    """The noise that was chosen, what is known of each table's errors at a spend, and the file that it was kept in."""
    least = plan.least_spend if plan.wants_errors else None
    amount = spend or least or Fraction(1)
    errors, widths = plan.rmse(amount).tolist(), plan.half_widths(level, amount).tolist()
    each = zip(plan.queries.names, plan.queries.shapes, errors, widths, strict=True)
    if output is Format.json:
        tables = [
            {"table": name, "shape": list(shape), "rmse": error, "half_width": width}
            for name, shape, error, width in each
        ]
        expected = {"spend": str(amount), "level": level, "tables": tables}
        told = {"gap": plan.gap, "least_spend": None if least is None else str(least), "expected": expected}
        print_json({**plan.as_dict(), **told, **kept})
        return
    print_lines([f"{plan.metric.title}: {plan.lines()[0]}", *plan.lines()[1:], ""])
    worst = sorted(each, key=lambda one: -one[2])
    title = f"each cell, at spend {plain(amount)}"
    print_lines([title if len(worst) <= MOST_SHOWN else f"{title}; the {MOST_SHOWN} tables with the largest errors"])
    cells = [(name, " × ".join(map(str, shape)) or "1") for name, shape, *_ in worst]
    rows = [
        (name, shape, brief(error), brief(width))
        for (name, shape), (*_, error, width) in zip(cells[:MOST_SHOWN], worst, strict=False)
    ]
    print_table(("table", "cells", "rmse", f"± at {level * 100:g} %"), rows)
    more = [] if least is None else ["", f"spend   {plain(least)} is the least for the errors asked for"]
    print_lines([*more, *([""] if kept else []), *(f"{name:<7} {said}" for name, said in kept.items())])
