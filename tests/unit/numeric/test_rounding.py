from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.numeric.rounding import product_round_down, quotient_round_up, round_down, round_up, sum_round_down

positive = st.floats(1e-100, 1e100)


@given(st.fractions())
def test_a_rational_lies_between_its_two_roundings(number):
    low, high = round_down(number), round_up(number)
    assert Fraction(low) <= number <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))


@given(positive, positive)
def test_products_and_sums_are_never_above_the_exact_ones(x, y):
    assert Fraction(float(product_round_down(x, np.array([y]))[0])) <= Fraction(x) * Fraction(y)
    assert Fraction(float(sum_round_down(np.array([x]), np.array([y]))[0])) <= Fraction(x) + Fraction(y)
    assert product_round_down(x, np.array([y]))[0] >= x * y * (1 - 2**-51)


@given(positive, positive)
def test_quotients_are_never_below_the_exact_ones(x, y):
    quotient = float(quotient_round_up(np.array([x]), np.array([y]))[0])
    assert Fraction(quotient) >= Fraction(x) / Fraction(y)
    assert quotient <= x / y * (1 + 2**-51)


def test_special_quotients_fail_closed():
    numerators = np.array([0.0, 0.0, 1.0, 1.0])
    denominators = np.array([0.0, 5.0, 0.0, np.inf])
    assert quotient_round_up(numerators, denominators).tolist() == [0, 0, np.inf, 0]


def test_zero_and_infinity_stay_what_they_are():
    assert sum_round_down(np.array([0.0, np.inf]), np.array([0.5, 1.0])).tolist() == [0.5, np.inf]
    assert product_round_down(0.5, np.array([0.0, np.inf])).tolist() == [0, np.inf]
