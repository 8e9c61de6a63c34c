"""What every norm ball promises; a body that is missing here fails the last test."""

from __future__ import annotations

import numpy as np
import pytest

from dxgeom.errors import NotANormBall
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.halfspaces import HalfspacePolytope
from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.round_bodies import Box, CrossPolytope, Ellipsoid


def polytope(dimension):
    differences = np.random.default_rng(dimension).integers(-9, 10, (4 * dimension, dimension))
    return hull_of_differences(differences, np.ones(len(differences)))


BODIES = {
    "box": Box(np.array([3.0, 0.5, 2.0])),
    "interval": Box(np.array([4.0])),
    "cross-polytope": CrossPolytope(np.array([3.0, 0.5, 2.0])),
    "ellipsoid": Ellipsoid(np.array([[3.0, 1, 0], [0, 1, 0], [1, 0, 2]])),
    "polygon": polytope(2),
    "polytope": polytope(4),
    "halfspaces": HalfspacePolytope(np.array([[1.0, 2, 0], [0, 1, 1], [3, 0, 1], [1, 1, 1]]), np.array([2.0, 1, 3, 1])),
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
    assert np.all(body.gauge(v + w) <= body.gauge(v) + body.gauge(w) + 1e-9)


def test_the_support_function_is_the_dual_norm(body, vectors):
    v, u = vectors
    assert np.all(np.sum(u * v, axis=1) <= body.support_function(u) * body.gauge(v) * (1 + 1e-9))
    many = np.random.default_rng(4).standard_normal((SAMPLES, body.dimension))
    many = many / body.gauge(many)[:, None]
    reached = (u[:20] @ many.T).max(axis=1)
    assert np.all(reached >= 0.8 * body.support_function(u[:20]))


def test_volume_and_second_moment_are_those_of_uniform_points(body):
    """Points of a box around the body; six standard errors (fixed seed)."""
    axes = np.eye(body.dimension)
    reach = body.support_function(axes)
    points = np.random.default_rng(5).uniform(-1, 1, (SAMPLES, body.dimension)) * reach
    inside = body.gauge(points) <= 1
    share = inside.mean()
    expected = body.volume / np.prod(2 * reach)
    assert abs(share - expected) <= 6 * np.sqrt(expected * (1 - min(expected, 1)) / SAMPLES) + 1e-9
    products = points[inside][:, :, None] * points[inside][:, None, :]
    error = 6 * products.std(axis=0) / np.sqrt(inside.sum())
    assert np.all(np.abs(products.mean(axis=0) - body.second_moment) <= error)
    m = body.dimension
    assert np.allclose(body.noise_second_moment, (m + 1) * (m + 2) * body.second_moment)


def test_gauges_keep_the_shape_of_their_points(body):
    points = np.ones((2, 3, body.dimension))
    assert body.gauge(points).shape == (2, 3)
    assert body.support_function(points).shape == (2, 3)


@pytest.mark.parametrize("lengths", [[0.0], [-1.0, 1.0], [np.nan], [np.inf], []])
def test_lengths_that_make_no_body_are_refused(lengths):
    for kind in (Box, CrossPolytope):
        with pytest.raises(NotANormBall):
            kind(np.array(lengths))


@pytest.mark.parametrize("axes", [[[1.0, 1], [1, 1]], [[1.0, 0]], [[np.nan]], [[np.inf]], [1.0]])
def test_axes_that_make_no_ellipsoid_are_refused(axes):
    with pytest.raises(NotANormBall):
        Ellipsoid(np.array(axes))


def test_no_body_is_forgotten():
    assert {type(body) for body in BODIES.values()} == set(ConvexBody.__subclasses__())
