"""Cones that hold a point are counted exactly, whichever way each was found out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from reference.elimination import exact_determinant

from dxgeom.geometry.fan import cones_around


def holds(corners, point):
    """By Cramer's rule, one coordinate at a time."""
    determinant = exact_determinant(corners)
    for place in range(len(corners)):
        replaced = [*corners[:place], point, *corners[place + 1 :]]
        if exact_determinant(replaced) * determinant < 0:
            return False
    return True


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([2, 5, 2**20, 2**40, 2**61]))
def test_as_many_cones_hold_a_point_as_cramers_rule_says(seed, dimension, size):
    generator = np.random.default_rng(seed)
    corners = generator.integers(-size, size + 1, (12, dimension, dimension))
    corners = corners[[exact_determinant(matrix) != 0 for matrix in corners.tolist()]]
    assume(len(corners))
    shares = generator.integers(0, 3, dimension)
    point = (corners[0].astype(object) * shares[:, None]).sum(axis=0)
    assume(np.any(point != 0))
    expected = sum(holds(matrix, point.tolist()) for matrix in corners.tolist())
    assert cones_around(corners, point) == expected


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_point_a_hair_beside_a_thin_cone_is_not_in_it(beyond):
    corners = np.array([[[2**26, 1], [2**26, 0]]])
    assert cones_around(corners, np.array([2**26, 1 + beyond], dtype=object)) == 1 - beyond
