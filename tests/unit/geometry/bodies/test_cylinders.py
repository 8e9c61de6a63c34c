from __future__ import annotations

import numpy as np
import pytest

from dxgeom.errors import NotANormBall
from dxgeom.geometry.containment import contains
from dxgeom.geometry.halfspaces import Cylinder, HalfspacePolytope, intersection_of_cylinders, whole_directions
from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.round_bodies import Box, CrossPolytope, Ellipsoid, PowerBall

DISC = Ellipsoid(np.eye(2))


def gauge_of_all(cylinders, points):
    return np.max([body.gauge(points[:, list(places)]) for body, places in cylinders], axis=0)


def test_the_gauge_is_the_largest_of_the_cylinders_gauges():
    hexagon = hull_of_differences(np.array([[3, 1], [1, 2], [-2, 1]]), np.array([0.3, 0.7, 1.0]))
    cylinders = [Cylinder(hexagon, (0, 2)), Cylinder(CrossPolytope(np.array([3.0, 5.0])), (2, 1))]
    body = intersection_of_cylinders(cylinders, 3)
    points = np.random.default_rng(0).standard_normal((500, 3))
    exact = gauge_of_all(cylinders, points)
    assert np.allclose(body.gauge(points), exact, rtol=1e-12)
    assert np.all(body.gauge(points / exact[:, None] * (1 - 1e-15)) <= 1)


def test_boxes_over_overlapping_coordinates_meet_in_a_box():
    first, second = Cylinder(Box(np.array([1.0, 2.0])), (0, 1)), Cylinder(Box(np.array([1.5, 3.0])), (1, 2))
    body = intersection_of_cylinders([first, second], 3)
    assert body.volume == pytest.approx(8 * 1 * 1.5 * 3, rel=1e-7)
    assert contains(body, Box(np.array([1.0, 1.5, 3.0])))
    assert contains(Box(np.array([1.0, 1.5, 3.0]) * (1 + 1e-15)), body)


def test_two_round_cylinders_meet_in_a_body_barely_larger_than_steinmetz_s():
    body = intersection_of_cylinders([Cylinder(DISC, (0, 1)), Cylinder(DISC, (0, 2))], 3)
    assert 16 / 3 <= body.volume <= 16 / 3 * 1.05
    points = np.random.default_rng(1).standard_normal((2000, 3))
    exact = gauge_of_all([(DISC, (0, 1)), (DISC, (0, 2))], points)
    assert np.all(body.gauge(points) <= exact * (1 + 1e-12))


@pytest.mark.parametrize("round_body", [Ellipsoid(np.array([[3.0, 1], [0, 0.5]])), PowerBall(np.array([1.0, 9]), 3.0)])
def test_outer_polytopes_of_round_bodies_are_proved_to_contain_them(round_body):
    outer = HalfspacePolytope(whole_directions(2), round_body.support_upper_bounds(whole_directions(2)))
    assert contains(outer, round_body)
    assert round_body.volume < outer.volume


def test_whole_directions_are_one_of_each_pair():
    directions = whole_directions(2, 2)
    assert len(directions) == 8
    both = {tuple(row) for row in np.vstack([directions, -directions])}
    assert len(both) == 16
    assert len(whole_directions(3, 1)) == 13


@pytest.mark.parametrize(
    "cylinders",
    [[], [(DISC, (0, 1))], [(DISC, (0, 0))], [(DISC, (0,))], [(DISC, (0, 3))], [(DISC, (-1, 0)), (DISC, (1, 2))]],
)
def test_cylinders_that_bound_no_body_are_refused(cylinders):
    with pytest.raises(NotANormBall):
        intersection_of_cylinders([Cylinder(*cylinder) for cylinder in cylinders], 3)
