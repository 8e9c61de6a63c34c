"""What every discrete noise law promises; a law that is missing here fails the last test.

Seeds are fixed. With random seeds a correct law would fail one of the statistical tests with a chance below 1e-6.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, fmpq
from reference.families import members
from scipy import stats

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.hulls import integer_hull
from dxgeom.noise.lattice_laws import DiscreteConeNoise, DiscreteLaplaceNoise, DiscreteNoise, discrete_hull_noise
from dxgeom.numeric.randomness import InsecureSeededRandomness

DRAWS = 100_000
FALSE_ALARM = 1e-8

COUNTS = [[1, 0], [0, 1], [1, -1]]
CYCLE = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0], [0, 1, -1], [-1, 0, 1]]
HULLS = {
    "interval": ([[3]], ["1/2"]),
    "hexagon": (COUNTS, ["1/2"] * 3),
    "unequal bounds": ([[5, 1], [2, 4], [-3, 3]], ["1", "2", "3/2"]),
    "thin": ([[12, 11], [1, 2]], ["1", "1"]),
    "skewed": ([[1000, 999], [0, 1]], ["1", "1"]),
    "square with a redundant point": ([[2, 2], [2, -2], [2, 1], [0, 0]], ["3/4", "3/4", "1", "1"]),
    "counts on a cycle": (CYCLE, ["1"] * 6),
    "cube": ([[2, 2, 2], [2, 2, -2], [2, -2, 2], [2, -2, -2]], ["3/2"] * 4),
    "generic 3": ([[2, 1, 0], [0, 1, 3], [1, -1, 1], [1, 2, 2]], ["3/2"] * 4),
    "counts 4": (
        np.vstack([np.eye(4, dtype=int), np.eye(4, dtype=int) - np.roll(np.eye(4, dtype=int), 1, 1)]),
        ["1"] * 8,
    ),
}


def exact(bounds):
    return [Fraction(bound) for bound in bounds]


LAWS = {
    **{name: discrete_hull_noise(np.array(d), exact(b)) for name, (d, b) in HULLS.items()},
    "laplace": DiscreteLaplaceNoise((Fraction(3, 2), Fraction(1, 3), Fraction(4))),
    "one laplace": DiscreteLaplaceNoise((Fraction(17, 10),)),
}
WINDOW = {1: 40, 2: 8, 3: 4, 4: 2}


def window(law):
    reach = WINDOW[law.dimension]
    return list(product(range(-reach, reach + 1), repeat=law.dimension))


@pytest.fixture(params=LAWS, scope="module")
def law(request):
    return LAWS[request.param]


@pytest.fixture(scope="module")
def draws(law):
    return law.draw(DRAWS, InsecureSeededRandomness(21))


def test_draws_have_the_exact_second_moment(law, draws):
    """Six standard errors for each entry."""
    products = (draws[:, :, None] * draws[:, None, :]).astype(float)
    standard_error = products.std(axis=0) / np.sqrt(DRAWS)
    assert np.all(np.abs(products.mean(axis=0) - law.second_moment) <= 6 * standard_error)


def test_draws_follow_the_exact_probabilities(law, draws):
    reach, size = WINDOW[law.dimension], law.dimension
    inside = draws[np.all(np.abs(draws) <= reach, axis=1)]
    places = np.ravel_multi_index(tuple((inside + reach).T), (2 * reach + 1,) * size)
    observed = np.bincount(places, minlength=(2 * reach + 1) ** size)
    expected = DRAWS * np.array([float(law.probability(point)) for point in window(law)])
    large = expected >= 10
    assert large.sum() >= 3
    rest = DRAWS - np.array([observed[large].sum(), expected[large].sum()])
    statistic = np.sum((observed[large] - expected[large]) ** 2 / expected[large]) + np.diff(rest)[0] ** 2 / rest[1]
    assert stats.chi2.sf(statistic, large.sum()) > FALSE_ALARM


def test_probabilities_are_symmetric(law):
    for point in window(law)[::7]:
        assert law.probability(point).overlaps(law.probability([-z for z in point]))


@pytest.mark.parametrize("name", ["interval", "hexagon", "square with a redundant point", "one laplace"])
def test_probabilities_sum_to_one_and_give_the_second_moment(name):
    """On a window so wide that what lies outside is less than the digits compared."""
    law = LAWS[name]
    reach = {1: 400, 2: 90}[law.dimension]
    points = np.array(list(product(range(-reach, reach + 1), repeat=law.dimension)))
    probabilities = np.array([float(law.probability(point)) for point in points])
    assert abs(probabilities.sum() - 1) < 1e-9
    assert np.allclose((points * probabilities[:, None]).T @ points, law.second_moment, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", HULLS)
def test_the_log_ratio_never_exceeds_the_bound_of_a_difference(name):
    """log P(z) − log P(z + Δ) = rate·(‖z + Δ‖ − ‖z‖), compared in exact rationals; some pair attains a bound."""
    law, (differences, bounds) = LAWS[name], HULLS[name]
    attained = False
    for point in window(law)[:: 1 if law.dimension < 3 else 5]:
        here = law.gauge(point)
        for difference, bound in zip(np.asarray(differences).tolist(), exact(bounds), strict=True):
            there = law.gauge([z + d for z, d in zip(point, difference, strict=True)])
            loss = law.rate * abs(there - here)
            assert loss <= bound
            attained |= loss == bound
    assert attained


@pytest.mark.parametrize("name", HULLS)
def test_every_lattice_point_lies_in_exactly_one_half_open_cone(name):
    law = LAWS[name]
    points = np.array(window(law)).astype(object)
    coordinates = np.einsum("fij,bj->bfi", law._exact_inverses, points)
    held = np.all((coordinates > 0) | ((coordinates == 0) & law._closed), axis=2)
    assert np.all(held.sum(axis=1) == 1)


@pytest.mark.parametrize("name", HULLS)
def test_a_parallelepiped_holds_as_many_lattice_points_as_its_determinant(name):
    law = LAWS[name]
    for cone, points in enumerate(law._points):
        volume = law.fan.volumes[cone]
        assert len(np.unique(points, axis=0)) == len(points) == volume
        assert not np.any(points @ law._corners[cone] % int(volume))
        assert np.all((points >= 0) & (points < volume) | ~law._closed[cone] & (points == volume))


def test_the_log_probability_falls_by_the_loss(law):
    """log P(0) − log P(z) is ‖z‖, within the balls; and ‖·‖ is a norm."""
    origin = law.probability([0] * law.dimension)
    for point in window(law)[::11]:
        loss = law.loss(point)
        assert (origin.log() - law.probability(point).log()).overlaps(arb(fmpq(loss.numerator, loss.denominator)))
        assert law.loss([-2 * z for z in point]) == 2 * loss
        assert law.loss([z + 1 for z in point]) <= loss + law.loss([1] * law.dimension)


def test_every_law_has_a_digest_of_its_own():
    assert len({law.digest for law in LAWS.values()}) == len(LAWS)
    assert DiscreteLaplaceNoise((Fraction(17, 10),)).digest == LAWS["one laplace"].digest


def test_one_dimension_is_discrete_laplace():
    hull, laplace = discrete_hull_noise(np.array([[3]]), [Fraction(1, 2)]), DiscreteLaplaceNoise((Fraction(6),))
    assert abs(hull.second_moment[0, 0] / laplace.second_moment[0, 0] - 1) < 1e-12
    for z in range(-20, 21):
        assert (hull.probability([z]) - laplace.probability([z])).contains(arb(0))


def test_a_wide_discrete_law_nears_the_ideal_one():
    """E[Z Zᵀ] → E[V Vᵀ] of the noise with the same density: relative difference of the order of 1/scale²."""
    wide = discrete_hull_noise(np.array(COUNTS), exact(["1/100"] * 3))
    ideal = np.array([[10, 5], [5, 10]]) / 3 * 100**2
    corners = np.array([[1, 0], [0, 1], [-1, 1]])
    cones = [corners[[0, 1]], corners[[1, 2]], np.array([[-1, 1], [-1, 0]])]
    ideal = sum(c.T @ c + np.outer(c.sum(axis=0), c.sum(axis=0)) for c in cones) / 3 * 100**2
    assert np.allclose(wide.second_moment, ideal, rtol=1e-3)


@pytest.mark.parametrize(
    ("differences", "bounds", "error", "words"),
    [
        ([[1, 0], [2, 0]], ["1", "1"], NotANormBall, "subspace"),
        ([[1]], ["0"], NotANormBall, "positive"),
        ([[50_000, 1], [1, 50_000]], ["1", "1"], TooLarge, "determinant"),
        ([[1, 0], [0, 1]], [str(Fraction(0.1)), "1"], TooLarge, "common denominator"),
        ([[1, 0], [0, 1]], ["1/1125899906842624", "1/1125899906842624"], TooLarge, "scale"),
        ([[2**40]], ["1"], None, ""),
        ([[0]], ["1"], TooLarge, "common denominator"),
    ],
)
def test_what_integers_cannot_do_is_refused(differences, bounds, error, words):
    if error is None:
        assert discrete_hull_noise(np.array(differences), exact(bounds)).rate == Fraction(1, 2**40)
        return
    with pytest.raises(error, match=words):
        discrete_hull_noise(np.array(differences), exact(bounds))


def test_a_law_too_steep_to_accept_is_refused():
    fan = integer_hull(np.array([[1000, 3], [7, 900]]))
    with pytest.raises(TooLarge, match="steep"):
        DiscreteConeNoise(fan, Fraction(7))
    assert DiscreteConeNoise(fan, Fraction(6)).draw(10, InsecureSeededRandomness(1)).shape == (10, 2)


def test_moments_of_too_many_points_are_refused():
    law = DiscreteConeNoise(integer_hull(np.array([[1000, 3], [7, 900]])), Fraction(1))
    with pytest.raises(TooLarge, match="moments"):
        law.second_moment  # noqa: B018


@pytest.mark.parametrize("scales", [(), (Fraction(0),), (Fraction(-1, 2),)])
def test_unusable_scales_are_refused(scales):
    with pytest.raises(NotANormBall):
        DiscreteLaplaceNoise(scales)


def test_no_law_is_forgotten():
    assert {type(law) for law in LAWS.values()} == members(DiscreteNoise)
