"""How often quantiles are drawn against their exact chances, from the definition.

``DXGEOM_QUANTILES``: how many draws of each law; make soak asks for a million. Sixty thousand notice a law whose rate
is off by a tenth with a chance of at least .98, and by three tenths in the cases of ``NOTICED``.
Fixed seeds; were they random, a correct sampler would fail one of the tests with a chance below 1e-8.
"""

from __future__ import annotations

import itertools
import os
from fractions import Fraction

import numpy as np
import pytest
from reference.mechanisms import LINE
from reference.quantile_lengths import chances, joint_chances
from reference.selection_law import permute_and_flip_chances
from scipy import stats

from dxgeom.mechanisms.quantiles.choice import _permute_and_flip
from dxgeom.mechanisms.quantiles.question import quantile_question
from dxgeom.mechanisms.quantiles.transport import LargestLength, TransportQuantiles
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness

FALSE_ALARM = 1e-9
BATCH = 20_000
DRAWS = int(os.environ.get("DXGEOM_QUANTILES", "60000"))
ALIKE = verify(DiscreteMetric(4, Fraction(1, 2)), title="alike", fingerprint="alike", budget=Fraction(1))
NEAR = verify(
    GraphMetric(4, np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.3, 0.0, 0.7])),
    title="near",
    fingerprint="near",
    budget=Fraction(1),
)
CASES = {
    "one on a line": (LINE, ["1/2"], "permute-and-flip"),
    "one on a line, exponentially": (LINE, ["1/2"], "exponential"),
    "several on a line": (LINE, ["1/4", "1/2", "9/10"], "permute-and-flip"),
    "several on a line, exponentially": (LINE, ["1/4", "1/2", "9/10"], "exponential"),
    "one, listed": (NEAR, ["9/10"], "permute-and-flip"),
    "several, all alike": (ALIKE, ["1/4", "9/10"], "exponential"),
    "several, listed": (NEAR, ["1/4", "1/2", "9/10"], "exponential"),
}
NOTICED = {"several, all alike": Fraction(3, 10), "several, listed": Fraction(3, 10)}
"""By how much of itself a rate is off that is noticed; by a tenth elsewhere."""
COUNTS = np.array([2, 3, 0, 2], dtype=np.int64)
SPEND = Fraction(3, 4)


def sorted_chances(mechanism, times=Fraction(1)):
    """Of each sorted answer: that of all drawn ones that sort to it, where the rate is so many times what it is."""
    rows = mechanism.lengths(COUNTS)
    together = joint_chances(rows, times * SPEND * mechanism.reach.unit / 2, mechanism.reach.adds_up, mechanism.law)
    totals = {}
    for answer, chance in together.items():
        key = tuple(sorted(answer))
        totals[key] = totals.get(key, 0.0) + float(chance)
    return totals


def pooled(expected, draws):
    """Groups of answers: one of each that is drawn at least five times in the mean, and one of all others."""
    often = sorted(key for key, chance in expected.items() if chance * draws >= 5)
    rest = [key for key in expected if key not in often]
    return [[key] for key in often] + ([rest] if rest else [])


def distance_of(groups, shares, expected):
    """The statistic of χ² for one draw."""
    pairs = ((sum(shares[key] for key in group), sum(expected[key] for key in group)) for group in groups)
    return sum((share - chance) ** 2 / chance for share, chance in pairs)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_very_many_quantiles_are_drawn_as_often_as_the_law_says(name):
    metric, at, law = CASES[name]
    mechanism = TransportQuantiles(quantile_question(metric, range(4), at), law)
    expected, randomness = sorted_chances(mechanism), InsecureSeededRandomness(29)
    shares, groups = dict.fromkeys(expected, 0.0), pooled(expected, DRAWS)
    for _ in range(DRAWS // BATCH):
        for answer in mechanism.draws(COUNTS, SPEND, BATCH, randomness):
            shares[answer.places] += 1 / DRAWS
    alarm = stats.chi2.isf(FALSE_ALARM, len(groups) - 1)
    assert DRAWS * distance_of(groups, shares, expected) < alarm
    for sign in (1, -1):
        other = sorted_chances(mechanism, 1 + sign * NOTICED.get(name, Fraction(1, 10)))
        off = DRAWS * distance_of(groups, other, expected)
        assert stats.ncx2.sf(alarm, len(groups) - 1, off) > 0.98


def test_the_law_of_the_largest_length_states_its_own_chances():
    lengths = np.array([[0, 3, -1, 5], [2, 0, 0, 9]])
    law = LargestLength.of(lengths, Fraction(1, 3))
    scores = {
        (a, b): max(lengths[0, a], lengths[1, b])
        for a, b in itertools.product(range(4), repeat=2)
        if lengths[0, a] >= 0
    }
    exact = chances({key: int(score) for key, score in scores.items()}, Fraction(1, 3))
    for row, place in itertools.product(range(2), range(4)):
        total = sum(float(chance) for key, chance in exact.items() if key[row] == place)
        assert abs(law.chances()[row, place] - total) < 1e-12


def test_float_weights_are_within_their_slack_of_the_exact_ones():
    generator = np.random.default_rng(5)
    for rate in (Fraction(1, 7), Fraction(1, 10**9), Fraction(10**9)):
        lengths = np.sort(generator.integers(0, 2**40, (5, 40)), axis=1)
        lengths[:, 0] = 0
        law = LargestLength.of(lengths, rate)
        for piece in range(0, len(law.levels), 7):
            off = abs(float(law._exact_log_weight(piece)) - law.log_weights[piece])
            assert off <= law._slacks[piece]


def test_predicted_chances_of_permute_and_flip_are_near_the_exact_ones():
    generator = np.random.default_rng(4)
    lengths = np.append(0, generator.integers(0, 12, 24))
    exact = permute_and_flip_chances([-int(one) for one in lengths], Fraction(1, 5))
    assert np.allclose(_permute_and_flip(lengths / 5), [float(chance) for chance in exact], rtol=1e-5, atol=1e-12)
    many = np.append(0.0, generator.random(4000) * 30)
    assert abs(_permute_and_flip(many).sum() - 1) < 1e-12
