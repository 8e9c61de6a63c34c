"""Seeds are fixed; with random seeds a comparison of moments would fail with a chance below 1e-8 (six deviations)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxgeom.errors import WrongArgument
from dxgeom.geometry.halfspaces import HalfspacePolytope
from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.round_bodies import (
    Box,
    CartesianProduct,
    CrossPolytope,
    Ellipsoid,
    FreeSum,
    LinearImage,
    PowerBall,
)
from dxgeom.noise.k_norm import k_norm_noise, simulate_noise
from dxgeom.numeric.randomness import InsecureSeededRandomness

HULL = hull_of_differences(np.array([[5, 1], [2, 4], [-3, 3]]), np.ones(3))
SQUARE = HalfspacePolytope(np.eye(2), np.ones(2))
WITH_A_LAW = [
    Box(np.array([3.0, 1.0])),
    CrossPolytope(np.array([3.0, 1.0])),
    Ellipsoid(np.array([[3.0, 1], [0, 1]])),
    HULL,
    PowerBall(np.array([3.0, 1.0]), 1.0),
    PowerBall(np.array([3.0, 1.0]), 2.0),
    PowerBall(np.array([3.0, 1.0]), np.inf),
    FreeSum((HULL, Box(np.array([2.0])))),
    LinearImage(FreeSum((Box(np.array([1.0])), Box(np.array([2.0])))), np.array([[1.0, 2], [-1, 1]])),
]
BY_REJECTION = [
    PowerBall(np.ones(2), 3.0),
    CartesianProduct((HULL, Box(np.ones(1)))),
    SQUARE,
    FreeSum((PowerBall(np.ones(2), 3.0), HULL)),
    LinearImage(CartesianProduct((Ellipsoid(np.eye(2)), Box(np.ones(1)))), np.diag([1.0, 2.0, 3.0])),
]


@pytest.mark.parametrize("body", WITH_A_LAW + BY_REJECTION, ids=lambda body: type(body).__name__)
def test_a_law_has_the_noise_moment_of_its_body(body):
    assert np.allclose(k_norm_noise(body).second_moment, body.noise_second_moment, rtol=1e-9)


@pytest.mark.parametrize("body", WITH_A_LAW + BY_REJECTION, ids=lambda body: type(body).__name__)
def test_simulated_noise_has_its_moment_and_a_gamma_gauge(body):
    draws = simulate_noise(body, 100_000, np.random.default_rng(1))
    products = draws[:, :, None] * draws[:, None, :]
    error = 6 * products.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(products.mean(axis=0) - body.noise_second_moment) <= error + 1e-12)
    m, gauges = body.dimension, body.gauge(draws)
    assert abs(gauges.mean() - m) <= 6 * np.sqrt(m / len(draws)) + 1e-6
    assert abs(gauges.var() - m) <= 6 * np.sqrt((2 * m * m + 6 * m) / len(draws)) + 1e-6


@pytest.mark.parametrize("body", BY_REJECTION, ids=lambda body: type(body).__name__)
def test_released_noise_of_any_body_has_its_moment(body):
    """Six standard errors."""
    draws = k_norm_noise(body).draw(50_000, InsecureSeededRandomness(2), Fraction(100)).astype(float) / 100
    products = draws[:, :, None] * draws[:, None, :]
    error = 6 * products.std(axis=0) / np.sqrt(len(draws))
    expected = body.noise_second_moment + np.eye(body.dimension) / 12e4
    assert np.all(np.abs(products.mean(axis=0) - expected) <= error)


def test_halfspaces_are_drawn_from_their_hull_without_loss():
    assert k_norm_noise(SQUARE).acceptance > 1 - 1e-6


@pytest.mark.parametrize("wrong", [None, "box", [1.0, 2.0], np.eye(2), Box])
def test_what_is_no_body_has_no_noise(wrong):
    with pytest.raises(WrongArgument, match="one of dxgeom"):
        k_norm_noise(wrong)
