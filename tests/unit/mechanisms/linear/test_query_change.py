from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.bodies import generating_pairs_of
from reference.changed_query import distances_of, least_bias, least_squared_error

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear import biased as query_change
from dxgeom.mechanisms.linear.bars import half_widths
from dxgeom.mechanisms.linear.biased import biased_mechanism, changed, most_saved
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.hulls import hull_mechanism, sensitivity_hull
from dxgeom.metrics.combinations import CapMetric, Group, GroupedMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric, StarMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.candidates import build
from dxgeom.planner.wish import PlanOptions
from dxgeom.universe.queries import LinearQueries

pytestmark = pytest.mark.long


def F(text):
    return Fraction(text)


LINE = LineMetric(tuple(F(x) for x in ("0", "0.1", "5", "5.5", "100")), F("0.3"))
SHORT = LineMetric((F(0), F(1), F(3)), F("0.4"))
PLACES = np.random.default_rng(1).random((9, 2)) * 100
METRICS = {
    "discrete": DiscreteMetric(6, F("0.1")),
    "individuals": StarMetric(tuple(F(x) for x in ("0.3", "1/3", "0.1", "2", "0.1"))),
    "line": LINE,
    "points": PointsMetric(PLACES, "plane", F("0.02")),
    "two places at one spot": PointsMetric(np.vstack([PLACES[:5], PLACES[:1] * (1 + 1e-13)]), "plane", F("0.1")),
    "graph": GraphMetric(5, np.array([0, 1, 2, 3, 0]), np.array([1, 2, 3, 4, 4]), np.array([0.1, 0.5, 1.0, 0.5, 1.0])),
    "sum": SumMetric((SHORT, DiscreteMetric(2, F("0.1")))),
    "cap": CapMetric(LINE, F("0.6")),
    "groups": GroupedMetric((DiscreteMetric(2, F("0.5")), SHORT), (Group((0, 1), F("0.6")),)),
    "partition": PartitionMetric(np.array([1, 0, 1, 0, 1, 1]), F("0.3")),
}


def verified(metric):
    return verify(metric, title="m", fingerprint="m", budget=Fraction(1))


def sensitivity(metric, matrix):
    return sensitivity_of(verified(metric), LinearQueries.from_matrix([f"q{k}" for k in range(len(matrix))], matrix))


def random_matrix(metric, seed, count=1, largest=100):
    matrix = np.random.default_rng(seed).integers(0, largest, (count, metric.size))
    if metric is METRICS["two places at one spot"]:
        matrix[:, -1] = matrix[:, 0]
    return matrix


def laplace(asked, records):
    answered, change = changed(asked, records)
    return biased_mechanism(optimal_laplace(answered), change)


def exact_rows(queries):
    """(K, N): the weights as Fractions."""
    return [[int(entry) * step for entry in row] for row, step in zip(queries.numerators, queries.steps, strict=True)]


@pytest.mark.parametrize("records", [1, 5, 40, 1000])
@pytest.mark.parametrize("name", METRICS)
def test_one_query_is_changed_as_well_as_by_trying_every_breakpoint(name, records):
    metric = METRICS[name]
    matrix = random_matrix(metric, 7)
    error, _, bias = least_squared_error(matrix[0].astype(float), distances_of(metric), records)
    mechanism = laplace(sensitivity(metric, matrix), records)
    ideal = mechanism.ideal_variances + mechanism.biases**2
    assert float(ideal[0]) == pytest.approx(error, rel=1e-6)
    assert float(mechanism.biases[0]) == pytest.approx(records * bias, rel=1e-4, abs=1e-6 * records)


@pytest.mark.parametrize("name", METRICS)
def test_no_query_that_needs_as_little_noise_has_a_smaller_bias(name):
    metric = METRICS[name]
    mechanism = laplace(sensitivity(metric, random_matrix(metric, 3)), 6)
    scale = float(np.sqrt(mechanism.ideal_variances[0] / 2))
    values = random_matrix(metric, 3)[0].astype(float)
    assert float(mechanism.change.shifts[0]) == pytest.approx(
        least_bias(values, distances_of(metric), scale), rel=1e-6, abs=1e-6
    )


@settings(max_examples=20)
@given(st.sampled_from(sorted(METRICS)), st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([1, 4, 30, 500]))
def test_a_change_is_never_worse_than_none_and_saves_no_more_than_its_bound(name, seed, count, records):
    asked = sensitivity(METRICS[name], random_matrix(METRICS[name], seed, count))
    if not np.any(asked.of_each_query > 0):
        return
    before, after = optimal_laplace(asked).ideal_variances.sum(), laplace(asked, records)
    total = after.ideal_variances.sum() + (after.biases**2).sum()
    assert total <= before * (1 + 1e-6)
    assert total >= before * (1 - most_saved(asked, records)) * (1 - 1e-6)


