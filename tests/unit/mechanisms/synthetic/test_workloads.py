from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.synthetic.box_workload import box_workload, marginal_workload
from dxgeom.mechanisms.synthetic.matrix_workload import matrix_workload
from dxgeom.metrics.checking.dense import DenseMetric
from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.families.line import LineMetric
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


workloads = st.lists(boxes(), min_size=1, max_size=8, unique_by=key).map(lambda some: box_workload(UNIVERSE, some))


def as_matrix(workload):
    """The same queries cell by cell."""
    rows = []
    for group in workload.groups:
        for low, high in zip(group.low, group.high, strict=True):
            row = np.zeros(SHAPE, dtype=np.int64)
            place = [slice(None)] * len(SHAPE)
            for axis, first, beyond in zip(group.axes, low, high, strict=True):
                place[axis] = slice(first, beyond)
            row[tuple(place)] = 1
            rows.append(row.ravel())
    return matrix_workload(LinearQueries.from_matrix(workload.names, np.array(rows)))


@given(workloads, st.lists(st.integers(0, 50), min_size=24, max_size=24))
def test_boxes_count_what_their_rows_of_weights_count(workload, counts):
    table = np.array(counts, dtype=np.int64)
    assert np.array_equal(workload.totals(table), as_matrix(workload).totals(table))


@settings(max_examples=60)
@given(
    workloads,
    st.lists(st.tuples(st.integers(0, 7), st.floats(-3, 3)), max_size=12),
    st.lists(st.floats(0.1, 10), min_size=24, max_size=24),
)
def test_the_model_by_slices_is_the_model_by_rows(workload, steps, start):
    slices, rows = workload.model(np.array(start)), as_matrix(workload).model(np.array(start))
    for query, exponent in steps:
        place = query % workload.count
        slices.reweigh(range(place, place + 1), np.array([exponent]))
        rows.reweigh(range(place, place + 1), np.array([exponent]))
    assert np.allclose(slices.answers(), rows.answers(), rtol=1e-11, atol=1e-13)
    for query in range(workload.count):
        one = range(query, query + 1)
        assert np.allclose(slices.answers(one), rows.answers()[query], rtol=1e-11, atol=1e-13)
    assert np.allclose(slices.distribution(), rows.distribution(), rtol=1e-11, atol=1e-13)
    assert slices.distribution().min() >= 0
    assert slices.distribution().sum() == pytest.approx(1)


def test_steps_that_drift_hundreds_of_nats_apart_stay_accurate():
    workload = marginal_workload(UNIVERSE, [["one", "two"], ["two", "three"]])
    slices, rows = workload.model(np.ones(24)), as_matrix(workload).model(np.ones(24))
    generator = np.random.default_rng(0)
    for _ in range(400):
        query, exponent = int(generator.integers(workload.count)), float(generator.normal() * 9)
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
    assert np.array_equal(workload.steepness(metric), as_matrix(workload).steepness(metric))


def test_a_step_along_all_cells_of_a_marginal_is_one_step():
    workload = marginal_workload(UNIVERSE, [["one", "two"], ["two", "three"]])
    slices, rows = workload.model(np.ones(24)), as_matrix(workload).model(np.ones(24))
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
    rows = as_matrix(workload).numerators
    for k, (first, beyond) in enumerate(workload.blocks.tolist()):
        assert first <= k < beyond
        assert np.all(workload.blocks[first:beyond] == (first, beyond))
        assert rows[first:beyond].sum(axis=0).max() <= 1


def test_the_cells_of_each_marginal_are_one_block():
    workload = marginal_workload(UNIVERSE, [["one"], ["three"]])
    assert workload.blocks.tolist() == [[0, 2]] * 2 + [[2, 5]] * 3
    assert box_workload(UNIVERSE, [{"two": (0, 2)}, {"two": (1, 3)}]).blocks.tolist() == [[0, 1], [1, 2]]


def test_marginals_have_every_cell_once_by_name():
    workload = marginal_workload(UNIVERSE, [["three", "one"], ["two"]])
    assert workload.count == 6 + 4
    assert workload.names[:2] == ("one a, three x", "one a, three y")
    counts = np.arange(24, dtype=np.int64)
    assert workload.totals(counts)[:6].tolist() == counts.reshape(SHAPE).sum(axis=1).ravel().tolist()


def test_the_fingerprint_tells_workloads_apart():
    pairs = list(itertools.combinations(UNIVERSE.names, 2))
    made = [marginal_workload(UNIVERSE, chosen).fingerprint for chosen in (pairs, pairs, pairs[:2], [["one"]])]
    assert made[0] == made[1]
    assert len(set(made)) == 3
    assert (
        box_workload(UNIVERSE, [{"two": (0, 2)}]).fingerprint != box_workload(UNIVERSE, [{"two": (0, 3)}]).fingerprint
    )


@pytest.mark.parametrize(
    "wrong", [[], [{}], [{"four": (0, 1)}], [{"one": (1, 1)}], [{"one": (0, 3)}], [{"one": (0, 1)}, {"one": (0, 1)}]]
)
def test_boxes_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UnsupportedCombination):
        box_workload(UNIVERSE, wrong)


@pytest.mark.parametrize("wrong", [[], [[]], [["one", "one"]], [["one"], ["one"]], [["one", "two"], ["two", "one"]]])
def test_marginals_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UnsupportedCombination):
        marginal_workload(UNIVERSE, wrong)


def test_a_matrix_whose_weights_share_no_fit_unit_is_refused():
    with pytest.raises(TooLarge):
        matrix_workload(
            LinearQueries.from_matrix(
                ["a", "b"], [[Fraction(1, 2**40 + 1), Fraction(1)], [Fraction(1, 3), Fraction(2**20)]]
            )
        )


def test_boxes_are_not_of_universes_that_list_their_records_or_have_an_absent_one():
    """Listed records are numbered as the table has them, so a place in the product says nothing."""
    every = np.arange(UNIVERSE.size)[::-1].copy()
    with pytest.raises(UnsupportedCombination, match="matrix_workload"):
        marginal_workload(replace(UNIVERSE, listed=every), [["one"]])
    with pytest.raises(UnsupportedCombination, match="number of records"):
        marginal_workload(replace(UNIVERSE, presence=True), [["one"]])
