"""Pictures as scenes: answers with bars, improvement, guesses over distance, heat map, noise of two answers, map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.document.layout import NARROW, width_of
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
_WIDE, _LONGEST = 760, 34
"""Pixels of a picture of rows, and letters of a name in it."""
_MARGIN, _AWAY = 14, 10
"""Pixels right of a frame, and between a bar and its words."""


def answer_bars(
    rows: Sequence[Barred], possible: tuple[float, float] | None, unit: str = "", *, narrow: bool = False
) -> Scene:
    """Answers of one unit with their bars; the axis is what is possible, where that is known, else what is needed.

    Each answer and its bar stand there as figures, too: a bar that is thinner than its dot can still be read.
    """
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
        said, *limits = bar(value, start, end)
        start, end = max(start, low), min(end, high)
        marks.append(Line(((start, at), (end, at)), "blue", 2.4))
        marks += [Line(((x, at - 0.12), (x, at + 0.12)), "blue", 2) for x in (start, end)]
        marks.append(Dots(((value, at),), "blue", 8))
        words = f"{said}, {limits[0]} to {limits[1]}"
        beside = _beside(words, at, (start, value, end), (low, high), _WIDE - _names_wide([name for name, *_ in shown]))
        marks.append(Label((low, at), words, shift=(6, 17)) if narrow else beside)
    words = "; ".join(_in_words(*row) for row in shown[:5])
    alt = f"{len(shown)} answers with bars on one axis from {ends_in_words}: {words}."
    across = ticked(low, high, unit, 3 if narrow else 7)
    return _in_rows(alt, across, [name for name, *_ in shown], marks, narrow=narrow)


def _beside(words: str, at: float, bar: tuple[float, float, float], ends: tuple[float, float], room: float) -> Label:
    """Words at that end of a bar that has more room; above the bar where they have none at either.

    ``room``: pixels between the names and the right edge.
    """
    start, value, end = bar
    low, high = ends
    each, long = (room - _MARGIN) / (high - low), width_of(words)
    left, right = (start - low) * each - _AWAY, room - (end - low) * each - _AWAY
    if max(left, right) >= long:
        far = left > right
        return Label((start if far else end, at), words, "end" if far else "start", shift=(-_AWAY if far else _AWAY, 0))
    middle = min(max(value, low + long / 2 / each), high - long / 2 / each)
    return Label((middle, at), words, "middle", shift=(0, -12))


def _names_wide(names: Sequence[str]) -> int:
    """Pixels of names at the left of a picture."""
    return 16 + int(7.2 * max(len(cut(name, _LONGEST)) for name in names))


def _in_rows(alt: str, across: Scale, names: Sequence[str], marks: list[Mark], *, narrow: bool) -> Scene:
    """A picture of rows, the first on top: their names stand at the left, or above each row where there is no room."""
    rows = [(len(names) - place - 0.5, name) for place, name in enumerate(names)]
    if narrow:
        most = int(NARROW / 7.2) - 2
        above = [Label((across.low, at), cut(name, most), shift=(0, -17), strong=True) for at, name in rows]
        return Scene(alt, across, Scale(0, len(names)), (*marks, *above), NARROW, 58 * len(names) + 60, names=6)
    ticks = tuple((at, cut(name, _LONGEST)) for at, name in rows)
    up, high = Scale(0, len(names), ticks=ticks), _ROW * len(names) + 60
    return Scene(alt, across, up, tuple(marks), _WIDE, high, names=_names_wide(names))


def _in_words(name: str, value: float, low: float, high: float) -> str:
    said, start, end = bar(value, low, high)
    return f"{cut(name)} {said}, from {start} to {end}"


def improvement_dots(rows: Sequence[tuple[str, float, str]], *, narrow: bool = False) -> Scene:
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
        beside = Label((where, at), said, "end" if near else "start", "ink", (-9, -10) if near else (9, 0))
        marks.append(Label((start, at), said, shift=(6, 17)) if narrow else beside)
    worst, best = min(finite, default=1.0), max(finite, default=1.0)
    gains = f"from {digits(worst, 3)} to {digits(best, 3)} times"
    alt = f"Improvement over ordinary noise for {len(shown)} questions, {gains}."
    powers = [power for power in range(-3, 10) if start <= power <= end]
    parts = (1,) if narrow and len(powers) > 1 else (1, 2, 5)
    steps = [(math.log10(base) + power, base * 10.0**power) for power in powers for base in parts]
    ticks = tuple((place, f"{value:,.6g}") for place, value in steps if start <= place <= end)
    title = "times smaller; 1 is no gain" if narrow else "times smaller than under ordinary noise; 1 is no gain"
    return _in_rows(alt, Scale(start, end, title, ticks), [name for name, *_ in shown], marks, narrow=narrow)


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
    if spent:
        marks.append(Line(_curve(reach, spent, right), "blue", 1.6, dashed=True))
    named = _spread(sorted(dict.fromkeys(known), key=lambda pair: pair[1]))
    marks += [Dots(((distance, right(distance * budget)),), "ink") for _, distance in named]
    marks.append(_on_the_curve("whole budget", budget, reach, right, strong=True))
    if spent:
        marks.append(_on_the_curve("told so far", spent, reach, right))
    for words, distance in (*named[:1], *named[:0:-1]):
        marks.append(Label((distance, right(distance * budget)), cut(words, 30), free=True))
    ends = "; ".join(f"{words} {_up(right, distance * budget)}" for words, distance in named[:1] + named[-1:])
    beyond = f" {len(pairs) - len(known)} of the pairs lie beyond it." if len(known) < len(pairs) else ""
    alt = f"Curve of right guesses of 1,000, at most, over distance, rising from 500. {ends}.{beyond}"
    ticks = tuple((float(place), f"{place:,}") for place in range(500, 1001, 100))
    across = ticked(0, reach, "distance between the two records", 6)
    return Scene(alt, across, Scale(480, 1030, "right guesses of 1,000, at most", ticks), tuple(marks), 440, 330)


def curve_over_time(spans: Sequence[NamedPair], each: float, right: Callable[[float], float] = of_odds) -> Scene:
    """Right guesses of 1,000, at most, over how many periods in a row somebody has a record in.

    Args: ``spans``: in words, and the periods in each, rising; ``each``: what one of them adds to the distance.
    """
    reach = min(spans[-1][1] * 1.05, max(4.0, _FLAT / each))
    known = [span for span in spans if span[1] <= reach]
    marks: list[Mark] = [Line(_curve(reach, each, right), "blue", 2.2)]
    marks += [Dots(((periods, right(periods * each)),), "ink") for _, periods in known]
    marks += [Label((periods, right(periods * each)), words, free=True) for words, periods in _spread(known)]
    said = "; ".join(f"{words} {_up(right, periods * each)}" for words, periods in spans)
    alt = f"Curve of right guesses of 1,000, at most, over periods in a row, rising from 500. {said}."
    ticks = tuple((float(place), f"{place:,}") for place in range(500, 1001, 100))
    across = ticked(0, reach, "periods in a row with a record", 6)
    return Scene(alt, across, Scale(480, 1030, "right guesses of 1,000, at most", ticks), tuple(marks), 440, 330)


def _on_the_curve(
    words: str, spend: float, reach: float, right: Callable[[float], float], *, strong: bool = False
) -> Label:
    """What a curve is of, somewhere beside it."""
    places = [(share * reach, right(share * reach * spend)) for share in (0.42, 0.3, 0.55, 0.7, 0.2, 0.85)]
    return Label(places[0], words, look="blue", strong=strong, free=True, elsewhere=tuple(places[1:]))


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
_WIDEST: Final = 860


def heat_map(
    name: str, labels: Sequence[str], distances: NDArray[np.float64], *, narrow: bool = False, most: float = 0
) -> Scene:
    """The pairs of at most 20 values in their order, with the odds ``distances`` (n, n) allow as figures.

    Below it stands what the colours mean. Where there is no room for figures, only the colours are shown.
    Args: ``distances``: already times the budget; ``narrow``: names stand at one side, on a telephone; ``most``: pixels
    across, where they are few.
    """
    size, most = len(labels), most or (NARROW if narrow else _WIDEST)
    figures = [[odds_figure(float(distances[row, column])) for column in range(row)] for row in range(size)]
    names = [cut(label, 14) for label in labels]
    longest = max(len(each) for each in names)
    aside = 7.4 * longest + 14
    room = most - aside * (1 if narrow else 2)
    needed = max(30.0, 7.4 * max(len(each) for row in figures for each in row) + 8)
    wide = min(needed, room / size)
    written = wide == needed
    marks: list[Mark] = []
    for row in range(size):
        at = size - row - 0.5
        marks.append(Label((-5 / wide, at), names[row], "end"))
        for column in range(row):
            look: Look = band_of(float(distances[row, column])).look  # type: ignore[assignment]
            marks.append(Area(rectangle(column, at - 0.5, column + 1, at + 0.5), look, "ground"))
            if written:
                marks.append(Label((column + 0.5, at), figures[row][column], "middle", on=look))
        if row < size - 1 and not narrow:
            marks.append(Label((row + 5 / wide, at), names[row], "start", look="muted"))
    pairs = distances[np.triu_indices(size, 1)]
    key, lines, key_wide = _key_of_bands(
        {band_of(float(each)).look for each in pairs}, -aside / wide, wide, most if narrow else min(most, 480)
    )
    width = max(aside + size * wide + (8 if narrow else aside), key_wide + 8)
    alt = (
        f"Heat map of {size} values of {cut(name)}, odds for every pair: from {odds(float(pairs.min()))} to "
        f"{odds(float(pairs.max()))}."
    )
    across, up = Scale(-aside / wide, (width - aside) / wide), Scale(-lines - 0.4, size)
    height = round((size + lines + 0.4) * _HIGH) + 8

    def within(pixels: float) -> Scene:
        few = max(pixels, NARROW)
        return heat_map(name, labels, distances, narrow=few < 2 * aside + size * needed, most=min(few, _WIDEST))

    marks += key
    return Scene(alt, across, up, tuple(marks), math.ceil(width) + 8, height, framed=False, within=within)


def _key_of_bands(found: set[str], left: float, wide: float, room: float) -> tuple[list[Mark], int, float]:
    """A box of each band's colour that occurs with its odds, in lines below a heat map; how many lines, how wide."""
    marks: list[Mark] = []
    x, line, most = 0.0, 1, 0.0
    for one in BANDS:
        if one.look not in found:
            continue
        words = f"{one.words}: up to {amount(one.most)}" if math.isfinite(one.most) else one.words
        taken = 26 + 6.9 * len(words) + 14
        if x and x + taken > room:
            x, line = 0.0, line + 1
        at, start = -line + 0.1, left + x / wide
        look: Look = one.look  # type: ignore[assignment]
        marks.append(Area(rectangle(start, at - 0.3, start + 20 / wide, at + 0.3), look, "muted"))
        marks.append(Label((start + 26 / wide, at), words, look="muted"))
        x, most = x + taken, max(most, x + taken)
    return marks, line, most


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
    drawn = tuple((float(x), float(y)) for x, y in spots[:MOST_DRAWN])
    marks.append(Dots(drawn, "blue", 6 if len(labels) <= 60 else 3))
    marks.append(Dots((here,), "orange", 9))
    marks += _bar(low.tolist(), span, unit)
    marks.append(Label(here, cut(labels[middle], 24), free=True, strong=True))
    for radius, words in rings:
        if 0.03 * span < radius < 1.2 * span:
            edge = circle(here, radius, radius)
            marks.append(Line((*edge, edge[0]), "orange", 1.2, dashed=True))
            shown = tuple(one for one in edge[9:] + edge[:9] if low[0] < one[0] < high[0] and low[1] < one[1] < high[1])
            if shown:
                marks.append(Label(shown[0], words, look="orange", free=True, elsewhere=shown[1::3]))
    if len(labels) <= _MOST_NAMED_PLACES:
        others = [(float(x), float(y), label) for (x, y), label in zip(spots, labels, strict=True)]
        marks += [Label((x, y), cut(label, 20), free=True) for x, y, label in others if (x, y) != here]
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
