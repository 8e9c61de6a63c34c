"""What mechanisms promise under concentrated privacy: audited from outside, by hockey sticks at several ε.

Each audit fails a correct mechanism with a chance of at most 1e-9.
``DXGEOM_OF_THE_PAIR``: how many draws of either data of the worst pair; make soak asks for a million.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta

import dxgeom as dx
from dxgeom import privacy
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.verification import verify
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.rejection import RejectionNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.candidates import Kind, names

SIZE, RATE = 4, Fraction(3, 4)
ROWS = np.array([[1, 0, 0, 0], [0, 1, 2, 3], [0, 0, 1, 1]])
COUNTS = np.array([3, 1, 4, 2])
ERROR = 1e-9
OF_THE_PAIR = int(os.environ.get("DXGEOM_OF_THE_PAIR", "250000"))
EPSILONS = (0.0, 0.3, 1.0, 2.0)


def line(word="concentrated"):
    lengths = tuple(map(Fraction, range(SIZE)))
    return verify(LineMetric(lengths, RATE), title="line", fingerprint=word, budget=Fraction(1), privacy=word)


def queries(rows=ROWS):
    return dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(rows))], np.array(rows))


def planned(mechanism="gaussian", **options):
    return dx.plan(line(), queries(), mechanism=mechanism, **options)


def moved(counts, i, j):
    after = counts.copy()
    after[i] -= 1
    after[j] += 1
    return after


def seen(mechanism, answers, here, there):
    """The answers as one number each: along the direction in which Gaussian noise tells the two tables apart best."""
    lattice = mechanism.sensitivity.queries
    steps = np.array(answers, dtype=np.float64) / lattice.float_steps
    shift = np.subtract(*(np.array(lattice.integer_answers(one), dtype=float) for one in (here, there)))
    covariance = mechanism.float_mixing @ mechanism.law.second_moment @ mechanism.float_mixing.T
    covariance = covariance / np.outer(lattice.float_steps, lattice.float_steps)
    return steps @ (np.linalg.pinv(covariance) @ shift)


def hockey_stick(one, other, epsilon):
    """A lower bound of sup_t P[one > t] − e^ε·P[other > t]: t chosen on half of each sample, told by the other half."""
    (first, second), (first_left, second_left) = zip(*(np.array_split(part, 2) for part in (one, other)), strict=True)
    places = np.quantile(np.concatenate([first, second]), np.linspace(0.001, 0.999, 400))
    gains = [(first > t).mean() - np.exp(epsilon) * (second > t).mean() for t in places]
    threshold, count = places[int(np.argmax(gains))], len(first_left)
    hits, misses = int((first_left > threshold).sum()), int((second_left > threshold).sum())
    low = beta.ppf(ERROR / 20, hits, count - hits + 1) if hits else 0.0
    high = beta.ppf(1 - ERROR / 20, misses + 1, count - misses) if misses < count else 1.0
    return low - np.exp(epsilon) * high


def audited(mechanism, spend, draws, factor=1):
    """What an audit finds, and what the spend allows, for each other table and ε."""
    drawn = mechanism.draws(COUNTS, spend * factor, draws, InsecureSeededRandomness(1))
    for j in (1, 2, 3):
        other = moved(COUNTS, 0, j)
        there = mechanism.draws(other, spend * factor, draws, InsecureSeededRandomness(1 + j))
        views = [seen(mechanism, sample, COUNTS, other) for sample in (drawn, there)]
        distance = float(spend * RATE * j)
        for epsilon in EPSILONS:
            for one, two in (views, [-view for view in views[::-1]]):
                yield hockey_stick(one, two, epsilon), distance, epsilon


@pytest.mark.parametrize("name", names(Kind.SHAPE, Kind.PURE, Kind.CONCENTRATED, Kind.ORDINARY))
def test_no_audit_finds_more_than_any_concentrated_mechanism_may_tell(name):
    for found, distance, epsilon in audited(planned(name).mechanism, Fraction(1), 4000):
        assert found <= privacy.concentrated_delta(epsilon, distance)


@pytest.mark.long
def test_gaussian_noise_tells_no_more_than_its_exact_curve():
    for found, distance, epsilon in audited(planned().mechanism, Fraction(1), 20_000):
        assert found <= privacy.gaussian_delta(epsilon, distance)


def test_an_audit_would_notice_twice_the_loss():
    found = list(audited(planned().mechanism, Fraction(1), 20_000, factor=2))
    assert any(loss > privacy.gaussian_delta(epsilon, distance) for loss, distance, epsilon in found)


@pytest.mark.long
def test_many_draws_of_the_worst_pair_come_near_the_curve_and_not_above():
    """The pair whose distance the noise uses up: hockey sticks at several ε, and at ε = 0 as near as the draws tell.

    The chance of failing a correct mechanism is the same for any number of draws. A quarter of a million find all
    but .04 of the δ that the curve states, a million all but .02.
    """
    mechanism, draws = planned().mechanism, OF_THE_PAIR
    pairs = [(i, j) for i in range(SIZE) for j in range(i)]
    shifts = np.array([ROWS[:, i] - ROWS[:, j] for i, j in pairs], dtype=float)
    covariance = mechanism.float_mixing @ mechanism.law.second_moment @ mechanism.float_mixing.T
    lengths = np.sqrt(np.einsum("ek,kl,el->e", shifts, np.linalg.inv(covariance), shifts))
    shares = lengths / (float(RATE) * np.array([i - j for i, j in pairs]))
    (i, j), distance = pairs[int(np.argmax(shares))], float(lengths[int(np.argmax(shares))])
    assert shares.max() == pytest.approx(1, abs=1e-6)
    other = moved(COUNTS, i, j)
    views = [
        seen(mechanism, mechanism.draws(counts, Fraction(1), draws, InsecureSeededRandomness(seed)), COUNTS, other)
        for seed, counts in ((1, COUNTS), (2, other))
    ]
    for epsilon in EPSILONS:
        for one, two in (views, [-view for view in views[::-1]]):
            assert hockey_stick(one, two, epsilon) <= privacy.gaussian_delta(epsilon, distance)
    # Two binomial bounds at 1e-9/20, of half of the draws each, are what the audit gives away.
    given_away = 2 * 6.8 * np.sqrt(0.25 / (draws / 2))
    assert given_away < 0.04
    assert hockey_stick(*views, 0.0) > privacy.gaussian_delta(0.0, distance) - given_away


def test_gaussian_noise_is_refused_where_odds_are_promised():
    mechanism = planned().mechanism
    pure = sensitivity_of(line("pure"), queries())
    with pytest.raises(UnsupportedCombination, match="bounds no odds"):
        AdditiveMechanism("gaussian", pure, mechanism.law, mechanism.mixing)
    turned = dx.noise.LinearImageNoise(
        dx.noise.ProductNoise((dx.noise.LaplaceNoise(np.ones(2)), GaussianNoise(dx.geometry.Ellipsoid(np.eye(1))))),
        np.eye(3),
    )
    with pytest.raises(UnsupportedCombination, match="bounds no odds"):
        AdditiveMechanism("mine", pure, turned, DiagonalMixing(np.ones(3, dtype=bool)))
    with pytest.raises(UnsupportedCombination, match="bounds no odds"):
        dx.plan(line("pure"), queries(), mechanism="gaussian")
    assert all(one.name != "gaussian" for one in dx.plan(line("pure"), queries()).candidates)


def test_gaussian_noise_is_no_envelope_to_reject_from():
    around = GaussianNoise(dx.geometry.Ellipsoid(np.eye(2) * 3))
    with pytest.raises(UnsupportedCombination, match="rejection"):
        RejectionNoise(dx.geometry.Ellipsoid(np.eye(2)), around)
    with pytest.raises(UnsupportedCombination, match="rejection"):
        RejectionNoise(dx.geometry.Ellipsoid(np.eye(2)), dx.noise.LinearImageNoise(around, np.eye(2)))


def test_sequences_and_blocks_of_gaussian_noise_keep_the_account():
    part = planned().mechanism
    both = dx.mechanisms.contract.in_sequence([part, planned("laplace").mechanism])
    release = dx.release(both, COUNTS, ledger=":memory:", spend=Fraction(3, 5))
    assert (both.account.privacy_measure, release.remaining) == ("concentrated", Fraction(4, 5))


def test_errors_of_gaussian_answers_are_the_stated_ones_and_bars_hold_as_often_as_they_say():
    plan = planned()
    answers = np.array(plan.mechanism.draws(COUNTS, Fraction(1, 2), 20_000, InsecureSeededRandomness(5)), dtype=float)
    errors = answers - ROWS @ COUNTS
    variances = plan.mechanism.variances(Fraction(1, 2))
    assert np.allclose((errors**2).mean(axis=0), variances, rtol=6 * np.sqrt(2 / 20_000))
    for joint in (False, True):
        bars = plan.bars(Fraction(1, 2))
        widths = bars.joint_half_widths(0.9) if joint else bars.half_widths(0.9)
        inside = np.abs(errors) <= widths
        kept = inside.all(axis=1).mean() if joint else inside.mean(axis=0).min()
        assert kept >= 0.9 - 6 * np.sqrt(0.09 / 20_000)
    alone = plan.bars(Fraction(1, 2)).half_widths(0.9)
    assert np.all((np.abs(errors) <= alone).mean(axis=0) <= 0.93)
