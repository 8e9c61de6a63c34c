"""The place of the largest of some scores after noise, drawn exactly.

Both laws of selection are of this form: with Gumbel noise −log(−log U) the place r wins with a chance proportional to
e^(rate·score_r); with exponential noise −log U it wins as often as permute-and-flip picks it. Nothing but the winner is
needed, so a uniform is read only as far as it takes to tell who wins: float64 with a bound on its error leaves a few
contenders, mostly one, and ball arithmetic decides among them, reading 64 further bits of each as long as need be.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.noise.rounding import FLOAT_ERROR, SMALLEST_WORD, WORD, LazyUniform, decided, exponentials
from dxgeom.numeric.exact_numbers import rational
from dxgeom.numeric.randomness import Randomness, uniform_integer

SelectionLaw: TypeAlias = Literal["permute-and-flip", "exponential"]
Bounds: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

LARGEST_SCORE = 2**62
"""Scores stay below this in magnitude, so that their gaps fit int64."""
RATES = (Fraction(1, 10**200), Fraction(10**200))
"""Between these float64 multiplies a gap by the rate within a relative 2⁻⁵¹."""
_FARTHEST = -1e300
_GUMBEL_ERROR = 2.0**-31
"""Bound on |float64 Gumbel value − exact value| for words at least ``SMALLEST_WORD`` away from both ends.

With w = word·2⁻⁶⁴ below ½, E = −log(1 − w) is off by a relative 2⁻⁴⁶ for the bits not read and 2⁻⁵⁰ for arithmetic.
Above ½ it is off by 2⁻⁵²/(1 − w) ≤ 2⁻³⁴ absolutely, with E > ½. So −log E is off by less than 2⁻³², doubled here."""
_RARE = 12.0
"""A word below 2⁴⁶ has −log U > 18·log 2 > 12."""


def noisy_largest(scores: NDArray[np.int64], rate: Fraction, law: SelectionLaw, randomness: Randomness) -> int:
    """argmax_r rate·scores[r] + noise_r.

    Args: ``scores`` (R,), below 2⁶² in magnitude; ``law``: "exponential" adds Gumbel noise, "permute-and-flip"
    exponential noise, both of scale 1.
    Guarantee: *exactly* the law, given uniform random words. How many bits it read, and so its time, is not hidden.
    Raises: TooLarge for scores or a rate out of range; UnsupportedCombination for an unknown law or no scores.
    """
    check_scores(scores)
    check_rate(rate)
    if law not in _NOISE:
        raise UnsupportedCombination(f"there is no law of selection '{law}'; known are {', '.join(_NOISE)}")
    gaps = scores - scores.max()
    worths = np.maximum(gaps.astype(np.float64) * float(rate), _FARTHEST)

    def exact(place: int) -> arb:
        return arb(rational(int(gaps[place]) * rate))

    return noisy_largest_worth(worths, np.abs(worths) * 2.0**-50, exact, law, randomness)


def noisy_largest_worth(
    worths: NDArray[np.float64],
    slacks: NDArray[np.float64],
    exact: Callable[[int], arb],
    law: SelectionLaw,
    randomness: Randomness,
) -> int:
    """argmax_r worth_r + noise_r, for worths that need not be rational.

    Args: ``worths`` (R,): float64; ``slacks`` (R,): bounds on how far each is off, but for worths below −10³⁰⁰, which
    count as −10³⁰⁰; ``exact(place)``: a ball at the precision in force that holds the worth.
    Guarantee: *exactly* the law, given uniform random words.
    """
    bounds, noise = _NOISE[law]
    words = randomness.words(len(worths))
    low, high = bounds(words)
    contenders = np.flatnonzero(worths + slacks + high >= np.max(worths - slacks + low))
    if len(contenders) == 1:
        return int(contenders[0])
    uniforms = [LazyUniform(int(word)) for word in words[contenders]]

    def decide(balls: list[arb]) -> int | None:
        values = [exact(int(place)) + noise(ball) for place, ball in zip(contenders, balls, strict=True)]
        for place, value in enumerate(values):
            if all(value > other for rival, other in enumerate(values) if rival != place):
                return int(contenders[place])
        return None

    return decided(decide, uniforms, randomness)


def largest(scores: NDArray[np.int64], randomness: Randomness) -> int:
    """The place of the largest score, each of equal ones as likely: what remains when no noise is needed.

    Raises: as :func:`noisy_largest`.
    """
    check_scores(scores)
    best = np.flatnonzero(scores == scores.max())
    return int(best[uniform_integer(len(best), randomness)])


def check_rate(rate: Fraction) -> None:
    """Raises: TooLarge for a rate by which float64 cannot multiply the gaps."""
    if not RATES[0] <= rate <= RATES[1]:
        raise TooLarge("the scores' rate leaves the range of float64; rescale the scores or the spend")


def check_scores(scores: NDArray[np.int64]) -> None:
    """Raises: UnsupportedCombination unless there is a score; TooLarge beyond 2⁶²."""
    if scores.ndim != 1 or scores.size == 0 or scores.dtype != np.int64:
        raise UnsupportedCombination("a selection is among at least one place, each with an int64 score")
    if int(scores.max()) >= LARGEST_SCORE or int(scores.min()) <= -LARGEST_SCORE:
        raise TooLarge("scores stay below 2**62 in magnitude: give the utilities fewer digits")


def _exponential_bounds(words: NDArray[np.uint64]) -> Bounds:
    sizes = exponentials(words)
    errors = FLOAT_ERROR * (1 + sizes)
    legible = words >= SMALLEST_WORD
    return np.where(legible, sizes - errors, _RARE), np.where(legible, sizes + errors, np.inf)


def _gumbel_bounds(words: NDArray[np.uint64]) -> Bounds:
    """−log(−log(1 − w)), so that the values that win, with w near 0, keep their digits."""
    small, great = words < SMALLEST_WORD, words > np.uint64(2**WORD - SMALLEST_WORD)
    parts = np.where(small | great, 0.5, words.astype(np.float64) * 2.0**-WORD)
    values = -np.log(-np.log1p(-parts))
    low = np.where(small, _RARE, np.where(great, -np.inf, values - _GUMBEL_ERROR))
    return low, np.where(small, np.inf, np.where(great, 0.0, values + _GUMBEL_ERROR))


def _exponential(uniform: arb) -> arb:
    return -uniform.log()


def _gumbel(uniform: arb) -> arb:
    return -(-(1 - uniform).log()).log()


_NOISE: dict[str, tuple[Callable[[NDArray[np.uint64]], Bounds], Callable[[arb], arb]]] = {
    "permute-and-flip": (_exponential_bounds, _exponential),
    "exponential": (_gumbel_bounds, _gumbel),
}
