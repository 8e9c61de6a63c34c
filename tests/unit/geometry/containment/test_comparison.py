from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.geometry.containment import _by_search, conditional_variances, contains, least_noise, noise_error
from dxgeom.geometry.halfspaces import HalfspacePolytope
from dxgeom.geometry.polytope import hull_of_differences, hull_of_points
from dxgeom.geometry.round_bodies import (
    Box,
    CartesianProduct,
    CrossPolytope,
    Ellipsoid,
    FreeSum,
    LinearImage,
    PowerBall,
)
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


def test_a_body_inside_another_has_the_smaller_variance_along_every_line_but_not_always_the_smaller_error():
    thin = Box(np.array([1.0, 0.05]))
    around = hull_of_points(np.array([[1.0, 0.05], [1.0, -0.05], [0, 0.8]]))
    lines = np.column_stack([np.cos(np.arange(360)), np.sin(np.arange(360))]) * 3
    assert np.all(conditional_variances(thin, lines) <= conditional_variances(around, lines) * (1 + 1e-12))
    noise = CrossPolytope(np.array([0.5, 2.0]))  # independent Laplace noise of these scales
    assert np.allclose(conditional_variances(noise), 2 * np.array([0.5, 2.0]) ** 2)
    assert least_noise([around, thin], by="conditional variance") is thin
    assert least_noise([thin, around]) is (thin if noise_error(thin) <= noise_error(around) else around)
    assert noise_error(around) < noise_error(thin)
    seen = np.array([[0.0, 1.0]])
    assert least_noise([around, thin], seen, by="conditional variance") is thin
    with pytest.raises(UnsupportedCombination, match="compared by mean square or by conditional"):
        least_noise([thin], by="volume")


@pytest.mark.parametrize("radii", [(1.0, 1.0), (0.1, 0.3, 0.7), (3.0, 0.5, 2.0, 0.1)])
def test_a_box_and_the_hull_of_its_corners_hold_each_other_as_stated(radii):
    """The hull that noise is drawn by is rounded outward, and sticks out of the box by that."""
    box = Box(np.array(radii))
    corners = np.array(list(itertools.product(*((-radius, radius) for radius in radii))))
    hull = hull_of_points(corners)
    assert contains(box, hull) and contains(hull, box)
    assert not contains(box, hull, as_stated=False)
    assert contains(LinearImage(box, 2 * np.eye(len(radii))), LinearImage(hull, 2 * np.eye(len(radii))))
    corners[0] *= 1 + 2.0**-52
    assert not contains(box, hull_of_points(corners))


@pytest.mark.parametrize("name", POLYTOPES)
def test_corners_and_facets_of_a_polytope_fit_each_other(name):
    body = POLYTOPES[name]
    corners, facets = (np.array(rows, dtype=object) for rows in (body.exact_corners(), body.exact_facets()))
    heights = facets @ corners.T
    assert np.all(heights <= 1)
    assert np.all((heights == 1).any(axis=0))
    assert np.allclose(body.gauge(as_floats(corners)), 1)


@pytest.mark.parametrize("name", POLYTOPES | ROUND)
def test_exact_support_values_are_what_support_functions_round(name):
    body = (POLYTOPES | ROUND)[name]
    for direction in np.random.default_rng(0).standard_normal((20, 3)):
        with ctx.workprec(128):
            exact = body.exact_support([rational(x) for x in direction.tolist()])
        value = float(exact) if isinstance(exact, arb) else as_floats([[exact]]).item()
        assert value == pytest.approx(float(body.support_function(direction)), rel=1e-6)


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(POLYTOPES | ROUND, POLYTOPES | ROUND)))
def test_a_body_contains_another_up_to_the_exact_scale_and_no_further(outer, inner):
    wide, narrow = (POLYTOPES | ROUND)[outer], (POLYTOPES | ROUND)[inner]
    corners, facets = narrow.exact_corners(), wide.exact_facets()
    if corners is not None:
        enough = wide.gauge(as_floats(corners)).max()
    elif facets is not None:
        enough = narrow.support_function(as_floats(facets)).max()
    else:
        enough = largest_gauge(wide, narrow)
    room = 1.5 if (outer, inner) == ("sum", "product") else 1.000001  # they would touch along a whole circle of edges
    assert contains(scaled(wide, enough * room), narrow)
    assert not contains(scaled(wide, enough * 0.999999), narrow)


def largest_gauge(wide, narrow):
    """The largest gauge in ``wide`` of a point of ``narrow``, climbed to from many places at once."""
    generator = np.random.default_rng(1)
    best = generator.standard_normal((8, narrow.dimension))
    for step in np.geomspace(2, 1e-7, 80):
        size = np.abs(best).max(axis=1)[:, None, None]
        tried = best[:, None, :] + step * size * generator.standard_normal((8, 200, narrow.dimension))
        tried = np.concatenate([best[:, None, :], tried], axis=1)
        tried /= narrow.gauge(tried)[..., None]
        best = tried[np.arange(8), wide.gauge(tried).argmax(axis=1)]
    return float(wide.gauge(best).max())


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
        (Ellipsoid(np.eye(20)), CrossPolytope(np.ones(20))),
        (Ellipsoid(np.eye(16)), Box(np.full(16, 0.25))),
        (Ellipsoid(np.eye(16)), PowerBall(np.full(16, 0.5), 4.0)),
        (PowerBall(np.ones(81), 3.0), PowerBall(np.ones(81), 1.5)),
        (PowerBall(np.array([2.0, 3.0]), 1.5), PowerBall(np.array([2.0, 1.0]), 1.5)),
        (ROUND["image"], ROUND["image"]),
        (ROUND["product"], ROUND["sum"]),
        (ROUND["product"], ROUND["product"]),
        (ROUND["sum"], ROUND["sum"]),
        (CartesianProduct((Ellipsoid(np.eye(2)), PowerBall(np.ones(2), 3.0))), PowerBall(np.ones(4), 2.0)),
        (LinearImage(Ellipsoid(np.eye(2)), np.array([[0.0, 2.0], [1.0, 0.0]])), PowerBall(np.array([2.0, 1.0]), 1.5)),
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


