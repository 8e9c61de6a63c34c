"""The ideal law, rounded to integers, drawn exactly.

Every noise here is Z = round(Σ_i a_i·E_i) with given coefficients and independent exponentials E_i = −log U_i. If the
data's answer lies on the lattice, adding Z is rounding the ideal real-valued mechanism's output, so the guarantee is
inherited and nothing has to be proved about a discrete law. To draw Z exactly, U_i is an infinite string of fair bits
of which 64 are read at first:

* float64 decides a batch, with a bound on its error; a sum too near a half-integer is *ambiguous*;
* an ambiguous one is decided in ball arithmetic, reading 64 further bits of its uniforms as long as need be.

Whether more bits were read depends on the noise alone, never on the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.noise.lazy_uniform import WORD, LazyUniform
from dxgeom.numeric.randomness import Randomness

FLOAT_ERROR = 2.0**-43
"""Bound on |float64 sum − exact sum| relative to Σ|a_i|(1 + E_i), for words of at least ``SMALLEST_WORD``.

Of one exponential, absolute: 2⁻⁵³ from converting the word, 2⁻⁴⁶ from the bits not yet read, and 2⁻⁴⁸·E allowed for the
logarithm (32 units in the last place, where libraries promise fewer than 4). Products, the factor's rounding and the
sum add (m + 3)·2⁻⁵³ relative. Together below 2⁻⁴⁴ for m ≤ 200; doubled here."""
SMALLEST_WORD = 2**46
"""A smaller word leaves its logarithm too uncertain for float64: always ambiguous."""
LARGEST_SUM = 2.0**50
"""Beyond this float64 does not resolve half-integers: always ambiguous."""


def exponentials(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """−log of the uniforms whose first 64 bits are ``words``, in float64."""
    return -np.log(np.maximum(words.astype(np.float64), 1.0) * 2.0**-WORD)


def settled(sums: NDArray[np.float64], magnitudes: NDArray[np.float64], words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which rows of ``sums`` (B, m) round the same way whatever the error.

    Args: ``magnitudes`` (B, m) = Σ|a_i|(1 + E_i); ``words`` (B, n) behind each row.
    """
    error = magnitudes * FLOAT_ERROR
    distance = np.abs(sums - np.floor(sums) - 0.5)
    sure = np.all((distance > error) & (np.abs(sums) < LARGEST_SUM), axis=1)
    return np.asarray(sure & np.all(words >= SMALLEST_WORD, axis=1))


def round_exactly(
    coefficients: Sequence[Sequence[int | float]],
    factor: Fraction,
    uniforms: Sequence[LazyUniform],
    randomness: Randomness,
) -> list[int]:
    """round(factor · Σ_i coefficients[k][i]·(−log U_i)) for every k, reading bits until it is certain.

    Args: ``coefficients`` (m rows of n): integers or float64, taken exactly.
    """
    precision = 2 * WORD
    while True:
        with ctx.workprec(precision):
            sizes = [-uniform.ball().log() for uniform in uniforms]
            scale = arb(fmpq(factor.numerator, factor.denominator))
            rounded = [
                (sum((arb(a) * size for a, size in zip(row, sizes, strict=True) if a), arb(0)) * scale + 0.5)
                .floor()
                .unique_fmpz()
                for row in coefficients
            ]
        if all(value is not None for value in rounded):
            return [int(value) for value in rounded if value is not None]
        for uniform in uniforms:
            uniform.refine(randomness)
        precision += WORD
