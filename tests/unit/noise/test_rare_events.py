"""Rare events among very many numbers of noise have the law of all of them, of which the others are thrown away."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.rare_events import RareLaplace, RareNormal, _floors
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness


class Words(Randomness):
    """Words that a test chooses, then those of a seed; how many were read after them."""

    def __init__(self, words, seed=0):
        self.left, self.rest, self.more = list(words), InsecureSeededRandomness(seed), 0

    def words(self, count):
        own, self.left = self.left[:count], self.left[count:]
        self.more += count - len(own)
        return np.array([*own, *self.rest.words(count - len(own)).tolist()], dtype=np.uint64)


def tail(kind, scale, factor, threshold):
    """P(round(V) ≥ θ), in float64."""
    edge = (threshold - 0.5) / (scale * float(factor))
    return math.exp(-edge) / 2 if kind is RareLaplace else math.erfc(edge / math.sqrt(2)) / 2


@pytest.mark.parametrize("kind", [RareLaplace, RareNormal])
@pytest.mark.parametrize(("scale", "factor", "threshold"), [(2.0, Fraction(1), 7), (1.5, Fraction(20, 3), 4)])
def test_chances_are_those_of_the_law(kind, scale, factor, threshold):
    event = kind(scale, factor, threshold)
    assert float(event.chance) == pytest.approx(tail(kind, scale, factor, threshold), rel=1e-12)
    assert float(event.chance.rad()) < 1e-30
    for chance in (0.5, 0.05, 1e-7):
        beyond = event.beyond(chance)
        found = 2 * tail(kind, scale, factor, beyond + 0.5)
        assert found <= chance * (1 + 1e-9)
        assert found >= chance * (1 - 1e-9)


@pytest.mark.parametrize("kind", [RareLaplace, RareNormal])
def test_positions_rise_and_values_reach_the_threshold(kind):
    event = kind(3.0, Fraction(1), 5)
    hits = event.among(20_000, InsecureSeededRandomness(3))
    assert np.all(np.diff(hits.positions) > 0)
    assert hits.positions[0] >= 0
    assert hits.positions[-1] < 20_000
    assert hits.values.min() == 5
    assert len(event.among(1, InsecureSeededRandomness(3)).positions) <= 1


def test_the_first_position_can_be_met():
    """From 0 the first key could never be met without a record, and would prove one."""
    event = RareLaplace(10.0, Fraction(1), 1)
    met = sum(0 in event.among(3, InsecureSeededRandomness(seed)).positions for seed in range(300))
    # A share of .476 of 300, with a deviation of 8.7; of 300 fair ones less than 90 has a chance below 1e-9.
    assert 90 < met < 200


@pytest.mark.parametrize(("offset", "gaps", "more"), [(-1, {3}, 0), (0, {2, 3}, 1), (1, {2}, 0)])
def test_what_float64_cannot_tell_is_told_by_balls_and_further_bits(offset, gaps, more):
    """The word whose 64 bits leave open whether E is below three times λ, and its neighbours, whose bits do not."""
    event = RareLaplace(2.0, Fraction(1), 3)
    with ctx.workprec(300):
        word = int(((3 * (-event._chance()).log1p()).exp() * 2**64).floor().unique_fmpz()) + offset
    randomness = Words([word])
    assert event._gaps(1, 10**6, randomness)[0] in gaps
    assert min(randomness.more, 1) == more


def test_a_word_of_zero_is_refined():
    randomness = Words([0])
    found = _floors(randomness.words(1), 1.0, lambda one: one, None, randomness)
    assert found[0] >= 44
    assert randomness.more >= 1


def test_gaps_beyond_all_positions_need_not_be_exact():
    event = RareLaplace(1.0, Fraction(1), 2000)
    assert event._gaps(5, 10**12, InsecureSeededRandomness(1)).tolist() == [10**12] * 5
    assert len(event.among(10**12 - 1, InsecureSeededRandomness(1)).positions) == 0


def exact_values(kind, scale, threshold, most):
    """P(round(V) = z | round(V) ≥ θ) for z = θ, …, most − 1, and of all from there on, by the difference of tails."""
    tails = np.array([tail(kind, scale, 1, z) for z in range(threshold, most + 1)])
    return np.append(tails[:-1] - tails[1:], tails[-1]) / tails[0]


def chi_square(found, expected):
    return float(((found - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("kind", [RareLaplace, RareNormal])
@pytest.mark.parametrize(("scale", "threshold"), [(2.0, 3), (6.0, 2), (40.0, 30)])
def test_values_have_the_law_given_the_threshold(kind, scale, threshold):
    """χ² over ten values and what lies beyond: below 42.3 but for a chance of 1e-5 for 10 degrees, 6 times."""
    event, count, most = kind(scale, Fraction(1), threshold), 40_000, threshold + 10
    values = event._values(count, InsecureSeededRandomness(11))
    law = exact_values(kind, scale, threshold, most)
    counts = np.bincount(np.minimum(values, most) - threshold, minlength=len(law))
    assert chi_square(counts, law * count) < 42.3


@pytest.mark.long
@pytest.mark.parametrize("kind", [RareLaplace, RareNormal])
def test_sets_of_positions_are_those_of_independent_events(kind):
    """All 8 sets of 3 positions, 30,000 times: χ² with 7 degrees is below 37 but for a chance of 5e-6."""
    event = kind(3.0, Fraction(1), 2)
    chance, randomness, found = float(event.chance), InsecureSeededRandomness(5), np.zeros(8)
    for _ in range(30_000 // 30):
        # 30 runs as one of 90 positions: events at different positions are independent.
        there = np.zeros(90, dtype=np.int64)
        there[event.among(90, randomness).positions] = 1
        found += np.bincount(there.reshape(30, 3) @ [1, 2, 4], minlength=8)
    sizes = np.array([bin(one).count("1") for one in range(8)])
    assert chi_square(found, 30_000 * chance**sizes * (1 - chance) ** (3 - sizes)) < 37


@pytest.mark.parametrize("kind", [RareLaplace, RareNormal])
def test_the_law_is_that_of_noise_on_every_position(kind):
    """Beside the same number of draws of the dense law: numbers and means within 5 deviations; 6e-7 each."""
    law = LaplaceNoise(np.array([2.5])) if kind is RareLaplace else GaussianNoise(Ellipsoid(np.array([[2.5]])))
    event, count = kind(2.5, Fraction(1), 4), 400_000
    dense = law.draw(count, InsecureSeededRandomness(1))[:, 0]
    dense = dense[dense >= 4]
    hits = event.among(count, InsecureSeededRandomness(2))
    assert abs(len(dense) - len(hits.positions)) < 5 * math.sqrt(2 * len(dense))
    spread = dense.std() * math.sqrt(2 / len(dense))
    assert abs(dense.mean() - hits.values.mean()) < 5 * spread
