"""A new body is its own class, a new law its own class and one line: both are then planned, proved, drawn and drawn of.

The toys below stand for a file each; nothing else is told of them but by the one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

import dxgeom as dx
from dxgeom.geometry.body import ConvexBody, RowNorm
from dxgeom.geometry.containment import contains
from dxgeom.geometry.round_bodies import Box, CartesianProduct, CrossPolytope, FreeSum, LinearImage
from dxgeom.mechanisms.linear.containment import largest_load
from dxgeom.noise import k_norm as registry
from dxgeom.noise.k_norm import k_norm_noise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rejection import RejectionNoise
from dxgeom.numeric.exact_numbers import rational
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.report.projection import projection_of_body

FORMS = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])


@final
@dataclass(frozen=True, eq=False)
class Hexagon(ConvexBody):
    """|x|, |y| and |x − y| at most ``size``: what one record can change in two disjoint counts. Eight answers."""

    size: float

    @property
    def dimension(self):
        return 2

    def gauge(self, points):
        return np.abs(np.asarray(points) @ FORMS.T).max(axis=-1) / self.size

    def support_function(self, directions):
        corners = np.array([[1, 0], [0, 1], [1, 1]]) * self.size
        return np.abs(np.asarray(directions) @ corners.T).max(axis=-1)

    def exact_gauge(self, point):
        return max(abs(point[0]), abs(point[1]), abs(point[0] - point[1])) / rational(self.size)

    @cached_property
    def certified_gauge(self):
        return RowNorm(fmpq_mat([[rational(x) / rational(self.size) for x in row] for row in FORMS]), np.inf)

    def simulate_uniform(self, count, generator):
        tried = generator.uniform(-self.size, self.size, (2 * count + 64, 2))
        return tried[self.gauge(tried) <= 1][:count]

    @property
    def volume(self):
        return 3 * self.size**2

    @property
    def second_moment(self):
        return np.array([[10, 5], [5, 10]]) * self.size**2 / 36

    def exact_facets(self):
        rows = [[rational(x) / rational(self.size) for x in row] for row in FORMS]
        return rows + [[-x for x in row] for row in rows]

    def exact_corners(self):
        size, zero = rational(self.size), fmpq(0)
        half = [[size, zero], [zero, size], [size, size]]
        return half + [[-x for x in row] for row in half]


@final
@dataclass(frozen=True, eq=False)
class HexagonNoise(NoiseLaw):
    """Its noise, drawn from that of the square around it."""

    body: Hexagon

    @classmethod
    def for_body(cls, body, law_of):
        return cls(body) if isinstance(body, Hexagon) else None

    @cached_property
    def _from_the_square(self):
        return RejectionNoise(self.body, k_norm_noise(Box(np.full(2, self.body.size))))

    @property
    def second_moment(self):
        return self.body.noise_second_moment

    @property
    def amplitude(self):
        return self._from_the_square.amplitude

    def simulate(self, count, generator):
        return self._from_the_square.simulate(count, generator)

    def ideal(self, count, randomness):
        return self._from_the_square.ideal(count, randomness)


METRIC = dx.verify_metric(1 - np.eye(3))
QUERIES = dx.LinearQueries.from_matrix(["a", "b"], np.array([[1, 0, 0], [1, 1, 0]]))


@pytest.fixture(params=["the body alone", "with its law"])
def registered(request, monkeypatch):
    """The one line."""
    if request.param == "with its law":
        monkeypatch.setattr(registry, "LAWS", (HexagonNoise, *registry.LAWS))
    return request.param


def test_a_new_body_is_planned_proved_released_and_drawn(registered):
    plan = dx.plan(METRIC, QUERIES, search=dx.Search(body=Hexagon(7.0)), mechanism="body")
    kind = HexagonNoise if registered == "with its law" else RejectionNoise
    law, sensitivity = plan.mechanism.law, plan.mechanism.sensitivity
    assert isinstance(law.inner, kind)
    assert largest_load(law, sensitivity.differences, sensitivity.bounds) <= 1
    best = {result.name: result.loss for result in plan.candidates}
    assert best["body"] == pytest.approx(best["hull"], rel=1e-3)
    counts = np.array([3, 4, 5])
    draws = np.array(plan.mechanism.draws(counts, Fraction(1), 20_000, InsecureSeededRandomness(1)), dtype=float)
    squares = (draws - [3, 7]) ** 2
    assert np.all(np.abs(squares.mean(axis=0) - plan.mechanism.variances()) <= 6 * squares.std(axis=0) / 20_000**0.5)
    assert len(plan.release(counts, ledger=":memory:", spend=1).values) == 2
    shadow = projection_of_body(plan.mechanism, 0, 1)
    assert np.abs(shadow).max() == pytest.approx(1, rel=1e-3)


@pytest.mark.usefixtures("registered")
def test_a_new_body_takes_part_in_proofs_and_in_bodies_made_of_bodies():
    assert contains(Box(np.ones(2)), Hexagon(1.0))
    assert not contains(Hexagon(1.0), Box(np.ones(2)))
    assert not contains(Hexagon(1.0), CrossPolytope(np.array([1.0, 1.5])))
    assert contains(Hexagon(2.0), CrossPolytope(np.ones(2)))
    for body in (
        FreeSum((Hexagon(1.0), Box(np.ones(1)))),
        CartesianProduct((Hexagon(1.0), Box(np.ones(1)))),
        LinearImage(Hexagon(2.0), np.array([[1.0, 2.0], [0.0, 1.0]])),
    ):
        law = k_norm_noise(body)
        assert np.allclose(law.second_moment, body.noise_second_moment)
        assert law.draw(10, InsecureSeededRandomness(2)).shape == (10, body.dimension)


@pytest.mark.usefixtures("registered")
def test_new_bodies_and_laws_are_told_apart_by_their_numbers():
    plans = [
        dx.plan(METRIC, QUERIES, search=dx.Search(body=LinearImage(Hexagon(7.0), s * np.eye(2))), mechanism="body")
        for s in (1, -1)
    ]
    assert Hexagon(1.0).digest != Hexagon(2.0).digest
    assert plans[0].fingerprint != plans[1].fingerprint
