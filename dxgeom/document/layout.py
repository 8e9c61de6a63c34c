"""Where a scene's marks lie in pixels, and words that stand where they cover nothing: one layout for page and paper."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.document.scene import Dots, Label, Line, Mark, Point, Scene

NARROW: Final = 340
"""Pixels that a telephone has for a picture."""
_TOP, _RIGHT, _BOTTOM = 12, 14, 40
_LETTER, _BOLD, _HIGH = 7.3, 8.0, 15.0
"""Pixels of a letter in the widest of usual fonts, in bold, and of a line."""
_DENSE: Final = 4.0
_COVERED, _CROSSED, _FARTHER = 1000.0, 20.0, 1.0
"""What it costs to cover other words, to cross a line, and to stand at a later place."""
_AROUND: Final[tuple[tuple[Literal["start", "middle", "end"], float, float], ...]] = (
    ("start", 9, 0),
    ("end", -9, 0),
    ("start", 6, 13),
    ("end", -6, -13),
    ("start", 6, -13),
    ("end", -6, 13),
    ("middle", 0, -14),
    ("middle", 0, 15),
    ("start", 14, 24),
    ("end", -14, -24),
    ("start", 24, 12),
    ("end", -24, -12),
)
"""Where words may stand beside their point."""


@final
@dataclass(frozen=True)
class Frame:
    """Where the numbers of a scene lie, in pixels."""

    scene: Scene
    left: float
    top: float
    right: float
    bottom: float

    def placed(self, point: Point) -> Point:
        """Where a point lies."""
        across, up = self.scene.across, self.scene.up
        x = self.left + (point[0] - across.low) / (across.high - across.low) * (self.right - self.left)
        y = self.bottom - (point[1] - up.low) / (up.high - up.low) * (self.bottom - self.top)
        return x, y


def frame_of(scene: Scene) -> Frame:
    """The frame of a scene; one scale for both axes where it asks for that."""
    if scene.framed:
        below = _BOTTOM if scene.across.title else 24
        top = _TOP + (14 if scene.up.title else 0)
        frame = Frame(scene, scene.names, top, scene.width - _RIGHT, scene.height - below)
    else:
        frame = Frame(scene, 4, 4, scene.width - 4, scene.height - 4)
    if not scene.equal:
        return frame
    wide, high = frame.right - frame.left, frame.bottom - frame.top
    each = min(wide / (scene.across.high - scene.across.low), high / (scene.up.high - scene.up.low))
    side = (wide - each * (scene.across.high - scene.across.low)) / 2
    over = (high - each * (scene.up.high - scene.up.low)) / 2
    return Frame(scene, frame.left + side, frame.top + over, frame.right - side, frame.bottom - over)


def narrowed(scene: Scene) -> Scene:
    """The scene on a telephone: as many pixels as there are, and words as large as they were."""
    return replace(scene, width=NARROW, height=round(scene.height * NARROW / scene.width) + (20 if scene.framed else 0))


class _Box(NamedTuple):
    """Pixels that words take."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > 0 and min(self.bottom, other.bottom) > max(self.top, other.top)

    def holds(self, points: NDArray[np.float64]) -> int:
        """How many of the points (n, 2)."""
        inside = (points >= (self.left, self.top)) & (points <= (self.right, self.bottom))
        return int(np.count_nonzero(inside.all(axis=1)))


def width_of(words: str, *, strong: bool = False) -> float:
    """Pixels that words take at most, in a usual font."""
    return len(words) * (_BOLD if strong else _LETTER)


def _box(frame: Frame, label: Label) -> _Box:
    x, y = frame.placed(label.at)
    x, y = x + label.shift[0], y + label.shift[1]
    wide = width_of(label.words, strong=label.strong)
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[label.anchor]
    return _Box(left, y - _HIGH / 2, left + wide, y + _HIGH / 2)


def arranged(scene: Scene) -> Scene:
    """The scene, its lines cut at its frame, and its free labels where they cover nothing and stay inside.

    A free label that finds no such place is left out: two names over each other say nothing.
    """
    frame = frame_of(scene)
    marks = [one for mark in scene.marks for one in (_inside(scene, mark) if not scene.framed else (mark,))]
    taken = [_box(frame, mark) for mark in marks if isinstance(mark, Label) and not mark.free]
    if scene.framed and scene.up.title:
        taken.append(_Box(0.0, 0.0, 4.0 + width_of(scene.up.title), _TOP + 4.0))  # above the frame, on the page
    crossed = np.array([*_points_of(frame, marks)], dtype=np.float64).reshape(-1, 2)
    found: list[Mark] = []
    for mark in marks:
        if not isinstance(mark, Label) or not mark.free:
            found.append(mark)
            continue
        chosen = _best(frame, mark, taken, crossed)
        if chosen is not None:
            taken.append(_box(frame, chosen))
            found.append(chosen)
    return replace(scene, marks=tuple(one for mark in found for one in _behind(frame, mark, taken)))


