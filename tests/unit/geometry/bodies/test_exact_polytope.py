"""Corners to facets and back, against brute force in rationals and against another hull code."""

from __future__ import annotations

import itertools
from fractions import Fraction

import cdd
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.bodies import corners_of_halfspaces, exact_gauge

from dxgeom.errors import NotANormBall
from dxgeom.geometry.fan import certify_fan
from dxgeom.geometry.halfspaces import polytope_of_halfspaces, polytope_of_points
from dxgeom.geometry.polytope import hull_of_points
from dxgeom.numeric.qhull import float_hull


def rows(matrix):
    return {tuple(row) for row in matrix.tolist()}


def integer_matrices(most):
    return st.integers(1, 3).flatmap(
        lambda m: st.lists(st.lists(st.integers(-most, most), min_size=m, max_size=m), min_size=m, max_size=m + 4)
    )


@settings(max_examples=40)
@given(integer_matrices(3), st.data())
def test_the_corners_of_halfspaces_are_those_of_brute_force(normals, data):
    """Small integers: coincident planes, corners with many facets and superfluous halfspaces are the rule."""
    heights = data.draw(st.lists(st.fractions(Fraction(1, 3), 3), min_size=len(normals), max_size=len(normals)))
    try:
        polytope = polytope_of_halfspaces(normals, heights)
    except NotANormBall:
        assert np.linalg.matrix_rank(np.array(normals)) < len(normals[0])
        return
    assert rows(polytope.vertices) == corners_of_halfspaces(normals, heights)


@settings(max_examples=50)
@given(integer_matrices(4))
def test_facets_and_back_to_corners_is_where_it_started(points):
    try:
        polytope = polytope_of_points(points)
    except NotANormBall:
        assert np.linalg.matrix_rank(np.array(points)) < len(points[0])
        return
    again = polytope_of_halfspaces(polytope.normals, [1] * len(polytope.normals))
    assert rows(again.vertices) == rows(polytope.vertices)
    assert rows(again.normals) == rows(polytope.normals)
    assert rows(polytope.vertices) <= {tuple(s * Fraction(x) for x in row) for row in points for s in (1, -1)}


@pytest.mark.parametrize("dimension", [2, 3, 4, 5])
def test_facets_agree_with_another_hull_code(dimension):
    points = np.random.default_rng(dimension).integers(-20, 21, (3 * dimension, dimension))
    ours = {tuple(round(float(x), 9) for x in row) for row in polytope_of_points(points).normals}
    both = np.vstack([points, -points]).astype(float)
    matrix = cdd.matrix_from_array(np.column_stack([np.ones(len(both)), both]), rep_type=cdd.RepType.GENERATOR)
    planes = np.array(cdd.copy_inequalities(cdd.polyhedron_from_matrix(matrix)).array)
    assert ours == {tuple(round(x, 9) + 0.0 for x in -row[1:] / row[0]) for row in planes}


@pytest.mark.parametrize("dimension", range(1, 7))
def test_cubes_and_cross_polytopes_are_each_others_polars(dimension):
    corners = list(itertools.product([Fraction(-1, 3), Fraction(1, 3)], repeat=dimension))
    inner = [[Fraction(x, 2) for x in row] for row in corners] + [[0] * dimension]
    cube = polytope_of_points(corners + inner)
    assert rows(cube.vertices) == set(corners)
    assert rows(cube.normals) == {
        tuple(3 * s * x for x in row) for row in np.eye(dimension, dtype=int) for s in (1, -1)
    }
    assert rows(cube.polar.vertices) == rows(cube.normals)


@settings(max_examples=40)
@given(integer_matrices(1000))
def test_shortened_numbers_only_enlarge(points):
    """Corners with numerators and denominators of many digits do not fit float64."""
    try:
        polytope = polytope_of_points([[Fraction(x, 7) for x in row] for row in points])
    except NotANormBall:
        return
    half = polytope.vertices[: len(polytope.vertices) // 2]  # in ascending order, so that the others are opposite
    hull = hull_of_points(np.array(half, dtype=np.float64))
    assert all(exact_gauge(hull, vertex) <= 1 for vertex in polytope.vertices)


def test_thin_turned_and_long_numbered_polytopes_convert_exactly():
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    points = np.random.default_rng(1).standard_normal((9, 3)) @ np.diag([1, 30, 1000]) @ turn
    polytope = polytope_of_points(points)
    heights = polytope.normals @ polytope.vertices.T
    assert np.all(heights <= 1)
    assert np.all((heights == 1).sum(axis=1) >= 3)
    assert rows(polytope_of_halfspaces(polytope.normals, [1] * len(polytope.normals)).vertices) == rows(
        polytope.vertices
    )


def test_a_point_left_out_of_the_hull_is_told():
    points = np.array([[3, 0], [0, 3], [-3, 0], [0, -3]], dtype=object)
    fan = certify_fan(points, float_hull(points.astype(float)).simplices)
    assert fan.holds(points)
    assert not fan.holds(np.array([[2, 2]], dtype=object))


def test_a_hull_shifted_inward_by_one_unit_in_the_last_place_is_told():
    points = np.array([[2**60, 0], [0, 2**60], [-(2**60), 0], [0, -(2**60)]], dtype=object)
    fan = certify_fan(points - np.sign(points), float_hull(points.astype(float)).simplices)
    assert not fan.holds(points)


@pytest.mark.parametrize("points", [[], [[0, 0]], [[1, 0]], [[1, 2], [2, 4]], [[1, 2], [-1, -2], [0, 0]]])
def test_flat_point_sets_are_refused(points):
    with pytest.raises(NotANormBall):
        polytope_of_points(points)


@pytest.mark.parametrize("height", [0, -1, Fraction(0)])
def test_halfspaces_without_the_origin_inside_are_refused(height):
    with pytest.raises(NotANormBall):
        polytope_of_halfspaces([[1, 0], [0, 1]], [1, height])
