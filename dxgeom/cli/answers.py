"""Answers on the command line, each kind as a table of its own with what holds of its errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dxgeom.cli.agreeing import Bars
from dxgeom.cli.terminal.printing import MOST_SHOWN, brief, print_lines, print_table, rounded
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.learning.totals.coefficients import Coefficients
    from dxgeom.planner.answers.box_answers import BoxAnswers
    from dxgeom.planner.answers.linear_answers import LinearAnswers
    from dxgeom.planner.answers.marginal_answers import MarginalAnswers
    from dxgeom.planner.answers.quantile_answers import QuantileAnswers
    from dxgeom.planner.answers.ratios import RatioAnswer
    from dxgeom.planner.answers.shown_answers import ShownAnswers
    from dxgeom.planner.tasks.selected import SelectedCandidate
    from dxgeom.planner.tasks.selected_few import SelectedFew
    from dxgeom.planner.tasks.series_plan import SeriesAnswers
    from dxgeom.planner.tasks.synthetic_answers import SyntheticAnswers
    from dxgeom.planner.tasks.task_answers import TaskAnswers

_MOST_CELLS: Final = 100
"""So many cells of whole tables are shown on a terminal."""


def print_answers(answers: ShownAnswers, bars: Bars) -> list[str]:
    """Print the answers; the lines that are to follow about their errors."""
    return printers()[type(answers).__name__](answers, bars)


def printers() -> dict[str, Callable[[Any, Bars], list[str]]]:
    """By the name of the answers' class, which the package has once: nothing is loaded for those that are not shown."""
    return {
        "LinearAnswers": _print_linear,
        "QuantileAnswers": _print_quantiles,
        "TaskAnswers": _print_tasks,
        "SelectedCandidate": _print_selected,
        "SelectedFew": _print_selected_few,
        "SyntheticAnswers": _print_synthetic,
        "SeriesAnswers": _print_series,
        "Coefficients": _print_coefficients,
        "MarginalAnswers": _print_tables,
        "BoxAnswers": _print_boxes,
    }


def _print_tasks(answers: TaskAnswers, bars: Bars) -> list[str]:
    """Each task under its name, with what is said of its errors."""
    for task, one in zip(answers.tasks.parts, answers.answers, strict=True):
        spent = plain(task.share * answers.spent)
        print_lines(["", f"{task.name}  ({task.asked.word}, {plain(task.share)} of the spend: {spent})"])
        said = print_answers(one, bars)
        if said:
            print_lines(said)
    return []


def _print_synthetic(answers: SyntheticAnswers, bars: Bars) -> list[str]:
    bounds = answers.bounds(bars.level).tolist()
    rows = [
        (name, rounded(value, bound) if math.isfinite(bound) else f"{value:,.6g}", brief(bound))
        for name, value, bound in zip(answers.queries.names, answers.values.tolist(), bounds, strict=True)
    ]
    print_table(("query", "answer", f"± at {bars.level * 100:g} % at once, proved"), rows)
    return [f"records    {answers.rows:,} synthetic ones; --output FILE.csv or FILE.parquet writes them"]


def _print_series(answers: SeriesAnswers, bars: Bars) -> list[str]:
    width = answers.half_width(bars.level)
    rows = [(name, rounded(value, width), brief(width), brief(answers.rmse)) for name, value in answers.by_name.items()]
    print_table(("reading", "answer", f"± at {bars.level * 100:g} % at once", "rmse"), rows)
    return ["error      of values as the policy rounds them"]


def _print_selected(answers: SelectedCandidate, bars: Bars) -> list[str]:
    print_table(("picked", "of candidates"), [(answers.picked, str(answers.asked.candidates.count))])
    below = brief(answers.shortfall(bars.level))
    unit = "" if answers.unit is None else f" {answers.unit}"
    return [f"error      proved: at {bars.level * 100:g} % its score is less than {below}{unit} below the best"]


def _print_selected_few(answers: SelectedFew, bars: Bars) -> list[str]:
    rows = [(str(number), name) for number, name in enumerate(answers.picked, start=1)]
    print_table(("place", f"picked of {answers.asked.candidates.count:,} candidates"), rows)
    unit = "" if answers.unit is None else f" {answers.unit}"
    below = f"less than {brief(answers.shortfall(bars.level))}{unit} below the best for its place"
    return [f"error      proved: at {bars.level * 100:g} %, for all places at once, each score is {below}"]


