from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.score_sensitivities import query_sensitivities
from dxgeom.mechanisms.synthetic.synthetic import integer_queries
from dxgeom.metrics.combinations import CapMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.matrices import DenseMetric
from dxgeom.policy.policy import parse_policy
from dxgeom.universe.queries import LinearQueries

SHAPE = (2, 4, 3)
UNIVERSE = parse_policy("""
policy: small
universe:
  attributes:
    one: [a, b]
    two: {range: [0, 3], step: 1}
    three: [x, y, z]
rules: [{change: [one, two, three], epsilon: 1}]
""").universe
SUM = SumMetric(
    (
        DiscreteMetric(2, Fraction(1, 2)),
        LineMetric(tuple(map(Fraction, range(4))), Fraction(1, 4)),
        DiscreteMetric(3, Fraction(2)),
    )
)


@st.composite
def boxes(draw):
    chosen = draw(st.lists(st.sampled_from(UNIVERSE.names), min_size=1, unique=True))
    box = {}
    for name in chosen:
        size = UNIVERSE.shape[UNIVERSE.names.index(name)]
        low = draw(st.integers(0, size - 1))
        box[name] = (low, draw(st.integers(low + 1, size)))
    return box


def key(box):
    return tuple(sorted(box.items()))


def marginals(groups):
    return integer_queries(LinearQueries.marginals(UNIVERSE, groups))


workloads = st.lists(boxes(), min_size=1, max_size=8, unique_by=key).map(
    lambda some: integer_queries(LinearQueries.boxes(UNIVERSE, some))
)


class Rows:
    """The same queries cell by cell, by the definition."""

    def __init__(self, workload, start=None):
        self.numerators = workload.queries.numerators
        self.present = None if start is None else start / start.sum()

    def totals(self, counts):
        return self.numerators @ counts

    def query_sensitivities(self, metric):
        return query_sensitivities(metric, self.numerators)

    def answers(self, queries=None):
        chosen = self.numerators if queries is None else self.numerators[queries.start : queries.stop]
        return chosen @ self.present

    def reweigh(self, queries, exponents):
        nats = exponents @ self.numerators[queries.start : queries.stop]
        raised = self.present * np.exp(nats - nats.max())
        self.present = raised / raised.sum()

    def distribution(self):
        return self.present


def as_rows(workload, start=None):
    return Rows(workload, start)


@given(st.lists(boxes(), min_size=1, max_size=8, unique_by=key))
def test_boxes_weigh_the_records_inside(some):
    """Grouped by the attributes they restrict, in order of appearance."""
    groups = list(dict.fromkeys(frozenset(box) for box in some))
    expected = []
    for box in sorted(some, key=lambda box: groups.index(frozenset(box))):
        row = np.zeros(SHAPE, dtype=np.int64)
        row[tuple(slice(*box[name]) if name in box else slice(None) for name in UNIVERSE.names)] = 1
        expected.append(row.ravel())
    assert np.array_equal(LinearQueries.boxes(UNIVERSE, some).numerators, expected)


@given(workloads, st.lists(st.integers(0, 50), min_size=24, max_size=24))
def test_boxes_count_what_their_rows_of_weights_count(workload, counts):
    table = np.array(counts, dtype=np.int64)
    assert np.array_equal(workload.totals(table), as_rows(workload).totals(table))


@settings(max_examples=60)
@given(
    workloads,
    st.lists(st.tuples(st.integers(0, 7), st.floats(-3, 3)), max_size=12),
    st.lists(st.floats(0.1, 10), min_size=24, max_size=24),
)
def test_the_model_by_slices_is_the_model_by_rows(workload, steps, start):
    slices, rows = workload.model(np.array(start)), as_rows(workload, np.array(start))
    for query, exponent in steps:
        place = query % workload.queries.count
        slices.reweigh(range(place, place + 1), np.array([exponent]))
        rows.reweigh(range(place, place + 1), np.array([exponent]))
    assert np.allclose(slices.answers(), rows.answers(), rtol=1e-11, atol=1e-13)
    for query in range(workload.queries.count):
        one = range(query, query + 1)
        assert np.allclose(slices.answers(one), rows.answers()[query], rtol=1e-11, atol=1e-13)
    assert np.allclose(slices.distribution(), rows.distribution(), rtol=1e-11, atol=1e-13)
    assert slices.distribution().min() >= 0
    assert slices.distribution().sum() == pytest.approx(1)


