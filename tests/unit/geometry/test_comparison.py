from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from flint import arb, ctx

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.geometry.comparison import contains, least_noise, noise_error
from dxgeom.geometry.composed_bodies import CartesianProduct, FreeSum, LinearImage
from dxgeom.geometry.exact_forms import corners_of, facets_of, support_exactly
from dxgeom.geometry.halfspaces import HalfspacePolytope, outer_polytope
from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.power_ball import PowerBall
from dxgeom.geometry.round_bodies import Box, CrossPolytope, Ellipsoid
from dxgeom.numeric.exact_numbers import rational

POLYTOPES = {
    "box": Box(np.array([3.0, 0.5, 2.0])),
    "cross": CrossPolytope(np.array([3.0, 0.5, 2.0])),
    "power 1": PowerBall(np.array([3.0, 0.5, 2.0]), 1.0),
    "power infinite": PowerBall(np.array([3.0, 0.5, 2.0]), np.inf),
    "hull": hull_of_differences(np.array([[5, 1, 0], [2, 4, 1], [-3, 3, 7], [1, 1, 1]]), np.array([1, 2, 3, 0.3])),
    "halfspaces": HalfspacePolytope(np.array([[1.0, 2, 0], [0, 1, 1], [3, 0, 1], [1, 1, 1]]), np.array([2.0, 1, 3, 1])),
    "product": CartesianProduct((CrossPolytope(np.array([1.0, 2.0])), Box(np.array([0.3])))),
    "sum": FreeSum((Box(np.array([1.0, 2.0])), Box(np.array([0.3])))),
    "image": LinearImage(Box(np.ones(3)), np.array([[1.0, 2, 0], [0, 1, 0.1], [0.3, 0, 1]])),
}
ROUND = {
    "ellipsoid": Ellipsoid(np.array([[3.0, 1, 0], [0, 1, 0], [1, 0, 2]])),
    "power 3": PowerBall(np.array([3.0, 0.5, 2.0]), 3.0),
    "power 3/2": PowerBall(np.array([3.0, 0.5, 2.0]), 1.5),
    "sum": FreeSum((Ellipsoid(np.eye(2)), Box(np.array([0.3])))),
    "product": CartesianProduct((Ellipsoid(np.eye(2)), Box(np.array([0.3])))),
    "image": LinearImage(PowerBall(np.ones(3), 4.0), np.array([[1.0, 2, 0], [0, 1, 0.1], [0.3, 0, 1]])),
}
ONE_MORE = 1 + 2.0**-40


def as_floats(rows):
    return np.array([[int(x.p) / int(x.q) for x in row] for row in rows])


def scaled(body, factor):
    return LinearImage(body, factor * np.eye(body.dimension))


@pytest.mark.parametrize("name", POLYTOPES)
def test_corners_and_facets_of_a_polytope_fit_each_other(name):
    body = POLYTOPES[name]
    corners, facets = (np.array(rows, dtype=object) for rows in (corners_of(body), facets_of(body)))
    heights = facets @ corners.T
    assert np.all(heights <= 1)
    assert np.all((heights == 1).any(axis=0))
    assert np.allclose(body.gauge(as_floats(corners)), 1)


