"""The released law in three dimensions against exact cell probabilities, and the integrals behind them.

Seeds are fixed; drawn at random, they would make a correct sampler fail one of these tests with a chance below 4e-8.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb, ctx
from reference.cell_law import PRECISION, cell_law, window_counts
from reference.released_law import interval_law, polygon_law
from scipy import stats

from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.rejection import RejectionNoise, box_around
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness

pytestmark = pytest.mark.long

FALSE_ALARM = 1e-8
WINDOW = 3
BOUND = 1.25
CYCLE = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0], [0, 1, -1], [-1, 0, 1]])
GENERIC = np.array([[2, 1, 0], [0, 1, 2], [1, -1, 1]])


def body_of(differences):
    return hull_of_differences(differences, np.full(len(differences), BOUND))


@cache
def law_of(name):
    return cell_law(body_of({"cycle": CYCLE, "generic": GENERIC}[name]), WINDOW)


def p_value(draws, law):
    """χ² over cells with at least 10 draws expected; everything else pooled."""
    observed = window_counts(draws, WINDOW)
    expected = len(draws) * np.array([float(law[cell]) for cell in sorted(law)])
    large = expected >= 10
    rest = len(draws) - np.array([observed[large].sum(), expected[large].sum()])
    statistic = np.sum((observed[large] - expected[large]) ** 2 / expected[large]) + (rest[0] - rest[1]) ** 2 / rest[1]
    return stats.chi2.sf(statistic, large.sum())


@pytest.mark.parametrize(("name", "differences"), [("cycle", CYCLE), ("generic", GENERIC)])
def test_draws_follow_the_exact_cell_probabilities(name, differences):
    draws = FacetConeNoise(body_of(differences)).draw(10**6, InsecureSeededRandomness(31))
    assert p_value(draws, law_of(name)) > FALSE_ALARM


def test_draws_by_rejection_follow_the_exact_cell_probabilities():
    body = body_of(CYCLE)
    draws = RejectionNoise(body, box_around(body)).draw(200_000, InsecureSeededRandomness(32))
    assert p_value(draws, law_of("cycle")) > FALSE_ALARM


def test_a_law_that_is_slightly_wrong_is_noticed():
    """Independent Laplace noise of the same second moments, and the right noise stretched by two percent."""
    body = body_of(CYCLE)
    scales = np.sqrt(np.diag(body.noise_second_moment) / 2)
    for law, factor in ((LaplaceNoise(scales), Fraction(1)), (FacetConeNoise(body), Fraction(51, 50))):
        assert p_value(law.draw(10**6, InsecureSeededRandomness(33), factor), law_of("cycle")) < FALSE_ALARM


@pytest.mark.parametrize(("name", "differences"), [("cycle", CYCLE), ("generic", GENERIC)])
def test_the_exact_log_ratio_of_neighbours_never_exceeds_the_distance(name, differences):
    """Balls of 160 bits: the upper end of |log P(z) − log P(z + Δ)| is at most the bound, up to 1e-30."""
    law, largest = law_of(name), 0.0
    with ctx.workprec(PRECISION):
        logarithms = {cell: probability.log() for cell, probability in law.items()}
        for difference in differences.tolist():
            for cell, here in logarithms.items():
                there = logarithms.get(tuple(z + d for z, d in zip(cell, difference, strict=True)))
                if there is not None:
                    loss = abs(here - there)
                    assert bool(loss <= arb(BOUND) + arb(10) ** -30)
                    largest = max(largest, float(loss))
    assert largest > 0.99 * BOUND


def test_cells_in_a_plane_are_those_of_the_planar_integrals():
    body = hull_of_differences(np.array([[5, 1], [2, 4], [-3, 3]]), np.ones(3))
    law, planar = cell_law(body, 3), polygon_law(body, 3)
    assert all(abs(float(law[cell]) / float(planar[cell]) - 1) < 1e-14 for cell in planar)


def test_cells_of_an_octahedron_are_products():
    body = hull_of_differences(2 * np.eye(3, dtype=np.int64), np.ones(3))
    law, line = cell_law(body, 1), interval_law(Fraction(body.inflation) * 2, 1)
    assert all(abs(float(p) / float(line[x] * line[y] * line[z]) - 1) < 1e-14 for (x, y, z), p in law.items())
