"""However changes of a workload are kept, they are those of all generating pairs, one by one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.changes import every_change, exact_largest_load
from reference.families import members

import dxgeom.metrics.changes as changes_module
import dxgeom.metrics.differences as differences
import dxgeom.metrics.generating_pairs as moves_module
import dxgeom.metrics.paired_changes as paired
from dxgeom.errors import UnboundedLoss
from dxgeom.metrics.changes import Changes, FactoredChanges, ListedChanges, factored_changes
from dxgeom.metrics.combinations import CapMetric, PresenceMetric, SumMetric
from dxgeom.metrics.diameters import l1_diameter_of_tables
from dxgeom.metrics.differences import differences_of_tables, generating_differences
from dxgeom.metrics.families import DiscreteMetric, LineMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.matrices import DenseMetric
from dxgeom.metrics.paired_changes import PairedChanges, paired_changes
from dxgeom.universe.weight_table import WeightTable, tabulated
from dxgeom.universe.weight_tables import stacked, tables_of_matrix

AMOUNTS = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(7, 2)])
PAIRWISE = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])


def part(draw, size):
    kind = draw(st.sampled_from(["discrete", "line", "values", "edges", "cap"]))
    epsilon = draw(AMOUNTS)
    match kind:
        case "line":
            return LineMetric(tuple(Fraction(k * (k + 1), 2) for k in range(size)), epsilon)
        case "values":
            return ValueSensitivityMetric(tuple(draw(AMOUNTS) for _ in range(size)))
        case "edges":
            ends = np.arange(size - 1)
            return GraphMetric(size, ends // 2, ends + 1, np.full(size - 1, float(epsilon)))
        case "cap":
            return CapMetric(LineMetric(tuple(map(Fraction, range(size))), Fraction(1, 3)), epsilon)
    return DiscreteMetric(size, epsilon)


def alike_everywhere(axis, shape):
    """A table that looks at an attribute, and tells nothing of it."""
    return WeightTable(np.arange(1), (axis,), (np.arange(shape[axis]),), np.full((1, shape[axis]), 2))


@st.composite
def cases(draw):
    """A metric on a product of attributes, in one of its forms, and queries that look at some attributes each."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    match draw(st.sampled_from(["sum", "capped sum", "nested", "discrete", "matrix"])):
        case "sum":
            metric = SumMetric(tuple(part(draw, size) for size in shape))
        case "capped sum":
            metric = CapMetric(SumMetric(tuple(part(draw, size) for size in shape)), draw(AMOUNTS))
        case "nested":
            first = SumMetric(tuple(part(draw, size) for size in shape[:2]))
            rest = tuple(part(draw, size) for size in shape[2:])
            metric = SumMetric((CapMetric(first, draw(AMOUNTS)), *rest))
        case "discrete":
            metric = DiscreteMetric(math.prod(shape), draw(AMOUNTS))
        case _:
            places = np.arange(math.prod(shape))
            metric = DenseMetric(np.abs(places[:, None] - places) / 4)
    tables = []
    for _ in range(draw(st.integers(1, 4))):
        axes = sorted(draw(st.sets(st.integers(0, len(shape) - 1), max_size=3)))
        generator = np.random.default_rng(draw(st.integers(0, 10**6)))
        count = draw(st.integers(1, 3))
        tables.append(tabulated(axes, generator.integers(-1, 3, (count, *(shape[axis] for axis in axes)))))
    if draw(st.booleans()):
        tables.insert(draw(st.integers(0, len(tables))), alike_everywhere(draw(st.integers(0, len(shape) - 1)), shape))
    if draw(st.booleans()):
        return PresenceMetric(metric, draw(AMOUNTS)), stacked(shape, tables, absent=True)
    return metric, stacked(shape, tables)


@PAIRWISE
@given(cases())
def test_differences_of_tables_are_those_of_the_matrix(case):
    metric, tables = case
    rows, bounds = generating_differences(metric, tables.matrix())
    ours, our_bounds = differences_of_tables(metric, tables)
    assert np.array_equal(ours, rows)
    assert np.array_equal(our_bounds, bounds)


