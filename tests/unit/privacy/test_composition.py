"""Several releases at one distance, composed number by number: beside simulation, closed forms and the slow sum."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dxgeom import privacy
from dxgeom.errors import UnsupportedCombination
from dxgeom.privacy.composition import Composition


def slow_delta(pure, mu, epsilon):
    """Over every sequence of signs, and a fine grid for the Gaussian."""
    total = 0.0
    grid = np.linspace(-10, 10, 20_001)
    density = np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi) * (grid[1] - grid[0])
    losses = mu * mu / 2 + mu * grid if mu else np.zeros(1)
    weights = density if mu else np.ones(1)
    for signs in itertools.product((1, -1), repeat=len(pure)):
        chance = math.prod(1 / (1 + math.exp(-sign * one)) for sign, one in zip(signs, pure, strict=True))
        loss = sum(sign * one for sign, one in zip(signs, pure, strict=True)) + losses
        total += chance * float(weights @ np.maximum(0, 1 - np.exp(np.minimum(epsilon - loss, 0))))
    return total


@pytest.mark.parametrize("pure", [(0.5,), (0.3, 0.3, 0.3), (1.0, 0.2, 0.2, 0.7), (0.4,) * 7])
@pytest.mark.parametrize("mu", [0.0, 0.6, 2.0])
def test_the_composed_curve_is_the_sum_over_all_outcomes_and_never_below(pure, mu):
    told = Composition.of(pure, [mu] if mu else [])
    for epsilon in (0.0, 0.25, 1.0, 2.5):
        exact = slow_delta(pure, mu, epsilon)
        assert told.delta(epsilon) >= exact * (1 - 1e-6)
        assert told.delta(epsilon) == pytest.approx(exact, rel=1e-5, abs=1e-9)


def test_one_kind_alone_has_its_own_curve():
    for epsilon in (0.0, 0.5, 3.0):
        assert Composition.of(gaussian=[0.6, 0.8]).delta(epsilon) == privacy.gaussian_delta(
            epsilon, Composition.of(gaussian=[0.6, 0.8]).gaussian
        )
        assert Composition.of(concentrated=[1.0]).delta(epsilon) == privacy.concentrated_delta(epsilon, 1.0)
    one = Composition.of([0.7])
    assert one.delta(0.7) == 0 and one.ceiling >= 0.7
    assert one.right_guess() == pytest.approx(math.exp(0.7) / (1 + math.exp(0.7)))


def test_a_year_of_pure_releases_tells_less_than_any_concentrated_ones_of_the_same_squares():
    year = Composition.of([0.05] * 365)
    assert year.distance == pytest.approx(0.05 * math.sqrt(365))
    assert year.ceiling == pytest.approx(18.25)
    epsilon = year.epsilon(1e-6)
    assert epsilon < privacy.gaussian_epsilon(1e-6, year.distance) < privacy.concentrated_epsilon(1e-6, year.distance)
    assert year.delta(epsilon) <= 1e-6 < year.delta(epsilon * 0.999)


def test_many_different_spends_are_merged_upwards():
    rng = np.random.default_rng(0)
    spends = np.round(rng.uniform(0.01, 0.2, 60), 4)
    told = Composition.of(spends, [0.3])
    losses = rng.choice([1.0, 1.0], (200_000, 60))
    losses = np.where(rng.random((200_000, 60)) < 1 / (1 + np.exp(-spends)), losses, -losses) @ spends
    losses = losses + 0.045 + 0.3 * rng.standard_normal(200_000)
    for epsilon in (0.0, 0.5, 1.5):
        gains = np.maximum(0, 1 - np.exp(epsilon - losses))
        simulated, error = gains.mean(), 6 * gains.std() / math.sqrt(len(gains))
        assert simulated - error <= told.delta(epsilon) <= (simulated + error) * 1.02


def test_whatever_is_unknown_falls_back_to_the_promise():
    told = Composition.of([0.5], [0.5], [0.5])
    assert told.distance == pytest.approx(math.sqrt(0.75))
    assert told.delta(1.0) == privacy.concentrated_delta(1.0, told.distance)
    assert told.ceiling == math.inf
    many = Composition.of([1e-4] * 20_000)
    assert many.pure == () and many.concentrated == pytest.approx(1e-4 * math.sqrt(20_000))
    assert Composition.of().epsilon(1e-6) == 0 and Composition.of().right_guess() == 0.5


@pytest.mark.parametrize(
    "wrong", [{"pure": ((-1.0, 1),)}, {"pure": ((1.0, 0),)}, {"gaussian": -1.0}, {"gaussian": math.nan}]
)
def test_what_is_no_distance_is_refused(wrong):
    with pytest.raises(UnsupportedCombination):
        Composition(**wrong)


@pytest.mark.needs("dp_accounting")
def test_the_curve_is_googles_accountants():
    accounting = pytest.importorskip("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    composed = pld.from_gaussian_mechanism(1 / 0.6, value_discretization_interval=1e-4)
    for epsilon in (0.2, 0.2, 0.5):
        composed = composed.compose(
            pld.from_randomized_response(2 / (1 + math.exp(epsilon)), 2, value_discretization_interval=1e-4)
        )
    told = Composition.of([0.2, 0.2, 0.5], [0.6])
    for epsilon in (0.5, 1.0, 2.0):
        assert told.delta(epsilon) == pytest.approx(composed.get_delta_for_epsilon(epsilon), rel=5e-3)
    assert accounting is not None
