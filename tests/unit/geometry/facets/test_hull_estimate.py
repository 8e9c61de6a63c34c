"""A hopeless hull is refused before it is begun, and the guess is of the right size."""

from __future__ import annotations

import time

import numpy as np
import pytest

from dxgeom.errors import TooLarge
from dxgeom.geometry.fan import estimate_hull, extreme_points, facets_after_growth
from dxgeom.geometry.polytope import hull_of_points
from dxgeom.numeric.qhull import HullLimits, float_hull


def workload(kind, dimension, places=25):
    """Differences over distances of queries on places in the plane."""
    generator = np.random.default_rng(dimension)
    places = generator.random((places, 2)) * 100
    if kind == "uniform":
        queries = generator.random((dimension, len(places)))
    elif kind == "binary":
        queries = generator.integers(0, 2, (dimension, len(places))).astype(float)
    else:
        waves = generator.standard_normal((dimension, 3, 2)) * 0.05
        queries = np.cos(np.einsum("mkd,nd->mkn", waves, places) + generator.random((dimension, 3, 1)) * 6).sum(axis=1)
    i, j = np.triu_indices(len(places), 1)
    distances = np.sqrt(((places[i] - places[j]) ** 2).sum(axis=1))
    return (queries[:, i] - queries[:, j]).T / np.maximum(distances, 10)[:, None]


def sphere(dimension, count):
    points = np.random.default_rng(dimension).standard_normal((count, dimension))
    return points / np.linalg.norm(points, axis=1)[:, None]


def guess(points, monkeypatch):
    """What the hull's estimate was, caught where it is judged."""
    seen = []

    def keep(corners, vertices, count):
        seen.append(estimate_hull(corners, vertices, count))
        return seen[-1]

    monkeypatch.setattr("dxgeom.geometry.fan.estimate_hull", keep)
    corners = extreme_points(points, HullLimits(facets=10**6, seconds=1000))
    facets = len(float_hull(np.vstack([points[corners], -points[corners]])).simplices)
    return seen[0], facets


@pytest.mark.parametrize("dimension", [3, 4, 5, 6])
@pytest.mark.parametrize("kind", ["smooth", "uniform", "binary"])
def test_the_guess_of_a_workload_s_facets_is_right_within_a_factor_of_three(kind, dimension, monkeypatch):
    estimate, facets = guess(workload(kind, dimension), monkeypatch)
    assert facets / 3 <= estimate.facets <= facets * 3
    assert estimate.seconds > 0


@pytest.mark.parametrize(("dimension", "count"), [(3, 1000), (4, 400), (5, 200)])
def test_where_every_point_is_a_corner_the_guess_is_right_within_a_factor_of_three(dimension, count, monkeypatch):
    estimate, facets = guess(sphere(dimension, count), monkeypatch)
    assert facets / 3 <= estimate.facets <= facets * 3


def test_a_hopeless_hull_is_refused_unseen_with_its_size_and_time():
    """Three thousand corners in seven dimensions: Qhull would run for minutes."""
    started = time.process_time()
    with pytest.raises(TooLarge, match=r"would have about [\d,]+ facets and take about [\d,]+ s \(limits: 60,000"):
        hull_of_points(sphere(7, 3000))
    assert time.process_time() - started < 20


def test_the_guess_is_the_same_every_time():
    corners = sphere(5, 300)
    assert estimate_hull(corners, 900.0, 1000) == estimate_hull(corners, 900.0, 1000)


def test_the_next_hull_is_refused_when_it_would_pass_the_limit_by_far():
    assert facets_after_growth(100, 4.0, 7) == 400
    assert facets_after_growth(100, 4.0, 7, 2.0) == 1600
    assert facets_after_growth(100, 4.0, 5, 9.0) == 1600
    points = sphere(4, 4000)
    with pytest.raises(TooLarge):
        extreme_points(points, HullLimits(facets=400))


def test_corners_and_their_opposites_span_all_points():
    points = workload("smooth", 4)
    corners = extreme_points(points, HullLimits())
    normals = float_hull(np.vstack([points[corners], -points[corners]])).normals
    assert np.max(np.abs(points @ normals.T)) <= 1 + 1e-8