@PAIRWISE
@given(cases())
def test_an_absent_record_beside_the_tables_is_one_of_a_matrix(case):
    metric, tables = case
    laid_out = tables_of_matrix(tables.matrix())
    counts = np.random.default_rng(0).integers(0, 9, tables.size)
    assert tables.size == laid_out.size
    assert tables.totals(counts) == laid_out.totals(counts)
    counted, (axes, shared) = {}, tables.shared
    for table in tables.tables:
        grid = counts[: math.prod(tables.shape)].reshape(tables.shape)
        for axis in range(len(tables.shape)):
            own = shared[axes.index(axis)] if axis in table.axes else np.zeros(tables.shape[axis], dtype=np.int64)
            grid = np.stack(
                [grid.take(np.flatnonzero(own == one), axis).sum(axis) for one in range(own.max() + 1)], axis
            )
        counted[table.axes] = grid.ravel()
    assert tables.totals_of_tables(counted) == laid_out.totals(counts)
    assert np.array_equal(tables.extremes, laid_out.extremes)
    weights = np.linspace(1, 2, tables.count)
    assert l1_diameter_of_tables(tables, weights) == pytest.approx(l1_diameter_of_tables(laid_out, weights), rel=1e-9)
    if tables.absent:
        assert tables.digest == laid_out.digest  # what was bought by the one is known by the other
        ours, theirs = paired_changes(metric, tables).kinds, paired_changes(metric, laid_out).kinds
        assert all(np.array_equal(one, other) for one, other in zip(ours, theirs, strict=True))


@PAIRWISE
@given(cases(), st.integers(0, 10**6))
def test_where_record_types_are_too_many_to_go_through_changes_are_the_same(case, seed):
    metric, tables = case
    rows, bounds = generating_differences(metric, tables.matrix())
    rates = np.random.default_rng(seed).random(tables.count)
    sizes, each = every_change(metric, tables.matrix())
    exact = exact_largest_load(sizes, each, rates)
    with pytest.MonkeyPatch.context() as patched:
        for module in (differences, paired):
            patched.setattr(module, "kinds_along", lambda *_: None)
        patched.setattr(changes_module, "_TOGETHER", 0)
        ours, our_bounds = differences_of_tables(metric, tables)
        assert np.array_equal(ours, rows)
        assert np.array_equal(our_bounds, bounds)
        load = Fraction(paired_changes(metric, tables).largest_load(rates))
        assert exact <= load <= exact * (1 + Fraction(1, 10**12)) + Fraction(1, 10**300)
        assert exact <= Fraction(factored_changes(metric, tables).largest_load(rates))


def both(metric, tables):
    return [
        ListedChanges(*differences_of_tables(metric, tables)),
        factored_changes(metric, tables),
        paired_changes(metric, tables),
    ]


def test_every_family_of_changes_is_under_these_laws():
    assert {ListedChanges, FactoredChanges, PairedChanges} == members(Changes)


@PAIRWISE
@given(cases(), st.integers(0, 10**6))
def test_the_largest_load_is_not_below_that_of_any_pair_and_hardly_above(case, seed):
    metric, tables = case
    sizes, bounds = every_change(metric, tables.matrix())
    rates = np.random.default_rng(seed).random(tables.count)
    exact = exact_largest_load(sizes, bounds, rates)
    for changes in both(metric, tables):
        load = Fraction(changes.largest_load(rates))
        assert exact <= load <= exact * (1 + Fraction(1, 10**12)) + Fraction(1, 10**300)


@PAIRWISE
@given(cases(), st.integers(0, 10**6))
def test_heaviest_changes_are_rows_with_these_loads_and_belong_to_pairs(case, seed):
    metric, tables = case
    sizes, bounds = every_change(metric, tables.matrix())
    real = {tuple(row) for row in sizes / bounds[:, None]}
    rates = np.random.default_rng(seed).random(tables.count)
    for changes in both(metric, tables):
        loads, rows = changes.largest_loads(rates, 3)
        assert len(loads) <= 3
        assert np.allclose(rows @ rates, loads, rtol=1e-12, atol=0)
        assert all(loads[k] >= loads[k + 1] for k in range(len(loads) - 1))
        # A ceiling leaves pairs that it undercuts beside those with the ceiling: they ask for less.
        assert all(any(np.all(row <= one) for one in real) for row in rows if row.any())


