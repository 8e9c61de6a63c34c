"""What every norm ball promises; a body that is missing here fails the last test.

Seeds are fixed. Drawn at random, a correct body would fail one of the comparisons with samples with a chance below
1e-7: each allows six standard deviations of its own sampling error.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from reference.families import members

from dxgeom.errors import NotANormBall
from dxgeom.geometry.body import DEGREES, ConvexBody
from dxgeom.geometry.containment import contains_point, gauge_rounded_up
from dxgeom.geometry.halfspaces import HalfspacePolytope
from dxgeom.geometry.polytope import hull_of_differences
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


def hull(differences):
    differences = np.asarray(differences, dtype=np.int64)
    return hull_of_differences(differences, np.ones(len(differences)))


def generic(dimension):
    return hull(np.random.default_rng(dimension).integers(-9, 10, (4 * dimension, dimension)))


def roots(dimension):
    """Differences of the columns of disjoint counts: facets with many corners."""
    unit = np.vstack([np.eye(dimension, dtype=np.int64), np.zeros((1, dimension), dtype=np.int64)])
    return hull([a - b for a, b in itertools.permutations(unit, 2)])


def skew(dimension, aspect):
    """A rotation after a stretch of one axis by the aspect."""
    turn = np.linalg.qr(np.random.default_rng(dimension).standard_normal((dimension, dimension)))[0]
    return turn @ np.diag(np.geomspace(1, aspect, dimension))


TRIANGLES = HalfspacePolytope(np.array([[1.0, 2, 0], [0, 1, 1], [3, 0, 1], [1, 1, 1]]), np.array([2.0, 1, 3, 1]))

BODIES = {
    "box": Box(np.array([3.0, 0.5, 2.0])),
    "interval": Box(np.array([4.0])),
    "cross-polytope": CrossPolytope(np.array([3.0, 0.5, 2.0])),
    "cross-polytope 7": CrossPolytope(np.arange(1.0, 8)),
    "ellipsoid": Ellipsoid(np.array([[3.0, 1, 0], [0, 1, 0], [1, 0, 2]])),
    "thin ellipsoid": Ellipsoid(skew(4, 1e3)),
    "polygon": generic(2),
    "polytope": generic(4),
    "root polytope 3": roots(3),
    "root polytope 4": roots(4),
    "cross-polytope 6 as a hull": hull(np.diag([1, 2, 3, 4, 5, 600])),
    "cube 5": hull(list(itertools.product([-1, 1], repeat=5))),
    "thin polytope": hull(np.vstack([np.random.default_rng(1).integers(-9, 10, (9, 3)), [[9000, 8000, 1000]]])),
    "halfspaces": TRIANGLES,
    "halfspaces 1": HalfspacePolytope(np.array([[2.0], [3.0]]), np.array([1.0, 2.0])),
    "thin halfspaces": HalfspacePolytope(skew(3, 1e3), np.ones(3)),
    "power 1": PowerBall(np.array([3.0, 0.5, 2.0]), 1.0),
    "power 3/2": PowerBall(np.array([3.0, 0.5, 2000.0]), 1.5),
    "power 3": PowerBall(np.array([3.0, 0.5, 2.0, 1.0]), 3.0),
    "power 40": PowerBall(np.array([3.0, 0.5]), 40.0),
    "power infinite": PowerBall(np.array([3.0, 0.5]), np.inf),
    "product": CartesianProduct((generic(2), Ellipsoid(2 * np.eye(2)), Box(np.array([3.0])))),
    "sum": FreeSum((roots(2), Ellipsoid(np.array([[2.0, 1], [0, 1]])), CrossPolytope(np.array([3.0])))),
    "product of a sum": CartesianProduct((FreeSum((Box(np.ones(2)), Box(np.ones(1)))), PowerBall(np.ones(2), 3.0))),
    "turned box": LinearImage(Box(np.array([1.0, 2.0, 3.0])), skew(3, 1e3)),
    "turned sum 7": LinearImage(FreeSum((Box(np.ones(4)), Ellipsoid(np.eye(3)))), skew(7, 10.0)),
}
SAMPLES = 200_000


@pytest.fixture(params=BODIES)
def body(request):
    return BODIES[request.param]


@pytest.fixture
def vectors(body):
    return np.random.default_rng(3).standard_normal((2, 300, body.dimension)) * 5


def test_the_gauge_is_a_norm(body, vectors):
    v, w = vectors
    assert np.all(body.gauge(v) > 0)
    assert body.gauge(np.zeros(body.dimension)) == 0
    assert np.allclose(body.gauge(-2.5 * v), 2.5 * body.gauge(v))
    assert np.all(body.gauge(v + w) <= (body.gauge(v) + body.gauge(w)) * (1 + 1e-9))


def test_the_support_function_is_the_dual_norm(body, vectors):
    v, u = vectors
    assert np.all(np.sum(u * v, axis=1) <= body.support_function(u) * body.gauge(v) * (1 + 1e-9))
    for direction in u[:4]:
        assert highest(body, direction) >= 0.95 * body.support_function(direction)


def highest(body, direction):
    """The best of many boundary points, searched in ever smaller steps around the best so far."""
    generator, shape = np.random.default_rng(4), np.linalg.cholesky(body.second_moment)
    best = shape @ (shape.T @ direction)
    for step in np.geomspace(2, 0.02, 24):
        around = best / body.gauge(best) + step * generator.standard_normal((600, body.dimension)) @ shape.T
        around = np.vstack([best, around])
        around /= body.gauge(around)[:, None]
        best = around[(around @ direction).argmax()]
    return best @ direction


def test_volume_and_second_moment_are_those_of_uniform_points(body):
    """Points of a parallelepiped around the body, as thin and as turned as the body is."""
    shape = np.linalg.cholesky(body.second_moment)
    reach = body.support_function(np.linalg.inv(shape))
    points = np.random.default_rng(5).uniform(-1, 1, (SAMPLES, body.dimension)) * reach @ shape.T
    inside = body.gauge(points) <= 1
    share = inside.mean()
    expected = body.volume / (np.prod(2 * reach) * abs(np.linalg.det(shape)))
    assert abs(share - expected) <= 6 * np.sqrt(expected * (1 - min(expected, 1)) / SAMPLES) + 1e-9
    assert_second_moment(points[inside], body)
    m = body.dimension
    assert np.allclose(body.noise_second_moment, (m + 1) * (m + 2) * body.second_moment)


def assert_second_moment(points, body):
    places = np.linalg.solve(np.linalg.cholesky(body.second_moment), points.T).T
    products = places[:, :, None] * places[:, None, :]
    error = 6 * products.std(axis=0) / np.sqrt(len(points))
    assert np.all(np.abs(products.mean(axis=0) - np.eye(body.dimension)) <= error + 1e-12)


def test_simulated_points_are_uniform_in_the_body(body):
    """They have the second moment, and gauge^m is uniform: its mean is 1/2, its variance 1/12."""
    points = body.simulate_uniform(SAMPLES // 2, np.random.default_rng(6))
    assert points.shape == (SAMPLES // 2, body.dimension)
    levels = body.gauge(points) ** body.dimension
    assert levels.max() <= 1 + 1e-3
    assert abs(levels.mean() - 1 / 2) <= 6 / np.sqrt(12 * len(points)) + 1e-4
    assert_second_moment(points, body)


def test_exact_gauges_are_what_gauges_round(body, vectors):
    for v in vectors[0][:20]:
        rounded = gauge_rounded_up(body, v)
        assert rounded == pytest.approx(float(body.gauge(v)), rel=1e-9)
        inner = Fraction(1) / (Fraction(rounded) * (1 + Fraction(1, 10**9)))
        assert contains_point(body, [Fraction(x) * inner for x in v])
        outer = Fraction(1) / (Fraction(rounded) * (1 - Fraction(1, 10**9)))
        assert not contains_point(body, [Fraction(x) * outer for x in v])


def test_upper_bounds_are_not_below_the_exact_gauge_and_hardly_above_it(body, vectors):
    """Of points that are off, in every direction that is allowed."""
    points, moves = vectors[0][:20], np.abs(vectors[1][:20]) * 1e-3
    sharp = body.gauge_upper_bounds(points, np.zeros_like(points))
    wide = body.gauge_upper_bounds(points, moves)
    for point, move, least, most in zip(points, moves, sharp.tolist(), wide.tolist(), strict=True):
        assert contains_point(body, [Fraction(x) / Fraction(least) for x in point])
        signs = np.random.default_rng(7).choice([-1, 1], (8, body.dimension))
        for moved in point + signs * move * (1 - 1e-12):
            assert contains_point(body, [Fraction(x) / Fraction(most) for x in moved])
    assert sharp == pytest.approx(body.gauge(points), rel=1e-6)


def test_a_certified_gauge_is_the_exact_one(body, vectors):
    for v in vectors[0][:10]:
        exact = body.certified_gauge.exact([arb(x) for x in v.tolist()])
        stated = arb(body.exact_gauge([rational(x) for x in v.tolist()]))
        assert exact.overlaps(stated)
        assert float(exact.rad()) <= 1e-9 * float(exact.mid())


def test_what_a_body_knows_of_itself_fits_its_gauge_and_support(body, vectors):
    for direction, most in zip(vectors[1][:5], body.support_upper_bounds(vectors[1][:5]).tolist(), strict=True):
        assert most == pytest.approx(float(body.support_function(direction)), rel=1e-3)
        assert not arb(most) < body.exact_support([rational(x) for x in direction.tolist()])
    for rows, value in ((body.exact_corners(), body.exact_gauge), (body.exact_facets(), body.exact_support)):
        sizes = [float(arb(value(row))) for row in (rows or [])[:20]]
        assert not sizes or abs(max(sizes) - 1) < 1e-2
        # A halfspace that others make idle is met by no corner; every other row is.
        assert isinstance(body, HalfspacePolytope) or all(abs(size - 1) < 1e-2 for size in sizes)
    if body.powers is not None:
        sizes = np.abs(vectors[0]) / body.powers.radii
        assert body.gauge(vectors[0]) == pytest.approx(np.linalg.norm(sizes, body.powers.exponent, axis=1))
    if body.axes_of_ball is not None:
        lengths = np.linalg.norm(np.linalg.solve(body.axes_of_ball, vectors[0].T), axis=0)
        assert body.gauge(vectors[0]) == pytest.approx(lengths)
    if body.polytope is not None:
        assert body.polytope.gauge(vectors[0]) == pytest.approx(body.gauge(vectors[0]))
    if body.polytope_around is not None:
        assert np.all(body.polytope_around.gauge(vectors[0]) <= body.gauge(vectors[0]) * (1 + 1e-9))


def test_the_shadow_of_a_body_is_as_wide_as_the_body(body):
    onto = np.random.default_rng(8).standard_normal((2, body.dimension))
    shadow, size = body.projection(onto), float(body.support_function(DEGREES @ onto).max())
    for direction in np.random.default_rng(9).standard_normal((20, 2)):
        direction /= np.linalg.norm(direction)
        widest = float(body.support_function(direction @ onto))
        assert float((shadow @ direction).max()) == pytest.approx(widest, rel=0, abs=1e-3 * size)


def test_every_body_has_a_digest_of_its_own():
    assert len({body.digest for body in BODIES.values()}) == len(BODIES)
    assert roots(3).digest == roots(3).digest


def test_the_origin_is_inside_and_what_is_no_point_is_refused(body):
    assert contains_point(body, [0] * body.dimension)
    for wrong in ([0] * (body.dimension + 1), [np.nan] * body.dimension, [np.inf] * body.dimension):
        with pytest.raises(NotANormBall):
            contains_point(body, wrong)


def test_gauges_keep_the_shape_of_their_points(body):
    points = np.ones((2, 3, body.dimension))
    assert body.gauge(points).shape == (2, 3)
    assert body.support_function(points).shape == (2, 3)


@pytest.mark.parametrize("lengths", [[0.0], [-1.0, 1.0], [np.nan], [np.inf], []])
def test_lengths_that_make_no_body_are_refused(lengths):
    for kind in (Box, CrossPolytope):
        with pytest.raises(NotANormBall):
            kind(np.array(lengths))


def test_dimensions_one_to_seven_are_all_looked_at():
    assert {body.dimension for body in BODIES.values()} == set(range(1, 8))


@pytest.mark.parametrize(
    ("body", "on"),
    [
        (Box(np.array([0.75, 2.0])), ["3/4", "-2"]),
        (CrossPolytope(np.array([3.0, 1.0])), ["1", "-2/3"]),
        (Ellipsoid(np.array([[5.0, 0], [0, 10]])), ["3", "8"]),
        (Ellipsoid(np.eye(3)), ["1/3", "2/3", "-2/3"]),
        (PowerBall(np.array([12.0, 12.0, 12.0, 12.0]), 3.0), ["0", "6", "8", "10"]),
        (PowerBall(np.array([2.0, 2.0]), np.inf), ["2", "1"]),
        (TRIANGLES, ["0", "1/3", "2/3"]),
        (FreeSum((Box(np.array([3.0])), Box(np.array([1.0])))), ["1", "2/3"]),
        (CartesianProduct((Ellipsoid(np.eye(2)), Box(np.array([3.0])))), ["3/5", "4/5", "3"]),
        (LinearImage(Box(np.array([1.0, 1.0])), np.array([[3.0, 1.0], [0.0, 1.0]])), ["4", "1"]),
    ],
)
def test_the_boundary_belongs_to_the_body_and_nothing_beyond_it(body, on):
    point = [Fraction(x) for x in on]
    assert contains_point(body, point)
    assert gauge_rounded_up(body, point) >= 1
    assert not contains_point(body, [x * (1 + Fraction(1, 10**30)) for x in point])
    assert contains_point(body, [x * (1 - Fraction(1, 10**30)) for x in point])


def test_what_cannot_be_told_from_the_boundary_counts_as_outside():
    """3³ + 4³ + 5³ = 6³, so this point is on the boundary of the ball with p = 3/2, which no precision can see."""
    ball = PowerBall(np.ones(3), 1.5)
    point = [Fraction(9, 36), Fraction(16, 36), Fraction(25, 36)]
    assert not contains_point(ball, point)
    assert contains_point(ball, [x * (1 - Fraction(1, 10**30)) for x in point])


@pytest.mark.parametrize("exponent", [0.99, 0.0, -1.0, np.nan])
def test_exponents_that_make_no_convex_body_are_refused(exponent):
    with pytest.raises(NotANormBall):
        PowerBall(np.ones(2), exponent)


def test_bodies_of_no_parts_or_through_singular_maps_are_refused():
    for kind in (CartesianProduct, FreeSum):
        with pytest.raises(NotANormBall):
            kind(())
    for singular in ([[1.0, 1], [1, 1]], [[1.0]], [[np.nan, 0], [0, 1]]):
        with pytest.raises(NotANormBall):
            LinearImage(Box(np.ones(2)), np.array(singular))


@pytest.mark.parametrize("axes", [[[1.0, 1], [1, 1]], [[1.0, 0]], [[np.nan]], [[np.inf]], [1.0]])
def test_axes_that_make_no_ellipsoid_are_refused(axes):
    with pytest.raises(NotANormBall):
        Ellipsoid(np.array(axes))


def test_no_body_is_forgotten():
    assert {type(body) for body in BODIES.values()} == members(ConvexBody)
