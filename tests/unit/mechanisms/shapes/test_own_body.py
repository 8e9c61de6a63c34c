"""Noise by a body of one's own: as large as the metric needs and no larger, in whatever units, or a clear refusal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import shapely
from flint import fmpq

import dxgeom as dx
from dxgeom.errors import NotANormBall, TooLarge, UnsupportedCombination, WrongArgument
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.containment import contains_point
from dxgeom.geometry.halfspaces import HalfspacePolytope, polytope_of_points
from dxgeom.geometry.polytope import hull_of_points
from dxgeom.geometry.round_bodies import (
    Box,
    CartesianProduct,
    CrossPolytope,
    Ellipsoid,
    FreeSum,
    LinearImage,
    PowerBall,
)
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.hulls import body_mechanism
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness

METRIC = verify(
    PointsMetric(np.random.default_rng(1).random((12, 2)) * 10, "plane", Fraction(1)),
    title="plane",
    fingerprint="plane",
    budget=Fraction(1),
)
ROWS = np.random.default_rng(2).integers(0, 2, (3, 12))
QUERIES = dx.LinearQueries.from_matrix(["a", "b", "c"], ROWS)
SENSITIVITY = sensitivity_of(METRIC, QUERIES)
TURN = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.5], [0.3, 0.0, 1.0]])
BODIES = {
    "box": Box(np.array([1.0, 2.0, 0.5])),
    "cross-polytope": CrossPolytope(np.array([1.0, 2.0, 0.5])),
    "ellipsoid": Ellipsoid(TURN),
    "power 3": PowerBall(np.array([1.0, 2.0, 0.5]), 3.0),
    "hull": hull_of_points(np.vstack([np.eye(3), [[1, 1, 0], [0, 1, 1]]])),
    "halfspaces": HalfspacePolytope(np.vstack([np.eye(3), [[1.0, 1, 1]]]), np.array([1.0, 1, 1, 2])),
    "product": CartesianProduct((Ellipsoid(np.eye(2)), Box(np.array([1.0])))),
    "sum": FreeSum((PowerBall(np.ones(2), 3.0), Box(np.array([2.0])))),
    "image": LinearImage(Box(np.ones(3)), TURN),
    "tiny": Box(np.full(3, 1e-12)),
    "huge": CrossPolytope(np.full(3, 1e12)),
}


@pytest.mark.parametrize("name", BODIES)
def test_every_difference_is_hidden_and_one_of_them_just_so(name):
    """‖Δ/b‖ in the body scaled by the very factor of the law's map, decided exactly."""
    mechanism = body_mechanism(SENSITIVITY, BODIES[name])
    law, steps = mechanism.law, SENSITIVITY.queries.float_steps
    factors = np.diag(law.map) * steps
    assert factors == pytest.approx(factors[0], rel=1e-12)
    body = LinearImage(BODIES[name], law.map)
    hidden = [
        [Fraction(int(d)) / Fraction(b) for d in difference]
        for difference, b in zip(SENSITIVITY.differences, SENSITIVITY.bounds.tolist(), strict=True)
    ]
    assert all(contains_point(body, point) for point in hidden)
    longer = Fraction(1) + Fraction(1, 10**5)
    assert not all(contains_point(body, [x * longer for x in point]) for point in hidden)


