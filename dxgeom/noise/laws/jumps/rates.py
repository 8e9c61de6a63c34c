"""How often noise has to jump along a shift for its odds to be bounded there, as exact integers."""

from __future__ import annotations

import math
from functools import cache
from typing import Final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.numeric.exact_numbers import exact_middle

REACHES_PER_UNIT: Final = 16
"""A reach s² is a whole number of sixteenths,"""
LEAST_REACH: Final = 2 * REACHES_PER_UNIT
"""at least 2, where the proof begins,"""
LARGEST_REACH: Final = 64 * REACHES_PER_UNIT
"""and none is larger than this: there jumps are so rare already that they cost nothing."""
RATE_BITS: Final = 64
"""A rate is a whole number of 2⁻⁶⁴."""
_PRECISION: Final = 128


@cache
def rates_of_reaches() -> NDArray[np.uint64]:
    """(LARGEST_REACH + 1,): for every reach s² in sixteenths the rate R(s²) in units of 2⁻⁶⁴; 0 below 2, where none is
    known.

    Definition: R(s²) = 2e^(−s²/2)·((1 + 1/s²)/(e·s²) + 4/(e²s⁴)). Guarantee: *rounded up*, in ball arithmetic.
    Source: ``docs/decisions/046-gaussian-noise-with-jumps.md``.
    """
    rates = np.zeros(LARGEST_REACH + 1, dtype=np.uint64)
    with ctx.workprec(_PRECISION):
        for reach in range(LEAST_REACH, LARGEST_REACH + 1):
            rates[reach] = _whole_above(_rate(arb(fmpq(reach, REACHES_PER_UNIT))))
    rates.setflags(write=False)
    return rates


def float_rates(reaches: NDArray[np.float64]) -> NDArray[np.float64]:
    """R of any s² > 0, up to the rounding of float64: for searches, which prove nothing."""
    share = (1 + 1 / reaches) / (np.e * reaches) + 4 / (np.e * reaches) ** 2
    return np.asarray(2 * np.exp(-reaches / 2) * share)


def _rate(reach: arb) -> arb:
    euler = arb(1).exp()
    return 2 * (-reach / 2).exp() * ((1 + 1 / reach) / (euler * reach) + 4 / (euler * reach) ** 2)


def _whole_above(rate: arb) -> int:
    """The least whole number of 2⁻⁶⁴ that is certainly not below it."""
    # The upper end of the ball is exact.
    return math.ceil(exact_middle((rate * (1 << RATE_BITS)).upper()))
