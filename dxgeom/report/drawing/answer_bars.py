"""Answers with their bars on one axis, and improvement as dots from 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

from dxgeom.report.drawing.scene import Dots, Label, Line, Mark, Scale, Scene, cut, ticked
from dxgeom.wording.numbers import amount, bar, digits

Barred: TypeAlias = tuple[str, float, float, float]
"""A question, its answer, and the ends of its bar."""
MOST_BARS: Final = 40
_ROW: Final = 30


def answer_bars(rows: Sequence[Barred], possible: tuple[float, float] | None, unit: str = "") -> Scene:
    """Answers of one unit with their bars; the axis is what is possible, where that is known, else what is needed."""
    shown = rows[:MOST_BARS]
    ends = [end for _, value, low, high in shown for end in (value, low, high) if math.isfinite(end)]
    low, high = possible if possible is not None else (min(ends), max(ends))
    low, high = min(low, *ends), max(high, *ends)
    ends_in_words = f"{amount(low)} to {amount(high)}"
    spare = 0.03 * (high - low or 1.0)
    low, high = low - spare, high + spare
    marks: list[Mark] = []
    for place, (_, value, start, end) in enumerate(shown):
        at = len(shown) - place - 0.5
        start, end = max(start, low), min(end, high)
        marks.append(Line(((start, at), (end, at)), "blue", 2.4))
        marks += [Line(((x, at - 0.18), (x, at + 0.18)), "blue", 2) for x in (start, end)]
        marks.append(Dots(((value, at),), "blue", 8))
    names = tuple((len(shown) - place - 0.5, cut(name, 34)) for place, (name, *_) in enumerate(shown))
    words = "; ".join(_in_words(*row) for row in shown[:5])
    alt = f"{len(shown)} answers with bars on one axis from {ends_in_words}: {words}."
    across = ticked(low, high, unit, 7)
    wide = 16 + int(7.2 * max(len(name) for _, name in names))
    return Scene(alt, across, Scale(0, len(shown), ticks=names), tuple(marks), 760, _ROW * len(shown) + 60, names=wide)


def _in_words(name: str, value: float, low: float, high: float) -> str:
    said, start, end = bar(value, low, high)
    return f"{cut(name)} {said}, from {start} to {end}"


def improvement_dots(rows: Sequence[tuple[str, float, str]]) -> Scene:
    """For each question how many times smaller its error is than an ordinary one's, as dots on a logarithmic axis.

    Args: question, factor (∞ for an exact answer), and both errors in words. A dot has no length that could mislead.
    """
    shown = rows[:MOST_BARS]
    finite = [factor for _, factor, _ in shown if math.isfinite(factor) and factor > 0]
    low, high = min([0.8, *(0.8 * each for each in finite)]), max([4.0, *(2.0 * each for each in finite)])
    start, end = math.log10(low), math.log10(high)
    marks: list[Mark] = [Line(((0, 0), (0, len(shown))), "ink", 1.2)]
    for place, (_, factor, words) in enumerate(shown):
        at = len(shown) - place - 0.5
        where = math.log10(factor) if math.isfinite(factor) and factor > 0 else end
        marks.append(Line(((0, at), (where, at)), "muted", 1))
        marks.append(Dots(((where, at),), "blue", 9))
        said = "exact answer" if not math.isfinite(factor) else f"{digits(factor, 3)} times; {words}"
        near = where > start + 0.55 * (end - start)
        marks.append(Label((where, at), said, "end" if near else "start", "ink", (-9, -10) if near else (9, 0)))
    names = tuple((len(shown) - place - 0.5, cut(name, 34)) for place, (name, *_) in enumerate(shown))
    worst, best = min(finite, default=1.0), max(finite, default=1.0)
    gains = f"from {digits(worst, 3)} to {digits(best, 3)} times"
    alt = f"Improvement over ordinary noise for {len(shown)} questions, {gains}."
    powers = [power for power in range(-3, 10) if start <= power <= end]
    steps = [(math.log10(base) + power, base * 10.0**power) for power in powers for base in (1, 2, 5)]
    ticks = tuple((place, f"{value:,.6g}") for place, value in steps if start <= place <= end)
    across = Scale(start, end, "times smaller than under ordinary noise; 1 is no gain", ticks)
    wide = 16 + int(7.2 * max(len(name) for _, name in names))
    return Scene(alt, across, Scale(0, len(shown), ticks=names), tuple(marks), 760, 36 * len(shown) + 60, names=wide)
