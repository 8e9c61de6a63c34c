"""Products of whole numbers are within their bounds of the exact ones, and the bounds are a few units wide."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxgeom.geometry.inverse import whole_products


@pytest.mark.parametrize("most", [1, 9, 2**20, 2**37])
@pytest.mark.parametrize("spread", [0, 6, 40, 300])
def test_products_are_within_a_few_units_of_the_exact_ones(most, spread):
    generator = np.random.default_rng([most, spread])
    matrix = generator.standard_normal((7, 60)) * 10.0 ** -generator.uniform(0, spread, (7, 60))
    matrix[2, :5] = 2.0 ** np.arange(5)
    matrix[3] = 0
    vectors = generator.integers(-most, most + 1, (11, 60)).astype(float)
    found = whole_products(matrix, vectors)
    for row, vector in enumerate(vectors.tolist()):
        for column, weights in enumerate(matrix.tolist()):
            exact = sum(Fraction(a) * Fraction(b) for a, b in zip(vector, weights, strict=True))
            off = abs(exact - Fraction(float(found.values[row, column])))
            assert off <= Fraction(float(found.errors[row, column]))
            size = sum(abs(Fraction(a) * Fraction(b)) for a, b in zip(vector, weights, strict=True))
            assert found.errors[row, column] <= float(abs(exact) + size / 2**20) * 2.0**-48


def test_what_cannot_be_added_up_exactly_is_left_to_others():
    matrix = np.ones((3, 60))
    assert whole_products(matrix, np.full((1, 60), 0.5)) is None
    assert whole_products(matrix, np.full((1, 60), 2.0**45)) is None
    assert whole_products(matrix, np.full((1, 60), np.inf)) is None
    assert whole_products(matrix, np.full((1, 60), np.nan)) is None
