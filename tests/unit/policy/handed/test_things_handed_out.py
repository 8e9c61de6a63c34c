"""Places of policies, hulls and regions of noise as geometries of Shapely."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

import dxgeom as dx
from dxgeom.errors import DataError, UnsupportedCombination

SQUARES = {"n": shapely.box(0, 1, 1, 2), "s": shapely.box(0, 0, 1, 1)}


def policy_of(attribute):
    rule = {"change": "ward", "epsilon": 0.5}
    return dx.Policy.from_dict({"policy": "p", "universe": {"attributes": {"ward": attribute}}, "rules": [rule]})


@pytest.mark.parametrize("more", [{}, {"longitude": "lon", "latitude": "lat"}, {"missing": {"epsilon": 1}}])
def test_regions_come_out_as_they_went_in(more):
    found = policy_of({"regions": SQUARES, **more}).to_shapely("ward")
    assert list(found) == ["n", "s"]
    assert all(found[name].equals(SQUARES[name]) for name in SQUARES)


def test_points_have_longitude_first():
    spots = {"b": shapely.Point(13.4, 52.5), "m": shapely.Point(11.6, 48.1)}
    assert policy_of({"points": spots}).to_shapely("ward") == spots


def test_what_comes_out_goes_in_again():
    policy = policy_of({"regions": SQUARES})
    assert policy_of({"regions": policy.to_shapely("ward")}).fingerprint == policy.fingerprint


def test_regions_of_files_are_read_again(tmp_path):
    saved = policy_of({"regions": SQUARES}).save(tmp_path)
    policy = dx.load_policy(saved)
    assert policy.to_shapely("ward")["n"].equals(SQUARES["n"])


def test_values_that_are_nowhere_are_refused():
    with pytest.raises(UnsupportedCombination, match="are no places"):
        policy_of(["a", "b"]).to_shapely("ward")
    with pytest.raises(UnsupportedCombination, match="did you mean 'ward'"):
        policy_of({"regions": SQUARES}).to_shapely("wart")


def test_regions_that_changed_are_refused(monkeypatch):
    policy = policy_of({"regions": SQUARES})
    monkeypatch.setattr("dxgeom.policy.kinds.places.read_geojson", lambda folder, name: ())
    with pytest.raises(DataError, match="not what it was"):
        policy.to_shapely("ward")


def test_bodies_are_polygons_of_two_coordinates():
    box = dx.geometry.Box(np.array([1.0, 2.0, 3.0]))
    assert box.to_shapely(0, 2).equals_exact(shapely.box(-1, -3, 1, 3), 1e-3, normalize=True)
    hull = dx.geometry.hull_of_points(np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])).to_shapely(1, 2)
    assert hull.equals_exact(shapely.Polygon([(1, 0), (0, 1), (-1, 0), (0, -1)]), 1e-6, normalize=True)
    ball = dx.geometry.PowerBall(np.array([1.0, 1.0]), 2.0).to_shapely()
    assert np.pi <= ball.area <= np.pi * 1.0002
    with pytest.raises(UnsupportedCombination, match="two different coordinates of 3"):
        box.to_shapely(1, 1)


def test_a_noise_region_holds_what_a_record_can_do():
    matrix = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [2, 0, 1, 0]])
    queries = dx.LinearQueries.from_matrix(["a", "b", "c"], matrix)
    mechanism = dx.plan(dx.verify_metric(1 - np.eye(4)), queries, mechanism="hull").mechanism
    region = mechanism.to_shapely("a", "c", 2)
    moved = [(matrix[0, i] - matrix[0, j], matrix[2, i] - matrix[2, j]) for i in range(4) for j in range(4)]
    hull = shapely.affinity.scale(shapely.MultiPoint(moved).convex_hull, 0.5, 0.5, origin=(0, 0))
    assert region.buffer(1e-9).contains(hull)
    assert region.area == pytest.approx(hull.area, rel=1e-5)
    with pytest.raises(UnsupportedCombination, match="no answer is called 'd'"):
        mechanism.to_shapely("a", "d")
