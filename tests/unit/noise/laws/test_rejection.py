"""Envelopes are proved, tries are kept by exact decisions, and what cannot be proved is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb, fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.geometry.body import RowNorm
from dxgeom.geometry.containment import contains
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
from dxgeom.noise.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.rejection import (
    RejectionNoise,
    box_around,
    cross_polytope_around,
    ellipsoid_around,
    tightest_rejection,
)
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.noise.rounding import LazyUniform
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness


class ScriptedRandomness(Randomness):
    def __init__(self, words):
        self._words = [int(word) for word in words]
        self.asked = 0

    def words(self, count):
        self.asked += count
        handed, self._words = self._words[:count], self._words[count:]
        return np.array(handed, dtype=np.uint64)


def hull(dimension, seed=1):
    differences = np.random.default_rng(seed).integers(-99, 100, (3 * dimension + 2, dimension))
    return hull_of_differences(differences, np.ones(len(differences)))


BODIES = {
    "interval": Box(np.array([3.0])),
    "box": Box(np.array([3.0, 0.1, 50.0])),
    "cross-polytope": CrossPolytope(np.array([3.0, 0.1, 50.0])),
    "ellipsoid": Ellipsoid(np.array([[3.0, 1.0], [0.5, 0.1]])),
    "polygon": hull(2),
    "polytope": hull(4),
    "halfspaces": HalfspacePolytope(np.array([[1.0, 2, 0], [0, 1, 1], [3, 0, 1], [1, 1, 1]]), np.array([2.0, 1, 3, 1])),
    "power 3": PowerBall(np.array([3.0, 0.5, 2.0, 1.0]), 3.0),
    "power 3/2": PowerBall(np.array([3.0, 0.5]), 1.5),
    "product": CartesianProduct((Ellipsoid(np.eye(2)), PowerBall(np.array([3.0, 1.0]), 2.5))),
    "sum": FreeSum((hull(2), Box(np.array([2.0])))),
    "turned product": LinearImage(
        CartesianProduct((Ellipsoid(np.eye(2)), Box(np.ones(1)))), np.array([[1.0, 2, 0], [-1, 1, 0], [1, 1, 3]])
    ),
}


ROUND = {"ellipsoid", "power 3", "power 3/2", "product", "turned product"}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_exact_and_float_gauges_agree_within_the_stated_error(body):
    points = np.random.default_rng(2).standard_normal((50, body.dimension)) * 20
    gauge = body.certified_gauge
    values, errors = gauge.near(points, np.zeros_like(points))
    assert np.allclose(values, body.gauge(points), rtol=1e-12)
    for point, value, error in zip(points.tolist(), values, errors, strict=True):
        assert bool(abs(gauge.exact([arb(x) for x in point]) - arb(float(value))) <= arb(float(error)))


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0, 7.0, math.inf])
def test_the_error_of_a_gauge_covers_moved_points(exponent):
    """Points off by as much as allowed, in the direction of every corner."""
    gauge = RowNorm(fmpq_mat([[fmpq(1, 3), fmpq(-2)], [fmpq(5), fmpq(1, 7)], [fmpq(1), fmpq(1)]]), exponent)
    generator = np.random.default_rng(3)
    points = generator.standard_normal((40, 2))
    moves = np.abs(generator.standard_normal((40, 2))) * 1e-3
    values, errors = gauge.near(points, moves)
    for signs in ([1, 1], [1, -1], [-1, 1], [-1, -1]):
        for point, move, value, error in zip(points, moves, values, errors, strict=True):
            moved = [arb(float(x)) + arb(float(d)) * s for x, d, s in zip(point, move, signs, strict=True)]
            assert bool(abs(gauge.exact(moved) - arb(float(value))) <= arb(float(error)))
    assert np.all(errors < 0.02)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("around", [box_around, cross_polytope_around, ellipsoid_around])
def test_every_envelope_is_proved_to_contain_its_body(name, around):
    body = BODIES[name]
    if name in ROUND and around is ellipsoid_around:
        with pytest.raises(UnsupportedCombination, match="corners"):
            around(body)
        return
    envelope = around(body).body
    assert contains(envelope, body)
    directions = np.random.default_rng(4).standard_normal((500, body.dimension))
    assert np.all(envelope.support_function(directions) >= body.support_function(directions))
    assert envelope.volume >= body.volume * (1 - 1e-9)


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(0, 10**6))
def test_an_ellipsoid_of_nearly_least_volume_is_never_far_larger(dimension, seed):
    body = hull(dimension, seed)
    volume = ellipsoid_around(body).body.volume
    assert body.volume >= volume * dimension ** (-dimension / 2) * 0.95


def test_the_tightest_envelope_has_the_least_volume():
    body = hull(3)
    volumes = [around(body).body.volume for around in (box_around, cross_polytope_around, ellipsoid_around)]
    assert tightest_rejection(body).envelope.body.volume == min(volumes)
    assert isinstance(tightest_rejection(Box(np.array([1.0, 9.0]))).envelope, BoxNoise)
    assert isinstance(tightest_rejection(CrossPolytope(np.array([1.0, 9.0]))).envelope, LaplaceNoise)


def test_when_no_envelope_will_do_the_tightest_one_s_refusal_is_told():
    thin = LinearImage(
        PowerBall(np.ones(4), 3.0), np.array([[1.0, 1, 1, 1], [1, 1.001, 1, 1], [1, 1, 1.001, 1], [1, 1, 1, 1.001]])
    )
    with pytest.raises(TooLarge, match="keep"):
        tightest_rejection(thin)


@pytest.mark.parametrize(
    ("envelope", "body"),
    [
        (BoxNoise(Box(np.array([3.0, np.nextafter(1.0, 0)]))), Box(np.array([3.0, 1.0]))),
        (BoxNoise(Box(np.array([3.0, np.nextafter(1.0, 0)]))), CrossPolytope(np.array([3.0, 1.0]))),
        (BoxNoise(Box(np.array([3.0, 0.999]))), Ellipsoid(np.diag([3.0, 1.0]))),
        (LaplaceNoise(np.array([3.0, 1.0])), Ellipsoid(np.diag([3.0, 1.0]))),
        (EllipsoidNoise(Ellipsoid(np.diag([3.0, 1.0]))), Box(np.array([2.2, 0.8]))),
        (FacetConeNoise(hull(3)), hull(3, seed=2)),
    ],
)
def test_an_envelope_that_misses_the_body_is_refused(envelope, body):
    with pytest.raises(CertificateRefused):
        RejectionNoise(body, envelope)


def test_a_body_is_an_envelope_of_itself():
    body = hull(3)
    assert RejectionNoise(body, FacetConeNoise(body)).acceptance == 1.0


@pytest.mark.parametrize(
    ("envelope", "body", "error", "words"),
    [
        (BoxNoise(Box(np.array([3.0]))), Box(np.array([1.0, 1.0])), UnsupportedCombination, "coordinates"),
        (BoxNoise(Box(np.array([1e6]))), Box(np.array([1.0])), TooLarge, "keep"),
        (EllipsoidNoise(Ellipsoid(200 * np.eye(2))), Ellipsoid(np.eye(2)), TooLarge, "keep"),
        (EllipsoidNoise(Ellipsoid(9 * np.eye(9) + 0.1)), PowerBall(np.ones(9), 3.0), TooLarge, "not found"),
        (BoxNoise(Box(np.ones(9))), Box(np.ones(9)), None, ""),
        (LaplaceNoise(12 * np.ones(12)), Box(np.ones(12)), TooLarge, "keep"),
    ],
)
def test_what_cannot_be_proved_or_would_take_for_ever_is_refused(envelope, body, error, words):
    if error is None:
        assert RejectionNoise(body, envelope).acceptance == 1.0
        return
    with pytest.raises(error, match=words):
        RejectionNoise(body, envelope)


def test_the_predicted_acceptance_is_the_part_that_is_kept():
    """Six standard deviations."""
    for name in ("polygon", "polytope", "ellipsoid", "power 3", "product", "turned product"):
        law = RejectionNoise(BODIES[name], box_around(BODIES[name]))
        kept = len(law._accepted(30_000, InsecureSeededRandomness(5)).values)
        spread = np.sqrt(30_000 * law.acceptance * (1 - law.acceptance))
        assert abs(kept - 30_000 * law.acceptance) < 6 * spread


def test_as_many_draws_come_as_were_asked_for():
    law = RejectionNoise(hull(3), box_around(hull(3)))
    for count in (0, 1, 140_000):
        assert law.draw(count, InsecureSeededRandomness(6)).shape == (count, 3)
        assert law.simulate(count, np.random.default_rng(6)).shape == (count, 3)


@pytest.mark.parametrize("body", [*BODIES.values()], ids=BODIES)
def test_tries_decided_exactly_are_kept_as_floats_would(body, monkeypatch):
    law = RejectionNoise(body, cross_polytope_around(body))
    fast = law.draw(50, InsecureSeededRandomness(7))
    margin = RejectionNoise._margin
    monkeypatch.setattr(RejectionNoise, "_margin", lambda *args: (margin(*args)[0] * 0 - 1, np.inf))
    slow = law.draw(50, InsecureSeededRandomness(7))
    assert np.array_equal(fast, slow)


def test_a_try_is_kept_or_not_whatever_its_bits_are_cut_into():
    """8 bits and then more decide like 192 at once, and no bit is forgotten."""
    law = RejectionNoise(hull(2), box_around(hull(2)))
    generator = np.random.default_rng(8)
    draws = law.envelope.ideal(200, InsecureSeededRandomness(9))
    outcomes, asked = [], 0
    for row in range(200):
        strings = [int.from_bytes(generator.bytes(24), "big") for _ in range(draws.words.shape[1] + 1)]
        whole = [LazyUniform(string, 192) for string in strings]
        expected = law._is_kept(draws.evaluation(row), whole, ScriptedRandomness([]))
        coarse = [LazyUniform(string >> 184, 8) for string in strings]
        later = [string >> shift & (2**64 - 1) for shift in (120, 56) for string in strings]
        source = ScriptedRandomness(later)
        assert law._is_kept(draws.evaluation(row), coarse, source) == expected
        for uniform, string in zip(coarse, strings, strict=True):
            assert uniform.prefix == string >> (192 - uniform.bits)
        outcomes.append(expected)
        asked += source.asked > 0
    assert 0.5 < np.mean(outcomes) < 1
    assert asked > 10


def test_a_kept_draw_is_rounded_from_the_bits_it_was_kept_by(monkeypatch):
    """With every try decided exactly after one refinement, the kept rows carry 128 bits, in a product too."""
    law = RejectionNoise(hull(2), box_around(hull(2)))
    decide = RejectionNoise._is_kept

    def refine_first(self, evaluation, uniforms, randomness):
        for uniform in uniforms:
            uniform.refine(randomness)
        return decide(self, evaluation, uniforms, randomness)

    monkeypatch.setattr(RejectionNoise, "_is_kept", refine_first)
    monkeypatch.setattr(RejectionNoise, "_margin", lambda self, draws, spare: (-np.ones(len(spare)), np.inf))
    draws = ProductNoise((LaplaceNoise(np.ones(1)), law, law)).ideal(30, InsecureSeededRandomness(10))
    for row in range(30):
        uniforms = draws.uniforms(row)
        assert [uniform.bits for uniform in uniforms] == [64] + [128] * (len(uniforms) - 1)
        assert [uniform.prefix >> (uniform.bits - 64) for uniform in uniforms] == [int(w) for w in draws.words[row]]
        values = draws.evaluation(row)([uniform.ball() for uniform in uniforms])
        assert all(abs(float(value) - near) < 1e-6 for value, near in zip(values, draws.values[row], strict=True))


@pytest.mark.parametrize(
    "envelope",
    [
        ProductNoise((BoxNoise(Box(np.array([40.0]))), LaplaceNoise(np.array([50.0])))),
        LinearImageNoise(BoxNoise(Box(np.array([40.0, 40.0]))), np.array([[0.8, -0.6], [0.6, 0.8]])),
        RejectionNoise(Ellipsoid(28 * np.eye(2)), BoxNoise(Box(np.array([28.0, 28.0])))),
    ],
    ids=lambda law: type(law).__name__,
)
def test_composed_laws_and_rejection_itself_are_envelopes(envelope):
    """Six standard errors for the moments."""
    law = RejectionNoise(CrossPolytope(np.array([20.0, 24.0])), envelope)
    draws = law.draw(50_000, InsecureSeededRandomness(11)).astype(float)
    products = draws[:, :, None] * draws[:, None, :]
    error = 6 * products.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(products.mean(axis=0) - law.second_moment - np.eye(2) / 12) <= error)


@pytest.mark.parametrize(("dimension", "radius"), [(40, 1e8), (20, 1e-20), (2, 1e200), (2, 1e-200)])
def test_a_volume_beyond_float64_does_not_pass_for_tries_that_are_all_kept(dimension, radius):
    """The tries of 40 coordinates would never end; with an infinite volume they counted as certain."""
    with pytest.raises(TooLarge, match="volume"):
        tightest_rejection(PowerBall(np.full(dimension, radius), 4.0))