@pytest.mark.parametrize("name", POLYTOPES | ROUND)
def test_exact_support_values_are_what_support_functions_round(name):
    body = (POLYTOPES | ROUND)[name]
    for direction in np.random.default_rng(0).standard_normal((20, 3)):
        with ctx.workprec(128):
            exact = support_exactly(body, [rational(x) for x in direction.tolist()])
        value = float(exact) if isinstance(exact, arb) else as_floats([[exact]]).item()
        assert value == pytest.approx(float(body.support_function(direction)), rel=1e-6)


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(POLYTOPES | ROUND, POLYTOPES | ROUND)))
def test_a_body_contains_another_up_to_the_exact_scale_and_no_further(outer, inner):
    wide, narrow = (POLYTOPES | ROUND)[outer], (POLYTOPES | ROUND)[inner]
    if outer in ROUND and inner in ROUND:
        return
    directions = np.random.default_rng(1).standard_normal((2000, 3))
    boundary = directions / narrow.gauge(directions)[:, None]
    least = float(wide.gauge(boundary).max())
    assert not contains(scaled(wide, least * (1 - 1e-6)), narrow)
    corners = corners_of(narrow)
    if corners is not None:
        enough = wide.gauge(as_floats(corners)).max()
    else:
        enough = narrow.support_function(as_floats(facets_of(wide))).max()
    assert contains(scaled(wide, enough * 1.000001), narrow)
    assert not contains(scaled(wide, enough * 0.999999), narrow)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (Box(np.ones(2)), Box(np.ones(2))),
        (Box(np.ones(3)), CrossPolytope(np.ones(3))),
        (Ellipsoid(np.eye(2)), CrossPolytope(np.ones(2))),
        (Box(np.ones(2)), Ellipsoid(np.eye(2))),
        (Ellipsoid(np.diag([5.0, 10.0])), LinearImage(Box(np.ones(2)), np.diag([3.0, 8.0]))),
        (Ellipsoid(np.eye(3)), Ellipsoid(np.eye(3))),
        (Ellipsoid(np.diag([1.0, 2.0])), Ellipsoid(np.diag([1.0, 1.0]))),
        (CrossPolytope(np.array([2.0, 2.0])), FreeSum((Box(np.array([2.0])), Box(np.array([2.0]))))),
    ],
)
def test_touching_bodies_are_contained_and_the_least_more_is_not(outer, inner):
    assert contains(outer, inner)
    match inner:
        case Ellipsoid(axes=axes):
            assert not contains(outer, Ellipsoid(axes * ONE_MORE))
        case _:
            assert not contains(outer, scaled(inner, ONE_MORE))


def test_an_ellipsoid_is_compared_in_every_direction():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert not contains(Ellipsoid(np.diag([3.0, 1.0])), Ellipsoid(turn @ np.diag([2.0, 0.5])))
    assert contains(Ellipsoid(np.diag([3.0, 2.1])), Ellipsoid(turn @ np.diag([2.0, 0.5])))


def test_two_round_bodies_are_compared_through_an_outer_polytope():
    ball, power = Ellipsoid(np.eye(2) * 1.2), PowerBall(np.ones(2), 3.0)
    with pytest.raises(UnsupportedCombination, match="outer polytope"):
        contains(ball, power)
    angles = np.pi * np.arange(24) / 24
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    assert contains(ball, outer_polytope(lambda u: power.support_function(u) * (1 + 1e-12), directions))


def test_bodies_of_different_dimensions_and_of_too_many_corners_are_refused():
    with pytest.raises(UnsupportedCombination):
        contains(Box(np.ones(2)), Box(np.ones(3)))
    with pytest.raises(TooLarge):
        contains(Ellipsoid(np.eye(20)), Box(np.ones(20)))


def test_the_smallest_body_need_not_have_the_smallest_noise():
    """The rectangle [-1, 1] x [-.05, .05] has E|V|^2 = 4.01; a larger hexagon around it has less."""
    rectangle = Box(np.array([1.0, 0.05]))
    hexagon = hull_of_differences(np.array([[20, 1], [20, -1], [0, 9]]), np.full(3, 20.0))
    assert noise_error(rectangle) == pytest.approx(4.01)
    assert contains(hexagon, rectangle)
    assert noise_error(hexagon) < 3.5
    assert least_noise([rectangle, hexagon]) is hexagon
    assert least_noise([rectangle, hexagon], np.array([[0.0, 1.0]])) is rectangle
    assert noise_error(rectangle, np.array([[0.0, 2.0]])) == pytest.approx(4 * 12 / 3 * 0.05**2)
    assert math.isclose(noise_error(Box(np.ones(1))), 2)
