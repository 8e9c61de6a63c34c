"""Directed rounding: what a guarantee rests on is rounded the safe way, and the name says which."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

UNIT_ROUNDOFF = 2.0**-53
"""Largest relative error of one correctly rounded float64 operation."""


def round_down(number: Fraction) -> float:
    """The largest float64 not above ``number`` (which must be within float64's range)."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def round_up(number: Fraction) -> float:
    """The smallest float64 not below ``number`` (which must be within float64's range)."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def product_round_down(factor: float, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """``factor · values`` for non-negative arguments, never above the exact products."""
    return _towards_zero(factor * values)


def sum_round_down(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """``first + second`` for non-negative arguments, never above the exact sums; exact zeros are kept."""
    total = first + second
    exact = (first == 0) | (second == 0)
    return np.where(exact, total, _towards_zero(total))


def quotient_round_up(numerators: NDArray[np.float64], denominators: NDArray[np.float64]) -> NDArray[np.float64]:
    """``numerators / denominators`` for non-negative arguments, never below the exact quotients.

    0/0 is 0 (nothing to hide, nothing to pay); x/0 is infinite; x/inf is 0.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = numerators / denominators
    quotient = np.where(numerators == 0, 0.0, quotient)
    raised = np.nextafter(quotient, np.inf)
    return np.where((numerators == 0) | np.isinf(denominators), 0.0, raised)


def _towards_zero(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isinf(values) | (values == 0), values, np.nextafter(values, 0.0))
