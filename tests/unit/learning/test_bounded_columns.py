"""Values are moved into their box and onto its grid, each by itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.learning.polynomials import BoundedColumn, bounded_column, grid_table

AGE = bounded_column("age", 0, 120, 1)


def test_numbers_are_taken_as_written():
    column = bounded_column("x", "0.1", 0.7, "1/10")
    assert (column.low, column.high, column.step) == (Fraction(1, 10), Fraction(7, 10), Fraction(1, 10))
    assert column.steps == 6
    assert bounded_column("x", Fraction(-1, 3), Fraction(2, 3)).steps == 2**20


def test_values_are_clipped_and_rounded():
    values = np.array([-5, 0, 0.4, 0.6, 35, 120, 1e300, np.inf, -np.inf])
    assert AGE.grid_points(values).tolist() == [0, 0, 0, 1, 35, 120, 120, 120, 0]


@given(
    st.integers(-(10**6), 10**6),
    st.integers(1, 10**6),
    st.integers(1, 2**20),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=9),
)
def test_every_value_lands_on_the_grid_near_where_it_was(low, width, steps, values):
    column = BoundedColumn("x", Fraction(low, 7), Fraction(low + width, 7), Fraction(width, 7 * steps))
    places = column.grid_points(np.array(values))
    assert np.all((places >= 0) & (places <= column.steps))
    for value, place in zip(values, places, strict=True):
        clipped = min(max(value, float(column.low)), float(column.high))
        distance = abs(float(column.low + int(place) * column.step) - clipped)
        assert distance <= float(column.step) * 0.51 + 1e-9


def test_what_is_no_number_is_refused():
    with pytest.raises(DataError, match="no number"):
        AGE.grid_points(np.array([1.0, np.nan]))
    with pytest.raises(DataError, match="numbers only"):
        grid_table([AGE], [["forty"]])


@pytest.mark.parametrize("shape", [(3,), (3, 2), (0, 2)])
def test_a_table_of_another_shape_is_refused(shape):
    with pytest.raises(DataError, match="1 columns"):
        grid_table([AGE], np.zeros(shape))


def test_a_table_may_be_empty():
    assert grid_table([AGE], np.zeros((0, 1))).shape == (0, 1)


@pytest.mark.parametrize(
    ("low", "high", "step", "words"),
    [
        (1, 1, 1, "low < high"),
        (2, 1, 1, "low < high"),
        (0, 1, "0.3", "does not divide"),
        (0, 1, -1, "does not divide"),
        (0, 1, 0, "does not divide"),
        (0, 1, "1e-9", "grid steps"),
        ("nan", 1, 1, "numbers such as"),
        (0, float("inf"), 1, "numbers such as"),
        (0, "1/0", 1, "numbers such as"),
    ],
)
def test_bounds_that_make_no_box_are_refused(low, high, step, words):
    with pytest.raises(UnsupportedCombination, match=words):
        bounded_column("x", low, high, step)
