from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness, uniform_integer


class Words(Randomness):
    """Hands out given words in order."""

    def __init__(self, *words):
        self.left = list(words)

    def words(self, count):
        taken, self.left = self.left[:count], self.left[count:]
        return np.array(taken, dtype=np.uint64)


@given(st.integers(1, 2**200), st.integers(0, 2**32))
def test_it_is_below_its_bound(bound, seed):
    assert 0 <= uniform_integer(bound, InsecureSeededRandomness(seed)) < bound


def test_every_integer_comes_from_equally_many_words():
    """Of the eight values of the top three bits, five are taken as they are and three are drawn again."""
    first = [uniform_integer(5, Words(top << 61, 0)) for top in range(8)]
    assert first == [0, 1, 2, 3, 4, 0, 0, 0]
    source = Words(7 << 61, 6 << 61, 3 << 61)
    assert uniform_integer(5, source) == 3
    assert source.left == []


def test_one_possible_value_needs_no_bits():
    assert uniform_integer(1, Words()) == 0


def test_a_power_of_two_never_draws_again():
    source = Words(2**64 - 1, 2**64 - 1)
    assert uniform_integer(2**128, source) == 2**128 - 1


def test_draws_are_uniform():
    """A correct source fails with a chance of 1e-8."""
    randomness = InsecureSeededRandomness(21)
    counts = np.bincount([uniform_integer(7, randomness) for _ in range(70_000)], minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-8


def test_without_a_value_below_the_bound_it_is_refused():
    with pytest.raises(ValueError, match="no integer"):
        uniform_integer(0, Words())
