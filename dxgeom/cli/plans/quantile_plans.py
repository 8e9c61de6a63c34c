"""A plan of quantiles on the command line."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dxgeom.cli.terminal.options import Format
from dxgeom.cli.terminal.printing import brief, print_json, print_lines, print_table
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.planner.quantile_plan import PlannedQuantiles, QuantilePlan


def show_quantile_plan(plan: QuantilePlan, spend: Fraction, level: float, output: Format, kept: dict[str, str]) -> None:
    """How each query is answered, what is known of its errors at a spend, and the file that the plan was kept in."""
    statements = plan.statements(spend, level=level)
    if output is Format.json:
        expected = {"spend": str(spend), "level": level, "statements": list(statements)}
        print_json({**plan.as_dict(), "expected": expected, **kept})
        return
    guess = f"{plan.records:,} records" if plan.records else "1,000 records (nobody says how many there are)"
    print_lines([f"{plan.metric.title}: {len(plan.parts)} queries for quantiles, in one release"])
    print_table(("query", "by", "by transport cost", "with noise"), [_row(part) for part in plan.parts])
    print_lines(
        [
            "",
            f"errors  on average, if {guess} were spread evenly over the values, at spend {plain(plan.spend)}; a model",
            *(f"error   '{part.asked.name}': {said}" for part, said in zip(plan.parts, statements, strict=True)),
            *(f"{name:<7} {said}" for name, said in kept.items()),
        ]
    )


def _row(part: PlannedQuantiles) -> tuple[str, str, str, str]:
    forms = " or ".join(dict.fromkeys(part.forms))
    return part.asked.name, forms, _error(part.errors.get("transport")), _error(part.errors.get("laplace"))


def _error(error: float | None) -> str:
    return "-" if error is None else brief(error)
