"""What a picture is made of: marks at places in the numbers that it shows, between two axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

Point: TypeAlias = tuple[float, float]
Look: TypeAlias = Literal[
    "ink", "muted", "blue", "pale", "orange", "ground", "band-1", "band-2", "band-3", "band-4", "band-5"
]
"""The name of a colour; what it is depends on where the picture is seen."""
DOTS_PER_INCH: Final = 72
"""Of a scene's pixels."""
ON_DARK: Final = frozenset({"band-4", "band-5"})
"""Colours that words stand on in white."""


@final
@dataclass(frozen=True)
class Line:
    """A line through points."""

    points: tuple[Point, ...]
    look: Look = "ink"
    width: float = 1.5
    dashed: bool = False
    kind: str = field(default="line", init=False)


@final
@dataclass(frozen=True)
class Area:
    """A filled polygon; ``edge``: the colour of its outline."""

    points: tuple[Point, ...]
    look: Look
    edge: Look | None = None
    kind: str = field(default="area", init=False)


@final
@dataclass(frozen=True)
class Dots:
    """Points; ``size``: their width in pixels."""

    points: tuple[Point, ...]
    look: Look = "ink"
    size: float = 7
    kind: str = field(default="dots", init=False)


@final
@dataclass(frozen=True)
class Label:
    """Words at a point, moved by so many pixels. ``on``: the colour that they stand on.

    ``free``: they may stand on any side of their point, or of one ``elsewhere``, and fall out where none is free.
    """

    at: Point
    words: str
    anchor: Literal["start", "middle", "end"] = "start"
    look: Look = "ink"
    shift: tuple[float, float] = (0, 0)
    on: Look | None = None
    strong: bool = False
    free: bool = False
    elsewhere: tuple[Point, ...] = ()
    kind: str = field(default="label", init=False)


@final
@dataclass(frozen=True)
class Arrow:
    """An arrow from one point to another."""

    start: Point
    end: Point
    look: Look = "orange"
    kind: str = field(default="arrow", init=False)


Mark: TypeAlias = Line | Area | Dots | Label | Arrow


@final
@dataclass(frozen=True)
class Scale:
    """An axis: its ends, what it measures, and the numbers written on it."""

    low: float
    high: float
    title: str = ""
    ticks: tuple[tuple[float, str], ...] = ()


@final
@dataclass(frozen=True)
class Scene:
    """A picture. ``alt``: its kind, extremes and finding in words; ``equal``: both axes have one scale.

    ``names``: how many pixels the words left of the upward axis take; ``within``: the same picture laid out anew for so
    many pixels across, where squeezing it would move boxes onto words.
    """

    alt: str
    across: Scale
    up: Scale
    marks: tuple[Mark, ...]
    width: int = 440
    height: int = 320
    equal: bool = False
    names: int = 44
    framed: bool = True
    within: Callable[[float], Scene] | None = field(default=None, compare=False, repr=False)


def round_steps(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """Round numbers from low to high, at most so many.

    >>> round_steps(0, 4.5), round_steps(0, 304)
    ((0.0, 1.0, 2.0, 3.0, 4.0), (0.0, 100.0, 200.0, 300.0))
    """
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return (low,)
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(float(f"{step * number:.12g}") for number in range(first, last + 1))


def ticked(low: float, high: float, title: str, most: int = 6, *, also: Sequence[float] = ()) -> Scale:
    """An axis with round numbers on it."""
    places = sorted({*round_steps(low, high, most), *also})
    return Scale(low, high, title, tuple((place, f"{place:,.10g}") for place in places))


def rectangle(left: float, bottom: float, right: float, top: float) -> tuple[Point, ...]:
    """Its corners."""
    return (left, bottom), (right, bottom), (right, top), (left, top)


def circle(middle: Point, across: float, up: float, corners: int = 72) -> tuple[Point, ...]:
    """The corners of an ellipse of these radii."""
    turns = (2 * math.pi * corner / corners for corner in range(corners))
    return tuple((middle[0] + across * math.cos(turn), middle[1] + up * math.sin(turn)) for turn in turns)


def cut(words: str, most: int = 28) -> str:
    """A name as a picture shows it: in one line, and not longer than that."""
    shown = "".join(letter if letter.isprintable() else " " for letter in words)
    return shown if len(shown) <= most else shown[: most - 1] + "…"
