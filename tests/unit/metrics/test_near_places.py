"""Nearest places of two kinds, by a tree: never further apart than the exact nearest, and hardly nearer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
import dxgeom.metrics.diameters as diameters_module
import dxgeom.metrics.near_places as near_module
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.diameters import smallest_distance
from dxgeom.metrics.generating_pairs import pairs_of_kinds
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import verify

COUNT = 300


def metric(geometry, floor, seed, repeated=False):
    generator = np.random.default_rng(seed)
    spots = generator.random((COUNT, 2)) * (120, 300) - (60, 150)
    if repeated:
        spots[COUNT // 2 :] = spots[: COUNT - COUNT // 2]
    if seed == 2:  # a city, as seen from far away
        spots = spots * 1e-4 + 40
    return PointsMetric(spots, geometry, Fraction(3, 7), Fraction(floor))


@pytest.fixture
def by_trees(monkeypatch):
    monkeypatch.setattr(near_module, "TREE_FROM", 1)
    monkeypatch.setattr(diameters_module, "TREE_FROM", 1)


def nearest(points, which):
    """The slow twin: every pair of places."""
    first, second = np.triu_indices(points.size, 1)
    apart = points.distance(first, second)
    found = {}
    for one, other, bound in zip(which[first].tolist(), which[second].tolist(), apart.tolist(), strict=True):
        pair = (min(one, other), max(one, other))
        if one != other:
            found[pair] = min(found.get(pair, np.inf), bound)
    return found


@pytest.mark.parametrize("geometry", ["plane", "great circle"])
@pytest.mark.parametrize("floor", ["0", "1/2", "40"])
@pytest.mark.parametrize("seed", range(3))
def test_kinds_are_as_near_as_their_nearest_places(geometry, floor, seed, by_trees):
    points = metric(geometry, floor, seed)
    which = np.random.default_rng(seed).integers(0, 9, COUNT) * 2
    exact = nearest(points, which)
    found = {}
    for pairs in pairs_of_kinds(points, which):
        for one, other, bound in zip(pairs.first.tolist(), pairs.second.tolist(), pairs.bound.tolist(), strict=True):
            assert (min(one, other), max(one, other)) not in found
            found[min(one, other), max(one, other)] = bound
    assert found.keys() == exact.keys()
    for pair, bound in found.items():
        assert bound <= exact[pair]
        assert bound >= exact[pair] * (1 - 1e-8) - 1e-9


@pytest.mark.parametrize("geometry", ["plane", "great circle"])
@pytest.mark.parametrize("floor", ["0", "1/2"])
@pytest.mark.parametrize("repeated", [False, True])
def test_the_smallest_distance_is_that_of_the_nearest_two(geometry, floor, repeated, by_trees):
    points = metric(geometry, floor, 0, repeated)
    first, second = np.triu_indices(COUNT, 1)
    apart = points.distance(first, second)
    exact = float(apart[apart > 0].min())
    assert exact * (1 - 1e-8) - 1e-9 <= smallest_distance(points) <= exact


def test_where_all_places_are_one_spot_nothing_is_protected_unless_there_is_a_floor(by_trees):
    assert smallest_distance(PointsMetric(np.ones((5, 2)), "plane", Fraction(1))) == np.inf
    assert smallest_distance(PointsMetric(np.ones((5, 2)), "plane", Fraction(1), Fraction(1, 2))) == 0.5


def test_noise_planned_by_trees_honours_every_pair(by_trees):
    points = metric("plane", "1/10", 1)
    verified = verify(points, title="p", fingerprint="p", budget=Fraction(1))
    weights = np.random.default_rng(5).integers(0, 2, (3, COUNT))
    sensitivity = sensitivity_of(verified, dx.LinearQueries.from_matrix(list("abc"), weights))
    made = optimal_laplace(sensitivity)
    first, second = np.triu_indices(COUNT, 1)
    steps = sensitivity.queries.numerators
    rates = [1 / Fraction(float(scale)) for scale in made.law.scales]
    bounds = points.distance(first, second)
    sizes = np.abs(steps[:, first] - steps[:, second])
    for place in np.argsort(-(sizes.T @ np.array(rates, dtype=float)) / bounds)[:50]:
        load = sum(int(size) * rate for size, rate in zip(sizes[:, place], rates, strict=True))
        assert load <= Fraction(float(bounds[place]))
