"""The released law of Gaussian noise, cell by cell: χ² against the integral of the density over each cell.

False alarm: 1e-9 for each test.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2, norm

from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.noise.gaussian import GaussianNoise, exact_normals
from dxgeom.noise.rounding import round_draws, round_exactly, stretched
from dxgeom.numeric.randomness import InsecureSeededRandomness

AXES = np.array([[1.3, 0.0], [-0.9, 0.7]])
REACH = 9
ERROR = 1e-9
MILLIONS = int(os.environ.get("DXGEOM_MILLION_DRAWS", "1"))
"""Ten in ``make soak``."""


def cell_chances(axes):
    """(n, n): P[round(V) = (i, j)], by quadrature along the first coordinate, given which the second is normal."""
    covariance = axes @ axes.T
    sigma, slope = np.sqrt(covariance[0, 0]), covariance[0, 1] / covariance[0, 0]
    rest = np.sqrt(covariance[1, 1] - slope * covariance[0, 1])
    nodes, weights = np.polynomial.legendre.leggauss(30)
    cells = np.arange(-REACH, REACH + 1)
    places = cells[:, None] + nodes / 2
    edges = np.arange(-REACH - 0.5, REACH + 1)
    below = norm.cdf((edges[None, None, :] - slope * places[:, :, None]) / rest)
    return np.einsum("in,inj->ij", norm.pdf(places / sigma) / sigma * weights / 2, np.diff(below, axis=2))


def check(draws, chances):
    inside = np.all(np.abs(draws) <= REACH, axis=1)
    counts = np.zeros(chances.shape)
    np.add.at(counts, tuple((draws[inside] + REACH).T), 1)
    expected = chances * len(draws)
    common = expected >= 10
    observed = np.append(counts[common], len(draws) - counts[common].sum())
    wanted = np.append(expected[common], len(draws) - expected[common].sum())
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    assert statistic <= chi2.ppf(1 - ERROR, len(observed) - 1)
    return statistic, len(observed) - 1


def test_cells_have_their_chances():
    draws = GaussianNoise(Ellipsoid(AXES)).draw(300_000, InsecureSeededRandomness(1))
    check(draws, cell_chances(AXES))


def test_a_law_that_is_a_fiftieth_wider_is_noticed():
    draws = GaussianNoise(Ellipsoid(AXES * 1.02)).draw(300_000, InsecureSeededRandomness(2))
    with pytest.raises(AssertionError):
        check(draws, cell_chances(AXES))


def test_a_factor_stretches_the_cells():
    draws = GaussianNoise(Ellipsoid(AXES / 2)).draw(300_000, InsecureSeededRandomness(3), Fraction(2))
    check(draws, cell_chances(AXES))


@pytest.mark.long
def test_cells_have_their_chances_in_millions_of_draws():
    law = GaussianNoise(Ellipsoid(AXES))
    draws = np.concatenate([law.draw(1_000_000, InsecureSeededRandomness(10 + part)) for part in range(MILLIONS)])
    statistic, freedom = check(draws, cell_chances(AXES))
    print(f"{len(draws):,} draws, seeds from 10: χ² = {statistic:.1f} on {freedom} degrees of freedom")


def test_float_draws_are_what_balls_make_of_the_same_bits():
    law = GaussianNoise(Ellipsoid(np.array([[1000.0, 0, 0], [3, 0.5, 0], [-7, 9, 20]])))
    ideal = law.ideal(400, InsecureSeededRandomness(5))
    rounded = round_draws(ideal, Fraction(7, 3), InsecureSeededRandomness(6))
    for row in range(400):
        again = round_exactly(
            stretched(ideal.evaluation(row), Fraction(7, 3)), ideal.uniforms(row), InsecureSeededRandomness(6)
        )
        assert rounded[row].tolist() == again


def test_few_draws_need_more_bits_even_in_many_dimensions():
    """One bound for all normals would leave every draw of a hundred dimensions open."""
    axes = np.tril(np.random.default_rng(0).normal(size=(100, 100))) * 1000 + np.diag(np.full(100, 1e4))
    ideal = GaussianNoise(Ellipsoid(axes)).ideal(2000, InsecureSeededRandomness(7))
    distance = np.abs(ideal.values - np.floor(ideal.values) - 0.5)
    open_still = ~(np.all(distance > ideal.errors, axis=1) & ideal.legible)
    assert open_still.mean() < 0.01


def test_an_odd_dimension_leaves_the_last_number_of_a_pair():
    uniforms = [
        uniform.ball()
        for uniform in GaussianNoise(Ellipsoid(np.eye(3))).ideal(1, InsecureSeededRandomness(8)).uniforms(0)
    ]
    assert len(uniforms) == 4 and len(exact_normals(uniforms, 3)) == 3