def test_steps_that_drift_hundreds_of_nats_apart_stay_accurate():
    workload = marginals([["one", "two"], ["two", "three"]])
    slices, rows = workload.model(np.ones(24)), as_rows(workload, np.ones(24))
    generator = np.random.default_rng(0)
    for _ in range(400):
        query, exponent = int(generator.integers(workload.queries.count)), float(generator.normal() * 9)
        slices.reweigh(range(query, query + 1), np.array([exponent]))
        rows.reweigh(range(query, query + 1), np.array([exponent]))
    assert np.allclose(slices.answers(), rows.answers(), rtol=1e-9, atol=1e-12)
    assert np.allclose(slices.distribution(), rows.distribution(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "metric",
    [
        SUM,
        CapMetric(SUM, Fraction(3, 4)),
        DiscreteMetric(24, Fraction(1, 3)),
        DenseMetric(SUM.distance(np.arange(24)[:, None], np.arange(24))),
    ],
    ids=["sum", "cap", "discrete", "dense"],
)
@settings(max_examples=15)
@given(workload=workloads)
def test_the_steepness_of_a_box_is_that_of_its_row(metric, workload):
    assert np.array_equal(workload.query_sensitivities(metric), as_rows(workload).query_sensitivities(metric))


def test_a_step_along_all_cells_of_a_marginal_is_one_step():
    workload = marginals([["one", "two"], ["two", "three"]])
    slices, rows = workload.model(np.ones(24)), as_rows(workload, np.ones(24))
    generator = np.random.default_rng(1)
    for scale in (0.1, 3.0, 0.5, 9.0, 1.0):
        for first, beyond in ((0, 8), (8, 20)):
            exponents = generator.normal(size=beyond - first) * scale
            slices.reweigh(range(first, beyond), exponents)
            rows.reweigh(range(first, beyond), exponents)
            assert np.allclose(slices.answers(range(first, beyond)), rows.answers(range(first, beyond)), rtol=1e-11)
            slices.reweigh(range(first, first + 1), exponents[:1])
            rows.reweigh(range(first, first + 1), exponents[:1])
    assert np.allclose(slices.answers(), rows.answers(), rtol=1e-11, atol=1e-13)
    assert np.allclose(slices.distribution(), rows.distribution(), rtol=1e-11, atol=1e-13)


@given(workloads)
def test_queries_of_one_block_share_no_record_type(workload):
    rows = as_rows(workload).numerators
    for k, (first, beyond) in enumerate(workload.blocks.tolist()):
        assert first <= k < beyond
        assert np.all(workload.blocks[first:beyond] == (first, beyond))
        assert rows[first:beyond].sum(axis=0).max() <= 1


def test_the_cells_of_each_marginal_are_one_block():
    workload = marginals([["one"], ["three"]])
    assert workload.blocks.tolist() == [[0, 2]] * 2 + [[2, 5]] * 3
    overlapping = integer_queries(LinearQueries.boxes(UNIVERSE, [{"two": (0, 2)}, {"two": (1, 3)}]))
    assert overlapping.blocks.tolist() == [[0, 1], [1, 2]]


def test_marginals_have_every_cell_once_by_name():
    workload = marginals([["three", "one"], ["two"]])
    assert workload.queries.count == 6 + 4
    assert workload.queries.names[:2] == ("three=x, one=a", "three=x, one=b")
    counts = np.arange(24, dtype=np.int64)
    assert workload.totals(counts)[:6].tolist() == counts.reshape(SHAPE).sum(axis=1).T.ravel().tolist()


def test_the_fingerprint_tells_workloads_apart():
    pairs = list(itertools.combinations(UNIVERSE.names, 2))
    made = [LinearQueries.marginals(UNIVERSE, chosen).fingerprint for chosen in (pairs, pairs, pairs[:2], [["one"]])]
    assert made[0] == made[1]
    assert len(set(made)) == 3
    assert (
        LinearQueries.boxes(UNIVERSE, [{"two": (0, 2)}]).fingerprint
        != LinearQueries.boxes(UNIVERSE, [{"two": (0, 3)}]).fingerprint
    )


@pytest.mark.parametrize(
    "wrong", [[], [{}], [{"four": (0, 1)}], [{"one": (1, 1)}], [{"one": (0, 3)}], [{"one": (0, 1)}, {"one": (0, 1)}]]
)
def test_boxes_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UnsupportedCombination):
        LinearQueries.boxes(UNIVERSE, wrong)


