"""Normal noise with jumps, read by somebody who wants its proof, its draws or its numbers to be wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpmath import e as euler
from mpmath import mp, mpf
from scipy.signal import lfilter

from dxgeom.errors import CertificateRefused
from dxgeom.geometry.round_bodies import Ellipsoid, lengths_rounded_up
from dxgeom.mechanisms.linear.containment import largest_load
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.jump_shifts import JumpShifts
from dxgeom.noise.jumps import LARGEST_REACH, LEAST_REACH, GaussianWithJumps, float_rates, rates_of_reaches
from dxgeom.numeric.randomness import InsecureSeededRandomness

STEPS = np.array([[30, 0], [0, 20], [30, -20], [10, 10], [60, 0]])
DISTANCES = np.array([1.0, 1.0, 1.25, 0.875, 2.5])


def law_of(axes, steps=STEPS, distances=DISTANCES):
    return GaussianWithJumps.around(GaussianNoise(Ellipsoid(np.array(axes, dtype=float))), listed(steps, distances))


def listed(steps, distances):
    return JumpShifts.listed(np.asarray(steps), np.asarray(distances, dtype=float))


def characteristic(law, turns):
    """E cos(u·round(V)) at each of ``turns`` (n, m) below ½: that of V, times that of a uniform step in each place.
    What aliases from beyond is e^(−σ²) of a variance in the hundreds."""
    normal = np.exp(-np.einsum("nk,kl,nl->n", turns, law.gaussian.second_moment, turns) / 2)
    along = turns @ (law.shifts.steps(slice(None)) / law.shifts.distances[:, None]).T
    reaches = law.reaches / 16
    rates = np.array([int(rates_of_reaches()[reach]) for reach in law.reaches]) / 2.0**64
    jumping = (rates * np.cos(reaches * along) / (1 + along**2)).sum(axis=1)
    return normal * (1 - rates.sum()) / (1 - jumping) * np.sinc(turns / (2 * np.pi)).prod(axis=1)


def worst_deviation(law, draws, seed):
    """Of means of 60 cosines, in standard deviations (those of independent bounded numbers)."""
    generator = np.random.default_rng(seed)
    sizes = np.sqrt(np.diag(law.second_moment))
    turns = generator.standard_normal((60, law.dimension)) / sizes * generator.uniform(0.1, 2.5, (60, 1))
    stated, doubled = characteristic(law, turns), characteristic(law, 2 * turns)
    seen = np.array([np.cos(draws @ turn).mean() for turn in turns])
    return float((np.abs(seen - stated) / np.sqrt(((1 + doubled) / 2 - stated**2) / len(draws))).max())


@pytest.mark.parametrize("axes", [[[50.0, 0.0], [-12.0, 45.0]], [[65.0, 0.0], [0.0, 80.0]]])
def test_draws_have_the_characteristic_function_of_the_law(axes):
    """60 means of 200,000 draws, six standard deviations: below 1.2e-7 of all seeds."""
    law = law_of(axes)
    draws = law.draw(200_000, InsecureSeededRandomness(11), Fraction(1))
    assert worst_deviation(law, draws, 3) < 6
    # A law with jumps a fifth more often than this one is told from it.
    other = law_of(np.array(axes) * 0.97)
    assert worst_deviation(other, draws, 3) > 8


@pytest.mark.long
def test_noise_of_a_small_spend_is_the_same_noise_stretched():
    """A spend of 3/7 is no power of two; as above."""
    law = law_of([[50.0, 0.0], [-12.0, 45.0]])
    stretched = law_of([[50.0 * 7 / 3, 0.0], [-12.0 * 7 / 3, 45.0 * 7 / 3]], STEPS * 7, DISTANCES * 3)
    assert np.array_equal(law.reaches, stretched.reaches)
    draws = law.draw(500_000, InsecureSeededRandomness(12), 1 / Fraction(3, 7))
    assert worst_deviation(stretched, draws, 4) < 6


@pytest.mark.long
@pytest.mark.parametrize("place", range(5))
def test_no_set_of_a_million_draws_tells_a_difference_apart(place):
    """Bins along the shift, and halves: counts c of V and c′ of V + Δ have c ≤ e^d·c′ up to six standard deviations,
    for some 800 pairs of counts; below 2e-6·1e-3 of all seeds."""
    law = law_of([[46.0, 0.0], [-12.0, 41.0]])
    moved = STEPS[place]
    draws = [law.draw(1_000_000, InsecureSeededRandomness(seed), Fraction(1)) for seed in (21, 22)]
    along = np.linalg.solve(law.gaussian.second_moment, moved / DISTANCES[place])
    values = [draws[0] @ along, (draws[1] + moved) @ along]
    ends = np.linspace(-40, 40, 401)
    counts = [np.histogram(one, ends)[0].astype(float) for one in values]
    for here, there in (counts, counts[::-1]):
        for tail in (lambda c: c, np.cumsum, lambda c: np.cumsum(c[::-1])):
            one, other = tail(here), tail(there)
            most = np.exp(DISTANCES[place])
            assert np.all(one - most * other <= 6 * np.sqrt(one + most**2 * other + 1))


def slopes(lengths, reaches, rates, variance, size):
    """(E,): max |log f(v + 1) − log f(v)|·n_e on whole numbers, f made by sums of positive numbers only, so that the
    farthest tails are as exact as the middle; x_e = ``lengths`` n_e steps, s_e²·n_e whole."""
    places = np.arange(-size, size + 1)
    term = np.exp(-(places**2) / (2 * variance))
    found = term.copy()
    while term.max() > 1e-6 * found.max() or term[0] > 1e-6 * found[0]:
        following = np.zeros_like(term)
        for length, reach, rate in zip(lengths, reaches, rates, strict=True):
            share, far = np.exp(-1 / length), round(reach * length)
            both = lfilter([1], [1, -share], term) + lfilter([1], [1, -share], term[::-1])[::-1] - term
            spread = both * (1 - share) / (1 + share) * rate / 2
            following[far:] += spread[:-far]
            following[:-far] += spread[far:]
        term = following
        found += term
    inner = found[size // 2 : -(size // 2)]
    return np.abs(np.diff(np.log(inner))).max() * np.asarray(lengths)


@pytest.mark.parametrize("seed", range(6))
def test_odds_are_bounded_in_the_farthest_tails(seed):
    """Parallel shifts of several lengths, some with less reach than they have, rates as needed or far above them."""
    generator = np.random.default_rng(seed)
    lengths = np.sort(generator.choice(np.arange(25, 90), int(generator.integers(1, 4)), replace=False))
    variance = float(lengths.max() ** 2 * generator.uniform(2.05, 5))
    have = np.minimum(variance / lengths**2, 40)
    reaches = np.where(generator.random(len(have)) < 0.4, generator.uniform(2.05, have), have)
    reaches = np.floor(reaches * lengths) / lengths
    rates = float_rates(reaches)
    if seed % 2:
        rates = rates * (0.85 / rates.sum())
    assert slopes(lengths, reaches, rates, variance, 6000).max() <= 1 + 1e-3


def test_fewer_jumps_than_stated_would_be_seen_there():
    """The rate of the proof is some 6 % above what this shift needs; half of it does not suffice."""
    assert slopes([60], [8.0], float_rates(np.array([8.0])), 60**2 * 8.0, 6000) <= 1 + 1e-3
    assert slopes([60], [8.0], float_rates(np.array([8.0])) * 0.5, 60**2 * 8.0, 6000) > 1.05


def test_every_rate_is_the_least_whole_number_above_the_formula():
    rates = rates_of_reaches()
    with mp.workdps(60):
        for reach in range(LEAST_REACH, LARGEST_REACH + 1):
            s = mpf(reach) / 16
            exact = 2 * mp.exp(-s / 2) * ((1 + 1 / s) / (euler * s) + 4 / (euler * s) ** 2) * 2**64
            assert exact <= int(rates[reach]) < exact + 1
    assert not rates[:LEAST_REACH].any()


def test_a_law_hides_equal_differences_up_to_the_nearest():
    steps, distances = np.array([[30, 0], [30, 0], [-30, 0], [0, 20]]), np.array([2.0, 1.0, 1.5, 1.0])
    law = law_of([[90.0, 0.0], [0.0, 60.0]], steps, distances)
    assert largest_load(law, steps, np.array([1.0, 1.0, 1.0, 1.0])) <= 1


def test_widths_along_a_short_axis_are_not_lost_in_rounding():
    """Σ has axes of 1e9 and of 3: what is left of aᵀΣa after cancellation is nothing, but |a·axes| = 3."""
    law = law_of([[1e9, 3.0], [1e9, 0.0]], np.array([[10**7, 10**7]]), np.array([1.0]))
    assert law.widths_along(np.array([[1.0, -1.0]]), 0.05)[0] >= 3 * 1.95


def test_a_law_that_jumps_nearly_always_is_refused_or_has_finite_numbers():
    """Six shifts with a rate just below 1."""
    turned = np.arange(6) * np.pi / 6
    steps = np.round(1000 * np.stack([np.cos(turned), np.sin(turned)], axis=1)).astype(int)
    low, high = 1000.0, 4000.0
    for _ in range(60):
        middle = (low + high) / 2
        try:
            law_of(np.eye(2) * middle, steps, np.ones(6))
        except CertificateRefused:
            low = middle
        else:
            high = middle
    law = law_of(np.eye(2) * high, steps, np.ones(6))
    assert law.rate < 1
    assert np.isfinite(law.amplitude)
    assert np.all(np.isfinite(law.widths_along(np.eye(2), 0.05)))


@pytest.mark.parametrize("size", [1e-140, 1e-160, 1e-170, 1e-300])
def test_lengths_are_rounded_up_where_their_squares_vanish(size):
    assert lengths_rounded_up(np.array([[size, size]]), np.zeros((1, 2)))[0] >= size * 1.414
