"""Figures of "Broadening the scope of differential privacy using metrics"."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxgeom.mechanisms.finite_laplace import finite_laplace, halved_exponential, truncated_geometric
from dxgeom.mechanisms.optimal_table import optimal_table
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
