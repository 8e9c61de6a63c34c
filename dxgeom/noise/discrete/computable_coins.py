"""Coins whose chance is no fraction, but can be computed as closely as need be."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.noise.laws.lazy_uniform import WORD, LazyUniform, decided
from dxgeom.numeric.randomness import Randomness


def computable_coins(chance: Callable[[], arb], count: int, randomness: Randomness) -> NDArray[np.bool_]:
    """Independent coins (count,) that fall true with the chance in [0, 1] that the ball holds.

    Args: ``chance``: makes a ball at the precision in force; the number in it is no multiple of 2⁻⁶⁴, or no ball of it
    is wider than nothing.
    Guarantee: *exact*, given uniform random words: 64 bits of a uniform mostly tell whether it is below the chance, and
    where they do not, 64 more are read.
    """
    words = randomness.words(count)
    with ctx.workprec(4 * WORD):
        scaled = chance() * arb(fmpq(1 << WORD))
        low, high = math.floor(_exactly(scaled.lower())), math.ceil(_exactly(scaled.upper()))
    surely = words < np.uint64(low) if low < 1 << WORD else np.ones(count, dtype=bool)
    unclear = np.zeros(count, dtype=bool) if low >= 1 << WORD else ~surely & (words.astype(object) < high)
    for place in np.flatnonzero(unclear):
        uniform = LazyUniform(int(words[place]))
        surely[place] = decided(lambda balls: _below(balls[0], chance()), [uniform], randomness)
    return np.asarray(surely)


def _exactly(ball: arb) -> Fraction:
    number = ball.mid().fmpq()
    return Fraction(int(number.p), int(number.q))


def _below(one: arb, other: arb) -> bool | None:
    return True if one < other else False if one >= other else None