@PAIRWISE
@given(cases())
def test_of_each_query_is_its_load_alone(case):
    metric, tables = case
    sizes, bounds = every_change(metric, tables.matrix())
    for changes in both(metric, tables):
        for query in range(tables.count):
            alone = exact_largest_load(sizes[:, [query]], bounds, [1.0])
            found = Fraction(float(changes.of_each_query[query]))
            assert alone <= found <= alone * (1 + Fraction(1, 2**50))


@PAIRWISE
@given(cases(), st.integers(0, 10**6))
def test_scaling_the_queries_scales_the_changes(case, seed):
    metric, tables = case
    factors = 2 ** np.random.default_rng(seed).integers(0, 5, tables.count)
    scaled = tables.changed(lambda table: table.flat * factors[table.queries][:, None])
    rates = np.ones(tables.count)
    for changes, afresh in zip(both(metric, tables), both(metric, scaled), strict=True):
        assert (
            changes.scaled(factors).largest_loads(rates, 1).loads.tolist()
            == afresh.largest_loads(rates, 1).loads.tolist()
        )


@PAIRWISE
@given(cases(), st.integers(0, 10**6))
def test_where_tables_choose_their_pairs_apart_loads_are_never_too_small(case, seed):
    metric, tables = case
    sizes, bounds = every_change(metric, tables.matrix())
    rates = np.random.default_rng(seed).random(tables.count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moves_module, "_LISTED_TOGETHER", 0)
        changes = factored_changes(metric, tables)
    assert Fraction(changes.largest_load(rates)) >= exact_largest_load(sizes, bounds, rates)
    for query in range(tables.count):
        alone = exact_largest_load(sizes[:, [query]], bounds, [1.0])
        assert alone <= Fraction(float(changes.of_each_query[query])) <= alone * (1 + Fraction(1, 2**50))


def test_for_marginal_tables_choosing_apart_costs_nothing():
    shape = (3, 4, 2)
    tables = [tabulated((axis,), np.eye(size, dtype=np.int64)) for axis, size in enumerate(shape)]
    metric = DiscreteMetric(math.prod(shape), Fraction(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moves_module, "_LISTED_TOGETHER", 0)
        apart = factored_changes(metric, stacked(shape, tables))
    together = factored_changes(metric, stacked(shape, tables))
    rates = np.random.default_rng(0).random(9)
    assert apart.largest_load(rates) == pytest.approx(together.largest_load(rates), rel=1e-12)


@pytest.mark.parametrize("place", range(4))
def test_a_table_that_is_alike_everywhere_takes_no_change_from_others(place):
    shape = (3, 4, 2)
    tables = [tabulated((axis,), np.eye(size, dtype=np.int64)) for axis, size in enumerate(shape)]
    metric = DiscreteMetric(math.prod(shape), Fraction(1))
    with_it = [*tables[:place], alike_everywhere(1, shape), *tables[place:]]
    rates = np.random.default_rng(0).random(9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moves_module, "_LISTED_TOGETHER", 0)
        found = factored_changes(metric, stacked(shape, with_it))
        without = factored_changes(metric, stacked(shape, tables))
    own = np.insert(np.arange(9), [0, 3, 7, 9][place], 9)
    assert found.of_each_query.tolist() == np.append(without.of_each_query, 0)[own].tolist()
    assert found.largest_load(np.append(rates, 1)[own]) == pytest.approx(without.largest_load(rates), rel=1e-12)


def test_separating_records_at_distance_zero_is_refused_by_both():
    metric = SumMetric((GraphMetric(2, np.array([0]), np.array([1]), np.array([0.0])), DiscreteMetric(2, Fraction(1))))
    tables = stacked((2, 2), [tabulated((0,), np.array([[0, 1]]))])
    with pytest.raises(UnboundedLoss):
        differences_of_tables(metric, tables)
    with pytest.raises(UnboundedLoss):
        factored_changes(metric, tables)
    harmless = stacked((2, 2), [tabulated((1,), np.array([[0, 1]]))])
    assert factored_changes(metric, harmless).of_each_query[0] == pytest.approx(1)