@settings(max_examples=20)
@given(st.sampled_from(sorted(METRICS)), st.integers(0, 10**6), st.integers(1, 3))
def test_changed_queries_are_within_their_noise_on_every_generating_pair_exactly(name, seed, count):
    metric = METRICS[name]
    asked = sensitivity(metric, random_matrix(metric, seed, count))
    if not np.any(asked.of_each_query > 0):
        return
    mechanism = laplace(asked, 3)
    rows = exact_rows(mechanism.sensitivity.queries)
    steps = mechanism.sensitivity.queries.steps
    scales = dict(
        zip(mechanism.mixing.coordinates.tolist(), (Fraction(float(c)) for c in mechanism.law.scales), strict=True)
    )
    for (i, j), bound in generating_pairs_of(metric).items():
        load = sum(abs(rows[k][i] - rows[k][j]) / (scale * steps[k]) for k, scale in scales.items())
        assert load <= bound
        silent = [k for k in range(count) if k not in scales]
        assert all(rows[k][i] == rows[k][j] for k in silent)


@settings(max_examples=20)
@given(st.sampled_from(sorted(METRICS)), st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 50))
def test_some_records_make_the_bias_as_large_as_it_is_said_to_be(name, seed, count, records):
    asked = sensitivity(METRICS[name], random_matrix(METRICS[name], seed, count))
    if not np.any(asked.of_each_query > 0):
        return
    mechanism = laplace(asked, records)
    before, after = exact_rows(mechanism.change.unchanged), exact_rows(mechanism.sensitivity.queries)
    for query, shift in enumerate(mechanism.change.shifts):
        off = [abs(one - other) for one, other in zip(before[query], after[query], strict=True)]
        assert max(off) == shift
        assert Fraction(float(mechanism.biases[query])) >= records * shift


def test_under_ordinary_differential_privacy_a_query_is_clipped():
    asked = sensitivity(DiscreteMetric(5, F("0.5")), np.array([[0, 30, 50, 90, 100]]))
    answered, change = changed(asked, 2)
    row = [float(weight) for weight in exact_rows(answered.queries)[0]]
    bias = float(change.shifts[0])
    assert 5 < bias < 50
    assert row == pytest.approx(np.clip([0, 30, 50, 90, 100], bias, 100 - bias), abs=1e-6)


@pytest.mark.parametrize("records", [1, 4, 20])
def test_queries_about_attributes_that_change_apart_are_changed_apart(records):
    """A record changes one attribute at a time, so each query may use the whole metric."""
    first, second = np.array([0, 5, 9]), np.array([0, 2, 3, 50])
    other = LineMetric((F(0), F(1), F(2), F(7)), F("0.2"))
    both = np.array([np.repeat(first, 4), np.tile(second, 3)])
    together = laplace(sensitivity(SumMetric((SHORT, other)), both), records).variances()
    alone = [
        laplace(sensitivity(SHORT, first[None, :]), records).variances()[0],
        laplace(sensitivity(other, second[None, :]), records).variances()[0],
    ]
    assert together == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("records", [1, 4, 20])
def test_the_same_query_twice_is_no_worse_than_each_with_half_the_metric(records):
    row = np.array([[0, 30, 35, 90, 100]])
    twice = laplace(sensitivity(LINE, np.vstack([row, row])), records).variances().sum()
    half = laplace(sensitivity(LineMetric(LINE.positions, LINE.rate / 2), row), records).variances().sum()
    assert twice <= 2 * half * (1 + 1e-3)


def test_an_answer_that_everybody_may_know_stays_exact():
    groups = PartitionMetric(np.array([0, 0, 1, 1]), F("0.5"))
    mechanism = laplace(sensitivity(groups, np.array([[1, 1, 4, 4], [0, 1, 5, 9]])), 2)
    assert mechanism.change.shifts[0] == 0
    assert mechanism.variances()[0] == 0
    assert mechanism.change.shifts[1] > 0


@pytest.mark.parametrize("matrix", [[[10**9, 10**9 + 1, 10**9 + 5]], [[-(10**12), 10**12, 0]], [[0, 2**49, 1]]])
def test_weights_of_any_size_are_changed(matrix):
    asked = sensitivity(DiscreteMetric(3, F("0.5")), np.array(matrix))
    mechanism = laplace(asked, 2)
    assert mechanism.variances().sum() < optimal_laplace(asked).variances().sum()


