"""Where random bits come from, and what is drawn from them exactly, in integers only.

Arrays are drawn as a whole; what is still undecided is drawn again until nothing is.

Source: Canonne, Kamath & Steinke 2020, The discrete Gaussian for differential privacy, Algorithms 1 and 2.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge


class Randomness(ABC):
    """A source of independent uniform 64-bit words."""

    @abstractmethod
    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` fresh words."""


@final
class SystemRandomness(Randomness):
    """The operating system's cryptographic source, asked anew at each call.

    Nothing is buffered, so a forked process cannot repeat its parent's bits.
    """

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@final
class InsecureSeededRandomness(Randomness):
    """A reproducible stream for tests and simulations; whoever knows the seed can subtract the noise."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)


LARGEST_DENOMINATOR = 2**62
"""Numerators and denominators of probabilities stay below this."""
LARGEST_SCALE = 2**50
"""Numerators of a geometric law's scale stay below this, so that a draw leaves int64 with a chance below e⁻⁸⁰⁰⁰."""
_LARGEST_WORD = np.uint64(2**64 - 1)
_WORD = 64


def uniform_integer(bound: int, randomness: Randomness) -> int:
    """A uniform integer in 0..bound−1.

    Guarantee: *exactly* uniform, given uniform random words: a number of as many bits as ``bound − 1`` has is drawn
    until it is below the bound, which takes fewer than two attempts on average.
    Raises: ValueError when there is no such integer.
    """
    if bound < 1:
        raise ValueError(f"there is no integer in 0..{bound - 1}")
    bits = (bound - 1).bit_length()
    words = -(-bits // _WORD)
    while words:
        drawn = int.from_bytes(randomness.words(words).tobytes(), "little") >> (words * _WORD - bits)
        if drawn < bound:
            return drawn
    return 0


def fair_bits(count: int, randomness: Randomness) -> NDArray[np.bool_]:
    """Independent fair coins (count,). Guarantee: *exact*, given uniform random words."""
    words = randomness.words(-(-count // _WORD))
    return np.asarray(np.unpackbits(words.view(np.uint8))[:count] == 1)


def uniform_below(bounds: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
    """Independent uniform integers 0 ≤ u < bounds[i], of positive bounds.

    Guarantee: *exact*: words beyond the largest multiple of the bound are drawn again.
    """
    sizes = bounds.astype(np.uint64)
    words = randomness.words(len(sizes))
    # 2⁶⁴ mod n words at the top would make small remainders more likely than others.
    largest = _LARGEST_WORD - (_LARGEST_WORD % sizes + np.uint64(1)) % sizes
    again = np.flatnonzero(words > largest)
    if again.size:
        words = words.copy()
    while again.size:
        words[again] = randomness.words(len(again))
        again = again[words[again] > largest[again]]
    return (words % sizes).astype(np.int64)


def bernoulli_exp(
    numerators: NDArray[np.int64], denominators: NDArray[np.int64], randomness: Randomness
) -> NDArray[np.bool_]:
    """Independent coins that fall true with probability exp(−numerators[i]/denominators[i]).

    Args: numerators from 0, denominators from 1, both below :data:`LARGEST_DENOMINATOR`. Guarantee: *exact*.
    """
    whole, rest = np.divmod(numerators, denominators)
    result = _bernoulli_exp_below_one(rest, denominators, randomness)
    left = np.where(result, whole, 0)
    while np.any(left):
        here = np.flatnonzero(left)
        ones = np.ones(len(here), dtype=np.int64)
        survives = _bernoulli_exp_below_one(ones, ones, randomness)
        result[here] = survives
        left[here] = np.where(survives, left[here] - 1, 0)
    return result


def geometric(scale: Fraction, count: int, randomness: Randomness) -> NDArray[np.int64]:
    """``count`` independent integers k ≥ 0 with probability ∝ exp(−k/scale).

    Guarantee: *exact*. Raises: TooLarge when the scale's numerator or denominator is too long.
    """
    check_scale(scale)
    size, step = scale.numerator, scale.denominator
    remainders = np.zeros(count, dtype=np.int64)
    pending = np.arange(count)
    while pending.size:
        tried = uniform_below(np.full(len(pending), size), randomness)
        kept = bernoulli_exp(tried, np.full(len(pending), size), randomness)
        remainders[pending[kept]] = tried[kept]
        pending = pending[~kept]
    multiples = np.zeros(count, dtype=np.int64)
    going = np.arange(count)
    while going.size:
        ones = np.ones(len(going), dtype=np.int64)
        going = going[_bernoulli_exp_below_one(ones, ones, randomness)]
        multiples[going] += 1
    return (remainders + size * multiples) // step


def check_scale(scale: Fraction) -> None:
    """Refuse a geometric law's scale that is not positive or whose draws could leave int64.

    Raises: TooLarge.
    """
    if not (0 < scale.numerator < LARGEST_SCALE and scale.denominator < LARGEST_DENOMINATOR):
        raise TooLarge(
            f"the scale of a discrete law is a positive fraction with a numerator below 2^50 and a denominator below "
            f"2^62, found {scale}: round it up to fewer digits"
        )


def _bernoulli_exp_below_one(
    numerators: NDArray[np.int64], denominators: NDArray[np.int64], randomness: Randomness
) -> NDArray[np.bool_]:
    """Coins of probability exp(−γ), γ = numerator/denominator ≤ 1.

    Toss coins of probability γ/1, γ/2, γ/3, … until one falls false; the chance that it is the odd-numbered is
    1 − γ + γ²/2! − … = exp(−γ).
    """
    odd = np.ones(len(numerators), dtype=bool)
    going, turn = np.arange(len(numerators)), 1
    while going.size:
        heads = uniform_below(denominators[going], randomness) < numerators[going]
        going = going[heads]
        if turn > 1 and going.size:
            going = going[uniform_below(np.full(len(going), turn), randomness) == 0]
        turn += 1
        odd[going] = turn % 2 == 1
    return odd