def _print_coefficients(answers: Coefficients, bars: Bars) -> list[str]:
    from dxgeom.learning.totals.coefficients import interval_in_words

    rows = [(one.name, one.unit, brief(one.value), interval_in_words(one)) for one in answers.table(bars.level)]
    print_table((answers.response, "for", "coefficient", f"within, at {bars.level * 100:g} %"), rows)
    return [f"error      {answers.note}"]


def _print_tables(answers: MarginalAnswers, bars: Bars) -> list[str]:
    """Cell by cell where they are few, else a line for each table."""
    widths, errors, level = answers.half_widths(bars.level), answers.rmse, f"{bars.level * 100:g} %"
    if answers.queries.count <= _MOST_CELLS:
        for place, name in enumerate(answers.names):
            labels = [*zip(*answers.queries.labels(place).values(), strict=True)] or [("all records",)]
            values, width = answers.table(name).ravel().tolist(), float(widths[place])
            cells = [(", ".join(one), rounded(value, width)) for one, value in zip(labels, values, strict=True)]
            print_table((name, f"count, ± {brief(width)} at {level}"), cells)
            print_lines([""])
        return ["cells      tables agree: what two have in common is the same"]
    shown = min(MOST_SHOWN, len(answers.names))
    rows = [
        (name, f"{math.prod(shape):,}", brief(float(width)), brief(float(error)))
        for name, shape, width, error in zip(
            answers.names[:shown], answers.queries.shapes, widths, errors, strict=False
        )
    ]
    print_table(("table", "cells", f"± at {level}", "rmse"), rows)
    others = f", and {len(answers.names) - shown:,} tables more" if len(answers.names) > shown else ""
    where = "--output cells.parquet, or .csv, writes all; --format csv prints them; the ledger keeps them"
    return [f"cells      {answers.queries.count:,} in these tables{others}: {where}"]


def _print_boxes(answers: BoxAnswers, bars: Bars) -> list[str]:
    widths, values = answers.half_widths(bars.level)[:_MOST_CELLS], answers.values[:_MOST_CELLS]
    rows = [
        (name, rounded(value, width), brief(width), brief(error))
        for name, value, width, error in zip(
            answers.names, values.tolist(), widths.tolist(), answers.rmse, strict=False
        )
    ]
    print_table(("box", "count", f"± at {bars.level * 100:g} %", "rmse"), rows)
    if answers.queries.count <= _MOST_CELLS:
        return ["boxes      agree: what two have in common is the same"]
    where = "--output counts.parquet, or .csv, writes all; --format csv prints them; the ledger keeps them"
    return [f"boxes      {answers.queries.count:,}, of which the first {_MOST_CELLS} are here: {where}"]


def _print_quantiles(answers: QuantileAnswers, bars: Bars) -> list[str]:
    del bars  # what holds of their errors is said at 95 %
    rows = [(one.name, one.label, "private" if one.rank is None else f"{one.rank:,}") for one in answers.released]
    print_table(("quantile", "value", "rank"), rows)
    said = zip(answers.queries.names, answers.statements, strict=True)
    return [f"error      '{name}': {statement}" for name, statement in said]


def _print_linear(answers: LinearAnswers, bars: Bars) -> list[str]:
    at_once, level = " at once" if bars.joint else "", f"{bars.level * 100:g} %"
    widths = answers.half_widths(bars.level, joint=bars.joint)
    rows = [
        (name, rounded(float(value), float(width)), brief(float(width)), brief(float(error)))
        for name, value, width, error in zip(answers.names, answers.values, widths, answers.rmse, strict=True)
    ]
    print_table(("query", "answer", f"± at {level}{at_once}", "rmse"), rows)
    if answers.queries.ratios:
        print_lines([""])
        ratios = answers.ratios(bars.level, joint=bars.joint)
        print_table(("ratio", "value", f"within, at {level}{at_once}"), [*map(_ratio_row, ratios)])
    changed = answers.mechanism.biases
    worst = int(changed.argmax())
    bias = f"bias       at most {brief(changed[worst])} ('{answers.names[worst]}'), within the error bars"
    return [
        *([] if answers.mechanism.change is None else [bias]),
        *(f"bias       {said}" for said in answers.bars.in_words()),
    ]


def _ratio_row(ratio: RatioAnswer) -> tuple[str, str, str]:
    low, high = ratio.interval
    parts = " or ".join(f"{rounded(low, high - low)} to {rounded(high, high - low)}" for low, high in ratio.parts)
    return ratio.name, "-" if ratio.value is None else rounded(ratio.value, (high - low) / 2), parts