def test_a_policy_in_tiny_units_can_be_changed_too():
    asked = sensitivity(DiscreteMetric(3, F("1e-9")), np.array([[0, 1, 5]]))
    mechanism = laplace(asked, 10)
    # So little is allowed that the best answer is hardly more than the middle of what is possible.
    assert float(mechanism.variances()[0]) == pytest.approx(25**2, rel=1e-3)


def test_hull_noise_can_be_for_changed_queries_too():
    asked = sensitivity(METRICS["points"], random_matrix(METRICS["points"], 2, 3))
    before = hull_mechanism(asked, sensitivity_hull(asked))
    prices = before.ideal_variances / optimal_laplace(asked).ideal_variances
    answered, change = changed(asked, 20, None, prices)
    after = biased_mechanism(hull_mechanism(answered, sensitivity_hull(answered)), change)
    assert after.variances().sum() < before.variances().sum()


@pytest.mark.parametrize("level", [0.2, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("kind", ["laplace", "hull"])
def test_intervals_hold_for_the_worst_records(kind, level):
    """All records of the type with the largest bias; 200,000 draws, six standard deviations (below 1e-8)."""
    metric, records, spend = METRICS["points"], 12, Fraction(1, 2)
    asked = sensitivity(metric, random_matrix(metric, 4, 1 if kind == "laplace" else 2))
    answered, change = changed(asked, records)
    noise = optimal_laplace(answered) if kind == "laplace" else hull_mechanism(answered, sensitivity_hull(answered))
    mechanism = biased_mechanism(noise, change)
    widths = half_widths(mechanism, level, spend, records)
    draws = mechanism.law.draw(200_000, InsecureSeededRandomness(5), 1 / spend) @ mechanism.float_mixing.T
    before, after = exact_rows(asked.queries), exact_rows(answered.queries)
    for query in range(len(before)):
        shifts = [float(b - a) for a, b in zip(before[query], after[query], strict=True)]
        worst = records * max(shifts, key=abs)
        missed = np.mean(np.abs(draws[:, query] + worst) > widths[query])
        allowed = 6 * np.sqrt(level * (1 - level) / 200_000)
        assert missed <= 1 - level + allowed
        if kind == "laplace" and level >= 0.5:
            # Nothing is given away but half a step of the lattice.
            assert missed >= (1 - level) * 0.95 - allowed


def test_a_bias_is_part_of_the_error_at_every_spend():
    mechanism = laplace(sensitivity(LINE, random_matrix(LINE, 1)), 3)
    unbiased = replace(mechanism, change=None)
    for spend in (Fraction(1, 10), Fraction(1), Fraction(10)):
        expected = unbiased.variances(spend) + mechanism.biases**2
        assert mechanism.variances(spend) == pytest.approx(expected, rel=1e-12)


def test_too_many_weights_or_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(query_change, "LOAD_LIMIT", 20)
    with pytest.raises(TooLarge, match="2 queries are changed together over more than 10"):
        changed(sensitivity(METRICS["points"], random_matrix(METRICS["points"], 1, 2)), 3)
    monkeypatch.setattr(query_change, "WEIGHT_LIMIT", 8)
    with pytest.raises(TooLarge, match="9 weights"):
        changed(sensitivity(METRICS["points"], random_matrix(METRICS["points"], 1)), 3)


def test_answers_without_noise_have_nothing_to_save():
    with pytest.raises(TooLarge, match="nothing to save"):
        changed(sensitivity(DiscreteMetric(3, F(1)), np.array([[2, 2, 2]])), 3)


def test_of_queries_that_constants_answer_best_only_constants_are_left():
    answered, change = changed(sensitivity(DiscreteMetric(3, F("0.00000001")), [[0, 1, 0], [0, 0, 1]]), 1)
    assert not np.any(answered.of_each_query > 0)
    assert change.shifts == (F("1/2"), F("1/2"))


def test_a_scale_far_wider_than_its_query_leaves_a_constant_whose_shift_is_known():
    weights, units = np.array([[0, 1, 2], [10**12, 1, 0]]), (F("1/1000000"), F(1000))
    asked = sensitivity_of(verified(DiscreteMetric(3, F("1/1000"))), LinearQueries(("a", "b"), weights, units))
    mechanism = build("changed-queries", CandidateBuilder(asked, options=PlanOptions(records=1)))
    kept = mechanism.sensitivity.queries
    for query, shift in enumerate(mechanism.change.shifts):
        moved = zip(weights[query].tolist(), kept.numerators[query].tolist(), strict=True)
        furthest = max(abs(old * units[query] - new * kept.steps[query]) for old, new in moved)
        assert furthest <= shift <= furthest + 2 * asked.queries.weight_errors[query]
