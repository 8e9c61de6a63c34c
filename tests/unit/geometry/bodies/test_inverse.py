"""Images under proved inverses: what leaves float64 at its lower end is counted as well."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq_mat

from dxgeom.errors import WrongArgument
from dxgeom.geometry.inverse import corrected_inverse, inverse_enclosure
from dxgeom.geometry.round_bodies import Box
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


@pytest.mark.parametrize("more", [0, 3])
@pytest.mark.parametrize("power", [0, 4, 8])
def test_a_corrected_inverse_encloses_an_exact_one(more, power):
    generator = np.random.default_rng([more, power])
    matrix = generator.standard_normal((5, 5 + more)) * 10.0 ** -np.linspace(0, power, 5)[:, None]
    middle, radius = corrected_inverse(matrix)
    exact, found = rational_matrix(matrix.tolist()), rational_matrix(middle.tolist())
    product, reach = exact * found, rational_matrix((np.abs(matrix) @ radius * (1 + 1e-12)).tolist())
    for row in range(5):
        for column in range(5):
            assert abs(product[row, column] - (row == column)) <= reach[row, column]
    if more == 0:
        inverse = exact.inv()
        assert all(
            abs(inverse[row, column] - found[row, column]) <= rational(radius[row, column])
            for row in range(5)
            for column in range(5)
        )


def test_a_corrected_inverse_is_not_told_of_what_is_nearly_singular():
    assert corrected_inverse(np.array([[1.0, 2.0], [2.0, 4.0]])) is None
    assert corrected_inverse(np.array([[1.0, np.inf], [0.0, 1.0]])) is None


def test_many_rows_are_inverted_as_few_are():
    generator = np.random.default_rng(0)
    for matrix in (generator.standard_normal((128, 128)), generator.standard_normal((128, 134))):
        middle, radius = inverse_enclosure(matrix)
        away = np.abs(matrix @ middle - np.eye(128))
        assert np.all(away <= np.abs(matrix) @ radius + 1e-12)
        assert np.all(radius <= np.abs(middle).max() * 2.0**-40)


def test_a_body_has_its_own_numbers():
    widths = [1, 2]
    box = Box(widths)
    assert box.half_widths.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        box.half_widths[0] = 3
    assert box.digest == Box(np.array([1.0, 2.0])).digest
    with pytest.raises(WrongArgument, match="half_widths"):
        Box(np.array(["wide", "narrow"]))
