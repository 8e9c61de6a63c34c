from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import DxgeomError, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.time_series import series_mechanism, series_mechanism_under
from dxgeom.metrics.combinations import MaxMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness


def test_readings_err_as_predicted():
    """Six standard errors over independent draws: a correct sampler fails with a chance of about 4e-9."""
    mechanism = series_mechanism("readings", 6, Fraction(1, 3), Fraction(1, 8))
    truth = np.array([8, -16, 0, 40, 8, 8])
    drawn = np.array(
        [[float(z) for z in mechanism.draw(truth, Fraction(1), InsecureSeededRandomness(seed))] for seed in range(2000)]
    )
    errors = drawn - truth / 8
    for found, expected in (
        (np.abs(errors).mean(axis=1), mechanism.mean_absolute),
        ((errors**2).mean(axis=1), mechanism.root_mean_square**2),
    ):
        assert abs(found.mean() - expected) < 6 * found.std() / np.sqrt(2000) + 1e-3 * expected


def test_the_cube_covers_every_change_of_one_unit():
    mechanism = series_mechanism("readings", 3, Fraction(1, 7), Fraction(1, 10))
    assert all(Fraction(width) >= 70 for width in mechanism.law.body.half_widths.tolist())


def test_answers_lie_on_the_lattice_and_a_smaller_spend_widens_them():
    mechanism = series_mechanism("readings", 4, Fraction(1), Fraction(1, 8))
    one = mechanism.draw([0] * 4, Fraction(1), InsecureSeededRandomness(3))
    wide = mechanism.draw([0] * 4, Fraction(1, 100), InsecureSeededRandomness(3))
    assert all((8 * z).denominator == 1 for z in one)
    assert max(map(abs, wide)) == pytest.approx(100 * float(max(map(abs, one))), rel=0.02)


def test_what_does_not_fit_is_refused():
    mechanism = series_mechanism("readings", 2, Fraction(1), Fraction(1))
    for wrong in (
        lambda: mechanism.draw([1], Fraction(1), InsecureSeededRandomness(1)),
        lambda: mechanism.draw([1, 0.5], Fraction(1), InsecureSeededRandomness(1)),
        lambda: mechanism.draw([1, 2], Fraction(0), InsecureSeededRandomness(1)),
        lambda: series_mechanism("readings", 151, Fraction(1), Fraction(1)),
        lambda: series_mechanism("readings", 1, Fraction(0), Fraction(1)),
    ):
        with pytest.raises(DxgeomError):
            wrong()
    with pytest.raises(TooLarge):
        mechanism.draw([1, 2], Fraction(1, 10**18), InsecureSeededRandomness(1))


def test_a_policy_of_largest_changes_gives_a_series_on_its_own_account(policies):
    metric = dx.load_policy(policies / "smart-meters" / "policy.yaml").compile()
    mechanism = series_mechanism_under(metric)
    assert (mechanism.readings, mechanism.epsilon, mechanism.step) == (3, Fraction(1, 2), 1)
    assert mechanism.account.policy_fingerprint == metric.fingerprint
    shown = mechanism.law.body.gauge(np.array([[4.0, 0.0, -3.0]]))[0]
    record = metric.universe.index
    low, high = ({"morning": a, "noon": 2, "evening": b} for a, b in ((0, 3), (4, 0)))
    assert shown == pytest.approx(float(metric.distance(record(low), record(high))))


@pytest.mark.parametrize(
    "metric",
    [
        DiscreteMetric(3, Fraction(1)),
        MaxMetric(
            (LineMetric((Fraction(0), Fraction(1)), Fraction(1)), LineMetric((Fraction(0), Fraction(1)), Fraction(2)))
        ),
        MaxMetric((LineMetric((Fraction(1, 2), Fraction(3, 2)), Fraction(1)),) * 2),
        MaxMetric((DiscreteMetric(3, Fraction(1)),) * 2),
    ],
)
def test_a_policy_that_is_no_series_is_refused(metric):
    with pytest.raises(UnsupportedCombination):
        series_mechanism_under(verify(metric, title="t", fingerprint="f", budget=Fraction(1)))


def test_series_of_one_title_share_an_account():
    one, other = (series_mechanism("meter", n, Fraction(1), Fraction(1, 8)) for n in (3, 30))
    assert one.account == other.account != series_mechanism("others", 3, Fraction(1), Fraction(1, 8)).account


def test_rates_and_steps_that_are_not_exact_are_refused():
    for epsilon, step in ((0.1, Fraction(1, 8)), (Fraction(1), 0.1)):
        with pytest.raises(UnsupportedCombination, match="exact"):
            series_mechanism("meter", 3, epsilon, step)
