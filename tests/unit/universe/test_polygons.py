"""Areas against a textbook: which polygon a point lies in, in exact rationals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.universe import polygons
from dxgeom.universe.polygons import OUTSIDE, areas_of


def ring(*corners):
    return np.array([*corners, corners[0]], dtype=np.float64)


def square(west, south, size=1.0):
    return ring((west, south), (west + size, south), (west + size, south + size), (west, south + size))


def on_segment(point, one, other):
    (x, y), (a, b), (c, d) = point, one, other
    turned = (c - a) * (y - b) - (d - b) * (x - a)
    return turned == 0 and min(a, c) <= x <= max(a, c) and min(b, d) <= y <= max(b, d)


def in_ring(point, corners):
    """1 inside, 0 on the border, -1 outside: crossings of a ray, counted in rationals."""
    inside = False
    for one, other in itertools.pairwise(corners):
        if on_segment(point, one, other):
            return 0
        (x, y), (a, b), (c, d) = point, one, other
        if (b > y) != (d > y) and x < a + (y - b) * (c - a) / (d - b):
            inside = not inside
    return 1 if inside else -1


def contains(point, rings):
    """An outer ring and holes; every border belongs to the polygon."""
    exact = [[tuple(map(Fraction, corner)) for corner in one.tolist()] for one in rings]
    place = tuple(map(Fraction, point))
    sides = [in_ring(place, one) for one in exact]
    return 0 in sides or (sides[0] == 1 and all(side == -1 for side in sides[1:]))


SHAPES = [
    [(square(0, 0, 4), square(1, 1, 2))],
    [(ring((4, 0), (8, 0), (8, 5), (6, 0.3), (4, 4)),)],
    [(square(1, 1, 2),), (square(10, 10),)],
    [(ring((4, 4), (6, 0.3), (8, 5), (4, 8)),)],
]
AREAS = areas_of(SHAPES)
halves = st.integers(-2, 24).map(lambda half: half / 2)
numbers = halves | st.floats(-1, 12, allow_nan=False)


@given(st.lists(st.tuples(numbers, numbers) | st.sampled_from([(6, 0.3), (4, 4), (5.0, 2.15)]), min_size=1))
def test_a_point_is_in_the_first_area_that_contains_it_borders_included(points):
    found = AREAS.containing(*(np.array(column, dtype=float) for column in zip(*points, strict=True)))
    for point, code in zip(points, found.tolist(), strict=True):
        holders = [k for k, parts in enumerate(SHAPES) if any(contains(point, rings) for rings in parts)]
        assert code == (holders[0] if holders else OUTSIDE)


def test_points_that_are_nowhere_are_outside():
    nowhere = np.array([np.nan, np.inf, -np.inf, 500.0, 2.0])
    assert AREAS.containing(nowhere, np.array([1.0, 1.0, 1.0, 1.0, np.nan])).tolist() == [OUTSIDE] * 5


def test_many_points_go_block_by_block(monkeypatch):
    spots = np.random.default_rng(5).random((1000, 2)) * 12
    whole = AREAS.containing(spots[:, 0], spots[:, 1])
    monkeypatch.setattr(polygons, "_POINTS_PER_BLOCK", 7)
    assert np.array_equal(AREAS.containing(spots[:, 0], spots[:, 1]), whole)


def test_representatives_lie_inside_their_areas():
    found = AREAS.representatives()
    assert AREAS.containing(found[:, 0], found[:, 1]).tolist() == [0, 1, 2, 3]
    assert np.array_equal(found, np.round(found, 6))


def test_areas_that_share_borders_do_not_overlap_and_others_do():
    assert AREAS.first_overlap() is None
    assert areas_of([[(square(0, 0),)], [(square(1, 0),)], [(square(0.5, 0.5),)]]).first_overlap() == (0, 2)
    assert areas_of([[(square(k, 0),)] for k in range(200)] + [[(square(150.25, 0.25, 0.5),)]]).first_overlap() == (
        150,
        200,
    )


def test_comparing_too_many_corners_is_refused(monkeypatch):
    monkeypatch.setattr(polygons, "MOST_COMPARED", 20)
    with pytest.raises(OverflowError):
        areas_of([[(square(k, 0),)] for k in range(9)]).first_overlap()


def test_a_shape_that_crosses_itself_is_no_area():
    bow = ring((0, 0), (1, 1), (1, 0), (0, 1))
    place, reason = areas_of([[(square(5, 5),)], [(bow,)]]).first_invalid()
    assert (place, "Self-intersection" in reason) == (1, True)
    assert AREAS.first_invalid() is None


def test_the_digest_tells_every_corner():
    assert areas_of([[(square(0, 0),)]]).digest() == areas_of([[(square(0, 0),)]]).digest()
    assert areas_of([[(square(0, 0),)]]).digest() != areas_of([[(square(0, 1e-13),)]]).digest()
