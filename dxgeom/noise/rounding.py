"""The ideal law, rounded to integers, drawn exactly.

Every noise here is Z = round(f(U₁, …, U_n)) with independent uniforms U_i, most often f = Σ_i a_i·E_i with
exponentials E_i = −log U_i. If the data's answer lies on the lattice, adding Z is rounding the ideal real-valued
mechanism's output, so the guarantee is inherited and nothing has to be proved about a discrete law. To draw Z exactly,
U_i is an infinite string of fair bits of which 64 are read at first:

* float64 decides a batch, with a bound on its error; a value too near a half-integer is *ambiguous*;
* an ambiguous one is decided in ball arithmetic, reading 64 further bits of its uniforms as long as need be.

Whether more bits were read depends on the noise alone, never on the data.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import TypeAlias, TypeVar, final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.numeric.randomness import Randomness

WORD = 64

Found = TypeVar("Found")


@final
class LazyUniform:
    """U in [prefix, prefix + 1)·2^−bits; :meth:`refine` draws 64 bits more."""

    def __init__(self, prefix: int, bits: int = WORD) -> None:
        self.prefix, self.bits = prefix, bits

    def refine(self, randomness: Randomness) -> None:
        """Make the interval 2⁶⁴ times shorter."""
        self.prefix = (self.prefix << WORD) | int(randomness.words(1)[0])
        self.bits += WORD

    def ball(self) -> arb:
        """An arb ball that contains every number the bits still allow."""
        scale = 1 << self.bits
        return arb(fmpq(self.prefix, scale)).union(arb(fmpq(self.prefix + 1, scale)))


def decided(
    decide: Callable[[list[arb]], Found | None], uniforms: Sequence[LazyUniform], randomness: Randomness
) -> Found:
    """What balls around the uniforms tell, reading bits and computing in more of them until they tell it."""
    precision = 2 * WORD
    while True:
        with ctx.workprec(precision):
            found = decide([uniform.ball() for uniform in uniforms])
        if found is not None:
            return found
        for uniform in uniforms:
            uniform.refine(randomness)
        precision += WORD


FLOAT_ERROR = 2.0**-43
"""Bound on |float64 sum − exact sum| relative to Σ|a_i|(1 + E_i), for words of at least ``SMALLEST_WORD``.

Of one exponential, absolute: 2⁻⁵³ from converting the word, 2⁻⁴⁶ from the bits not yet read, and 2⁻⁴⁸·E allowed for the
logarithm (32 units in the last place, where libraries promise fewer than 4). Products and the sum add (m + 3)·2⁻⁵³
relative. Together below 2⁻⁴⁴ for m ≤ 200; doubled here."""
SMALLEST_WORD = 2**46
"""A smaller word leaves its logarithm too uncertain for float64: always ambiguous."""
LARGEST_VALUE = 2.0**50
"""Beyond this float64 does not resolve half-integers: always ambiguous."""

Evaluation: TypeAlias = Callable[[list[arb]], list[arb]]
"""Noise values as a function of uniforms, in ball arithmetic."""


def exponentials(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """−log of the uniforms whose first 64 bits are ``words``, in float64."""
    return -np.log(np.maximum(words.astype(np.float64), 1.0) * 2.0**-WORD)


def legible(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which rows of ``words`` (B, n) float64 can take logarithms of within :data:`FLOAT_ERROR`."""
    return np.asarray(np.all(words >= SMALLEST_WORD, axis=1))