def _behind(frame: Frame, mark: Mark, words: Sequence[_Box]) -> Iterator[Mark]:
    """A dashed line in pieces that leave out where words stand; any other mark as it is."""
    if not isinstance(mark, Line) or not mark.dashed:
        yield mark
        return
    piece: list[Point] = []
    last = mark.points[0]
    for one, other in itertools.pairwise(mark.points):
        steps = max(1, math.ceil(math.dist(frame.placed(one), frame.placed(other)) / _DENSE))
        for step in range(steps + 1):
            share = step / steps
            point = (one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1]))
            spot = np.array([frame.placed(point)])
            if not any(box.holds(spot) for box in words):
                last = point
                piece += [point] if not piece or step == steps else []
                continue
            if piece and piece[-1] != last:
                yield replace(mark, points=(*piece, last))
            elif len(piece) > 1:
                yield replace(mark, points=tuple(piece))
            piece = []
    if len(piece) > 1:
        yield replace(mark, points=tuple(piece))


def _points_of(frame: Frame, marks: Sequence[Mark]) -> Iterator[Point]:
    """Points on lines, close to each other, and the middles of dots, in pixels."""
    for mark in marks:
        if isinstance(mark, Dots):
            yield from map(frame.placed, mark.points)
        elif isinstance(mark, Line):
            ends = [*map(frame.placed, mark.points)]
            for one, other in itertools.pairwise(ends):
                steps = max(1, math.ceil(math.dist(one, other) / _DENSE))
                shares = (step / steps for step in range(steps))
                yield from ((one[0] + s * (other[0] - one[0]), one[1] + s * (other[1] - one[1])) for s in shares)


def _best(frame: Frame, label: Label, taken: Sequence[_Box], crossed: NDArray[np.float64]) -> Label | None:
    """The label at the place that costs least; None where each covers other words or leaves the picture."""
    least, chosen, order = _COVERED, None, 0
    least_left = frame.left if frame.scene.framed else 2.0
    for at in (label.at, *label.elsewhere):
        for anchor, across, down in _AROUND:
            order += 1
            one = replace(label, at=at, anchor=anchor, shift=(across, down))
            box = _box(frame, one)
            if box.left < least_left or box.right > frame.scene.width - 2 or box.top < 0 or box.bottom > frame.bottom:
                continue
            cost = order * _FARTHER + _COVERED * any(box.meets(each) for each in taken)
            if cost < least:
                cost += _CROSSED * box.holds(crossed)
            if cost < least:
                least, chosen = cost, one
    return chosen


def _inside(scene: Scene, mark: Mark) -> Iterator[Mark]:
    """A line in pieces that stay inside of what the scene shows; any other mark as it is."""
    if not isinstance(mark, Line):
        yield mark
        return
    piece: list[Point] = []
    for one, other in itertools.pairwise(mark.points):
        ends = _cut(scene, one, other)
        if ends is None:
            continue
        if piece and piece[-1] != ends[0]:
            yield replace(mark, points=tuple(piece))
            piece = []
        piece += [*(() if piece else (ends[0],)), ends[1]]
    if piece:
        yield replace(mark, points=tuple(piece))


def _cut(scene: Scene, one: Point, other: Point) -> tuple[Point, Point] | None:
    """The part of a stroke that lies inside; None where nothing does."""
    start, end = 0.0, 1.0
    for scale, here, there in ((scene.across, one[0], other[0]), (scene.up, one[1], other[1])):
        step = there - here
        for limit, inward in ((scale.low, 1.0), (scale.high, -1.0)):
            room, gain = (here - limit) * inward, step * inward
            if gain == 0:
                if room < 0:
                    return None
            elif gain > 0:
                start = max(start, -room / gain)
            else:
                end = min(end, -room / gain)
    if start > end:
        return None
    at = [(one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1])) for share in (start, end)]
    return (one if start == 0 else at[0]), (other if end == 1 else at[1])
