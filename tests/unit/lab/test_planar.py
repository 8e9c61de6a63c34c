from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import BudgetExceeded, DxgeomError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.lab.line_noise import (
    PlanarLaplace,
    laplace_usefulness,
    planar_laplace,
    planar_usefulness,
)
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.linear.time_series import series_root_mean_square
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness

PLACES = np.array([[0, 0], [30, 40], [-7, 11], [100, 0]])


def metric_of(places=PLACES, rate="1/20", floor=0):
    points = PointsMetric(places.astype(float), "plane", Fraction(rate), Fraction(floor))
    return verify(points, title="places", fingerprint="places", budget=Fraction(1))


@given(st.floats(1e-9, 1 - 1e-9), st.floats(1e-3, 1e3))
def test_the_radius_is_rounded_up_and_only_just(delta, epsilon):
    with mpmath.workdps(50):
        radius = mpmath.mpf(planar_usefulness(epsilon, delta)) * mpmath.mpf(epsilon)
        assert (1 + radius) * mpmath.exp(-radius) <= delta
        shorter = radius * (1 - mpmath.mpf(10) ** -14) - mpmath.mpf(10) ** -20
        assert (1 + shorter) * mpmath.exp(-shorter) > delta * (1 - mpmath.mpf(10) ** -30)


def test_every_pair_of_the_metric_is_hidden():
    """The gauge of each difference, in exact rationals: ‖Δ‖² ≤ (scale·d)²."""
    for metric in (metric_of(), metric_of(floor=2), dx.verify_metric(np.ones((4, 4)) - np.eye(4))):
        mechanism = planar_laplace(metric, PLACES, Fraction(1))
        worst = Fraction(0)
        for i in range(4):
            for j in range(i):
                square = int(((PLACES[i] - PLACES[j]) ** 2).sum())
                hidden = Fraction(mechanism.scale) ** 2 * Fraction(float(metric.distance(i, j))) ** 2
                assert square <= hidden
                worst = max(worst, square / hidden)
        assert worst > 1 - Fraction(1, 10**9)


def test_the_scale_of_geo_indistinguishability_is_one_over_epsilon():
    assert planar_laplace(metric_of(), PLACES, Fraction(1)).scale == pytest.approx(20, rel=1e-9)


def test_reports_lie_on_the_lattice_and_err_as_predicted():
    """Six standard errors: a correct sampler fails with a chance of about 2e-9."""
    mechanism = planar_laplace(metric_of(PLACES * 4), PLACES * 4, Fraction(1, 4), Fraction(1, 2))
    reports = [mechanism.report(1, InsecureSeededRandomness(seed)) for seed in range(2000)]
    assert all((part * 4).denominator == 1 for report in reports for part in report)
    squares = np.array([(float(x) - 30) ** 2 + (float(y) - 40) ** 2 for x, y in reports])
    assert abs(squares.mean() - mechanism.mean_squared_error) < 6 * squares.std() / math.sqrt(2000)
    within = np.mean(np.sqrt(squares) <= mechanism.radius(0.9))
    assert abs(within - 0.9) < 6 * math.sqrt(0.09 / 2000) + 0.01


def test_simulated_reports_have_the_stated_moments():
    mechanism = planar_laplace(metric_of(), PLACES, Fraction(2))
    radii = np.linalg.norm(mechanism.simulate(0, 200_000, np.random.default_rng(1)), axis=1)
    scale = 2 * mechanism.scale
    assert radii.mean() == pytest.approx(2 * scale, rel=0.01)
    assert (radii**2).mean() == pytest.approx(6 * scale**2, rel=0.02)


def test_a_release_charges_its_ledger(tmp_path):
    mechanism = planar_laplace(metric_of(), PLACES, Fraction(1), Fraction(3, 4))
    release = dx.release(mechanism, 2, ledger=str(tmp_path / "a.db"))
    assert release.remaining == Fraction(1, 4)
    with pytest.raises(BudgetExceeded):
        dx.release(mechanism, 2, ledger=str(tmp_path / "a.db"))
    with Ledger.open(tmp_path / "a.db", policy_fingerprint="places", policy_name="places", budget=Fraction(1)) as book:
        assert book.entries()[0].purpose == "one answer by planar Laplace"


def test_the_fingerprint_changes_with_what_the_law_depends_on():
    made = [
        planar_laplace(metric_of(), PLACES, Fraction(1)),
        planar_laplace(metric_of(), PLACES, Fraction(2)),
        planar_laplace(metric_of(), PLACES, Fraction(1), Fraction(1, 2)),
        planar_laplace(metric_of(PLACES + 1), PLACES + 1, Fraction(1)),
    ]
    assert len({mechanism.fingerprint for mechanism in made}) == 4


def test_the_best_guess_weighs_the_prior_against_the_distance():
    mechanism = planar_laplace(metric_of(), PLACES, Fraction(1))
    miss = 1 - np.eye(4)
    assert mechanism.best_guess((Fraction(29), Fraction(41)), [0.25] * 4, miss) == 1
    assert mechanism.best_guess((Fraction(29), Fraction(41)), [0, 0, 0, 1], miss) == 3
    assert mechanism.best_guess((Fraction(0), Fraction(0)), [0.3, 0, 0.7, 0], miss) == 2
    with pytest.raises(DxgeomError):
        mechanism.best_guess((Fraction(0), Fraction(0)), [0.5, 0.5], miss)


def test_guessing_never_loses_more_than_knowing_nothing_or_only_the_nearest_place():
    places = 3 * np.array([[x, y] for x in range(3) for y in range(2)])
    metric = metric_of(places, "1/3")
    mechanism = planar_laplace(metric, places, Fraction(1))
    losses = np.linalg.norm(places[:, None] - places, axis=2)
    free = mechanism.guessed_loss([1 / 6] * 6, losses)
    told = mechanism.guessed_loss([1 / 6] * 6, losses, nearest=True)
    assert free < told < losses.mean(axis=0).min()


def test_what_cannot_be_hidden_or_does_not_fit_is_refused():
    metric, one = metric_of(), Fraction(1)
    with pytest.raises(UnboundedLoss):
        planar_laplace(dx.verify_metric(np.zeros((4, 4))), PLACES, one)
    with pytest.raises(UnsupportedCombination, match="hides no place"):
        planar_laplace(dx.verify_metric(np.where(np.eye(4), 0, np.inf)), PLACES, one)
    with pytest.raises(UnsupportedCombination, match="on 4 places, 3"):
        planar_laplace(metric, PLACES[:3], one)
    with pytest.raises(UnsupportedCombination, match="verified"):
        planar_laplace(metric.metric, PLACES, one)
    with pytest.raises(UnsupportedCombination, match="positive"):
        planar_laplace(metric, PLACES, Fraction(0))
    for places in (PLACES.astype(float), PLACES[:, :1], PLACES << 25):
        with pytest.raises(DxgeomError, match="pairs of integers"):
            planar_laplace(metric, places, one)
    with pytest.raises(TooLarge):
        planar_laplace(metric, PLACES, one, Fraction(1, 10**18))
    with pytest.raises(DxgeomError, match="never directly"):
        PlanarLaplace(metric, PLACES, one, 1e-9, one)
    with pytest.raises(IndexError):
        planar_laplace(metric, PLACES, one).report(4, InsecureSeededRandomness(1))


def test_usefulness_without_a_chance_is_refused():
    for wrong in (
        lambda: planar_usefulness(1, 0),
        lambda: laplace_usefulness(1, 0, 0.5),
        lambda: series_root_mean_square(3, -1),
    ):
        with pytest.raises(UnsupportedCombination):
            wrong()
