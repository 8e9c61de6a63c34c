"""Rotated Laplace, boxes, ellipsoids and blocks: every difference is hidden, and the error is what is said."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.shapes import (
    exact_gauge_of_polytope,
    exact_solution,
    gauge_of_box,
    gauge_of_cross_polytope,
    gauge_squared_of_ball,
)

import dxgeom as dx
from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.geometry.inverse import inverse_enclosure
from dxgeom.mechanisms.linear.containment import hiding, largest_load
from dxgeom.mechanisms.linear.laplace import with_scales
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.hulls import coarse_hull, second_moment_bound
from dxgeom.mechanisms.shapes.round_spaces import round_space
from dxgeom.mechanisms.shapes.strategy import best_strategy, rotated_laplace
from dxgeom.metrics.changes import ListedChanges
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.candidates import build
from dxgeom.planner.wish import PlanOptions

pytestmark = pytest.mark.long

SHAPES = ("rotated-laplace", "box", "ellipsoid", "block-hulls", "coarse-hull", "strategy")
TWIN = {
    "rotated-laplace": gauge_of_cross_polytope,
    "box": gauge_of_box,
    "ellipsoid": gauge_squared_of_ball,
}
COARSE = {2: 5, 3: 10, 4: 20, 5: 40, 8: 400, 9: 700}
"""Facets by dimension: more than a cross-polytope has, fewer than most hulls."""


def builder(asked):
    """With a coarsened hull that is one."""
    space = round_space(asked)
    return CandidateBuilder(asked, options=PlanOptions(coarse_facets=COARSE[space.dimension]))


def sensitivity(seed: int, records: int, queries: int, *, binary: bool = False):
    generator = np.random.default_rng(seed)
    points = generator.random((records, 2)) * 10
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))
    shape = (queries, records)
    matrix = generator.integers(0, 2, shape) if binary else generator.random(shape)
    named = dx.LinearQueries.from_matrix([f"q{k}" for k in range(queries)], matrix)
    return sensitivity_of(dx.verify_metric(distances), named)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(3, 8), st.integers(2, 5), st.booleans(), st.sampled_from(sorted(TWIN)))
def test_every_difference_is_inside_the_very_body_that_noise_is_drawn_from(seed, records, queries, binary, name):
    asked = sensitivity(seed, records, queries, binary=binary)
    if round_space(asked) is None or round_space(asked).dimension < 2:
        return
    law = build(name, CandidateBuilder(asked)).law
    noisy = asked.of_each_query > 0
    power = 2 if name == "ellipsoid" else 1
    for difference, bound in zip(asked.differences[:, noisy], asked.bounds, strict=True):
        place = exact_solution(law.map, difference)
        parts = [place] if law.map.shape[0] == inner_dimension(law) else [place[: inner_dimension(law)]]
        thin = sum(abs(entry) for entry in place[inner_dimension(law) :])
        left = Fraction(float(bound)) - thin
        assert left >= 0
        assert TWIN[name](parts[0]) <= left**power


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(4, 8), st.integers(2, 5), st.booleans())
def test_every_difference_is_inside_the_coarsened_hull_that_noise_is_drawn_from(seed, records, queries, binary):
    asked = sensitivity(seed, records, queries, binary=binary)
    space = round_space(asked)
    if space is None or space.dimension < 2:
        return
    law = build("coarse-hull", builder(asked)).law
    if isinstance(law, FacetConeNoise):
        assert law.body.facets <= COARSE[space.dimension]
        return
    inner = law.inner.parts[0] if hasattr(law.inner, "parts") else law.inner
    assert inner.body.facets <= COARSE[space.dimension]
    noisy = asked.of_each_query > 0
    loads = []
    for difference, bound in zip(asked.differences[:, noisy], asked.bounds, strict=True):
        place = exact_solution(law.map, difference)
        gauge = exact_gauge_of_polytope(inner.body, place[: inner.dimension])
        loads.append((gauge + sum(abs(entry) for entry in place[inner.dimension :])) / Fraction(float(bound)))
    assert 1 - 1e-6 < max(loads) <= 1


def inner_dimension(law):
    return law.inner.parts[0].dimension if hasattr(law.inner, "parts") else law.inner.dimension


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("queries", [3, 9])
def test_the_error_of_simulated_noise_is_the_predicted_one(name, queries):
    mechanism = build(name, builder(sensitivity(4, 12, queries)))
    draws = mechanism.law.simulate(200_000, np.random.default_rng(5))
    answers = draws @ mechanism.float_mixing.T
    squares = answers**2
    # Six standard errors for each of nine queries: a false alarm below 2e-8.
    error = 6 * squares.std(axis=0) / np.sqrt(len(squares))
    assert np.all(np.abs(squares.mean(axis=0) - mechanism.variances()) <= error + mechanism.float_mixing.max() ** 2)


@pytest.mark.parametrize("name", SHAPES)
def test_queries_that_follow_from_others_are_answered_too(name):
    asked = sensitivity(1, 5, 12)
    assert round_space(asked).dimension == 4
    mechanism = build(name, builder(asked))
    assert mechanism.law.dimension == 12
    fewer = build(name, builder(sensitivity(1, 5, 12)))
    assert np.array_equal(mechanism.variances(), fewer.variances())
    assert largest_load(mechanism.law, asked.differences, asked.bounds) <= 1


def test_a_query_in_tiny_units_is_hidden_as_well_as_the_others():
    distances = 1.0 - np.eye(6)
    matrix = np.random.default_rng(0).integers(0, 9, (3, 6)).astype(object)
    matrix[2] = [Fraction(int(entry), 10**9) for entry in matrix[2]]
    asked = sensitivity_of(dx.verify_metric(distances), dx.LinearQueries.from_matrix(["a", "b", "c"], matrix))
    for name in SHAPES:
        law = build(name, builder(asked)).law
        assert largest_load(law, asked.differences, asked.bounds) <= 1


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(4, 9), st.integers(2, 4))
def test_no_shape_is_below_the_lower_bounds(seed, records, queries):
    asked = sensitivity(seed, records, queries)
    space = round_space(asked)
    if space is None or space.dimension < 2:
        return
    floor = second_moment_bound(space)
    shapes = builder(asked)
    for name in (*SHAPES, "hull", "laplace"):
        assert build(name, shapes).variances().sum() >= floor


def test_a_rotation_saves_much_where_differences_are_nearly_alike():
    """Forty queries on a hundred places: the published prototype had a fortieth of the optimal Laplace's error."""
    asked = sensitivity(1000, 60, 25)
    shapes = CandidateBuilder(asked)
    total = {name: float(build(name, shapes).variances().sum()) for name in ("laplace", "rotated-laplace")}
    assert total["rotated-laplace"] < total["laplace"] / 40
    assert total["rotated-laplace"] < 5 * shapes.lower_bound()


