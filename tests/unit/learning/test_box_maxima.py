"""Maxima over the unit box: closed forms, enclosures, and points against each other."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.learning.adjacent_outputs import (
    HalvingLimits,
    bernstein_coefficients,
    float_maximisers,
    polynomial_maxima,
    quadratic_maxima,
)
from dxgeom.learning.polynomials import BoxPolynomials


def powers(variables, degree):
    choices = itertools.product(range(degree + 1), repeat=variables)
    return np.array([row for row in choices if 0 < sum(row) <= degree], dtype=np.int64)


@st.composite
def polynomials(draw, degree, most=3):
    variables = draw(st.integers(1, most))
    exponents = powers(variables, degree)
    size = draw(st.sampled_from([3, 1000, 10**30]))
    rows = draw(
        st.lists(
            st.lists(st.integers(-size, size), min_size=len(exponents), max_size=len(exponents)), min_size=1, max_size=4
        )
    )
    return BoxPolynomials(exponents, np.array(rows, dtype=object))


def exact_value(polynomial, row, point):
    terms = zip(polynomial.coefficients[row], polynomial.exponents.tolist(), strict=True)
    total = Fraction(0)
    for coefficient, exponents in terms:
        term = Fraction(int(coefficient))
        for x, power in zip(point, exponents, strict=True):
            term *= x**power
        total += term
    return total


@given(polynomials(2))
def test_closed_forms_lie_within_bernstein_enclosures(quadratics):
    """Two routes that share nothing but the coefficients; the enclosure is 1e-9 of the largest coefficient wide."""
    size = max(1, *(abs(int(c)) for c in quadratics.coefficients.ravel()))
    for value, bound in zip(quadratic_maxima(quadratics), polynomial_maxima(quadratics), strict=True):
        assert bound.lower <= value <= bound.upper
        assert bound.upper - bound.lower <= Fraction(size * 20, 10**9)


def test_boxes_are_not_halved_along_variables_that_change_nothing():
    """The maximum of a·y − b·y², near 0, among three variables of which two do not occur."""
    quadratic = BoxPolynomials(
        np.eye(3, dtype=np.int64)[[1, 1, 0, 2]] * [[1], [2], [2], [2]], np.array([[1, -30_000, 0, 0]], dtype=object)
    )
    (value,), (bound,) = quadratic_maxima(quadratic), polynomial_maxima(quadratic)
    assert value == Fraction(1, 120_000)
    assert bound.lower <= value <= bound.upper
    assert bound.upper - bound.lower <= Fraction(30_000 * 20, 10**9)


@given(polynomials(2), st.lists(st.fractions(0, 1, max_denominator=50), min_size=3, max_size=3))
def test_no_point_is_higher_than_the_maximum(quadratics, point):
    for row, value in enumerate(quadratic_maxima(quadratics)):
        assert exact_value(quadratics, row, point[: quadratics.variables]) <= value


@given(polynomials(2))
def test_float_maximisers_reach_the_maximum(quadratics):
    count = len(quadratics.coefficients)
    points = float_maximisers(quadratics, np.eye(count))
    assert np.all((points >= 0) & (points <= 1))
    for row, value in enumerate(quadratic_maxima(quadratics)):
        reached = exact_value(quadratics, row, [Fraction(float(x)) for x in points[row]])
        size = max(1, *(abs(int(c)) for c in quadratics.coefficients[row]))
        assert value - reached <= Fraction(size, 10**8)


def test_maxima_inside_and_on_faces_are_found_exactly():
    """x − x² has 1/4 inside; x − x² + y − y² + xy/1 is highest on the corner of both; −x² + xy on an edge."""
    exponents = np.array([[1, 0], [0, 1], [2, 0], [0, 2], [1, 1]])
    rows = [[1, 0, -1, 0, 0], [1, 1, -1, -1, 1], [0, 0, -1, 0, 1], [0, 0, 1, 1, 0], [-1, -1, 0, 0, 0]]
    found = quadratic_maxima(BoxPolynomials(exponents, np.array(rows, dtype=object)))
    assert found == [Fraction(1, 4), 1, Fraction(1, 4), 2, 0]


@given(polynomials(4, 2), st.lists(st.fractions(0, 1, max_denominator=50), min_size=2, max_size=2))
def test_enclosures_hold_whenever_halving_stops(quartics, point):
    for limits in (HalvingLimits(rounds=1), HalvingLimits(rounds=5), HalvingLimits(coefficients=1), HalvingLimits()):
        for row, bound in enumerate(polynomial_maxima(quartics, limits)):
            assert bound.lower <= bound.upper
            assert exact_value(quartics, row, point[: quartics.variables]) <= bound.upper


def test_a_lower_end_is_reached_somewhere():
    """x(1 − x)(1/2 − x)² on [0, 1] has its maxima 1/64 inside; the lower end must not pass it."""
    exponents = np.array([[1], [2], [3], [4]])
    rows = np.array([[1, -5, 8, -4]], dtype=object)  # four times it
    (bound,) = polynomial_maxima(BoxPolynomials(exponents, rows))
    assert bound.lower <= Fraction(1, 16) <= bound.upper
    assert bound.upper - bound.lower < Fraction(1, 10**8)


def test_bernstein_coefficients_of_a_square():
    tensors, (size,) = bernstein_coefficients(BoxPolynomials(np.array([[1], [2]]), np.array([[-2, 1]], dtype=object)))
    assert (tensors[0] * float(size)).tolist() == [0, -1, -1]


def test_what_is_too_large_or_of_too_high_degree_is_refused():
    cubic = BoxPolynomials(np.array([[3]]), np.array([[1]], dtype=object))
    with pytest.raises(UnsupportedCombination, match="degree"):
        quadratic_maxima(cubic)
    wide = BoxPolynomials(np.eye(11, dtype=np.int64), np.ones((1, 11), dtype=object))
    with pytest.raises(TooLarge, match="10 variables"):
        quadratic_maxima(wide)
    many = BoxPolynomials(np.full((1, 11), 2), np.ones((1, 1), dtype=object))
    with pytest.raises(TooLarge, match="Bernstein"):
        polynomial_maxima(many)
