"""What the certificate refuses, and what it must not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from dxgeom.errors import CertificateRefused
from dxgeom.geometry.fan import certify_fan


def symmetric_points(dimension, count, seed):
    half = np.random.default_rng(seed).integers(-1000, 1001, (count, dimension))
    return np.vstack([half, -half])


def simplices_of(points):
    return ConvexHull(points.astype(float), qhull_options="Qt").simplices.astype(np.int64)


def hull(dimension, count=12, seed=0):
    points = symmetric_points(dimension, count, seed)
    return points, simplices_of(points)


@pytest.mark.parametrize("dimension", [2, 3, 4, 5])
def test_a_true_hull_is_accepted_and_its_planes_are_exact(dimension):
    points, simplices = hull(dimension)
    fan = certify_fan(points, simplices)
    heights = fan.normals @ fan.vertices.astype(object).T
    assert np.all(heights <= fan.volumes[:, None])
    on_plane = heights[np.arange(len(fan.simplices))[:, None], fan.simplices]
    assert np.all(on_plane == fan.volumes[:, None])


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_a_missing_facet_is_refused(dimension):
    points, simplices = hull(dimension)
    for missing in range(len(simplices)):
        with pytest.raises(CertificateRefused, match=r"facet is missing|cover|opposite pairs"):
            certify_fan(points, np.delete(simplices, missing, axis=0))


def test_two_opposite_facets_missing_are_refused():
    points, simplices = hull(3)
    centres = points[simplices].sum(axis=1)
    opposite = next(k for k in range(1, len(simplices)) if np.array_equal(centres[k], -centres[0]))
    with pytest.raises(CertificateRefused, match="facet is missing"):
        certify_fan(points, np.delete(simplices, [0, opposite], axis=0))


def test_a_facet_counted_twice_is_refused():
    points, simplices = hull(3)
    with pytest.raises(CertificateRefused):
        certify_fan(points, np.vstack([simplices, simplices[:1]]))


def test_the_whole_boundary_counted_twice_is_refused():
    """Every ridge is shared evenly and every wall is convex, yet each direction is covered twice."""
    points, simplices = hull(3)
    doubled = np.vstack([points, points])
    with pytest.raises(CertificateRefused, match="more than once"):
        certify_fan(doubled, np.vstack([simplices, simplices + len(points)]))


def test_a_curve_that_winds_twice_around_the_origin_is_refused():
    """In the plane a closed, locally convex curve may go round twice; only the count of cones can tell."""
    angles = 2 * np.pi * np.arange(14) * 3 / 14
    star = np.rint(1000 * np.column_stack([np.cos(angles), np.sin(angles)])).astype(np.int64)
    simplices = np.column_stack([np.arange(14), np.roll(np.arange(14), -1)])
    with pytest.raises(CertificateRefused):
        certify_fan(star, simplices)


def test_a_dent_is_refused_down_to_one_unit():
    """A vertex is pulled inward; the boundary stays closed but is no longer convex."""
    square = np.array([[10**6, 0], [0, 10**6], [-(10**6), 0], [0, -(10**6)]])
    edges = np.array([[500_000, 500_000], [-500_000, -500_000]])
    simplices = np.array([[0, 4], [4, 1], [1, 2], [2, 5], [5, 3], [3, 0]])
    assert len(certify_fan(np.vstack([square, edges]), simplices).simplices) == 6
    dented = edges - np.sign(edges)
    with pytest.raises(CertificateRefused, match="not convex"):
        certify_fan(np.vstack([square, dented]), simplices)


def test_a_facet_shifted_inward_by_one_unit_leaves_a_ridge_open():
    points, simplices = hull(3)
    moved = np.vstack([points, points[simplices[0]] - np.sign(points[simplices[0]])])
    shifted = simplices.copy()
    shifted[0] = len(points) + np.arange(3)
    with pytest.raises(CertificateRefused, match=r"facet is missing|opposite pairs"):
        certify_fan(moved, shifted)


def test_a_flat_simplex_is_refused():
    points = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]])
    simplices = simplices_of(points)
    simplices[0] = [0, 1, 3]
    with pytest.raises(CertificateRefused, match="flat"):
        certify_fan(points, simplices)


def test_a_lopsided_body_is_refused():
    points = np.array([[3, 0], [0, 2], [-2, 0], [0, -2]])
    with pytest.raises(CertificateRefused, match="opposite pairs"):
        certify_fan(points, simplices_of(points))


def test_a_body_without_the_origin_inside_is_refused():
    points = np.array(list(itertools.product([1, 3], repeat=2)))
    with pytest.raises(CertificateRefused):
        certify_fan(points, simplices_of(points))


def test_an_interval_is_two_simplices():
    fan = certify_fan(np.array([[-7], [7]]), np.array([[0], [1]]))
    assert fan.volumes.tolist() == [7, 7]
    with pytest.raises(CertificateRefused):
        certify_fan(np.array([[-7], [7]]), np.array([[1]]))


def test_a_boundary_that_folds_back_is_refused():
    """Going round, the curve turns back between 45 and 90 degrees; elsewhere every direction is covered once."""
    points = np.array([[10, 0], [0, 10], [4, 4], [-10, 0], [0, -10], [-4, -4]])
    a, b, c, a_opposite, b_opposite, c_opposite = range(6)
    simplices = [(c, a_opposite), (a, b), (b, c), (a_opposite, b_opposite), (b_opposite, c_opposite), (c_opposite, a)]
    with pytest.raises(CertificateRefused, match="same side"):
        certify_fan(points, np.array(simplices))
