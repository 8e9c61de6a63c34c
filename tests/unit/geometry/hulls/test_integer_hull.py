from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.hulls import integer_hull


@given(arrays(np.int64, st.tuples(st.integers(2, 8), st.integers(1, 3)), elements=st.integers(-9, 9)))
def test_every_point_is_inside_and_every_vertex_is_a_point(points):
    if np.linalg.matrix_rank(points) < points.shape[1]:
        with pytest.raises(NotANormBall):
            integer_hull(points)
        return
    fan = integer_hull(points)
    given_points = {tuple(row) for row in np.vstack([points, -points]).tolist()}
    assert {tuple(row) for row in fan.vertices.tolist()} <= given_points
    heights = fan.normals @ np.vstack([points, -points]).T.astype(object)
    assert np.all(heights <= fan.volumes[:, None])


def test_coordinates_beyond_the_grid_are_refused():
    with pytest.raises(TooLarge, match="2\\^26"):
        integer_hull(np.array([[2**26 + 1]]))
