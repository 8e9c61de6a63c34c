"""Different samplers of one law agree with each other, with the exact moments and with the exact law of the radius.

For K-norm noise ‖V‖_K ~ Gamma(m) whatever the body, independent of the direction, which is all that differs. Seeds are
fixed; drawn at random, they would make a correct sampler fail one of these tests with a chance below 4e-6 in all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from reference.families import members
from scipy import stats

from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.round_bodies import Box, CrossPolytope, Ellipsoid, FreeSum, LinearImage, PowerBall
from dxgeom.noise.composed import CartesianProductNoise, LinearImageNoise, ProductNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.in_categories import CategoryNormals
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rejection import CutNoise, RejectionNoise, box_around, cross_polytope_around, ellipsoid_around
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.noise.toeplitz import ToeplitzNormals
from dxgeom.noise.triangular import DifferencedNormals, KroneckerNormals, TriangularNormals
from dxgeom.numeric.randomness import InsecureSeededRandomness

FALSE_ALARM = 1e-8
FEW = 5_000


def hull(differences):
    differences = np.asarray(differences, dtype=np.int64)
    return hull_of_differences(differences, np.ones(len(differences)))


def cones(differences):
    return FacetConeNoise(hull(differences))


def cube(widths):
    return np.array(np.meshgrid(*[[-w, w] for w in widths])).reshape(len(widths), -1).T


def turned(differences, seed):
    """Rotated at random, and rounded on a grid so fine that the turn is kept to six digits."""
    size = np.shape(differences)[1]
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]
    return np.rint(np.asarray(differences) @ turn * 2**16).astype(np.int64)


def generic(dimension):
    return np.random.default_rng(dimension).integers(-400, 401, (4 * dimension, dimension))


def counts(dimension, shifts):
    eye = np.eye(dimension, dtype=int)
    return 100 * np.vstack([eye] + [eye - np.roll(eye, shift, 1) for shift in shifts])


def by_rejection(body, *around):
    return [RejectionNoise(body, enclosing(body)) for enclosing in around]


def everywhere(differences):
    law = cones(differences)
    return [law, *by_rejection(law.body, box_around, cross_polytope_around, ellipsoid_around)]


WIDTHS = np.array([500.0, 20.0, 90.0])
AXES = np.array([[100.0, 30, 0], [20, 50, 10], [0, 20, 70]])
HEXAGON = np.array([[100, 0], [0, 100], [100, -100]])
CUT = np.array([[400, 100], [100, 400], [400, -400]])
SHEAR = np.array([[1, 3, 0], [0, 1, -2], [1, 0, 1]])
RADII = np.array([100.0, 3.0, 20.0, 50.0])
SAMPLERS: dict[str, Callable[[], list[NoiseLaw]]] = {
    "interval": lambda: [LaplaceNoise(np.array([250.0])), BoxNoise(Box(np.array([250.0]))), *everywhere([[250]])],
    "hexagon": lambda: everywhere(HEXAGON),
    "long and flat": lambda: [
        cones(d := [[100_000, 99_000], [10, 20], [90, 100]]),
        *by_rejection(hull(d), ellipsoid_around),
    ],
    "box": lambda: [
        BoxNoise(Box(WIDTHS)),
        cones(cube([500, 20, 90])),
        *by_rejection(Box(WIDTHS), cross_polytope_around, ellipsoid_around),
    ],
    "ellipsoid": lambda: [
        EllipsoidNoise(Ellipsoid(AXES)),
        *by_rejection(Ellipsoid(AXES), box_around, cross_polytope_around),
    ],
    "cross-polytope": lambda: [
        LaplaceNoise(RADII),
        cones(np.diag(RADII.astype(int))),
        *by_rejection(CrossPolytope(RADII), box_around, ellipsoid_around),
    ],
    "generic 3": lambda: everywhere(generic(3)),
    "turned box, a thousand times as long as wide": lambda: [
        cones(d := turned(cube([1000, 30, 1]), 5)),
        *by_rejection(hull(d), ellipsoid_around),
    ],
    "cube 4": lambda: everywhere(cube([100] * 4)),
    "turned counts 4": lambda: everywhere(turned(counts(4, (1, 2)), 6)),
    "generic 5": lambda: [cones(generic(5)), *by_rejection(hull(generic(5)), ellipsoid_around)],
    "generic 6": lambda: [cones(generic(6)), *by_rejection(hull(generic(6)), box_around)],
    "box cut by a halfspace": lambda: [
        cones(CUT),
        CutNoise(
            BoxNoise(Box(np.array([400.0, 400.0]))),
            np.array([[1.0, 1.0]]),
            np.array([500.0]),
            hull(CUT).volume / 800**2,
            hull(CUT).noise_second_moment,
        ),
        *by_rejection(hull(CUT), ellipsoid_around),
    ],
    "ball of l3": lambda: by_rejection(PowerBall(WIDTHS, 3.0), box_around, cross_polytope_around),
    "hexagon beside an interval": lambda: [
        ProductNoise((cones(HEXAGON), BoxNoise(Box(np.array([40.0]))))),
        cones(np.vstack([np.hstack([HEXAGON, np.zeros((3, 1), dtype=int)]), [[0, 0, 40]]])),
        *by_rejection(FreeSum((hull(HEXAGON), Box(np.array([40.0])))), box_around, ellipsoid_around),
    ],
    "image of a box": lambda: [
        LinearImageNoise(BoxNoise(Box(WIDTHS)), SHEAR.astype(float)),
        cones(cube([500, 20, 90]) @ SHEAR.T),
        *by_rejection(LinearImage(Box(WIDTHS), SHEAR.astype(float)), ellipsoid_around),
    ],
    "counts 7": lambda: [cones(d := counts(7, (1, 2, 3))), *by_rejection(hull(d), cross_polytope_around)],
}
"""The samplers of each body, made when a test asks for them."""


@cache
def samplers(name):
    return SAMPLERS[name]()


MANY = 10**6


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLERS)
def test_all_samplers_of_a_body_draw_one_law_a_million_times(name):
    laws = samplers(name)
    moment, gauge = laws[0].second_moment, laws[-1].body.gauge
    frequencies = []
    for seed, law in enumerate(laws):
        assert np.allclose(law.second_moment, moment, rtol=1e-6, atol=1e-6 * moment.max())
        draws = law.simulate(MANY, np.random.default_rng(seed))
        assert moment_errors(draws, law.second_moment).max() < 6
        assert stats.kstest(gauge(draws[:20_000]), stats.gamma(law.dimension).cdf).pvalue > FALSE_ALARM
        frequencies.append(directions(draws, moment))
    for first, second in pairwise(frequencies):
        assert same_frequencies(first, second) > FALSE_ALARM


def moment_errors(draws, second_moment):
    """Deviations of the sample's second moments from the exact ones, in standard errors."""
    squares = draws**2
    means, squared_means = draws.T @ draws / len(draws), squares.T @ squares / len(draws)
    return np.abs(means - second_moment) / np.sqrt((squared_means - means**2) / len(draws))


