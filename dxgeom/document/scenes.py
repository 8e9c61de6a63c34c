"""Pictures as scenes: answers with bars, improvement, guesses over distance, heat map, noise of two answers, map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.document.scene import (
    Area,
    Arrow,
    Dots,
    Label,
    Line,
    Look,
    Mark,
    Point,
    Scale,
    Scene,
    circle,
    cut,
    rectangle,
    round_steps,
    ticked,
)
from dxgeom.wording.numbers import BANDS, amount, band_of, bar, digits, guesses, odds, odds_figure

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
    pairs: Sequence[NamedPair], budget: float, spent: float | None, right: Callable[[float], float] = of_odds
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
    if spent:
        marks.append(Line(_curve(reach, spent, right), "blue", 1.6, dashed=True))
        marks.append(Label((reach * 0.8, right(reach * 0.8 * spent)), "told so far", "start", "blue", (2, 16)))
    named = _spread(sorted(dict.fromkeys(known), key=lambda pair: pair[1]))
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


MOST_VALUES: Final = 20
_HIGH: Final = 24


def heat_map(name: str, labels: Sequence[str], distances: NDArray[np.float64]) -> Scene:
    """The pairs of at most 20 values in their order, with the odds ``distances`` (n, n) allow as figures.

    Args: ``distances``: already times the budget.
    """
    size = len(labels)
    wide = 30 if size > 8 else 48
    names = [cut(label, 14) for label in labels]
    left = 8 + 7.4 * max(map(len, names)) / wide
    marks: list[Mark] = []
    for row in range(size):
        at = size - row - 0.5
        marks.append(Label((-0.15, at), names[row], "end"))
        for column in range(row):
            distance = float(distances[row, column])
            look: Look = band_of(distance).look  # type: ignore[assignment]
            marks.append(Area(rectangle(column, at - 0.5, column + 1, at + 0.5), look, "ground"))
            marks.append(Label((column + 0.5, at), odds_figure(distance), "middle", on=look))
        if row < size - 1:
            marks.append(Label((row + 0.1, at), names[row], "start", look="muted"))
    longest = max(len(each) for each in names)
    left = (7.4 * longest + 10) / wide
    right = (7.4 * longest) / wide
    width = int((size + left + right) * wide) + 8
    pairs = distances[np.triu_indices(size, 1)]
    alt = (
        f"Heat map of {size} values of {cut(name)}, odds for every pair: from {odds(float(pairs.min()))} to "
        f"{odds(float(pairs.max()))}."
    )
    across, up = Scale(-left, size + right), Scale(0, size)
    return Scene(alt, across, up, tuple(marks), width, size * _HIGH + 8, framed=False)


_REACH: Final = 1.45


def noise_shape(
    names: Sequence[str],
    outline: NDArray[np.float64],
    noise: NDArray[np.float64],
    moved: tuple[float, float] | None,
    whose: str,
) -> Scene:
    """Contours of the noise of two answers, in their own units.

    Args: ``outline`` (h, 2): the shape whose multiples are contours; ``noise`` (n, 2): draws that fix the multiples;
    ``moved``: what one changed record does to both answers, in the words ``whose``.
    """
    sizes = gauges(outline, noise)
    half, most = (float(np.quantile(sizes, share)) * outline for share in (0.5, 0.95))
    limits = _REACH * np.abs(most).max(axis=0)
    if max(limits) < 6 * min(limits):
        limits = np.full(2, max(limits))
    marks: list[Mark] = [
        Area(_points(most), "pale", "blue"),
        Area(_points(half), "blue", "blue"),
        Label(_top(most), "19 times in 20", "middle", "ink", (0, -9), strong=True),
        Label((0.0, float(half[:, 1].min())), "half the time", "middle", "ink", (0, 12)),
    ]
    outside = np.abs(noise) > limits
    clipped = np.clip(noise[outside.any(axis=1)], -limits, limits)[:200]
    if len(clipped):
        marks.append(Dots(_points(clipped), "muted", 3))
    if moved is not None:
        marks.append(Arrow((0.0, 0.0), moved))
        marks.append(Label((-limits[0], limits[1]), cut(f"arrow: {whose}", 40), "start", "orange", (8, 12)))
    first, second = (cut(name, 34) for name in names)
    ends = [float(f"{np.abs(most[:, k]).max():.2g}") for k in (0, 1)]
    alt = f"Noise of two answers: 19 times in 20 within about {ends[0]:g} of {first} and {ends[1]:g} of {second}."
    across = ticked(-limits[0], limits[0], f"{first}: off by", 5)
    up = ticked(-limits[1], limits[1], f"{second}: off by", 5)
    return Scene(alt, across, up, tuple(marks), 400, 400, names=64)


def gauges(outline: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) how many times as large a convex outline (h, 2) around 0, counter-clockwise, must be to hold each point."""
    ahead = np.roll(outline, -1, axis=0) - outline
    normals = np.column_stack([ahead[:, 1], -ahead[:, 0]])
    heights = np.sum(normals * outline, axis=1)
    facing = heights > 1e-12 * max(float(np.abs(heights).max()), 1e-300)
    return np.asarray((points @ normals[facing].T / heights[facing]).max(axis=1))