@pytest.mark.parametrize("wrong", [[], [[]], [["one", "one"]], [["one"], ["one"]], [["one", "two"], ["two", "one"]]])
def test_marginals_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UnsupportedCombination):
        LinearQueries.marginals(UNIVERSE, wrong)


def test_a_matrix_whose_weights_share_no_fit_unit_is_refused():
    with pytest.raises(TooLarge):
        integer_queries(
            LinearQueries.from_matrix(
                ["a", "b"], [[Fraction(1, 2**40 + 1), Fraction(1)], [Fraction(1, 3), Fraction(2**20)]]
            )
        )


def test_marginals_of_universes_that_list_their_records_are_learnt_row_by_row():
    """Listed records are numbered as the table has them, so a place in the product says nothing."""
    every = np.arange(UNIVERSE.size)[::-1].copy()
    listed = LinearQueries.marginals(replace(UNIVERSE, listed=every), [["one"], ["two", "three"]])
    assert np.array_equal(
        listed.numerators, LinearQueries.marginals(UNIVERSE, [["one"], ["two", "three"]]).matrix[:, ::-1]
    )
    counts = np.arange(24, dtype=np.int64)
    assert integer_queries(listed).totals(counts).tolist() == (listed.numerators @ counts).tolist()
    assert len(np.unique(integer_queries(listed).blocks[:, 0])) == 2 + 12


@given(
    st.lists(boxes(), min_size=1, max_size=3, unique_by=key),
    st.lists(st.lists(st.integers(-3, 3), min_size=24, max_size=24), max_size=3),
    st.lists(st.tuples(st.integers(0, 30), st.floats(-3, 3)), max_size=6),
)
def test_any_mixture_of_queries_is_learnt_as_its_rows_say(some, weights, steps):
    """Boxes, a marginal of a coarser column, sums with conditions and plain rows, one below the other."""
    coarse = LinearQueries.kronecker(list("uvw"), UNIVERSE, {"two": [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]]})
    sums = LinearQueries.kronecker(list("st"), UNIVERSE, {"one": [[0, 5], [3, 3]], "three": [1, -1, 7]}, Fraction(1, 2))
    parts = [LinearQueries.boxes(UNIVERSE, some), coarse, sums]
    if weights:
        parts.append(LinearQueries.from_matrix([f"row {k}" for k in range(len(weights))], weights, UNIVERSE))
    asked = integer_queries(LinearQueries.stack(parts))
    rows = Rows(asked, np.ones(24))
    rows.numerators = asked.queries.tables.matrix() * asked.factors[:, None]
    model = asked.model(np.ones(24))
    for query, exponent in steps:
        block = asked.block_of(query % asked.queries.count)
        model.reweigh(block, np.full(len(block), exponent))
        rows.reweigh(block, np.full(len(block), exponent))
    assert np.allclose(model.answers(), rows.answers(), rtol=1e-9, atol=1e-11)
    for query in range(asked.queries.count):
        assert np.allclose(model.answers(range(query, query + 1)), rows.answers()[query], rtol=1e-9, atol=1e-11)
    assert np.allclose(model.distribution(), rows.distribution(), rtol=1e-9, atol=1e-13)
    assert [asked.block_of(len(parts[0].names) + place) for place in range(3)] == [
        range(len(parts[0].names), len(parts[0].names) + 3)
    ] * 3
    assert np.array_equal(asked.query_sensitivities(SUM), query_sensitivities(SUM, rows.numerators))
