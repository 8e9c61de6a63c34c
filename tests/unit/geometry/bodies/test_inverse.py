"""Images under proved inverses: what leaves float64 at its lower end is counted as well."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq_mat

from dxgeom.errors import WrongArgument
from dxgeom.geometry.bodies.inverse import inverse_enclosure
from dxgeom.geometry.bodies.round_bodies import Box
from dxgeom.numeric.exact_numbers import rational, rational_matrix


@pytest.mark.parametrize("size", [1.0, 1e-14, 1e-26, 1e-100, 1e-300])
def test_images_are_within_their_bound_however_small(size):
    matrix = np.array([[4e295, 1e295], [0.0, 3e295]])
    points = np.array([[1.0, -2.0], [0.5, 0.25]]) * size
    values, errors = inverse_enclosure(matrix).images(points, points * 0)
    inverse = rational_matrix(matrix.tolist()).inv()
    for point, value, error in zip(points.tolist(), values.tolist(), errors.tolist(), strict=True):
        exact = inverse * fmpq_mat(2, 1, [rational(x) for x in point])
        for k in range(2):
            assert abs(exact[k, 0] - rational(value[k])) <= rational(error[k])


def test_a_body_has_its_own_numbers():
    widths = [1, 2]
    box = Box(widths)
    assert box.half_widths.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        box.half_widths[0] = 3
    assert box.digest == Box(np.array([1.0, 2.0])).digest
    with pytest.raises(WrongArgument, match="half_widths"):
        Box(np.array(["wide", "narrow"]))
