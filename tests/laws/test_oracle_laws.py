"""What every set known by its support function promises; one that is missing here fails the last test."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.bodies import exact_gauge

from dxgeom.geometry.hulls import EnclosureLimits, StatedSupport, SupportOracle, enclosing_polytope
from dxgeom.lab.statistic_release import norm_sensitivities
from dxgeom.learning.adjacent_outputs import AdjacentOutputs, ListedOutputs, PolynomialOutputs
from dxgeom.learning.polynomials import bounded_column, moments, regression_statistic

X, Y = bounded_column("x", -1, 2, "1/8"), bounded_column("y", 0, 100, 10)


def octahedron():
    def search(directions):
        axis = np.abs(directions).argmax(axis=1)
        signs = np.sign(directions[np.arange(len(directions)), axis])
        return np.eye(3)[axis] * signs[:, None]

    return StatedSupport(3, search, lambda direction: Fraction(max(abs(x) for x in direction)))


ORACLES = {
    "x and its square": PolynomialOutputs(moments([X])),
    "two linear entries": PolynomialOutputs(moments([X, Y], 1)),
    "regression": PolynomialOutputs(regression_statistic([X], Y)),
    "cubic": PolynomialOutputs(moments([X], 3)),
    "histogram": ListedOutputs(np.vstack([np.eye(3), np.zeros((1, 3))]).astype(np.int64)),
    "listed": ListedOutputs(np.random.default_rng(1).integers(-1000, 1000, (40, 3))),
    "stated": octahedron(),
}
LIMITS = EnclosureLimits(0.1, 2000)


@pytest.fixture(scope="module")
def bodies():
    return {name: enclosing_polytope(oracle, LIMITS) for name, oracle in ORACLES.items()}


@pytest.fixture(params=ORACLES)
def name(request):
    return request.param


def directions_for(oracle):
    directions = np.random.default_rng(2).integers(-50, 51, (200, oracle.dimension))
    return directions[np.any(directions != 0, axis=1)].astype(object)


def test_far_points_are_no_further_than_the_bound(name):
    oracle = ORACLES[name]
    directions = directions_for(oracle)
    bounds = oracle.reach_bounds(directions, [3] * len(directions))
    floats = directions.astype(float)
    reached = np.sum(floats * oracle.furthest(floats), axis=1) / 3
    assert np.all(reached <= bounds * (1 + 1e-12))
    assert np.all(reached >= bounds * (1 - 1e-3))


def test_the_set_is_symmetric(name):
    oracle = ORACLES[name]
    directions = directions_for(oracle)
    scales = [1] * len(directions)
    assert np.allclose(oracle.reach_bounds(directions, scales), oracle.reach_bounds(-directions, scales), rtol=1e-9)


def test_the_enclosing_polytope_holds_every_far_point_and_is_near(name, bodies):
    """Far points come from float64, so their gauge may pass 1 by its rounding."""
    oracle, enclosing = ORACLES[name], bodies[name]
    points = oracle.furthest(directions_for(oracle).astype(float))
    for point in points[:60]:
        assert exact_gauge(enclosing.body, [Fraction(float(x)) for x in point]) <= 1 + Fraction(1, 10**9)
    assert -1e-7 <= enclosing.excess <= LIMITS.tolerance + 1e-6
    directions = directions_for(oracle)
    needed = oracle.reach_bounds(directions, [1] * len(directions))
    given = enclosing.body.support_function(directions.astype(float))
    assert np.all(given >= needed * (1 - 1e-9))
    assert np.all(given <= needed * (1 + LIMITS.tolerance) * (1 + 1e-6))


@pytest.mark.parametrize("name", [name for name, oracle in ORACLES.items() if isinstance(oracle, AdjacentOutputs)])
def test_norms_of_differences_never_pass_the_sensitivities(name):
    oracle = ORACLES[name]
    steps = np.array([float(step) for step in oracle.steps])
    points = oracle.furthest(directions_for(oracle).astype(float)) * steps
    found = norm_sensitivities(oracle)
    for power, upper in ((1, found.l1.upper), (2, found.l2[1]), (np.inf, found.linf.upper)):
        assert np.linalg.norm(points, power, axis=1).max() <= float(upper) * (1 + 1e-12)
    assert found.linf.lower <= found.l1.lower
    assert found.l2_squared.lower <= found.l2_squared.upper


def test_no_oracle_is_forgotten():
    def leaves(kind):
        return set().union(*(leaves(one) for one in kind.__subclasses__())) if kind.__subclasses__() else {kind}

    assert {type(oracle) for oracle in ORACLES.values()} == leaves(SupportOracle)