@pytest.mark.parametrize("queries", [5, 7])
def test_more_facets_make_the_error_of_a_coarsened_hull_smaller(queries):
    space = round_space(sensitivity(7, 16, queries))
    strategy = best_strategy(space)
    totals = [float(coarse_hull(space, strategy, facets * 2**queries).variances().sum()) for facets in (1, 2, 4, 8, 16)]
    assert totals[0] == pytest.approx(float(rotated_laplace(space, strategy).variances().sum()), rel=1e-3)
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < 0.95 * totals[0]


def test_a_coarsened_hull_with_facets_enough_is_the_hull_itself():
    shapes = CandidateBuilder(sensitivity(7, 20, 4))
    hull, coarse = build("hull", shapes), build("coarse-hull", shapes)
    assert coarse.name == "coarse-hull"
    assert coarse.law.body is hull.law.body


def test_blocks_with_more_facets_than_allowed_are_coarsened(monkeypatch):
    asked = sensitivity(5, 40, 9)  # where hulls of blocks gain most
    total = {}
    for facets in (2_000, 24):
        monkeypatch.setattr("dxgeom.mechanisms.shapes.hulls.FACETS_OF_BLOCK", facets)
        mechanism = build("block-hulls", CandidateBuilder(asked))
        total[facets] = float(mechanism.variances().sum())
        assert max(part.body.facets for part in mechanism.law.inner.parts) <= facets
    rotated = float(build("rotated-laplace", CandidateBuilder(asked)).variances().sum())
    assert total[2_000] < total[24] <= rotated * (1 + 1e-3)


