"""Integer-only coins and geometric numbers.

Seeds are fixed; with random seeds a correct implementation would fail a statistical test here with a chance of 1e-8.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dxgeom.errors import TooLarge
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness, bernoulli_exp, geometric, uniform_below

FALSE_ALARM = 1e-8
DRAWS = 400_000


class ScriptedRandomness(Randomness):
    def __init__(self, words):
        self._words = list(words)

    def words(self, count):
        handed, self._words = self._words[:count], self._words[count:]
        return np.array(handed, dtype=np.uint64)


def test_words_beyond_the_largest_multiple_are_drawn_again():
    """2⁶⁴ = 5·3689348814741910323 + 1: only the very last word is left over."""
    last = 2**64 - 1
    drawn = uniform_below(np.array([5, 5, 4]), ScriptedRandomness([last, last - 1, last, last, 7]))
    assert drawn.tolist() == [7 % 5, (last - 1) % 5, 3]


def test_every_word_is_used_for_a_power_of_two():
    assert uniform_below(np.array([2**62, 1]), ScriptedRandomness([2**64 - 1, 2**64 - 1])).tolist() == [2**62 - 1, 0]


def test_a_bound_that_words_do_not_divide_into_leaves_no_bias():
    """Below 3·2⁶¹, reduction alone would give the lower two thirds three words in eight each, not one in three."""
    bound = 3 * 2**61
    drawn = uniform_below(np.full(DRAWS, bound), InsecureSeededRandomness(1))
    counts = np.bincount(drawn // 2**61, minlength=3)
    assert drawn.min() >= 0
    assert counts.sum() == DRAWS
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(7, 2)])
def test_coins_fall_with_probability_exp_of_minus_a_rational(exponent):
    size = np.full(DRAWS, 1)
    heads = bernoulli_exp(size * exponent.numerator, size * exponent.denominator, InsecureSeededRandomness(2)).sum()
    assert stats.binomtest(int(heads), DRAWS, np.exp(-float(exponent))).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(40)])
def test_geometric_numbers_have_their_exact_frequencies(scale):
    drawn = geometric(scale, DRAWS, InsecureSeededRandomness(3))
    cells = min(int(8 * scale) + 2, 200)
    ratio = np.exp(-1 / float(scale))
    expected = DRAWS * (1 - ratio) * ratio ** np.arange(cells)
    large = expected >= 10
    observed = np.bincount(np.minimum(drawn, cells), minlength=cells + 1)[:cells][large]
    rest = DRAWS - np.array([observed.sum(), expected[large].sum()])
    assert stats.chisquare([*observed, rest[0]], [*expected[large], rest[1]]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**50), Fraction(1, 2**62)])
def test_scales_that_integers_cannot_hold_are_refused(scale):
    with pytest.raises(TooLarge, match="scale"):
        geometric(scale, 1, InsecureSeededRandomness(4))