def turned(body, seed, aspect=1.0):
    size = body.dimension
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]
    return LinearImage(body, turn @ np.diag(np.geomspace(1, aspect, size)))


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize(
    "pair",
    [
        lambda m: (turned(Ellipsoid(np.eye(m)), 1, 5.0), PowerBall(np.ones(m), 3.0)),
        lambda m: (PowerBall(np.ones(m), 1.5), turned(PowerBall(np.ones(m), 3.0), 2, 3.0)),
        lambda m: (turned(PowerBall(np.ones(m), 4.0), 1, 1000.0), PowerBall(np.ones(m), 4.0)),
        lambda m: (
            turned(Ellipsoid(np.eye(m)), 3, 2.0),
            CartesianProduct((PowerBall(np.ones(m - 1), 2.5), Box(np.ones(1)))),
        ),
        lambda m: (FreeSum((PowerBall(np.ones(m - 1), 2.5), Box(np.ones(1)))), turned(Ellipsoid(np.eye(m)), 4, 2.0)),
    ],
)
def test_turned_round_bodies_are_decided_up_to_a_millionth(size, pair):
    wide, narrow = pair(size)
    enough = largest_gauge(wide, narrow)
    assert contains(scaled(wide, enough * 1.000001), narrow)
    assert not contains(scaled(wide, enough * 0.999999), narrow)


@pytest.mark.parametrize("exponents", [(1.5, 3.0), (3.0, 1.5), (2.0, 2.0), (4.0, 1.25)])
def test_the_search_finds_what_hoelder_s_inequality_says(exponents):
    """The same pair is decided by a rule where its axes are parallel, so the search is given it directly."""
    (p, q), radii = exponents, np.array([1.0, 0.7, 1.6])
    enough = 1.6 if p <= q else float(np.sum(radii ** (p * q / (p - q))) ** ((p - q) / (p * q)))
    outer, rows = PowerBall(np.ones(3), q), [[fmpq(int(i == j)) for j in range(3)] for i in range(3)]
    for factor, holds in ((1.00001, True), (0.99999, False)):
        inner = PowerBall(radii / (enough * factor), p)
        assert contains(outer, inner) is holds
        assert _by_search(outer, rows, inner) is holds


def test_where_round_bodies_touch_off_their_axes_no_verdict_is_given():
    """The unit disc touches the turned ball of l3, but for the rounding of its turn; no cone there is ever done."""
    turned_ball = LinearImage(PowerBall(np.ones(2), 3.0), np.array([[0.6, -0.8], [0.8, 0.6]]))
    disc = Ellipsoid(np.eye(2) * (1 - 2.0**-50))
    with pytest.raises(TooLarge, match="leaves more room"):
        contains(turned_ball, disc)
    assert contains(turned_ball, Ellipsoid(np.eye(2) * (1 - 2.0**-20)))
    assert not contains(turned_ball, Ellipsoid(np.eye(2) * (1 + 2.0**-20)))


def test_a_point_outside_decides_in_any_number_of_dimensions():
    narrow = turned(PowerBall(np.ones(12), 3.0), 1)
    assert not contains(scaled(PowerBall(np.ones(12), 2.5), 0.9), narrow)
    with pytest.raises(TooLarge):
        contains(scaled(PowerBall(np.ones(12), 2.5), 9.0), narrow)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([1.5, 3.0, 7.0]), st.sampled_from([1.25, 2.5, 4.0]))
def test_a_verdict_is_never_contradicted_by_a_point(seed, p, q):
    generator = np.random.default_rng(seed)
    size = int(generator.integers(2, 4))
    narrow = LinearImage(PowerBall(np.ones(size), p), generator.standard_normal((size, size)))
    points = narrow.simulate_uniform(2000, generator)
    points /= narrow.gauge(points)[:, None]
    wide = PowerBall(np.full(size, PowerBall(np.ones(size), q).gauge(points).max() * generator.uniform(0.98, 1.05)), q)
    if contains(wide, narrow):
        assert wide.gauge(points).max() <= 1 + 1e-12
        assert wide.volume >= narrow.volume
    else:
        assert largest_gauge(wide, narrow) > 1 - 1e-9


def test_bodies_of_different_dimensions_and_of_too_many_corners_are_refused():
    with pytest.raises(UnsupportedCombination):
        contains(Box(np.ones(2)), Box(np.ones(3)))
    with pytest.raises(TooLarge):
        contains(Ellipsoid(np.eye(20) + 0.01), Box(np.full(20, 0.01)))


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