def settled(values: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows of ``values`` (B, m) round the same way whatever the error, given bounds ``errors`` (B, m) on it."""
    distance = np.abs(values - np.floor(values) - 0.5)
    return np.asarray(np.all((distance > errors) & (np.abs(values) < LARGEST_VALUE), axis=1))


@final
@dataclass(frozen=True, eq=False)
class IdealDraws:
    """B draws of ideal noise as far as 64 bits of each uniform and float64 tell them.

    ``values`` (B, m); ``errors`` (B, m): bounds on how far each is off, true for rows that are ``legible`` (B,);
    ``words`` (B, n): the bits read; ``evaluation(row)``: that row's exact values as a function of its uniforms.
    ``refined``: the uniforms of rows of which more bits have been read than ``words`` tells.
    """

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    legible: NDArray[np.bool_]
    words: NDArray[np.uint64]
    evaluation: Callable[[int], Evaluation]
    refined: Mapping[int, list[LazyUniform]] = field(default_factory=dict)

    def uniforms(self, row: int) -> list[LazyUniform]:
        """The row's uniforms, as far as their bits have been read."""
        return self.refined.get(row) or [LazyUniform(int(word)) for word in self.words[row]]

    def taken(self, rows: NDArray[np.int64]) -> IdealDraws:
        """The draws of these rows, in this order."""
        refined = {place: self.refined[row] for place, row in enumerate(rows.tolist()) if row in self.refined}
        return IdealDraws(
            self.values[rows],
            self.errors[rows],
            self.legible[rows],
            self.words[rows],
            lambda row: self.evaluation(int(rows[row])),
            refined,
        )


def joined(parts: Sequence[IdealDraws]) -> IdealDraws:
    """The draws of all parts, one part after the other."""
    starts = [0, *accumulate(len(part.values) for part in parts)]

    def evaluation(row: int) -> Evaluation:
        part = bisect_right(starts, row) - 1
        return parts[part].evaluation(row - starts[part])

    return IdealDraws(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.errors for part in parts]),
        np.concatenate([part.legible for part in parts]),
        np.concatenate([part.words for part in parts]),
        evaluation,
        {
            start + row: uniforms
            for part, start in zip(parts, starts, strict=False)
            for row, uniforms in part.refined.items()
        },
    )


def round_draws(draws: IdealDraws, factor: Fraction, randomness: Randomness) -> NDArray[np.int64]:
    """``factor`` times the draws, rounded to integers (B, m): in float64 where that is certain, else exactly."""
    rounded, sure = _in_float(draws, factor)
    for row in np.flatnonzero(~sure):
        rounded[row] = _exactly(draws, int(row), factor, randomness)
    return rounded


def whole_draws(draws: IdealDraws, factor: Fraction, randomness: Randomness) -> list[list[int]]:
    """The same as Python's integers, however large: B lists of m."""
    in_float, sure = _in_float(draws, factor)
    rounded: list[list[int]] = in_float.tolist()
    for row in np.flatnonzero(~sure).tolist():
        rounded[row] = _exactly(draws, row, factor, randomness)
    return rounded


def _in_float(draws: IdealDraws, factor: Fraction) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(B, m), rounded in float64, and (B,), whether that is certain; 0 where it is not."""
    values = draws.values * float(factor)
    # Two roundings more: of the factor, and of the product.
    errors = draws.errors * float(factor) + np.abs(values) * 2.0**-51
    sure = settled(values, errors) & draws.legible
    return np.floor(np.where(sure[:, None], values, 0.0) + 0.5).astype(np.int64), sure


def _exactly(draws: IdealDraws, row: int, factor: Fraction, randomness: Randomness) -> list[int]:
    return round_exactly(stretched(draws.evaluation(row), factor), draws.uniforms(row), randomness)


def round_exactly(evaluation: Evaluation, uniforms: Sequence[LazyUniform], randomness: Randomness) -> list[int]:
    """Each value of ``evaluation(uniforms)`` rounded to the nearest integer, reading bits until it is certain."""

    def decide(balls: list[arb]) -> list[int] | None:
        rounded = [(value + 0.5).floor().unique_fmpz() for value in evaluation(balls)]
        whole = [int(value) for value in rounded if value is not None]
        return whole if len(whole) == len(rounded) else None

    return decided(decide, uniforms, randomness)


def exponential_sums(coefficients: Sequence[Sequence[int | float]]) -> Evaluation:
    """Σ_i coefficients[k][i]·(−log U_i) for every k; coefficients are taken exactly."""

    return lambda uniforms: sums_of(coefficients, [-uniform.log() for uniform in uniforms])


def sums_of(coefficients: Sequence[Sequence[int | float]], values: Sequence[arb]) -> list[arb]:
    """Σ_i coefficients[k][i]·values[i] for every k, as balls; coefficients are taken exactly."""
    return [sum((arb(a) * x for a, x in zip(row, values, strict=True) if a), arb(0)) for row in coefficients]


def stretched(evaluation: Evaluation, factor: Fraction) -> Evaluation:
    """The same values times a rational."""

    def evaluate(uniforms: list[arb]) -> list[arb]:
        scale = arb(fmpq(factor.numerator, factor.denominator))
        return [value * scale for value in evaluation(uniforms)]

    return evaluate
