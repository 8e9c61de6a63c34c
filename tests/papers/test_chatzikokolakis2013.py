"""Figures of "Broadening the scope of differential privacy using metrics"."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxgeom.mechanisms.finite_laplace import finite_laplace, halved_exponential, truncated_geometric
from dxgeom.mechanisms.optimal_table import optimal_table
from dxgeom.mechanisms.planar import planar_laplace
from dxgeom.mechanisms.time_series import SeriesMechanism
from dxgeom.mechanisms.usefulness import laplace_usefulness, planar_usefulness, series_root_mean_square
from dxgeom.metrics.line import LineMetric
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import verify

PRIORS = ([1, 1, 1, 1, 1], [16, 8, 4, 2, 1], [1, 0, 5, 0, 1], [1, 9, 1, 9, 1])
LOSSES = {
    "absolute": lambda x, w: Fraction(abs(x - w)),
    "squared": lambda x, w: Fraction((x - w) ** 2),
    "miss": lambda x, w: Fraction(x != w),
    "beyond one": lambda x, w: Fraction(abs(x - w) > 1),
}


def five_by_five():
    points = np.array([[x, y] for x in range(5) for y in range(5)], dtype=float)
    metric = verify(PointsMetric(points, "plane", Fraction(1)), title="grid", fingerprint="grid", budget=Fraction(1))
    losses = [[Fraction(int(((a - b) ** 2).sum())) for b in points] for a in points]
    return metric, [Fraction(1, 25)] * 25, losses


@pytest.mark.parametrize("weights", PRIORS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_truncated_geometric_mechanism_is_optimal_for_every_prior_and_monotone_loss(weights, loss):
    """Theorem 10 on five values, against the linear programme over all mechanisms."""
    metric = verify(
        LineMetric(tuple(map(Fraction, range(5))), Fraction(4, 5)), title="line", fingerprint="line", budget=Fraction(1)
    )
    prior = [Fraction(weight, sum(weights)) for weight in weights]
    losses = [[LOSSES[loss](x, w) for w in range(5)] for x in range(5)]
    guessed = truncated_geometric(metric).with_best_guesses(prior, losses).expected_loss(prior, losses)
    best = optimal_table(metric, prior, losses).expected_loss(prior, losses)
    assert float(guessed) == pytest.approx(float(best), rel=1e-6)


def test_on_a_grid_of_places_mechanisms_lose_what_was_found_elsewhere():
    metric, prior, losses = five_by_five()
    assert float(optimal_table(metric, prior, losses).expected_loss(prior, losses)) == pytest.approx(2.096, abs=5e-4)
    for build, expected in ((finite_laplace, 2.177), (halved_exponential, 3.621)):
        guessed = build(metric).with_best_guesses(prior, losses)
        assert float(guessed.expected_loss(prior, losses)) == pytest.approx(expected, abs=5e-4)


def test_planar_reports_with_best_guesses_lose_what_was_found_elsewhere():
    """2.390 is for guesses from the nearest of the 25 places; from the report itself they are better."""
    points = np.array([[x, y] for x in range(5) for y in range(5)])
    metric, _, losses = five_by_five()
    mechanism = planar_laplace(metric, 5 * points, Fraction(1, 5))
    costs = np.array(losses, dtype=float)
    assert mechanism.guessed_loss([1 / 25] * 25, costs, nearest=True) == pytest.approx(2.390, abs=2e-3)
    assert mechanism.guessed_loss([1 / 25] * 25, costs) == pytest.approx(2.354, abs=2e-3)


def test_the_radius_of_planar_noise_has_its_known_quantiles():
    expected = {0.5: 1.678347, 0.9: 3.889720, 0.95: 4.743865, 0.99: 6.638352}
    for level, radius in expected.items():
        assert planar_usefulness(1.0, 1 - level) == pytest.approx(radius, abs=1e-6)


def test_dates_within_five_days_are_a_thousand_times_more_useful():
    """Figure 3 at δ = .05, for ε = 1."""
    assert laplace_usefulness(5000, 1, 0.05) == pytest.approx(14978.66, abs=0.01)
    assert laplace_usefulness(1, 1 / 5, 0.05) == pytest.approx(14.979, abs=1e-3)


def test_thirty_readings_need_less_than_half_the_noise_of_independent_ones():
    """Example 2, corrected."""
    assert series_root_mean_square(30, 1.0) == pytest.approx((18.18, 42.43), abs=5e-3)
    mechanism = SeriesMechanism(30, Fraction(1), Fraction(1, 100))
    assert mechanism.mean_absolute == 15.5
    assert mechanism.root_mean_square == pytest.approx(18.18, abs=5e-3)