@pytest.mark.parametrize("name", BODIES)
def test_the_units_of_the_body_decide_its_shape_and_never_its_size(name):
    small = body_mechanism(SENSITIVITY, LinearImage(BODIES[name], np.eye(3) / 64))
    assert small.variances() == pytest.approx(body_mechanism(SENSITIVITY, BODIES[name]).variances(), rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("name", ["box", "power 3", "halfspaces", "image"])
def test_released_answers_have_the_predicted_error(name):
    """Six standard errors."""
    mechanism = body_mechanism(SENSITIVITY, BODIES[name])
    counts = np.arange(12)
    truth = np.array([float(answer) for answer in QUERIES.answers(counts)])
    draws = np.array(mechanism.draws(counts, Fraction(1, 2), 20_000, InsecureSeededRandomness(4)), dtype=float)
    squares = (draws - truth) ** 2
    error = 6 * squares.std(axis=0) / np.sqrt(len(squares))
    assert np.all(np.abs(squares.mean(axis=0) - mechanism.variances(Fraction(1, 2))) <= error)


def test_an_answer_that_nobody_can_influence_has_no_noise_and_the_others_are_hidden():
    queries = dx.LinearQueries.from_matrix(["a", "all", "c"], np.array([ROWS[0], np.ones(12, dtype=int), ROWS[2]]))
    mechanism = body_mechanism(sensitivity_of(METRIC, queries), Ellipsoid(TURN))
    assert mechanism.variances()[1] == 0
    assert mechanism.law.map.shape == (2, 3)
    answers = mechanism.draw(np.arange(12), Fraction(1), InsecureSeededRandomness(1))
    assert answers[1] == np.arange(12).sum()
    nothing = dx.LinearQueries.from_matrix(["all"], np.ones((1, 12), dtype=int))
    assert body_mechanism(sensitivity_of(METRIC, nothing), Box(np.ones(1))).law is None


def test_the_sensitivity_hull_given_as_a_body_is_as_good_as_the_candidate():
    plan = dx.plan(METRIC, QUERIES, mechanism="hull")
    steps = SENSITIVITY.queries.float_steps
    points = SENSITIVITY.differences / SENSITIVITY.bounds[:, None] * steps
    own = dx.plan(METRIC, QUERIES, search=dx.Search(body=hull_of_points(points)), mechanism="body")
    assert own.loss == pytest.approx(plan.loss, rel=1e-5)


def test_a_plan_compares_the_body_and_chooses_it_when_it_is_best_or_named():
    poor = dx.plan(METRIC, QUERIES, search=dx.Search(body=Box(np.array([1.0, 1e-3, 1.0]))))
    assert "body" in [result.name for result in poor.candidates]
    assert poor.mechanism.name != "body"
    named = dx.plan(METRIC, QUERIES, search=dx.Search(body=BODIES["power 3"]), mechanism="body")
    assert named.mechanism.name == json.loads(named.to_json())["mechanism"] == "body"
    assert named.gap >= 1
    release = named.release(np.arange(12), ledger=":memory:", spend=1)
    assert len(release.values) == 3
    assert named.half_widths().shape == (3,)
    assert "body" not in [result.name for result in dx.plan(METRIC, QUERIES).candidates]
    first = json.loads(poor.to_json())["candidates"]
    without = {one["name"]: one for one in json.loads(dx.plan(METRIC, QUERIES).to_json())["candidates"]}
    assert [one for one in first if one["name"] != "body"] == list(without.values())


CORNERS = np.array([[1.0, 0.5], [0.2, 1.0], [-0.5, 0.7]])


@pytest.mark.parametrize(
    "body",
    [
        CORNERS,
        CORNERS.tolist(),
        polytope_of_points(CORNERS),
        shapely.MultiPoint(np.vstack([CORNERS, -CORNERS])).convex_hull,
    ],
    ids=["array", "list", "exact polytope", "polygon"],
)
def test_a_body_may_be_stated_by_its_corners(body):
    two = dx.LinearQueries.from_matrix(["a", "b"], ROWS[:2])
    plan = dx.plan(METRIC, two, search=dx.Search(body=body), mechanism="body")
    usual = dx.plan(METRIC, two, search=dx.Search(body=hull_of_points(CORNERS)), mechanism="body")
    assert plan.loss == pytest.approx(usual.loss, rel=1e-9)


@pytest.mark.parametrize(
    ("corners", "error", "words"),
    [
        ([[1, 0, 0]], NotANormBall, "corners of 'body' are flat"),
        ([[1, 0, np.inf]], WrongArgument, "finite numbers"),
        (shapely.box(-1, -1, 1, 1), NotANormBall, "2 coordinates and there are 3 queries"),
        (shapely.box(-1, -1, 1, 2), NotANormBall, "not symmetric"),
        (shapely.box(-1, -1, 1, 1).difference(shapely.box(0, 0, 1, 1)), NotANormBall, "convex_hull"),
        (shapely.Point(0, 0).buffer(1).boundary, NotANormBall, "LineString is not"),
    ],
    ids=["flat", "infinite", "two", "lopsided", "not convex", "line"],
)
def test_corners_that_state_no_body_are_refused(corners, error, words):
    with pytest.raises(error, match=words):
        dx.plan(METRIC, QUERIES, search=dx.Search(body=corners))


def test_plans_of_different_bodies_have_different_fingerprints():
    plans = [
        dx.plan(METRIC, QUERIES, search=dx.Search(body=BODIES[name]), mechanism="body")
        for name in ("box", "power 3", "sum")
    ]
    assert len({plan.fingerprint for plan in plans}) == 3


@dataclass(frozen=True, eq=False)
class Lopsided(ConvexBody):
    """What claims to be a norm ball and is none."""

    up: float
    down: float

    dimension = 3
    volume = 1.0
    certified_gauge = second_moment = property(lambda self: None)

    def gauge(self, points):
        heights = np.asarray(points)[..., 0]
        return np.maximum(heights / self.up, -heights / self.down) + np.abs(np.asarray(points)[..., 1:]).sum(axis=-1)

    def support_function(self, directions):
        raise AssertionError

    def exact_gauge(self, point):
        return fmpq(1)

    def simulate_uniform(self, count, generator):
        raise AssertionError


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        (Box(np.ones(2)), NotANormBall, "2 coordinates and there are 3 queries"),
        (np.ones(3), WrongArgument, "ndarray"),
        ("box", WrongArgument, "str"),
        (Lopsided(1.0, 2.0), NotANormBall, "symmetric"),
        (Lopsided(np.inf, np.inf), NotANormBall, "positive and finite"),
        (Box(np.array([5e-324, 1.0, 1.0])), NotANormBall, "positive and finite"),
    ],
)
def test_what_is_no_body_for_these_queries_is_refused_before_anything_is_built(body, error, words):
    with pytest.raises(error, match=words):
        dx.plan(METRIC, QUERIES, search=dx.Search(body=body))
    with pytest.raises(error, match=words):
        body_mechanism(SENSITIVITY, body)


