from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from dxgeom.errors import UnsupportedCombination
from dxgeom.planner.amounts import exact_amount


@pytest.mark.parametrize(
    ("amount", "exact"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        ("1/4", Fraction(1, 4)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (3, Fraction(3)),
        (1e-5, Fraction(1, 100_000)),
    ],
)
def test_an_amount_is_taken_as_written(amount, exact):
    assert exact_amount(amount, "spend") == exact


def test_ten_times_a_tenth_is_one():
    assert sum(exact_amount(0.1, "spend") for _ in range(10)) == 1


@pytest.mark.parametrize(
    "amount",
    [
        0,
        -1,
        "0",
        "-0.1",
        "nan",
        "inf",
        float("nan"),
        float("inf"),
        "",
        "a lot",
        "1/0",
        "1e999999999",
        1e300,
        "1" * 5000,
        None,
    ],
)
def test_an_amount_that_is_no_positive_number_is_refused_at_once(amount):
    with pytest.raises(UnsupportedCombination, match="spend"):
        exact_amount(amount, "spend")
