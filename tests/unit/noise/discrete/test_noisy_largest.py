from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from reference.selection_law import CHANCES

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.noise.noisy_maximum import (
    _NOISE,
    SelectionLaw,
    _exponential_bounds,
    _gumbel_bounds,
    largest,
    noisy_largest,
)
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness

LAWS = sorted(CHANCES)


class Scripted(Randomness):
    """Hands out the words it was given, in order."""

    def __init__(self, *batches):
        self.batches = [np.array(batch, dtype=np.uint64) for batch in batches]

    def words(self, count):
        batch = self.batches.pop(0)
        assert len(batch) == count
        return batch


@pytest.mark.parametrize("law", LAWS)
def test_float_bounds_contain_the_noise_of_every_uniform_a_word_allows(law):
    words = np.array(
        [0, 1, 2**40, 2**46 - 1, 2**46, 2**50 + 12345, 2**63, 2**63 + 2**62, 2**64 - 2**46, 2**64 - 2**45, 2**64 - 1],
        dtype=np.uint64,
    )
    more = InsecureSeededRandomness(3).words(2000)
    every = np.concatenate([words, more])
    bounds, exact = _NOISE[law]
    low, high = bounds(every)
    for word, below, above in zip(every.tolist(), low, high, strict=True):
        for end in (Fraction(word, 2**64), Fraction(word + 1, 2**64)):
            if 0 < end < 1:
                with ctx.workprec(256):
                    value = exact(arb(fmpq(end.numerator, end.denominator)))
                assert below == -np.inf or value > arb(below)
                assert above == np.inf or value < arb(above)


def test_float_bounds_are_tight_for_almost_all_words():
    words = InsecureSeededRandomness(4).words(10000)
    for bounds in (_exponential_bounds, _gumbel_bounds):
        low, high = bounds(words)
        assert np.mean(high - low < 2.0**-29) > 0.999


@pytest.mark.parametrize("law", LAWS)
def test_a_tie_of_all_bits_read_is_broken_by_further_bits(law):
    """Equal words decide nothing; the refined words of the second and third batch do."""
    word, scores = 2**63 + 77, np.zeros(2, dtype=np.int64)
    winners = {
        noisy_largest(scores, Fraction(1), law, Scripted([word, word], [first], [second]))
        for first, second in ((5, 9), (9, 5))
    }
    assert winners == {0, 1}
    again = Scripted([word, word], [5], [5], [1], [2**60])
    assert noisy_largest(scores, Fraction(1), law, again) in (0, 1)
    assert not again.batches


@pytest.mark.parametrize("law", LAWS)
def test_the_winner_is_that_of_exact_arithmetic(law):
    generator = np.random.default_rng(5)
    for seed in range(60):
        scores = generator.integers(-(10**12), 10**12, 6)
        rate = Fraction(int(generator.integers(1, 10**6)), 10**17)
        words = InsecureSeededRandomness(seed).words(6)
        noise = [_NOISE[law][1](arb(fmpq(2 * int(word) + 1, 2**65))) for word in words]
        worths = [
            arb(fmpq(int(score))) * arb(fmpq(rate.numerator, rate.denominator)) + one
            for score, one in zip(scores, noise, strict=True)
        ]
        best = max(range(6), key=lambda r, worths=worths: float(worths[r].mid()))
        assert noisy_largest(scores, rate, law, InsecureSeededRandomness(seed)) == best


@pytest.mark.parametrize("law", LAWS)
def test_scores_at_the_edge_of_64_bits_are_compared_exactly(law):
    top = 2**62 - 1
    scores = np.array([-top, top, top - 1], dtype=np.int64)
    assert {noisy_largest(scores, Fraction(100), law, InsecureSeededRandomness(s)) for s in range(20)} == {1}
    assert {noisy_largest(scores, Fraction(10**199), law, InsecureSeededRandomness(s)) for s in range(20)} == {1}
    even = {noisy_largest(scores, Fraction(1, 10**199), law, InsecureSeededRandomness(s)) for s in range(40)}
    assert even == {0, 1, 2}


def test_without_noise_the_best_is_picked_and_ties_are_even():
    scores = np.array([3, 7, 7, 1], dtype=np.int64)
    picked = [largest(scores, InsecureSeededRandomness(seed)) for seed in range(40)]
    assert set(picked) == {1, 2}


def test_what_cannot_be_drawn_exactly_is_refused():
    randomness = InsecureSeededRandomness(0)
    fine = np.zeros(3, dtype=np.int64)
    law: SelectionLaw = "exponential"
    for scores in (np.zeros(0, dtype=np.int64), np.zeros(3), np.zeros((2, 2), dtype=np.int64)):
        with pytest.raises(UnsupportedCombination):
            noisy_largest(scores, Fraction(1), law, randomness)
    with pytest.raises(UnsupportedCombination, match="no law"):
        noisy_largest(fine, Fraction(1), "softmax", randomness)
    with pytest.raises(TooLarge):
        noisy_largest(fine + 2**62, Fraction(1), law, randomness)
    for rate in (Fraction(0), Fraction(1, 10**201), Fraction(10**201), Fraction(-1)):
        with pytest.raises(TooLarge):
            noisy_largest(fine, rate, law, randomness)
