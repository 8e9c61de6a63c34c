from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.lattice import on_lattice
from dxgeom.numeric.arrays import integer_totals
from dxgeom.universe.queries import LinearQueries


def queries(matrix):
    return LinearQueries.from_matrix([f"q{k}" for k in range(len(matrix))], matrix)


def test_whole_weights_stay_exact_and_the_step_is_a_fraction_of_the_sensitivity():
    lattice = on_lattice(queries([[0, 1, 2], [0, 300, 5]]), np.array([10.0, 0.5]))
    assert lattice.steps == (Fraction(1, 2), Fraction(1, 32))
    assert lattice.numerators.tolist() == [[0, 2, 4], [0, 9600, 160]]
    assert lattice.weight_errors == (0, 0)


def test_a_large_sensitivity_keeps_the_unit_itself():
    lattice = on_lattice(queries([[0, 1]]), np.array([1000.0]))
    assert lattice.steps == (1,)


def test_a_query_that_never_changes_is_left_as_it_is():
    lattice = on_lattice(queries([[7, 7]]), np.array([0.0]))
    assert lattice.numerators.tolist() == [[7, 7]]


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=8), st.floats(1e-3, 1e6))
def test_rounded_weights_are_within_the_stated_error(weights, sensitivity):
    asked = queries([weights])
    in_units = sensitivity / float(asked.units[0])
    lattice = on_lattice(asked, np.array([in_units]))
    step, error = lattice.steps[0], lattice.weight_errors[0]
    for asked_numerator, numerator in zip(asked.numerators[0], lattice.numerators[0], strict=True):
        exact = int(asked_numerator) * asked.units[0]
        assert abs(exact - int(numerator) * step) <= error
    assert error <= step / 2
    assert error == 0 or step <= Fraction(sensitivity) / 2**29
    assert error <= Fraction(float(np.ptp(weights))) / 2**28


def test_weights_too_fine_for_their_noise_are_refused():
    with pytest.raises(TooLarge, match="52-bit"):
        on_lattice(queries([[0, 2**50]]), np.array([1e-6]))


@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=3, max_size=3),
        min_size=1,
        max_size=4,
    )
)
def test_a_float_matrix_is_read_to_52_bits_of_its_largest_entry(rows):
    read = queries(rows).matrix
    largest = np.max(np.abs(rows), axis=1, keepdims=True)
    assert np.all(np.abs(read - np.array(rows)) <= largest * 2.0**-51)


def test_fractions_are_taken_exactly():
    asked = queries(np.array([[Fraction(1, 3), Fraction(1, 7)]], dtype=object))
    assert [int(n) * asked.units[0] for n in asked.numerators[0]] == [Fraction(1, 3), Fraction(1, 7)]


@pytest.mark.parametrize(
    "matrix",
    [
        [[np.nan, 1.0]],
        [[np.inf, 1.0]],
        [["a", "b"]],
        [1.0, 2.0],
        [[[1.0]]],
        [[None, 1]],
        [[2**53, 0]],
        np.array([[2**63, 1]], dtype=np.uint64),
        [[1], [1, 2]],
        np.array([[Fraction(1, 3**40), Fraction(1, 2)]], dtype=object),
    ],
)
def test_unusable_weights_are_refused(matrix):
    with pytest.raises(UnsupportedCombination):
        LinearQueries.from_matrix(["q"], matrix)


def test_names_are_distinct_and_as_many_as_queries():
    for names in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(UnsupportedCombination):
            LinearQueries.from_matrix(names, [[1, 2], [3, 4]])


def test_totals_do_not_overflow():
    numerators = np.array([[2**51, -(2**51)], [1, 1]])
    counts = np.array([2**40, 2**20])
    assert integer_totals(numerators, counts) == [2**51 * (2**40 - 2**20), 2**40 + 2**20]


def test_answers_are_exact_rationals():
    asked = queries(np.array([[Fraction(1, 3), Fraction(1, 7)]], dtype=object))
    assert asked.answers(np.array([3, 14])) == [Fraction(3)]


@pytest.mark.parametrize(("weight", "sensitivity"), [(1e-200, 1.0), (1.0, 1e200), (1.0, np.inf), (1.0, np.nan)])
def test_weights_and_sensitivities_out_of_range_are_refused(weight, sensitivity):
    with pytest.raises(TooLarge, match="range"):
        on_lattice(queries([[0.0, weight]]), np.array([sensitivity]))
