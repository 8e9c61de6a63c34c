from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxgeom.errors import TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.lab.line_noise import layered_line, staircase
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.verification import verify, verify_metric
from dxgeom.numeric.randomness import InsecureSeededRandomness

ONE = Fraction(1)


def verified(metric):
    return verify(metric, title="t", fingerprint="f", budget=ONE)


def within(reach, size):
    """One nat a hop, between numbers at most ``reach`` apart."""
    hops = [[-(-abs(i - j) // reach) for j in range(size)] for i in range(size)]
    return verify_metric(hops)


SPACES = {
    "all alike": (verified(DiscreteMetric(8, ONE)), list(range(8))),
    "a line": (
        verified(LineMetric(tuple(map(Fraction, range(6))), Fraction(1, 2))),
        [Fraction(i, 4) for i in range(6)],
    ),
    "a threshold": (within(3, 9), list(range(9))),
    "near or far": (verified(DiscreteMetric(4, Fraction(3))), [0, 1, 100, 101]),
    "uneven": (verify_metric([[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]), [0, 4, 5]),
}


@pytest.mark.parametrize("spend", [ONE, Fraction(1, 3)])
@pytest.mark.parametrize("make", [staircase, layered_line])
@pytest.mark.parametrize("name", SPACES)
def test_the_odds_of_every_report_stay_within_the_distance_and_come_near_it(name, make, spend):
    """Over every pair and every report on a window, in whole layers; equal, to the grain of ε, for some pair."""
    metric, numbers = SPACES[name]
    noise = make(metric, numbers, spend)
    window = range(min(noise.places) - 60, max(noise.places) + 61)
    layers = {z: noise.law.layer(z) for z in range(window[0] - max(noise.places), window[-1] - min(noise.places) + 1)}
    tight = Fraction(0)
    for i, here in enumerate(noise.places):
        for j, there in enumerate(noise.places[:i]):
            worst = noise.law.epsilon * max(abs(layers[r - here] - layers[r - there]) for r in window)
            # A distance may be rounded down further than the bounds that generate it.
            distance = Fraction(float(metric.distance(i, j))) * (1 + Fraction(1, 2**48)) * spend
            assert worst <= distance
            tight = max(tight, worst / distance)
    assert tight > 1 - Fraction(1, 2**40)


def test_the_sensitivity_is_what_the_metric_makes_of_the_numbers():
    assert staircase(*SPACES["all alike"]).law.differences.runs == ((1, 7),)
    assert staircase(*SPACES["a line"]).law.differences.runs == ((1, 1),)
    assert staircase(*SPACES["a threshold"]).law.differences.runs == ((1, 3),)


def test_numbers_with_wide_gaps_are_told_with_a_fraction_of_the_error():
    """Paper W's finding: what is near 0 or near 100, and nothing between, need not be blurred over all between."""
    plain, layered = staircase(*SPACES["near or far"]), layered_line(*SPACES["near or far"])
    assert layered.law.differences.runs == ((1, 1), (99, 101))
    assert layered.mean_absolute < 0.9 * plain.mean_absolute


def test_reports_lie_on_the_lattice_of_the_numbers_and_err_as_stated():
    noise = staircase(*SPACES["a line"])
    assert noise.step == Fraction(1, 4)
    drawn = np.array([float(report) for report in noise.reports(3, 4000, InsecureSeededRandomness(5))])
    errors = np.abs(drawn - 0.75)
    assert np.all(drawn % 0.25 == 0)
    assert errors.mean() == pytest.approx(noise.mean_absolute, abs=6 * errors.std() / np.sqrt(4000))
    assert np.mean(errors <= float(noise.radius())) >= 0.95 - 6 * np.sqrt(0.05 / 4000)


def test_the_width_of_layers_can_be_stated():
    metric, numbers = SPACES["near or far"]
    assert layered_line(metric, numbers, width=5).law.width == 5
    with pytest.raises(UnsupportedCombination, match="width"):
        layered_line(metric, numbers, width=Fraction(1, 2))


def test_what_cannot_be_hidden_is_refused():
    with pytest.raises(UnboundedLoss, match="distance 0"):
        staircase(verify_metric([[0, 0], [0, 0]]), [0, 1])
    with pytest.raises(UnsupportedCombination, match="hides no number"):
        staircase(verify_metric([[0, np.inf], [np.inf, 0]]), [0, 1])
    with pytest.raises(UnsupportedCombination, match="3 numbers"):
        staircase(verify_metric([[0, 1], [1, 0]]), [0, 1, 2])
    with pytest.raises(TooLarge):
        staircase(SPACES["uneven"][0], [0, 1, 2**41])
    with pytest.raises(TooLarge, match="spend more"):
        staircase(verify_metric([[0, 1], [1, 0]]), [0, 1], Fraction(1, 10**20))
