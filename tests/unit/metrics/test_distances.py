from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.metrics.points import EARTH_RADIUS_KM, lower_distance, pairs_within

mpmath.mp.dps = 60
latitudes = st.integers(-9_000_000, 9_000_000)
longitudes = st.integers(-18_000_000, 18_000_000)


def exact_great_circle(one, other):
    """With 60 digits, from degrees given as integers of 1e-5 degrees."""
    (lat, lon), (lat2, lon2) = ([mpmath.radians(mpmath.mpf(x) / 10**5) for x in place] for place in (one, other))
    rise, turn = mpmath.sin((lat - lat2) / 2), mpmath.sin((lon - lon2) / 2)
    shift, back = mpmath.sin((lat + lat2) / 2), mpmath.cos((lon - lon2) / 2)
    breadth = mpmath.cos(lat) * mpmath.cos(lat2)
    chord, antichord = mpmath.sqrt(rise**2 + breadth * turn**2), mpmath.sqrt(shift**2 + breadth * back**2)
    return 2 * mpmath.mpf(EARTH_RADIUS_KM) * mpmath.atan2(chord, antichord)


@given(latitudes, longitudes, latitudes, longitudes)
def test_a_great_circle_distance_is_never_above_the_true_one(lat, lon, lat2, lon2):
    degrees = np.array([[lat, lon], [lat2, lon2]]) / 1e5
    lower = float(lower_distance(degrees, "great circle", 0, 1))
    exact = exact_great_circle((lat, lon), (lat2, lon2))
    assert lower <= exact
    assert lower >= float(exact) * (1 - 1e-13) - 1e-7


@pytest.mark.parametrize("shift", [1, 10, 1000])
def test_near_places_and_antipodes_are_as_accurate(shift):
    near = (3_352_066, -8_680_249)
    for other in ((near[0] + shift, near[1]), (-near[0] + shift, near[1] + 18_000_000)):
        degrees = np.array([near, other]) / 1e5
        lower = float(lower_distance(degrees, "great circle", 0, 1))
        exact = exact_great_circle(near, other)
        assert lower <= exact
        assert lower >= float(exact) - 1e-7


@given(st.lists(st.tuples(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9)), min_size=2, max_size=2))
def test_a_plane_distance_is_never_above_the_true_one(places):
    coordinates = np.array(places) / 100
    lower = float(lower_distance(coordinates, "plane", 0, 1))
    legs = [mpmath.mpf(here - there) / 100 for here, there in zip(*places, strict=True)]
    exact = mpmath.hypot(*legs)
    assert lower <= exact
    assert lower >= float(exact) * (1 - 1e-13) - 1e-7


def test_the_distance_of_new_york_and_los_angeles():
    degrees = np.array([[40.7128, -74.0060], [34.0522, -118.2437]])
    assert float(lower_distance(degrees, "great circle", 0, 1)) == pytest.approx(3935.75, abs=0.05)


@pytest.mark.parametrize("geometry", ["plane", "great circle"])
@pytest.mark.parametrize("radius", [0.0, 500.0, 4000.0, 30000.0])
def test_pairs_within_a_radius_are_those_a_plain_search_finds(geometry, radius):
    generator = np.random.default_rng(3)
    coordinates = generator.uniform([-80, -170], [80, 170], (60, 2))
    coordinates[7] = coordinates[11]
    scale = 1 if geometry == "great circle" else 60
    first, second, distance = pairs_within(coordinates * (1 if scale == 1 else scale), geometry, radius)
    i, j = np.triu_indices(60, 1)
    every = lower_distance(coordinates * (1 if scale == 1 else scale), geometry, i, j)
    expected = {(a, b) for a, b, d in zip(i.tolist(), j.tolist(), every.tolist(), strict=True) if d <= radius}
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == expected
    assert (7, 11) in expected
    assert np.all(distance <= radius)
