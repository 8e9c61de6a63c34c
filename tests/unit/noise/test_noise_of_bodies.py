"""Seeds are fixed; with random seeds a comparison of moments would fail with a chance below 1e-8 (six deviations)."""

from __future__ import annotations

import numpy as np
import pytest

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.composed_bodies import CartesianProduct, FreeSum, LinearImage
from dxgeom.geometry.halfspaces import HalfspacePolytope
from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.power_ball import PowerBall
from dxgeom.geometry.round_bodies import Box, CrossPolytope, Ellipsoid
from dxgeom.noise.of_body import noise_law_of, simulate_noise

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
SIMULATED = [PowerBall(np.ones(2), 3.0), CartesianProduct((HULL, Box(np.ones(1)))), SQUARE]


@pytest.mark.parametrize("body", WITH_A_LAW, ids=lambda body: type(body).__name__)
def test_a_law_has_the_noise_moment_of_its_body(body):
    assert np.allclose(noise_law_of(body).second_moment, body.noise_second_moment, rtol=1e-9)


@pytest.mark.parametrize("body", WITH_A_LAW + SIMULATED, ids=lambda body: type(body).__name__)
def test_simulated_noise_has_its_moment_and_a_gamma_gauge(body):
    draws = simulate_noise(body, 100_000, np.random.default_rng(1))
    products = draws[:, :, None] * draws[:, None, :]
    error = 6 * products.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(products.mean(axis=0) - body.noise_second_moment) <= error + 1e-12)
    m, gauges = body.dimension, body.gauge(draws)
    assert abs(gauges.mean() - m) <= 6 * np.sqrt(m / len(draws)) + 1e-6
    assert abs(gauges.var() - m) <= 6 * np.sqrt((2 * m * m + 6 * m) / len(draws)) + 1e-6


@pytest.mark.parametrize("body", [*SIMULATED, LinearImage(SIMULATED[0], np.eye(2)), FreeSum((SIMULATED[0], HULL))])
def test_a_body_without_an_exact_law_is_refused_with_a_way_out(body):
    with pytest.raises(UnsupportedCombination, match=r"around it|hull"):
        noise_law_of(body)


def test_the_hull_of_halfspaces_has_the_law_that_they_lack():
    assert noise_law_of(SQUARE.hull).dimension == 2
