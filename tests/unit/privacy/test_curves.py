"""What a distance tells: exact curves of Gaussian noise, and bounds for all concentrated mechanisms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from dxgeom import privacy
from dxgeom.errors import UnsupportedCombination

DISTANCES = (0.01, 0.25, 0.5, 1.0, 2.0, 7.0)


@pytest.mark.parametrize(
    ("distance", "gaussian", "concentrated"), [(0.25, 1.06, 1.14), (0.5, 2.25, 2.42), (1, 4.89, 5.22), (2, 11.0, 11.69)]
)
def test_epsilons_at_one_in_a_million_are_those_of_the_theory(
    distance: float, gaussian: float, concentrated: float
) -> None:
    assert privacy.gaussian_epsilon(1e-6, distance) == pytest.approx(gaussian, abs=6e-3)
    assert privacy.concentrated_epsilon(1e-6, distance) == pytest.approx(concentrated, abs=6e-3)


@pytest.mark.parametrize("distance", DISTANCES)
def test_delta_of_gaussian_noise_is_the_integral_over_what_is_likelier(distance: float) -> None:
    grid = np.linspace(-12, 12 + distance, 400_001)
    for epsilon in (0.0, 0.3, 2.0):
        excess = np.maximum(norm.pdf(grid - distance) - np.exp(epsilon) * norm.pdf(grid), 0)
        integral = float(excess.sum() * (grid[1] - grid[0]))
        assert privacy.gaussian_delta(epsilon, distance) == pytest.approx(integral, rel=1e-4, abs=1e-9)
        assert privacy.gaussian_delta(epsilon, distance) <= privacy.concentrated_delta(epsilon, distance)


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9])
def test_inverses_are_rounded_the_safe_way(delta: float) -> None:
    for distance in DISTANCES:
        epsilon = privacy.gaussian_epsilon(delta, distance)
        assert privacy.gaussian_delta(epsilon, distance) <= delta
        assert epsilon == 0 or privacy.gaussian_delta(epsilon * (1 - 1e-9), distance) > delta
        bound = privacy.concentrated_epsilon(delta, distance)
        assert privacy.concentrated_delta(bound, distance) <= delta and bound >= epsilon
        back = privacy.gaussian_distance(epsilon, delta)
        assert privacy.gaussian_delta(epsilon, back) <= delta
        assert epsilon == 0 or back == pytest.approx(distance, rel=1e-6)


def test_the_odds_factor_between_currencies_is_that_of_the_theory() -> None:
    found = [(epsilon / privacy.gaussian_distance(epsilon, 1e-6)) ** 2 for epsilon in (0.1, 0.5, 1, 2, 4)]
    assert found == pytest.approx([13.2, 16.2, 17.9, 19.9, 22.8], abs=0.06)


def test_tails_of_odds_are_those_of_a_normal_number_and_larger_where_somebody_may_stop() -> None:
    assert privacy.gaussian_tail(1, 1, adaptive=False) == pytest.approx(norm.cdf(-0.5))
    assert privacy.gaussian_tail(1, 1, adaptive=False, either_way=True) == pytest.approx(
        norm.cdf(-0.5) + norm.cdf(-1.5)
    )
    assert privacy.gaussian_tail(1, 1) == pytest.approx(0.49, abs=2e-3)
    rng = np.random.default_rng(3)
    steps = 64
    walks = np.cumsum(rng.normal(0.5 / steps, (1 / steps) ** 0.5, (40_000, steps)), axis=1)
    stopped = float((walks.max(axis=1) > 1).mean())
    assert privacy.gaussian_tail(1, 1, adaptive=False) < stopped < privacy.gaussian_tail(1, 1)
    either = float((np.abs(walks) > 1).any(axis=1).mean())
    assert either < privacy.gaussian_tail(1, 1, either_way=True)


@pytest.mark.parametrize("distance", DISTANCES)
def test_bounds_hold_for_gaussian_and_for_pure_noise(distance: float) -> None:
    for log_odds in (0.1, 1.0, 5.0, 30.0):
        assert privacy.gaussian_tail(log_odds, distance, adaptive=False) <= privacy.concentrated_tail(
            log_odds, distance
        )
        # Randomised response at ε = μ moves log-odds by exactly μ, towards the truth with chance e^μ/(1 + e^μ).
        told = 1 / (1 + np.exp(-distance)) if log_odds < distance else 0.0
        assert told <= privacy.concentrated_tail(log_odds, distance)
    right = privacy.concentrated_right_guess(distance)
    assert privacy.gaussian_right_guess(distance) <= right
    assert 1 / (1 + np.exp(-distance)) <= right
    for chance in (0.1, 1e-6):
        assert privacy.concentrated_tail(privacy.concentrated_odds(chance, distance), distance) <= chance * (1 + 1e-9)


def test_nothing_is_told_at_distance_zero() -> None:
    assert privacy.gaussian_delta(0, 0) == privacy.concentrated_delta(0, 0) == privacy.gaussian_tail(0, 0) == 0
    assert privacy.gaussian_epsilon(1e-6, 0) == privacy.concentrated_odds(1e-6, 0) == 0
    assert privacy.gaussian_right_guess(0) == privacy.concentrated_right_guess(0) == 0.5


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: privacy.gaussian_delta(-1, 1), "epsilon"),
        (lambda: privacy.gaussian_delta(float("nan"), 1), "epsilon"),
        (lambda: privacy.gaussian_epsilon(0, 1), "delta"),
        (lambda: privacy.concentrated_delta(1, float("inf")), "distances"),
        (lambda: privacy.concentrated_tail(-1, 1), "odds"),
    ],
)
def test_what_is_no_distance_epsilon_or_delta_is_refused(wrong: object, said: str) -> None:
    with pytest.raises(UnsupportedCombination, match=said):
        wrong()  # type: ignore[operator]