def directions(draws, second_moment):
    """In which of 2^m·m cells a draw's direction lies: signs and longest coordinate along the principal axes."""
    round_draws = np.linalg.solve(np.linalg.cholesky(second_moment), draws.T).T
    longest = np.abs(round_draws).argmax(axis=1)
    signs = (round_draws > 0) @ (1 << np.arange(draws.shape[1]))
    return np.bincount(signs * draws.shape[1] + longest, minlength=draws.shape[1] << draws.shape[1])


def same_frequencies(first, second):
    """p-value of two-sample χ² over cells with at least 20 draws together; the rest pooled."""
    table = np.stack([first, second])
    large = table.sum(axis=0) >= 20
    rest = table[:, ~large].sum(axis=1, keepdims=True)
    table = np.hstack([table[:, large], rest[:, rest.sum(axis=0) > 0]])
    return 1.0 if table.shape[1] < 2 else stats.chi2_contingency(table, correction=False).pvalue


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLERS)
def test_released_draws_are_of_the_same_law(name):
    laws = samplers(name)
    moment = laws[0].second_moment
    simulation = directions(laws[0].simulate(10**5, np.random.default_rng(50)), moment)
    for seed, law in enumerate(laws):
        draws = law.draw(FEW, InsecureSeededRandomness(seed), 1000).astype(float) / 1000
        assert moment_errors(draws, law.second_moment + np.eye(law.dimension) / 12e6).max() < 6
        assert same_frequencies(directions(draws, moment), simulation) > FALSE_ALARM


def test_no_law_is_forgotten():
    """Normal noise has no K-norm, a product no sampler of its own, and jumps are no norm: they have tests elsewhere."""
    others = {
        GaussianNoise,
        GaussianWithJumps,
        DifferencedNormals,
        KroneckerNormals,
        ToeplitzNormals,
        TriangularNormals,
        CategoryNormals,
        CartesianProductNoise,
    }
    quick = [name for name in SAMPLERS if name not in ("generic 6", "counts 7")]
    assert {type(law) for name in quick for law in samplers(name)} == members(NoiseLaw) - others


@pytest.mark.long
def test_the_bodies_have_one_to_seven_dimensions():
    assert {samplers(name)[0].dimension for name in SAMPLERS} == set(range(1, 8))