def test_flat_bodies_cannot_be_made_at_all():
    for flat in (
        lambda: hull_of_points(np.array([[1.0, 0, 0], [0, 1, 0]])),
        lambda: HalfspacePolytope(np.array([[1.0, 0, 0], [0, 1, 0]]), np.ones(2)),
        lambda: Ellipsoid(np.diag([1.0, 1.0, 0.0])),
        lambda: Box(np.array([1.0, 0.0, 1.0])),
    ):
        with pytest.raises(NotANormBall):
            flat()


def test_a_body_that_cannot_be_served_is_listed_with_its_reason_and_refused_when_named():
    thin = CartesianProduct((Ellipsoid(np.array([[1.0, 1.0], [1.0, 1.00001]])), Box(np.ones(1))))
    found = {result.name: result for result in dx.plan(METRIC, QUERIES, search=dx.Search(body=thin)).candidates}["body"]
    assert found.loss is None
    assert found.reason.startswith("not built: rejection would keep")
    with pytest.raises(TooLarge, match="keep"):
        dx.plan(METRIC, QUERIES, search=dx.Search(body=thin), mechanism="body")


def test_the_candidate_needs_its_body():
    with pytest.raises(UnsupportedCombination, match=r"body=\.\.\."):
        dx.plan(METRIC, QUERIES, mechanism="body")


def test_a_plan_outlives_the_arrays_that_its_body_was_made_of():
    """The proof is of the numbers that are drawn with: whoever goes on using an array changes no noise."""
    widths, turn = np.array([1.0, 2.0, 0.5]), TURN.copy()
    mechanisms = [body_mechanism(SENSITIVITY, body) for body in (Box(widths), LinearImage(Box(widths), turn))]
    before = [mechanism.law.draw(3, InsecureSeededRandomness(1)).tolist() for mechanism in mechanisms]
    widths *= 0.01
    turn *= 0.01
    assert [mechanism.law.draw(3, InsecureSeededRandomness(1)).tolist() for mechanism in mechanisms] == before


@pytest.mark.parametrize("size", [1e-200, 1e200, 1e300])
def test_a_body_whose_squares_leave_float64_is_refused_with_a_sentence(size):
    for body in (Box(np.full(3, size)), PowerBall(np.full(3, size), 4.0), LinearImage(Box(np.ones(3)), size * TURN)):
        with pytest.raises(NotANormBall, match="lengths near 1"):
            dx.plan(METRIC, QUERIES, search=dx.Search(body=body))
