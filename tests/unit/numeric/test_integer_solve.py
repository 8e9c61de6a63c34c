from __future__ import annotations

import numpy as np
import pytest
from reference.elimination import exact_determinant

from dxgeom.numeric.exact_numbers import solve_exactly


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 10])
def test_determinants_and_solutions_agree_with_elimination_in_rationals(size):
    generator = np.random.default_rng(size)
    matrices = generator.integers(-(2**26), 2**26, (40, size, size))
    sides = generator.integers(-(2**26), 2**26, (40, size, 2))
    determinants, numerators = solve_exactly(matrices, sides)
    for matrix, side, determinant, numerator in zip(matrices, sides, determinants, numerators, strict=True):
        assert exact_determinant(matrix) == determinant
        assert np.all(matrix.astype(object) @ numerator == side.astype(object) * determinant)


def test_zeros_on_the_diagonal_are_pivoted_away():
    matrix = np.array([[[0, 2, 1], [3, 0, 0], [0, 0, 5]]])
    determinants, numerators = solve_exactly(matrix, np.array([[[1], [1], [1]]]))
    assert determinants[0] == -30
    assert np.all(matrix[0].astype(object) @ numerators[0] == -30)


@pytest.mark.parametrize(
    "matrix", [[[0, 0], [0, 0]], [[1, 2], [2, 4]], [[0, 1], [0, 5]], [[1, 1, 0], [1, 1, 0], [0, 0, 1]]]
)
def test_singular_systems_have_determinant_zero_and_no_solution(matrix):
    determinants, numerators = solve_exactly(np.array([matrix]), np.ones((1, len(matrix), 1), dtype=object))
    assert determinants[0] == 0
    assert not numerators.any()


def test_entries_beyond_64_bits_are_exact():
    big = 10**30
    matrix = np.array([[[big, 1], [1, big]]], dtype=object)
    determinants, _ = solve_exactly(matrix, np.ones((1, 2, 1), dtype=object))
    assert determinants[0] == big * big - 1
