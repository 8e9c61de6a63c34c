"""Strategies found by gradient: never worse than where they start, always scaled to what the points allow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.shapes import exact_least_squares

from dxgeom.errors import CertificateRefused
from dxgeom.geometry.inverse import inverse_enclosure
from dxgeom.mechanisms.linear.laplace import minimise_reciprocal_squares
from dxgeom.mechanisms.shapes.strategy import weighted_rows
from dxgeom.mechanisms.shapes.strategy_program import improved_strategy, loads_of, spread_of


def scaled_spread(points, rows):
    return spread_of(rows) * loads_of(points, rows).max() ** 2


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(0, 6))
def test_programmes_never_lose_and_end_where_the_largest_load_is_one(seed, dimensions, more):
    generator = np.random.default_rng(seed)
    points, rows = (
        generator.standard_normal((30, dimensions)),
        generator.standard_normal((dimensions + more, dimensions)),
    )
    weighted = weighted_rows(points, rows)
    improved = improved_strategy(points, weighted, 1e7)
    for found in (weighted, improved):
        assert loads_of(points, found).max() == pytest.approx(1, rel=1e-12)
    assert spread_of(weighted) <= scaled_spread(points, rows) * (1 + 2e-4)
    assert spread_of(improved) <= spread_of(weighted) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_as_many_rows_as_dimensions_are_near_the_convex_optimum(seed):
    generator = np.random.default_rng(seed)
    points, rows = generator.standard_normal((40, 5)), generator.standard_normal((5, 5))
    lengths = np.sum(np.linalg.inv(rows) ** 2, axis=0)
    optimum = minimise_reciprocal_squares(np.abs(points @ rows.T), lengths).value
    found = spread_of(weighted_rows(points, rows))
    assert optimum * (1 - 1e-9) <= found <= optimum * 1.02


def test_a_row_that_is_there_twice_loses_nothing():
    """Two equal rows with weights w₁, w₂ are one of weight √(w₁² + w₂²) and cost w₁ + w₂: one of them goes."""
    points = np.random.default_rng(1).standard_normal((40, 3))
    rows = np.random.default_rng(2).standard_normal((3, 3))
    twice = weighted_rows(points, np.vstack([rows, rows[:1] / 7]))
    assert spread_of(twice) <= spread_of(weighted_rows(points, rows)) * 1.02
    assert len(twice) == 3


def test_the_spread_of_rows_that_do_not_reach_everywhere_is_infinite():
    assert spread_of(np.array([[1.0, 0.0], [2.0, 0.0]])) == np.inf


@given(st.integers(0, 10**9), st.integers(2, 6), st.integers(2, 9))
def test_rows_that_rounding_alone_makes_reach_everywhere_do_not(seed, columns, count):
    """Thirds and sevenths of integers of too small a rank: what a triangle's corner holds differs between machines."""
    generator = np.random.default_rng(seed)
    small = generator.integers(1, columns)
    rows = (
        generator.integers(-3, 4, (count, small)) @ generator.integers(-2, 3, (small, columns)) / (3 + 4 * (seed % 2))
    )
    assert spread_of(rows) == np.inf


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4))
def test_a_pseudo_inverse_lies_within_its_radius(seed, rows, more):
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((rows, rows + more)) * 10.0 ** generator.integers(-6, 7, (rows, 1))
    enclosure = inverse_enclosure(matrix)
    for column in range(rows):
        unit = np.zeros(rows, dtype=np.int64)
        unit[column] = 1
        for row, entry in enumerate(exact_least_squares(matrix, unit)):
            off = abs(entry - Fraction(float(enclosure.middle[row, column])))
            assert off <= Fraction(float(enclosure.radius[row, column]))


def test_a_wide_matrix_of_too_small_a_rank_has_no_pseudo_inverse():
    with pytest.raises(CertificateRefused, match="singular"):
        inverse_enclosure(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
