"""What every noise law promises; a law that is missing here fails the last test.

Seeds are fixed. With random seeds a correct law would fail one of these with a chance below 1e-7: every comparison of a
moment allows six standard deviations of its own sampling error.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.families import members
from scipy.optimize import linprog

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.body import DEGREES
from dxgeom.geometry.containment import contains_point
from dxgeom.geometry.halfspaces import HalfspacePolytope
from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.noise.composed import CartesianProductNoise, LinearImageNoise, ProductNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.in_categories import CategoryNormals
from dxgeom.noise.jump_shifts import JumpShifts
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.noise.k_norm import LAWS as LAWS_FOR_BODIES
from dxgeom.noise.k_norm import k_norm_noise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rejection import CutNoise, RejectionNoise
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.noise.toeplitz import ToeplitzNormals
from dxgeom.noise.triangular import DifferencedNormals, KroneckerNormals, TriangularNormals
from dxgeom.numeric.randomness import InsecureSeededRandomness

DRAWS = 1_000_000
HEXAGON = HalfspacePolytope(np.array([[1.0, 0], [0, 1], [1, 1]]), np.array([40.0, 40, 50]))
SILENT_OF_SIZES = (CutNoise, GaussianWithJumps, CartesianProductNoise, LinearImageNoise, RejectionNoise)


def hull(differences):
    differences = np.asarray(differences, dtype=np.int64)
    return FacetConeNoise(hull_of_differences(differences, np.ones(len(differences))))


def generic(dimension):
    return np.random.default_rng(dimension).integers(-400, 401, (4 * dimension, dimension))


def cube(dimension):
    return np.array(np.meshgrid(*[[-100, 100]] * dimension)).reshape(dimension, -1).T


LAWS = {
    "laplace": LaplaceNoise(np.array([3.0, 40.0, 700.0])),
    "box": BoxNoise(Box(np.array([5.0, 70.0, 0.5]))),
    "one-dimensional box": BoxNoise(Box(np.array([30.0]))),
    "disc": EllipsoidNoise(Ellipsoid(40 * np.eye(2))),
    "tilted ellipsoid": EllipsoidNoise(Ellipsoid(np.array([[100.0, 3, 0], [90, 1, 1], [0, 2, 7]]))),
    "one-dimensional ellipsoid": EllipsoidNoise(Ellipsoid(np.array([[30.0]]))),
    "ball 6": EllipsoidNoise(Ellipsoid(25 * np.eye(6))),
    "Gaussian": GaussianNoise(Ellipsoid(np.array([[100.0, 3, 0], [90, 1, 1], [0, 2, 7]]))),
    "one Gaussian number": GaussianNoise(Ellipsoid(np.array([[30.0]]))),
    "differences in a table": DifferencedNormals(30.0, np.array([3.0, 2.0, 2.0])),
    "normal numbers along bases": KroneckerNormals(
        np.array([[[30.0], [9.0]], [[5.0], [60.0]]]),
        (
            np.array([[1.0, 0.5], [-0.2, 1.0]]),
            np.array([[0.9, 0.1], [0.3, -0.8]]),
            np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]]),
        ),
    ),
    "normal numbers in running totals": ToeplitzNormals(
        np.array([2**60, 2**59, 3 * 2**57, -(2**55)]), np.array([90.0, 90.0, 40.0, 60.0])
    ),
    "normal numbers through a triangle": TriangularNormals(np.array([[90.0, 0.0], [-40.0, 60.0]])),
    "normal numbers that categories share": CategoryNormals(
        np.array([[90.0, 0.0], [-40.0, 60.0]]), np.array([[-20.0, 0.0], [8.0, 16.0]]), (1, 2, 2)
    ),
    "Gaussian with jumps": GaussianWithJumps.around(
        GaussianNoise(Ellipsoid(np.array([[50.0, 0.0], [-12.0, 40.0]]))),
        JumpShifts.listed(np.array([[30, 0], [0, 20], [30, -20], [10, 10]]), np.array([1.0, 1.0, 1.25, 0.875])),
    ),
    "Gaussian beside Laplace, turned": LinearImageNoise(
        ProductNoise((LaplaceNoise(np.array([9.0])), GaussianNoise(Ellipsoid(np.array([[30.0]]))))),
        np.array([[0.8, -0.6], [0.6, 0.8]]),
    ),
    "product": ProductNoise((LaplaceNoise(np.array([9.0])), BoxNoise(Box(np.array([30.0, 2.0]))))),
    "Cartesian product": CartesianProductNoise(
        (
            LaplaceNoise(np.array([20.0, 20.0, 20.0])),
            BoxNoise(Box(np.array([30.0, 7.0]))),
            EllipsoidNoise(Ellipsoid(12 * np.eye(2))),
            hull([[100, 0], [0, 100], [100, -100]]),
        )
    ),
    "rotated Laplace": LinearImageNoise(LaplaceNoise(np.array([90.0, 4.0])), np.array([[0.8, -0.6], [0.6, 0.8]])),
    "Laplace through a wide map": LinearImageNoise(
        LaplaceNoise(np.array([90.0, 4.0, 30.0])), np.array([[0.8, -0.6, 1.0], [0.6, 0.8, -2.0]])
    ),
    "disc in a box": RejectionNoise(Ellipsoid(40 * np.eye(2)), BoxNoise(Box(np.array([41.0, 40.0])))),
    "square cut by a halfspace": CutNoise(
        BoxNoise(Box(np.array([40.0, 40.0]))),
        np.array([[1.0, 1.0]]),
        np.array([50.0]),
        HEXAGON.volume / 80**2,
        HEXAGON.noise_second_moment,
    ),
    "interval": hull([[250]]),
    "hexagon": hull([[100, 0], [0, 100], [100, -100]]),
    "skewed": hull([[100_000, 99_000], [10, 20], [90, 100]]),
    "generic 3": hull(generic(3)),
    "cube 4": hull(cube(4)),
    "generic 5": hull(generic(5)),
    "generic 6": hull(generic(6)),
    "counts 7": hull(
        100
        * np.vstack(
            [np.eye(7, dtype=int)] + [np.eye(7, dtype=int) - np.roll(np.eye(7, dtype=int), s, 1) for s in (1, 2, 3)]
        )
    ),
}


def moment_errors(draws, second_moment, extra):
    """Deviations of the sample's second moments from the exact ones, in standard errors."""
    products = draws[:, :, None] * draws[:, None, :]
    expected = second_moment + extra * np.eye(len(second_moment))
    standard_error = products.std(axis=0) / np.sqrt(len(draws))
    return np.abs(products.mean(axis=0) - expected) / standard_error