def _points(corners: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in corners)


def _top(corners: NDArray[np.float64]) -> tuple[float, float]:
    return 0.0, float(corners[:, 1].max())


_MOST_NAMED_PLACES: Final = 12
_PIXELS: Final = 560
MOST_DRAWN: Final = 2000


def place_map(
    name: str, labels: Sequence[str], spots: NDArray[np.float64], unit: str, rings: Sequence[tuple[float, str]]
) -> Scene:
    """A map of places.

    Args: ``spots`` (n, 2): eastward and northward, in ``unit``; ``rings``: radius and words of each circle around the
    place in the middle.
    """
    low, high = spots.min(axis=0), spots.max(axis=0)
    span = max(float((high - low).max()), 1e-9)
    low, high = low - 0.07 * span, high + 0.07 * span
    wide, tall = (high - low).tolist()
    middle = int(np.argmin(np.abs(spots - np.median(spots, axis=0)).sum(axis=1)))
    here = (float(spots[middle, 0]), float(spots[middle, 1]))
    marks: list[Mark] = []
    for place, (radius, words) in enumerate(rings):
        if 0.04 * span < radius < 1.2 * span:
            turn = math.radians(80 - 50 * place)
            edge = circle(here, radius, radius)
            marks.append(Line((*edge, edge[0]), "orange", 1.2, dashed=True))
            spot = (here[0] + radius * math.cos(turn), here[1] + radius * math.sin(turn))
            marks.append(Label(spot, words, "start", "orange", (3, -5)))
    drawn = tuple((float(x), float(y)) for x, y in spots[:MOST_DRAWN])
    marks.append(Dots(drawn, "blue", 6 if len(labels) <= 60 else 3))
    marks.append(Dots((here,), "orange", 9))
    named = range(len(labels)) if len(labels) <= _MOST_NAMED_PLACES else [middle]
    marks += [Label((float(spots[k, 0]), float(spots[k, 1])), cut(labels[k], 20), "start", shift=(7, 0)) for k in named]
    marks += _bar(low.tolist(), span, unit)
    height = int(min(max(_PIXELS * tall / wide, 160), 460))
    alt = f"Map of {len(labels):,} places of {cut(name)}; circles around {cut(labels[middle])}: " + "; ".join(
        words for _, words in rings
    )
    across, up = Scale(float(low[0]), float(high[0])), Scale(float(low[1]), float(high[1]))
    return Scene(alt + ".", across, up, tuple(marks), _PIXELS, height, equal=True, framed=False)


def _bar(corner: list[float], span: float, unit: str) -> list[Mark]:
    """How long a round number of kilometres or metres is."""
    length = max(round_steps(0, span / 3, 4))
    left, level = corner[0] + 0.02 * span, corner[1] + 0.03 * span
    tip = 0.012 * span
    ends = ((left, level + tip), (left, level), (left + length, level), (left + length, level + tip))
    return [Line(ends, "ink", 1.6), Label((left + length, level), f"{length:,.6g} {unit}".strip(), shift=(6, 0))]


def flat(coordinates: NDArray[np.float64], geometry: str) -> NDArray[np.float64]:
    """Eastward and northward positions (n, 2): of degrees in kilometres, on a map that is true around its middle."""
    if geometry == "plane":
        return coordinates
    latitude, longitude = coordinates[:, 0], coordinates[:, 1]
    each = 6371.0 * math.pi / 180
    return np.column_stack([longitude * each * math.cos(math.radians(float(np.median(latitude)))), latitude * each])
