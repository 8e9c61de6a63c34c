"""A plan of quantiles on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from dxgeom.cli.options import Format
from dxgeom.cli.terminal import print_json, print_lines, print_table
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import people_in_words
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.planner.quantile_plan import PlannedQuantiles, QuantilePlan


def show_quantile_plan(plan: QuantilePlan, spend: Fraction, level: float, output: Format, kept: dict[str, str]) -> None:
    """How each query is answered, what is known of its errors at a spend, and the file that the plan was kept in."""
    from dxgeom.mechanisms.quantiles.choice import LEVEL

    statements = plan.statements(spend, level=level)
    if output is Format.json:
        expected = {"spend": str(spend), "level": level, "statements": list(statements)}
        print_json({**plan.as_dict(), "expected": expected, **kept})
        return
    guess = f"{plan.records:,} records" if plan.records else "1,000 records (nobody says how many there are)"
    taken = "named" if plan.named else "taken where it is the smaller"
    print_lines([f"{plan.metric.title}: {len(plan.parts)} queries for quantiles, in one release"])
    print_table(
        ("query", "mechanism", "expected", "proved", "proved ranks", ""),
        [row for part in plan.parts for row in _rows(part)],
    )
    print_lines(
        [
            "",
            f"expected  error on average, if {guess} were spread evenly over the values, at spend "
            f"{plain(plan.compared_at)}: a model; {taken}",
            f"proved    with probability {LEVEL:g} each answer is so near its quantile, whatever the data; never "
            "compared with a model",
            *(
                f"{one.name} for '{part.asked.name}' is {one.reason}"
                for part in plan.parts
                for one in part.candidates
                if one.reason
            ),
            *(f"error     '{part.asked.name}': {said}" for part, said in zip(plan.parts, statements, strict=True)),
            *(f"{name:<9} {said}" for name, said in {**people_in_words(plan.metric.people), **kept}.items()),
        ]
    )


def _rows(part: PlannedQuantiles) -> Iterator[tuple[str, ...]]:
    """A row for each form; of groups, as for the first one."""
    for one in part.candidates:
        told = "chosen" if set(part.forms) == {one.name} else "chosen in some groups" if one.name in part.forms else ""
        ranks = "-" if one.proved_ranks is None else f"{one.proved_ranks:,}"
        bounds = (_error(one.expected_error), _error(one.proved), ranks)
        yield (part.asked.name, one.name, *bounds, "not built" if one.reason else told)


def _error(error: float | None) -> str:
    return "-" if error is None else brief(error)
