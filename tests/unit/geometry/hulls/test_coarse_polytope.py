"""Coarse polytopes hold their points, keep to their facets, and lie between the hull and the cross-polytope."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import TooLarge
from dxgeom.geometry.hulls import coarse_polytope
from dxgeom.geometry.polytope import hull_of_points

HAIR = 1e-4 + 1e-6
"""Corners are moved outward by less than this."""


def case(dimension, count=60, seed=0, grid=None):
    """Points, and a basis whose cross-polytope holds them."""
    generator = np.random.default_rng(seed)
    points = generator.standard_normal((count, dimension))
    if grid is not None:
        points = np.rint(points * grid)
        points = np.vstack([points, np.eye(dimension)])
    corners = generator.standard_normal((dimension, dimension)) + 2 * np.eye(dimension)
    return points, corners * np.abs(points @ np.linalg.inv(corners)).sum(axis=1).max()


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 80), st.sampled_from([None, 1, 2]))
def test_points_are_inside_and_the_body_inside_the_cross_polytope(seed, dimension, more, grid):
    points, corners = case(dimension, seed=seed, grid=grid)
    body = coarse_polytope(points, corners, 2**dimension + more)
    assert body.facets <= 2**dimension + more
    assert body.gauge(points).max() <= 1 + 1e-7
    assert np.abs(body.vertices @ np.linalg.inv(corners)).sum(axis=1).max() <= 1 + HAIR


@pytest.mark.parametrize("dimension", [3, 4, 5])
def test_a_body_with_more_facets_is_smaller_down_to_the_hull(dimension):
    points, corners = case(dimension)
    hull = hull_of_points(points)
    volumes = [
        coarse_polytope(points, corners, int(2**dimension + share * (hull.facets + 2 - 2**dimension))).volume
        for share in (0, 0.3, 0.6, 1)
    ]
    assert np.all(np.diff(volumes) < 0)
    assert volumes[0] == pytest.approx(
        2**dimension * abs(np.linalg.det(corners)) / np.prod(np.arange(1.0, dimension + 1))
    )
    assert hull.volume <= volumes[-1] <= hull.volume * (1 + HAIR) ** dimension


def test_points_that_lie_in_a_subspace_still_have_a_body():
    points, corners = case(3)
    flat = points * [1, 1, 0]
    corners = np.eye(3) * np.abs(flat).sum(axis=1).max()
    body = coarse_polytope(flat, corners, 100)
    assert body.gauge(flat).max() <= 1 + 1e-7


def test_the_same_points_have_the_same_body():
    points, corners = case(5, count=300)
    first, second = (coarse_polytope(points, corners, 400) for _ in range(2))
    assert np.array_equal(first.vertices, second.vertices)
    assert np.array_equal(first.fan.simplices, second.fan.simplices)


def test_too_few_facets_and_too_many_dimensions_are_refused():
    with pytest.raises(TooLarge, match="at least 16 facets; 15 are allowed"):
        coarse_polytope(*case(4), 15)
    with pytest.raises(TooLarge, match="at most 10 dimensions"):
        coarse_polytope(*case(11), 10**6)


def test_whoever_watches_the_facets_can_end_the_search():
    def ended(facets):
        raise KeyboardInterrupt(facets)

    with pytest.raises(KeyboardInterrupt):
        coarse_polytope(*case(4), 60, ended)
