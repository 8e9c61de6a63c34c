"""Released answers as tables for people, the same in a terminal, a notebook and on a page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from dxgeom.document.document import ShownColumn, ShownTable
from dxgeom.planner.answers.tables import AnswerPart, AnswerTable, Note
from dxgeom.wording.numbers import brief, rounded

MOST_CELLS: Final = 100
"""So many cells of tables that have a row for each combination of values are shown,"""
MOST_TABLES: Final = 30
"""and so many tables."""
_TITLES: Final = {"candidates": "of candidates", "unit": "for"}
_NEAR: Final = 1e-6


def answer_tables(part: AnswerPart) -> tuple[ShownTable, ...]:
    """The tables of a part; of very many cells the first, or how exact each table of them is."""
    if part.summary is not None and not 0 < _cells(part) <= MOST_CELLS:
        return (_shown(part.summary, MOST_TABLES),)
    return tuple(_shown(table, MOST_CELLS if table.answer == "count" else table.rows) for table in part.tables)


def answer_notes(part: AnswerPart) -> Iterator[Note]:
    """What is to be said below them; also how much is not shown."""
    cells, where = (
        _cells(part),
        "--output FILE.parquet, or .csv, writes all; --format csv prints them; the ledger keeps them",
    )
    if part.summary is not None and cells > MOST_CELLS:
        others = part.summary.rows - MOST_TABLES
        yield Note(
            "cells", f"{cells:,} in these tables{f', and {others:,} tables more' if others > 0 else ''}: {where}"
        )
    elif cells > MOST_CELLS:
        yield Note("answers", f"{cells:,}, of which the first {MOST_CELLS} are here: {where}")
    yield from part.notes


def _cells(part: AnswerPart) -> int:
    if part.summary is not None:
        return sum(part.summary.cells("cells"))
    return sum(table.rows for table in part.tables if table.answer == "count")


def _shown(table: AnswerTable, most: int) -> ShownTable:
    """A row for each answer: its name, the value with the digits that its error leaves, the bar, the error."""
    rows = min(most, table.rows)
    values, lows, highs, errors = (table.cells(column)[:rows] for column in ("value", "low", "high", "rmse"))
    middles = values if "value" in table.columns else [0.0] * rows
    bars = [_width(*each) for each in zip(middles, lows, highs, strict=True)]
    level = f"at {table.level * 100:g} %{table.manner}"
    columns, shown = [ShownColumn(table.heading)], [table.called[:rows]]

    def add(title: str, cells: list[str]) -> None:
        columns.append(ShownColumn(title, figures=True))
        shown.append(cells)

    for column in table.before:
        add(_TITLES.get(column, column), [_plain(cell) for cell in table.cells(column)[:rows]])
    if "value" in table.columns:
        unsure = 1.0 if "bar" in table.beside else None  # where nothing is known of errors, no digits are shown off
        cut = [_half(*ends) if table.answer == "count" else None for ends in zip(lows, highs, strict=True)]
        each = zip(bars, errors, cut, strict=True)
        widths = [bar if bar is not None else error or half or unsure for bar, error, half in each]
        add(table.answer, [_value(value, width) for value, width in zip(values, widths, strict=True)])
    if "within" in table.beside:
        add(f"within, {level}", [_parts(parts) for parts in table.cells("within")[:rows]])
    elif any(low is not None for low in lows) and None in bars:
        add(f"within, {level}", [_ends(*ends) for ends in zip(lows, highs, strict=True)])
    elif any(low is not None for low in lows):
        add(f"± {level}", [brief(bar) for bar in bars if bar is not None])
    if any(error is not None for error in errors):
        add("rmse", ["-" if error is None else brief(error) for error in errors])
    for column in table.beside:
        if column != "within":
            add(_TITLES.get(column, column), [_plain(cell) for cell in table.cells(column)[:rows]])
    return ShownTable(f"Answers by {table.heading}", tuple(columns), tuple(zip(*shown, strict=True)))


def _width(value: Any, low: float | None, high: float | None) -> float | None:
    """Half of an interval that lies around its answer; None for another."""
    if low is None or high is None or not isinstance(value, float | int):
        return None
    if math.isinf(low) and math.isinf(high):
        return math.inf
    width = (high - low) / 2
    return width if abs(low + width - value) <= _NEAR * max(width, abs(value)) else None


def _half(low: float | None, high: float | None) -> float | None:
    """Half of an interval, wherever its answer lies."""
    return None if low is None or high is None else (high - low) / 2


def _value(value: Any, width: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, str) else rounded(float(value), math.inf if width is None else width)


def _ends(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.4g} to {high:.4g}"


def _parts(parts: list[list[float | None]]) -> str:
    """The parts of a quotient's interval."""
    ends = [(-math.inf if low is None else low, math.inf if high is None else high) for low, high in parts]
    return " or ".join(f"{rounded(low, high - low)} to {rounded(high, high - low)}" for low, high in ends)


def _plain(cell: Any) -> str:
    return "private" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell)
