"""Bars as they are written hold what they are written for: what rounding an answer loses is in its ±."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dxgeom.wording.numbers import answer_and_bar, ends_outward

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False) | st.integers(-(10**9), 10**9).map(float)
WIDTHS = st.floats(1e-6, 1e9)


def read(text: str) -> Fraction:
    return Fraction(text.removeprefix("± ").replace(",", ""))


@given(NUMBERS, WIDTHS)
def test_an_answer_with_its_bar_holds_the_bar_that_it_had(value: float, half_width: float) -> None:
    said, bar = map(read, answer_and_bar(value, half_width))
    assert said - bar <= Fraction(value) - Fraction(half_width)
    assert said + bar >= Fraction(value) + Fraction(half_width)
    assert bar <= 2 * Fraction(half_width)


@given(NUMBERS, WIDTHS)
def test_the_ends_of_an_interval_are_rounded_outward(low: float, width: float) -> None:
    least, most = map(read, ends_outward(low, low + width))
    assert least <= Fraction(low) and Fraction(low + width) <= most
