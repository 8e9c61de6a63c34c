"""The released law against exact cell probabilities.

Every test here draws from a fixed seed, so it either always passes or never does. Were the seeds drawn at random, a
correct sampler would fail one of them with a chance below 2e-7 in all: 13 tests at 1e-8 each.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from reference.released_law import interval_law, polygon_law, two_intervals_law
from scipy import stats

from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness

pytestmark = pytest.mark.long

FALSE_ALARM = 1e-8
DRAWS = 1_000_000

HEXAGON = np.array([[5, 1], [2, 4], [-3, 3]])
THIN = np.array([[12, 11], [1, 2]])
COUNTS = np.array([[1, 0], [0, 1], [1, -1]])


def body_of(differences, bound=1.0):
    return hull_of_differences(np.asarray(differences, dtype=np.int64), np.full(len(differences), bound))


def chi_square_p_value(draws, law):
    """Cells with an expected count of at least 10, the rest pooled into one."""
    cells, counts = np.unique(draws, axis=0, return_counts=True)
    seen = {tuple(int(x) for x in cell): int(count) for cell, count in zip(cells, counts, strict=True)}
    expected = {cell: float(p) * len(draws) for cell, p in law.items()}
    large = [cell for cell, e in expected.items() if e >= 10]
    observed = np.array([seen.get(cell, 0) for cell in large], dtype=float)
    wanted = np.array([expected[cell] for cell in large])
    observed = np.append(observed, len(draws) - observed.sum())
    wanted = np.append(wanted, len(draws) - wanted.sum())
    assert wanted[-1] > 0
    return stats.chi2.sf(np.sum((observed - wanted) ** 2 / wanted), len(wanted) - 1)


def smooth_law(body, window):
    """Cell integrals of exp(-gauge) by 20 Gauss-Legendre nodes on an 8 x 8 cut of each cell: about 1e-7 accurate."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    places = ((np.arange(8)[:, None] + (nodes + 1) / 2) / 8 - 0.5).ravel()
    weights = np.tile(weights / 16, 8)
    total = body.volume * 2
    law = {}
    for x in range(-window, window + 1):
        for y in range(-window, window + 1):
            points = np.stack(np.meshgrid(x + places, y + places, indexing="ij"), axis=-1)
            law[x, y] = float(weights @ np.exp(-body.gauge(points)) @ weights) / total
    return law


@pytest.mark.parametrize("radius", [Fraction(3, 2), Fraction(7), Fraction(1, 4)])
def test_one_dimensional_draws_follow_the_exact_cell_probabilities(radius):
    law = {(z,): p for z, p in interval_law(radius, 200).items()}
    draws = LaplaceNoise(np.array([float(radius)])).draw(DRAWS, InsecureSeededRandomness(11))
    assert chi_square_p_value(draws, law) > FALSE_ALARM


def test_the_one_dimensional_hull_is_laplace_noise():
    body = body_of([[3]], bound=0.5)
    law = {(z,): p for z, p in interval_law(Fraction(6), 200).items()}
    draws = FacetConeNoise(body).draw(DRAWS, InsecureSeededRandomness(12))
    assert chi_square_p_value(draws, law) > FALSE_ALARM


@pytest.mark.parametrize("differences", [HEXAGON, THIN, COUNTS])
def test_two_dimensional_draws_follow_the_exact_cell_probabilities(differences):
    body = body_of(differences)
    law = polygon_law(body, 12)
    draws = FacetConeNoise(body).draw(DRAWS, InsecureSeededRandomness(13))
    assert chi_square_p_value(draws, law) > FALSE_ALARM


def test_a_smaller_spend_widens_the_law_exactly():
    body = body_of(COUNTS)
    stretched = body_of(COUNTS, bound=0.5)
    law = polygon_law(stretched, 12)
    draws = FacetConeNoise(body).draw(DRAWS, InsecureSeededRandomness(14), Fraction(2))
    assert chi_square_p_value(draws, law) > FALSE_ALARM


def test_box_noise_follows_the_law_of_the_polygon_with_its_corners():
    corners = np.array([[6, 2], [6, -2]])
    draws = BoxNoise(Box(np.array([6.0, 2.0]))).draw(DRAWS, InsecureSeededRandomness(15))
    assert chi_square_p_value(draws, polygon_law(body_of(corners), 12)) > FALSE_ALARM


def test_rotated_laplace_noise_follows_the_law_of_its_image():
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    corners = np.array([[4, 3], [-6, 8]])
    law = LinearImageNoise(LaplaceNoise(np.array([5.0, 10.0])), turn)
    assert chi_square_p_value(law.draw(DRAWS, InsecureSeededRandomness(16)), polygon_law(body_of(corners), 12)) > (
        FALSE_ALARM
    )


@pytest.mark.parametrize(("first", "second"), [(3, 5), (0.25, 6)])
def test_laplace_noise_through_a_wide_map_follows_the_law_of_a_sum(first, second):
    law = LinearImageNoise(LaplaceNoise(np.array([2.0, 0.5])), np.array([[first / 2, -2.0 * second]]))
    exact = {(z,): p for z, p in two_intervals_law(Fraction(first), Fraction(second), 200).items()}
    assert chi_square_p_value(law.draw(DRAWS, InsecureSeededRandomness(18)), exact) > FALSE_ALARM


def test_the_exact_log_ratio_through_a_wide_map_never_exceeds_the_shortest_shift_that_is_absorbed():
    """A shift by 1 is a shift by 1/3 or by 1/5 of the one or the other summand's unit; the second costs less."""
    law = two_intervals_law(Fraction(3), Fraction(5), 60)
    ratios = [abs(mpmath.log(p) - mpmath.log(law[z + 1])) for z, p in law.items() if z + 1 in law]
    assert 0.19 < max(ratios) <= mpmath.mpf(1) / 5 + mpmath.mpf(10) ** -40


def test_ellipsoid_noise_follows_the_exact_cell_probabilities():
    axes = np.array([[4.0, 0.5], [1.0, 2.0]])
    draws = EllipsoidNoise(Ellipsoid(axes)).draw(DRAWS, InsecureSeededRandomness(17))
    assert chi_square_p_value(draws, smooth_law(Ellipsoid(axes), 12)) > FALSE_ALARM


@pytest.mark.parametrize("differences", [HEXAGON, THIN, COUNTS])
def test_the_exact_log_ratio_of_neighbours_never_exceeds_the_distance(differences):
    """For neighbouring histograms the answers differ by a generating difference, an integer vector."""
    bound = 1.0
    law = polygon_law(body_of(differences, bound), 14)
    for difference in differences:
        for z, p in law.items():
            shifted = (z[0] + int(difference[0]), z[1] + int(difference[1]))
            if shifted in law:
                assert abs(mpmath.log(p) - mpmath.log(law[shifted])) <= bound + mpmath.mpf(10) ** -15


def test_the_exact_log_ratio_in_one_dimension_never_exceeds_the_distance():
    law = interval_law(Fraction(2), 60)
    for z, p in law.items():
        if z + 1 in law:
            assert abs(mpmath.log(p) - mpmath.log(law[z + 1])) <= mpmath.mpf(1) / 2 + mpmath.mpf(10) ** -40


def test_the_log_ratio_bound_is_attained_so_the_noise_is_not_wasteful():
    law = polygon_law(body_of(HEXAGON), 14)
    largest = max(
        abs(mpmath.log(p) - mpmath.log(law[z[0] + 5, z[1] + 1])) for z, p in law.items() if (z[0] + 5, z[1] + 1) in law
    )
    assert largest > 0.999
