"""Noise in layers on the integers, against the layers counted one by one.

Seeds are fixed. With random seeds a correct law would fail a statistical test with a chance below 1e-6.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

from dxgeom.errors import DxgeomError, TooLarge
from dxgeom.noise.layered_line import staircase_mean_absolute
from dxgeom.noise.layers import (
    IntegerRuns,
    LayeredIntegerNoise,
    computable_coins,
    runs_of,
    staircase_mean_absolute_on_integers,
    staircase_noise,
)
from dxgeom.numeric.randomness import InsecureSeededRandomness, SystemRandomness

REACH = 60
LAWS = {
    "two-sided geometric": ([(1, 1)], 0, "1/2"),
    "staircase": ([(1, 7)], 2, "3/2"),
    "near or far": ([(1, 2), (20, 22)], 3, "2"),
    "gaps that stay": ([(3, 3), (5, 5)], 0, "1"),
    "every other": ([(2, 2)], 0, "1"),
    "apart": ([(10, 10)], 1, "1"),
}


def law_of(name):
    runs, width, epsilon = LAWS[name]
    return LayeredIntegerNoise(runs_of(runs), width, Fraction(epsilon))


def layers_by_hand(name, reach):
    """The layer of each integer that so many sums of differences reach, one integer at a time."""
    runs, width, _ = LAWS[name]
    step = {d for low, high in runs for d in range(low, high + 1)}
    step |= {-d for d in step} | {0}
    ball, layers, number = set(range(-width, width + 1)), {}, 0
    while number <= 40:
        for place in ball:
            layers.setdefault(place, number)
        ball = {place + d for place in ball for d in step if abs(place + d) <= 3 * reach}
        number += 1
    return {place: layer for place, layer in layers.items() if abs(place) <= reach}


@pytest.fixture(params=LAWS)
def name(request):
    return request.param


def test_the_chance_of_an_integer_falls_by_epsilon_with_each_layer_counted_by_hand(name):
    law, layers = law_of(name), layers_by_hand(name, REACH)
    centre = law.probability(0)
    for place, layer in layers.items():
        assert law.layer(place) == layer
        assert law.probability(place).overlaps(centre * (-arb(layer) * arb(str(float(law.epsilon)))).exp())


def test_chances_sum_to_one_with_the_stated_moments_and_radius(name):
    law = law_of(name)
    chances = {place: float(law.probability(place)) for place in layers_by_hand(name, 120)}
    assert sum(chances.values()) == pytest.approx(1, abs=1e-4)
    assert sum(abs(z) * p for z, p in chances.items()) == pytest.approx(law.mean_absolute, rel=0.02)
    assert sum(z * z * p for z, p in chances.items()) == pytest.approx(law.mean_square, rel=0.05)
    for level in (0.5, 0.9):
        assert sum(p for z, p in chances.items() if abs(z) <= law.radius(level)) >= level - 1e-4


def test_odds_between_shifted_answers_stay_within_the_steps_of_the_shift_and_reach_them(name):
    """In whole layers: the exponent is an exact number."""
    law, layers = law_of(name), layers_by_hand(name, REACH)
    for shift in range(25):
        pairs = [(z, z + shift) for z in layers if z + shift in layers]
        if not pairs or (name in ("every other", "apart") and shift % LAWS[name][0][0][0]):
            continue  # no sum of differences is as far
        worst, allowed = max(abs(layers[z] - layers[y]) for z, y in pairs), law.steps(shift)
        assert worst <= allowed
        if name in ("staircase", "two-sided geometric"):
            assert worst == allowed


def test_draws_follow_the_chances(name):
    law, count = law_of(name), 40_000
    drawn = law.draw(count, InsecureSeededRandomness(7))
    places = sorted(layers_by_hand(name, REACH))
    expected = count * np.array([float(law.probability(place)) for place in places])
    observed = np.array([np.count_nonzero(drawn == place) for place in places])
    large = expected >= 10
    rest = count - np.array([observed[large].sum(), expected[large].sum()])
    statistic = np.sum((observed[large] - expected[large]) ** 2 / expected[large])
    statistic += np.diff(rest)[0] ** 2 / max(rest[1], 1)
    assert stats.chi2.sf(statistic, large.sum()) > 1e-7
    assert np.all(np.isin(drawn[np.abs(drawn) <= REACH], places))


@pytest.mark.parametrize("epsilon", ["1/5", "1", "6"])
@pytest.mark.parametrize("sensitivity", [1, 2, 9, 40])
def test_the_first_step_of_a_staircase_is_the_best_there_is(sensitivity, epsilon):
    steps = runs_of([(1, sensitivity)])
    each = [LayeredIntegerNoise(steps, width, Fraction(epsilon)).mean_absolute for width in range(sensitivity)]
    noise = staircase_noise(sensitivity, Fraction(epsilon))
    assert noise.mean_absolute == pytest.approx(min(each), rel=1e-12)
    assert staircase_mean_absolute_on_integers(sensitivity, float(Fraction(epsilon))) == pytest.approx(min(each))


def test_on_a_fine_lattice_a_staircase_errs_as_little_as_any_noise_can():
    """Geng and Viswanath's optimum for real answers, to a thousandth of the sensitivity."""
    for epsilon in (1, 3, 5):
        noise = staircase_noise(1001, Fraction(epsilon))
        assert noise.mean_absolute == pytest.approx(staircase_mean_absolute(1001, epsilon), rel=1e-3)
        assert (noise.width + 1) / 1001 == pytest.approx(1 / (1 + math.exp(epsilon / 2)), abs=2e-3)


def test_a_two_sided_geometric_law_has_its_known_moments():
    ratio = math.exp(-0.5)
    law = law_of("two-sided geometric")
    assert law.mean_square == pytest.approx(2 * ratio / (1 - ratio) ** 2)
    assert law.mean_absolute == pytest.approx(2 * ratio / (1 - ratio**2))


def test_runs_add_up_like_sets():
    one, other = runs_of([(0, 2), (3, 4), (9, 9)]), runs_of([(-1, -1), (5, 8)])
    assert one.runs == ((0, 4), (9, 9))
    summed = {a + b for a in (0, 1, 2, 3, 4, 9) for b in (-1, 5, 6, 7, 8)}
    assert [z for z in range(-5, 25) if z in one + other] == sorted(summed)
    assert (one + other).count == len(summed)
    for power in range(3):
        assert (one + other).power_sum(power) == sum(abs(z) ** power for z in summed)
    with pytest.raises(DxgeomError, match="apart and in order"):
        IntegerRuns(((0, 1), (2, 3)))


def test_coins_fall_by_chances_that_are_no_fractions():
    fallen = computable_coins(lambda: (-arb(1)).exp(), 200_000, InsecureSeededRandomness(3)).sum()
    assert abs(fallen - 200_000 * math.exp(-1)) < 6 * math.sqrt(200_000 * 0.24)
    assert not computable_coins(lambda: arb(0), 10, SystemRandomness()).any()
    assert computable_coins(lambda: arb(1), 10, SystemRandomness()).all()


def test_what_is_no_such_noise_is_refused():
    with pytest.raises(DxgeomError, match="positive differences"):
        LayeredIntegerNoise(runs_of([(0, 1)]), 0, Fraction(1))
    with pytest.raises(DxgeomError, match="sensitivity"):
        staircase_noise(0, Fraction(1))
    with pytest.raises(TooLarge, match="2\\*\\*40"):
        staircase_noise(2**41, Fraction(1))
