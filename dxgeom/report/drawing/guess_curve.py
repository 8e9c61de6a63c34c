"""Distance against right guesses: the curve that every promise lies on, with real pairs on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from dxgeom.report.drawing.scene import Area, Dots, Label, Line, Look, Mark, Point, Scale, Scene, cut, rectangle, ticked
from dxgeom.wording.numbers import BANDS, guesses

NamedPair: TypeAlias = tuple[str, float]
"""Two records in words, and their distance."""
_FLAT: Final = 9.0
"""From here on every guess may be right."""
_STEPS: Final = 60

_MOST_NAMED: Final = 6


def of_odds(distance: float) -> float:
    """Right guesses of 1,000, at most, where odds are at most e^distance."""
    return 1000 / (1 + math.exp(-min(distance, 100)))


def guess_curve(
    pairs: Sequence[NamedPair], budget: float, told: float | None, right: Callable[[float], float] = of_odds
) -> Scene:
    """Right guesses of 1,000, at most, over the distance of two records: with the whole budget, and so far.

    Args: ``right``: what a distance tells at spend 1; the strip of words for odds is drawn only for that of odds.
    """
    farthest = max((distance for _, distance in pairs if math.isfinite(distance)), default=1.0)
    reach = min(max(farthest * 1.12, 1.2 / budget), _FLAT / budget)
    known = [pair for pair in pairs if pair[1] <= reach]
    marks: list[Mark] = [*_strip(reach, budget)] if right is of_odds else []
    marks.append(Line(_curve(reach, budget, right), "blue", 2.2))
    marks.append(
        Label((reach * 0.42, right(reach * 0.42 * budget)), "whole budget", "end", "blue", (-12, -6), strong=True)
    )
    if told:
        marks.append(Line(_curve(reach, told, right), "blue", 1.6, dashed=True))
        marks.append(Label((reach * 0.8, right(reach * 0.8 * told)), "told so far", "start", "blue", (2, 16)))
    named = _spread(sorted(set(known), key=lambda pair: pair[1]))
    for words, distance in named:
        at = (distance, right(distance * budget))
        marks.append(Dots((at,), "ink"))
        if distance > 0.6 * reach:
            last = (words, distance) == named[-1]
            marks.append(Label(at, cut(words, 30), "end", "ink", (4, -12) if last else (4, 14)))
        else:
            marks.append(Label(at, cut(words, 24), "start", "ink", (9, 4)))
    ends = "; ".join(f"{words} {_up(right, distance * budget)}" for words, distance in named[:1] + named[-1:])
    beyond = f" {len(pairs) - len(known)} of the pairs lie beyond it." if len(known) < len(pairs) else ""
    alt = f"Curve of right guesses of 1,000, at most, over distance, rising from 500. {ends}.{beyond}"
    ticks = tuple((float(place), f"{place:,}") for place in range(500, 1001, 100))
    across = ticked(0, reach, "distance between the two records", 6)
    return Scene(alt, across, Scale(480, 1030, "right guesses of 1,000, at most", ticks), tuple(marks), 440, 330)


def _up(right: Callable[[float], float], distance: float) -> int:
    return guesses(distance) if right is of_odds else math.ceil(right(distance))


def _curve(reach: float, times: float, right: Callable[[float], float]) -> tuple[Point, ...]:
    places = (reach * step / _STEPS for step in range(_STEPS + 1))
    return tuple((place, right(place * times)) for place in places)


def _strip(reach: float, budget: float) -> list[Mark]:
    """The bands below the curve."""
    start, found = 0.0, list[Mark]()
    for band in BANDS:
        end = min(math.log(band.most) / budget if math.isfinite(band.most) else math.inf, reach)
        if end > start:
            look: Look = band.look  # type: ignore[assignment]
            found.append(Area(rectangle(start, 480, end, 488), look, "muted"))
        start = max(start, end)
    return found


def _spread(pairs: list[NamedPair]) -> list[NamedPair]:
    """The closest, the farthest, and some between that are not too near each other to be written."""
    if not pairs:
        return []
    reach, kept = pairs[-1][1] or 1.0, [pairs[0]]
    for pair in pairs[1:-1]:
        if pair[1] - kept[-1][1] > 0.16 * reach and pairs[-1][1] - pair[1] > 0.16 * reach and len(kept) < _MOST_NAMED:
            kept.append(pair)
    return kept + pairs[-1:] if len(pairs) > 1 else kept