@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_simulated_draws_have_the_exact_second_moment(name):
    law = LAWS[name]
    draws = law.simulate(DRAWS, np.random.default_rng(7))
    assert draws.shape == (DRAWS, law.dimension)
    assert moment_errors(draws, law.second_moment, 0).max() < 6


@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_what_a_law_says_of_mean_sizes_agrees_with_simulation(name):
    law = LAWS[name]
    rows = np.vstack([np.eye(law.dimension), np.random.default_rng(3).normal(size=(2, law.dimension))])
    for some in (rows, rows[: law.dimension]):
        told = law.mean_sizes_along(some)
        if told is None:
            continue
        sizes = np.abs(law.simulate(DRAWS, np.random.default_rng(11)) @ some.T)
        assert np.all(np.abs(sizes.mean(axis=0) - told) < 6 * sizes.std(axis=0) / np.sqrt(DRAWS))
        return
    assert isinstance(law, SILENT_OF_SIZES), "a law that is silent of mean sizes is on that list"


@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_released_draws_are_symmetric_and_have_the_exact_second_moment_plus_a_twelfth(name):
    law = LAWS[name]
    draws = law.draw(DRAWS, InsecureSeededRandomness(8))
    assert np.abs(np.sign(draws).sum(axis=0)).max() < 6 * np.sqrt(DRAWS)
    assert moment_errors(draws.astype(float), law.second_moment, 1 / 12).max() < 6


