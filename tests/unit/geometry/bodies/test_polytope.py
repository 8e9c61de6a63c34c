from __future__ import annotations

import itertools
from fractions import Fraction

import cdd
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.bodies import exact_gauge
from scipy.spatial import ConvexHull

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.geometry.fan import pulled_triangulation
from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.numeric.qhull import HullLimits


def generic(dimension, seed=0, count=None):
    return np.random.default_rng(seed).integers(-1000, 1001, (count or 5 * dimension, dimension))


def ones(differences):
    return np.ones(len(differences))


def root_differences(dimension):
    """Differences of the columns of ``dimension`` disjoint counts: hulls full of facets with many corners."""
    unit = np.vstack([np.eye(dimension, dtype=np.int64), np.zeros((1, dimension), dtype=np.int64)])
    return np.array([a - b for a, b in itertools.permutations(unit, 2)])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda m: st.lists(
            st.tuples(st.lists(st.integers(-50, 50), min_size=m, max_size=m), st.floats(1e-3, 1e3)),
            min_size=m + 1,
            max_size=30,
        )
    )
)
def test_every_difference_is_inside_in_exact_arithmetic(pairs):
    differences = np.array([difference for difference, _ in pairs], dtype=np.int64)
    bounds = np.array([bound for _, bound in pairs])
    try:
        body = hull_of_differences(differences, bounds)
    except NotANormBall:
        assert np.linalg.matrix_rank(differences) < differences.shape[1]
        return
    for difference, bound in zip(differences, bounds, strict=True):
        for sign in (1, -1):
            point = [Fraction(sign * int(x)) / Fraction(float(bound)) for x in difference]
            assert exact_gauge(body, point) <= 1


@pytest.mark.parametrize("dimension", [2, 3, 4, 5, 6])
def test_the_body_is_barely_larger_than_the_hull(dimension):
    differences = generic(dimension)
    body = hull_of_differences(differences, ones(differences))
    exact = ConvexHull(np.vstack([differences, -differences]).astype(float)).volume
    assert exact * (1 - 1e-9) <= body.volume <= exact * (1 + 1e-5)


@pytest.mark.parametrize("aspect", [10**3, 10**4])
def test_a_thin_body_is_barely_larger_than_its_hull(aspect):
    """A pair of nearly coincident places makes one difference a thousand times longer than the others."""
    differences = np.vstack([generic(3, 1), generic(3, 2, 1) * aspect])
    body = hull_of_differences(differences, ones(differences))
    exact = ConvexHull(np.vstack([differences, -differences]) / 1000.0).volume * 1e9
    assert exact * (1 - 1e-9) <= body.volume <= exact * 1.01


@pytest.mark.parametrize("dimension", range(1, 8))
@pytest.mark.long
def test_many_cornered_facets_are_cut_completely(dimension):
    """Volumes of the cube and of the root polytope, whose facets are products of simplices, are known exactly."""
    cube = np.array(list(itertools.product([-1, 1], repeat=dimension)))
    assert hull_of_differences(cube, ones(cube)).volume == pytest.approx(2.0**dimension, rel=1e-9)
    roots = root_differences(dimension)
    central_binomial = np.prod([(dimension + k) / k for k in range(1, dimension + 1)])
    volume = central_binomial / np.prod(np.arange(1.0, dimension + 1))
    assert hull_of_differences(roots, ones(roots)).volume == pytest.approx(volume, rel=1e-9)


@pytest.mark.parametrize("dimension", [2, 3, 4, 5])
def test_facets_agree_with_another_hull_code(dimension):
    differences = generic(dimension, 3)
    body = hull_of_differences(differences, ones(differences))
    points = np.vstack([differences, -differences]).astype(float)
    matrix = cdd.matrix_from_array(np.column_stack([np.ones(len(points)), points]), rep_type=cdd.RepType.GENERATOR)
    planes = np.array(cdd.copy_inequalities(cdd.polyhedron_from_matrix(matrix)).array)
    normals = np.unique(np.round(-planes[:, 1:] / planes[:, :1] * 1e6).astype(int), axis=0)
    ours = np.unique(np.round(body.normals * 1e6).astype(int), axis=0)
    assert np.array_equal(normals, ours)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_the_second_moment_of_the_cube_is_exact(dimension):
    cube = 100 * np.array(list(itertools.product([-1, 1], repeat=dimension)))
    body = hull_of_differences(cube, ones(cube))
    assert np.allclose(body.second_moment, np.eye(dimension) * 100**2 / 3, rtol=1e-9, atol=1e-6)
    variance = (dimension + 1) * (dimension + 2) / 3 * 100**2
    assert np.allclose(np.diag(body.noise_second_moment), variance, rtol=1e-9)


def test_the_second_moment_agrees_with_uniform_points():
    differences = generic(3, 4)
    body = hull_of_differences(differences, ones(differences))
    points = np.random.default_rng(0).uniform(-1000, 1000, (400_000, 3))
    inside = points[body.gauge(points) <= 1]
    sampled = inside.T @ inside / len(inside)
    assert np.allclose(body.second_moment, sampled, atol=0.02 * np.abs(body.second_moment).max())
    assert len(inside) / len(points) * 2000**3 == pytest.approx(body.volume, rel=0.01)


def test_the_gauge_is_a_norm_that_is_one_on_the_boundary():
    differences = generic(4, 5)
    body = hull_of_differences(differences, ones(differences))
    generator = np.random.default_rng(1)
    v, w = generator.standard_normal((2, 500, 4))
    assert np.allclose(body.gauge(-v), body.gauge(v))
    assert np.allclose(body.gauge(3 * v), 3 * body.gauge(v))
    assert np.all(body.gauge(v + w) <= body.gauge(v) + body.gauge(w) + 1e-12)
    corners = body.fan.vertices * body.units * body.inflation
    assert np.allclose(body.gauge(corners), 1)


def test_a_flat_set_is_refused():
    flat = np.array([[1, 2, 3], [2, 4, 6], [1, 0, 1]])
    with pytest.raises(NotANormBall, match="subspace"):
        hull_of_differences(flat, ones(flat))


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf])
def test_unusable_bounds_are_refused(bound):
    with pytest.raises(NotANormBall):
        hull_of_differences(np.array([[1, 0], [0, 1]]), np.array([1.0, bound]))


def test_a_hull_beyond_its_limits_is_given_up():
    ball = np.random.default_rng(0).standard_normal((3000, 5))
    ball = np.rint(ball / np.linalg.norm(ball, axis=1)[:, None] * 10**6).astype(np.int64)
    with pytest.raises(TooLarge, match="500 facets"):
        hull_of_differences(ball, ones(ball), HullLimits(facets=500))
    with pytest.raises(TooLarge, match="0 s"):
        hull_of_differences(ball, ones(ball), HullLimits(seconds=0))


def test_cutting_facets_gives_up_beyond_its_limit():
    cube = np.array(list(itertools.product([-1, 1], repeat=4)))
    simplices = ConvexHull(cube.astype(float), qhull_options="Qt").simplices
    solid = simplices[np.abs(np.linalg.det(cube[simplices])) > 0.5]
    assert len(pulled_triangulation(cube, solid, most=48)) == 48
    with pytest.raises(CertificateRefused, match="flat"):
        pulled_triangulation(cube, solid[:0], most=48)
    with pytest.raises(TooLarge, match="47"):
        pulled_triangulation(cube, solid, most=47)