@pytest.mark.parametrize("name", SHAPES)
def test_the_error_of_lattice_releases_is_the_predicted_one(name):
    """5,000 releases of five answers; every mean square within six standard errors: a false alarm below 2e-8."""
    mechanism = build(name, builder(sensitivity(4, 12, 5)))
    spend = Fraction(1, 3)
    draws = mechanism.law.draw(5_000, InsecureSeededRandomness(6), 1 / spend)
    squares = (draws @ mechanism.float_mixing.T) ** 2
    error = 6 * squares.std(axis=0) / np.sqrt(len(squares))
    assert mechanism.name == name
    assert np.all(np.abs(squares.mean(axis=0) - mechanism.variances(spend)) < error)


def test_noise_that_cannot_be_proved_to_hide_is_refused():
    bounds = np.ones(1)
    with pytest.raises((CertificateRefused, NotANormBall), match=r"singular|independent"):
        hiding(
            LaplaceNoise(np.ones(2)),
            np.array([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]]) * 2.0**-1000,
            ListedChanges(np.eye(2, dtype=np.int64)[:1], bounds),
        )
    law = LinearImageNoise(LaplaceNoise(np.ones(2)), np.array([[1.0, 0.5], [0.0, 1.0]]))
    # The inverse maps (0, 3) to (−1.5, 3): the load is 4.5, and it is never said to be less.
    assert 4.5 <= largest_load(law, np.array([[0, 3]]), bounds) < 4.5 * (1 + 1e-14)


def test_a_load_that_overflows_is_not_taken_for_none():
    """Products of either sign that pass float64 add up to what is no number, and no maximum keeps it."""
    size = 32
    image = (np.eye(size) - np.ones((size, size)) / (2 * size)) * 2.0**-980
    differences = np.full((1, size), 2**52, dtype=np.int64)
    differences[0, ::2] *= -1
    with np.errstate(all="ignore"):
        load = largest_load(LinearImageNoise(LaplaceNoise(np.ones(size)), image), differences, np.ones(1))
        assert not load <= 1


def test_laplace_scales_too_small_to_be_divided_by_are_refused():
    """A change of nothing, divided by such a scale, is no number."""
    asked = sensitivity(0, 6, 2, binary=True)
    assert np.any(asked.differences[:, 1] == 0)
    with np.errstate(all="ignore"), pytest.raises(CertificateRefused):
        with_scales("laplace", asked, np.array([True, True]), np.array([1.0, 1e-310]))


def test_one_dimension_has_one_shape_only():
    asked = sensitivity(0, 6, 1)
    with pytest.raises(TooLarge, match="one dimension"):
        build("box", CandidateBuilder(asked))


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(-8, 0))
def test_an_inverse_lies_within_its_radius(seed, size, power):
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((size, size)) + np.outer(generator.random(size), np.ones(size)) * 10.0**-power
    enclosure = inverse_enclosure(matrix)
    for column in range(size):
        unit = np.zeros(size, dtype=np.int64)
        unit[column] = 1
        exact = exact_solution(matrix, unit)
        for row, entry in enumerate(exact):
            distance = abs(entry - Fraction(float(enclosure.middle[row, column])))
            assert distance <= Fraction(float(enclosure.radius[row, column]))