@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_a_factor_stretches_released_draws(name):
    law = LAWS[name]
    draws = law.draw(DRAWS // 4, InsecureSeededRandomness(9), Fraction(7, 2)).astype(float)
    assert moment_errors(draws, law.second_moment * 3.5**2, 1 / 12).max() < 6


@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_no_coordinate_reaches_further_than_stated(name):
    law = LAWS[name]
    assert np.abs(law.simulate(10_000, np.random.default_rng(1))).max() <= law.amplitude * 60


@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_the_loss_of_a_shift_is_at_most_its_stated_bound(name):
    """By that of the body, where it is known; through a wide map no preimage is shorter than the bound says."""
    law = LAWS[name]
    shifts = np.random.default_rng(2).standard_normal((50, law.dimension)) * 30
    bounds = law.loss_upper_bounds(shifts, np.zeros_like(shifts))
    if law.body is not None:
        assert law.body.dimension == law.dimension
        for shift, bound in zip(shifts.tolist(), bounds.tolist(), strict=True):
            assert contains_point(law.body, [Fraction(x) / Fraction(bound) for x in shift])
        assert bounds == pytest.approx(law.body.gauge(shifts), rel=1e-6)
        if not law.concentrated:
            assert np.allclose(law.body.noise_second_moment, law.second_moment, rtol=1e-9)
    elif isinstance(law, CutNoise):
        assert bounds == pytest.approx(HEXAGON.gauge(shifts), rel=1e-9)
    elif isinstance(law, GaussianWithJumps):
        points = law.shifts.points(slice(None)).T
        for shift, bound in zip(shifts, bounds, strict=True):
            least = linprog(np.ones(2 * law.shifts.count), A_eq=np.hstack([points, -points]), b_eq=shift).fun
            assert bound >= least * (1 - 1e-9)
    else:
        ways = "in running totals", "through a triangle", "that categories share"
        totals = [f"normal numbers {way}" for way in ways]
        others = "differences in a table", "normal numbers along bases", *totals
        assert name in ("Laplace through a wide map", *others)
        preimages = shifts @ np.linalg.pinv(law.map).T
        if law.concentrated:
            lengths = np.linalg.norm(preimages, axis=1) / getattr(law, "scale", 1.0)
        else:
            lengths = np.sum(np.abs(preimages) / law.inner.scales, axis=1)
        assert bounds == pytest.approx(lengths, rel=1e-9)
        with pytest.raises(UnsupportedCombination, match="projection"):
            law.known_body  # noqa: B018


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if not isinstance(law, CutNoise)])
def test_a_law_casts_the_shadow_of_its_body(name):
    law = LAWS[name]
    onto = np.random.default_rng(3).standard_normal((2, law.dimension))

    def widths(directions):
        if isinstance(law, GaussianWithJumps):
            return np.abs(directions @ onto @ law.shifts.points(slice(None)).T).max(axis=-1)
        inner, image = (law.inner, onto @ law.map) if law.body is None else (law, onto)
        return inner.known_body.support_function(directions @ image)

    size = float(widths(DEGREES).max())
    for direction in np.random.default_rng(4).standard_normal((10, 2)):
        direction /= np.linalg.norm(direction)
        widest = float(widths(direction))
        assert float((law.projection(onto) @ direction).max()) == pytest.approx(widest, rel=0, abs=1e-3 * size)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, law in LAWS.items() if law.body is not None and not law.concentrated])
def test_the_noise_of_a_law_s_body_has_that_law(name):
    """By its own digest, or by its moment where another kind draws the same noise."""
    law = LAWS[name]
    again = k_norm_noise(law.body)
    assert np.allclose(again.second_moment, law.second_moment, rtol=1e-9)
    if type(again) is type(law):
        assert again.digest == law.digest


def test_every_law_has_a_digest_of_its_own():
    assert len({law.digest for law in LAWS.values()}) == len(LAWS)


def test_every_law_is_offered_the_bodies_it_draws():
    # Products stand above the other laws: whoever knows a body's factors makes their noise.
    assert members(NoiseLaw) - {CartesianProductNoise} == set(LAWS_FOR_BODIES)


def test_no_law_is_forgotten():
    assert {type(law) for law in LAWS.values()} == members(NoiseLaw)
