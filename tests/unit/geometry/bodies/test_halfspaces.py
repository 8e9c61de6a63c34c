"""Polytopes given by halfspaces: their corners lie outside, by little, and nothing of them is lost."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.bodies import corners_of_halfspaces, exact_gauge

from dxgeom.errors import NotANormBall
from dxgeom.geometry.halfspaces import HalfspacePolytope
from dxgeom.geometry.round_bodies import CrossPolytope, Ellipsoid


def halfspaces(dimension, count, seed=0):
    generator = np.random.default_rng(seed)
    return HalfspacePolytope(generator.standard_normal((count, dimension)), generator.uniform(0.5, 2, count))


@settings(max_examples=40)
@given(st.integers(1, 3), st.integers(0, 3), st.integers(0, 10**6))
def test_every_exact_corner_is_inside_the_hull(dimension, more, seed):
    body = halfspaces(dimension, dimension + more, seed)
    corners = corners_of_halfspaces(body.normals, body.heights)
    for corner in corners:
        assert exact_gauge(body.hull, corner) <= 1
        reached = max(sum(Fraction(float(u)) * x for u, x in zip(row, corner, strict=True)) for row in body.normals)
        assert float(reached) <= body.support_function(body.normals).max() * (1 + 1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_the_hull_is_barely_larger_than_the_polytope(dimension):
    body = halfspaces(dimension, 2 * dimension + 1)
    assert np.all(body.gauge(body.hull.vertices) <= 1 + 1e-4)
    assert body.corners.stretch <= 1 + 1e-6


@pytest.mark.parametrize("dimension", range(1, 6))
def test_boxes_and_cross_polytopes_by_halfspaces_have_their_volumes(dimension):
    widths = np.random.default_rng(dimension).uniform(0.1, 5, dimension)
    box = HalfspacePolytope(np.eye(dimension), widths)
    assert 1 - 1e-12 <= box.volume / np.prod(2 * widths) <= 1 + 1e-6
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=dimension)))
    cross = HalfspacePolytope(signs, np.full(len(signs), 0.25))
    assert cross.volume == pytest.approx(CrossPolytope(np.full(dimension, 0.25)).volume, rel=1e-12)
    assert np.allclose(cross.second_moment, CrossPolytope(np.full(dimension, 0.25)).second_moment, rtol=1e-12)


def test_superfluous_halfspaces_change_nothing():
    square = HalfspacePolytope(np.eye(2), np.ones(2))
    more = HalfspacePolytope(np.vstack([np.eye(2), [[1.0, 1.0], [0.1, 3.0]]]), np.array([1.0, 1, 2, 9]))
    assert more.volume == pytest.approx(square.volume, rel=1e-12)


@pytest.mark.parametrize("aspect", [10.0, 1000.0])
def test_a_rotated_thin_polytope_keeps_its_corners_inside(aspect):
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    body = HalfspacePolytope(np.diag([1.0, aspect, aspect]) @ turn, np.ones(3))
    for corner in corners_of_halfspaces(body.normals, body.heights):
        assert exact_gauge(body.hull, corner) <= 1
    assert 1 <= body.volume / (8 / aspect**2) <= 1.001


def test_an_outer_polytope_contains_its_body_and_closes_in_on_it():
    disc = Ellipsoid(np.array([[3.0, 1.0], [0.0, 0.5]]))
    volumes = []
    for count in (4, 16, 64):
        angles = np.pi * np.arange(count) / count
        directions = np.column_stack([np.cos(angles), np.sin(angles)])
        outer = HalfspacePolytope(directions, disc.support_function(directions))
        boundary = np.random.default_rng(0).standard_normal((2000, 2))
        boundary /= disc.gauge(boundary)[:, None]
        assert np.all(outer.gauge(boundary) <= 1 + 1e-12)
        volumes.append(outer.volume / disc.volume)
    assert volumes[0] > volumes[1] > volumes[2] > 1
    assert volumes[2] < 1.02


@pytest.mark.parametrize(
    ("normals", "heights"),
    [
        ([[1.0, 0.0]], [1.0]),
        ([[1.0, 1.0], [2.0, 2.0]], [1.0, 1.0]),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0]),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0, np.inf]),
        ([[1.0, 0.0], [0.0, np.nan]], [1.0, 1.0]),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0]),
    ],
)
def test_halfspaces_that_bound_no_body_are_refused(normals, heights):
    with pytest.raises(NotANormBall):
        HalfspacePolytope(np.array(normals), np.array(heights))
