"""What stands beside a bar stays in the picture, covers no name and no other bar's words, wherever the bar lies."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from dxgeom.document.layout import frame_of, width_of
from dxgeom.document.scene import Label
from dxgeom.document.scenes import answer_bars


def boxes(scene):
    frame = frame_of(scene)
    for mark in (one for one in scene.marks if isinstance(one, Label)):
        (x, y), wide = frame.placed(mark.at), width_of(mark.words)
        left = x + mark.shift[0] - {"start": 0, "middle": wide / 2, "end": wide}[mark.anchor]
        yield left, left + wide, y + mark.shift[1]


@pytest.mark.parametrize("seed", range(20))
def test_words_stay_between_the_names_and_the_edge(seed):
    draw = random.Random(seed)
    rows = [
        ("abcm" * draw.randint(1, 10), round(draw.gauss(0, 10**6), 3), draw.choice([0.0, 1.5, 1e5, 1e6, 4e6, math.inf]))
        for _ in range(6)
    ]
    scene = answer_bars([(name, value, value - wide, value + wide) for name, value, wide in rows], None)
    found = list(boxes(scene))
    assert len(found) == len(rows)
    assert all(left >= frame_of(scene).left - 1e-6 and right <= scene.width + 1e-6 for left, right, _ in found)
    assert all(abs(one[2] - other[2]) >= 15 for one, other in itertools.pairwise(found))


@pytest.mark.parametrize(("low", "high", "anchor"), [(0, 10, "start"), (90, 100, "end"), (1, 99, "middle")])
def test_they_stand_where_there_is_room(low, high, anchor):
    scene = answer_bars([("one", (low + high) / 2, low, high)], (0, 100))
    (label,) = [one for one in scene.marks if isinstance(one, Label)]
    assert label.anchor == anchor
