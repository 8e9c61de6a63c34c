"""The search over cones, against norms whose comparison is known."""

from __future__ import annotations

import numpy as np
import pytest
from flint import fmpq

from dxgeom.geometry import containment
from dxgeom.geometry.containment import Norm, is_nowhere_longer
from dxgeom.geometry.round_bodies import CrossPolytope, Ellipsoid, PowerBall
from dxgeom.numeric.exact_numbers import total


def norms(body):
    return Norm(body.gauge, body.exact_gauge), Norm(body.support_function, body.exact_support)


def test_cones_and_their_halves_fill_half_of_space_once():
    """Each of many points lies, up to its sign, in exactly one open cone, however often cones are halved."""
    generator, cones = np.random.default_rng(0), containment._orthants(3)
    points = generator.standard_normal((500, 3))
    for _ in range(7):
        weights = np.linalg.solve(cones.transpose(0, 2, 1)[:, None], points[:, :, None])[..., 0]
        held = np.all(weights > 0, axis=2) | np.all(weights < 0, axis=2)
        assert np.all(held.sum(axis=0) == 1)
        cones = containment._halved(cones, generator.uniform(0.1, 10, cones.shape[:2]))


def test_a_seminorm_is_compared_too():
    """|v_1| against the disc of radius 1: it touches at a point, and is shorter by a millionth when stretched."""
    disc, reach = norms(Ellipsoid(np.eye(2)))
    for factor, verdict in ((fmpq(999_999, 1_000_000), True), (fmpq(1_000_001, 1_000_000), False)):
        first = Norm(lambda v, f=factor: np.abs(v[..., 0]) * (int(f.p) / int(f.q)), lambda v, f=factor: abs(v[0]) * f)
        assert is_nowhere_longer(first, disc, reach, np.eye(2)) is verdict


def test_one_coordinate_is_one_cone():
    first, second = norms(CrossPolytope(np.array([3.0])))[0], norms(CrossPolytope(np.array([2.0])))
    assert is_nowhere_longer(first, *second, np.eye(1)) is True
    assert is_nowhere_longer(second[0], *norms(CrossPolytope(np.array([3.0]))), np.eye(1)) is False


@pytest.mark.parametrize("shape", [np.ones((2, 2)), np.array([[1.0, 2.0], [2.0, 4.0]])])
def test_first_cones_that_do_not_fill_space_prove_nothing(shape):
    disc, reach = norms(Ellipsoid(np.eye(2)))
    assert is_nowhere_longer(norms(Ellipsoid(2 * np.eye(2)))[0], disc, reach, shape) is None


def test_limits_end_a_search_without_a_verdict(monkeypatch):
    first, (second, dual) = norms(PowerBall(np.full(3, 1.001), 2.0))[0], norms(PowerBall(np.ones(3), 1.9999))
    assert is_nowhere_longer(first, second, dual, np.eye(3)) is True
    monkeypatch.setattr(containment, "MOST_CONES", 16)
    assert is_nowhere_longer(first, second, dual, np.eye(3)) is None


def test_float_norms_that_lie_prove_nothing():
    """Only the exact forms count: float norms that call everything short, or long, leave the verdict open."""
    (disc, exact), (second, dual) = norms(Ellipsoid(0.5 * np.eye(2))), norms(Ellipsoid(np.eye(2)))
    del exact
    liar = Norm(lambda v: 1e-3 * disc.rounded(v), disc.exact)
    assert is_nowhere_longer(liar, second, dual, np.eye(2)) is not True
    longer = Norm(lambda v: 1e3 * second.rounded(v), lambda v: total([*map(abs, v)]) / 2)
    assert is_nowhere_longer(longer, second, dual, np.eye(2)) is None
