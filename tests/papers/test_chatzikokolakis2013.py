"""Figures of "Broadening the scope of differential privacy using metrics"."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.paper_figures import figures_of, require_as_in_the_table

from dxgeom.lab.laplace_tables import truncated_geometric
from dxgeom.lab.line_noise import planar_laplace
from dxgeom.lab.optimal_tables import optimal_table
from dxgeom.mechanisms.linear.time_series import series_mechanism
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import verify

PRIORS = ([1, 1, 1, 1, 1], [16, 8, 4, 2, 1], [1, 0, 5, 0, 1], [1, 9, 1, 9, 1])
LOSSES = {
    "absolute": lambda x, w: Fraction(abs(x - w)),
    "squared": lambda x, w: Fraction((x - w) ** 2),
    "miss": lambda x, w: Fraction(x != w),
    "beyond one": lambda x, w: Fraction(abs(x - w) > 1),
}


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


def test_every_figure_is_what_was_computed_elsewhere_and_what_the_page_shows():
    rows, shown = figures_of("chatzikokolakis2013")
    for row in rows:
        assert row.computed == pytest.approx(row.reference, abs=row.within), row.figure
    assert [row.line() for row in rows] == shown
    assert require_as_in_the_table((row.figure, row.computed, row.within) for row in rows) == 3


def test_guesses_from_the_report_itself_lose_less_than_from_the_nearest_place():
    points = np.array([[x, y] for x in range(5) for y in range(5)])
    metric = PointsMetric(points.astype(float), "plane", Fraction(1))
    places = verify(metric, title="grid", fingerprint="grid", budget=Fraction(1))
    losses = ((points[:, None] - points) ** 2).sum(axis=2)
    found = planar_laplace(places, 5 * points, Fraction(1, 5)).guessed_loss([1 / 25] * 25, losses)
    assert found == pytest.approx(2.354, abs=2e-3)


def test_a_series_of_thirty_readings_errs_as_the_table_says():
    mechanism = series_mechanism("meter", 30, Fraction(1), Fraction(1, 100))
    assert mechanism.mean_absolute == 15.5
    assert mechanism.root_mean_square == pytest.approx(18.18, abs=5e-3)
