"""Polytopes around sets that are known by their support function only."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from reference.bodies import exact_gauge

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.hulls import EnclosureLimits, StatedSupport, enclosing_polytope
from dxgeom.numeric.rounding import round_up


def ball(dimension, search=None, stretch=1):
    """The Euclidean ball, its first coordinate stretched."""
    stretches = np.ones(dimension)
    stretches[0] = stretch

    def far(directions):
        weighted = directions * stretches
        return weighted / np.linalg.norm(weighted, axis=1, keepdims=True) * stretches

    def bound(direction):
        square = sum(Fraction(x) ** 2 for x in direction[1:]) + (Fraction(direction[0]) * stretch) ** 2
        scale = 10**40
        root = int(square * scale**2) + 1
        guess = Fraction(_root_up(root), scale)
        assert guess * guess >= square
        return guess

    return StatedSupport(dimension, search or far, bound)


def _root_up(number):
    root = math.isqrt(number)
    return root if root * root == number else root + 1


@pytest.mark.parametrize(("dimension", "tolerance"), [(1, 0.01), (2, 0.001), (3, 0.02), (4, 0.1)])
def test_a_ball_is_enclosed_as_nearly_as_asked(dimension, tolerance):
    enclosing = enclosing_polytope(ball(dimension), EnclosureLimits(tolerance, 4000))
    points = np.random.default_rng(0).standard_normal((300, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    assert enclosing.body.gauge(points).max() <= 1 + 1e-9
    assert enclosing.excess <= tolerance
    lengths = np.linalg.norm(enclosing.body.vertices, axis=1)
    assert lengths.max() <= (1 + tolerance) * (1 + 1e-6)
    assert (1 + enclosing.excess) ** -dimension == pytest.approx(enclosing.hull_share)


def test_points_on_the_sphere_are_inside_in_exact_arithmetic():
    body = enclosing_polytope(ball(3), EnclosureLimits(0.05)).body
    for a, b in np.random.default_rng(1).integers(-40, 41, (200, 2)).tolist():
        below = a * a + b * b + 1
        point = [Fraction(2 * a, below), Fraction(2 * b, below), Fraction(a * a + b * b - 1, below)]
        assert sum(x * x for x in point) == 1
        assert exact_gauge(body, point) <= 1


def test_a_search_that_finds_the_wrong_points_costs_accuracy_and_not_privacy():
    """It claims the points of a cross-polytope inside; the bound is the ball's, so the ball is inside still."""

    def lazy(directions):
        axis = np.abs(directions).argmax(axis=1)
        return np.eye(2)[axis] * np.sign(directions[np.arange(len(directions)), axis])[:, None]

    enclosing = enclosing_polytope(ball(2, lazy))
    points = np.random.default_rng(0).standard_normal((300, 2))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    assert enclosing.body.gauge(points).max() <= 1 + 1e-9
    assert enclosing.excess == pytest.approx(np.sqrt(2) - 1, abs=1e-6)


def test_a_set_a_thousand_times_longer_than_wide_is_enclosed():
    enclosing = enclosing_polytope(ball(3, stretch=1000), EnclosureLimits(0.05))
    assert enclosing.excess <= 0.05
    assert enclosing.body.support_function([1.0, 0, 0]) == pytest.approx(1000, rel=0.06)


def test_the_facets_asked_for_are_not_passed():
    enclosing = enclosing_polytope(ball(4), EnclosureLimits(1e-6, 700))
    assert enclosing.body.facets <= 700
    assert enclosing.excess < 0.6


def test_flat_sets_and_impossible_limits_are_refused():
    def flat(directions):
        return np.sign(directions.sum(axis=1))[:, None] * np.ones((1, 3))

    with pytest.raises(NotANormBall, match="subspace"):
        enclosing_polytope(StatedSupport(3, flat, lambda u: Fraction(abs(sum(u)))))
    with pytest.raises(NotANormBall, match="never changes"):
        enclosing_polytope(StatedSupport(2, np.zeros_like, lambda u: Fraction(0)))
    with pytest.raises(TooLarge, match="20 are allowed"):
        enclosing_polytope(ball(4), EnclosureLimits(0.1, 20))


def test_stated_bounds_are_rounded_up():
    oracle = StatedSupport(2, np.sign, lambda u: Fraction(abs(u[0]), 3))
    (bound,) = oracle.reach_bounds(np.array([[1, 0]], dtype=object), [7])
    assert bound == round_up(Fraction(1, 21))
    assert Fraction(bound) >= Fraction(1, 21)
