"""Queries kept as small tables are the same queries as laid out possible record by possible record."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import dxgeom as dx
from dxgeom.errors import TooLarge, UnsupportedCombination, WrongArgument
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute, RangeAttribute
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import WeightTable, counts_between, only, products, tabulated
from dxgeom.universe.weight_tables import WeightTables, stacked
from dxgeom.universe.workloads.spans import spans_of

UNIVERSE = Universe(
    (
        CategoricalAttribute("sex", ("F", "M")),
        RangeAttribute("age", Fraction(0), Fraction(20), Fraction(5)),
        CategoricalAttribute("race", ("a", "b", "c")),
        BinnedAttribute("income", tuple(map(Fraction, (0, 1, 3, 9)))),
    )
)
RECORDS = [UNIVERSE.record(index) for index in range(UNIVERSE.size)]


def column_by_record(condition):
    return np.array([int(condition(record)) for record in RECORDS])


def drawn_table(draw, shape):
    axes = sorted(draw(st.sets(st.integers(0, len(shape) - 1))))
    sizes = [shape[axis] for axis in axes]
    count = draw(st.integers(1, 3))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    return axes, generator.integers(-2, 3, (count, *sizes))


@st.composite
def tables_and_matrix(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    tables, rows = [], []
    for _ in range(draw(st.integers(1, 4))):
        axes, weights = drawn_table(draw, shape)
        tables.append(tabulated(axes, weights))
        spread = weights.reshape(len(weights), *(n if axis in axes else 1 for axis, n in enumerate(shape)))
        rows.append(np.broadcast_to(spread, (len(weights), *shape)).reshape(len(weights), -1))
    return stacked(shape, tables), np.concatenate(rows)


@given(tables_and_matrix(), st.integers(0, 10**6))
def test_tables_laid_out_are_the_matrix_and_add_up_to_the_same_totals(case, seed):
    tables, matrix = case
    counts = np.random.default_rng(seed).integers(0, 100, tables.size)
    assert np.array_equal(tables.matrix(), matrix)
    assert tables.totals(counts) == [int(total) for total in matrix @ counts]
    low, high = tables.extremes
    assert np.array_equal(low, matrix.min(axis=1))
    assert np.array_equal(high, matrix.max(axis=1))


@given(tables_and_matrix())
def test_a_table_keeps_no_class_twice(case):
    for table in case[0].tables:
        for place in range(1, table.weights.ndim):
            slices = np.moveaxis(table.weights, place, 0).reshape(table.weights.shape[place], -1)
            assert len(np.unique(slices, axis=0)) == len(slices) > 1


@given(st.data())
def test_products_multiply_record_by_record(data):
    shape = (2, 3, 4)
    laid_out = []
    made = [tabulated(*drawn_table(data.draw, shape)) for _ in range(2)]
    for table in made:
        laid_out.append(WeightTables(shape, (table,)).matrix())
    both = WeightTables(shape, (products(*made),)).matrix()
    assert np.array_equal(both, (laid_out[0][:, None] * laid_out[1][None]).reshape(len(both), -1))


def test_totals_of_a_histogram_too_large_for_64_bits_are_exact():
    table = tabulated((0,), np.array([[2**51, 1]]))
    counts = np.array([2**40, 2**40, 0, 5])
    assert stacked((2, 2), [table]).totals(counts) == [2**51 * 2**41 + 5]


def test_marginals_count_every_combination_of_their_values():
    queries = dx.LinearQueries.marginals(UNIVERSE, [["race", "sex"], ["age"]])
    assert queries.names[:2] == ("race=a, sex=F", "race=a, sex=M")
    for name, row in zip(queries.names, queries.numerators, strict=True):
        wanted = dict(part.split("=") for part in name.split(", "))
        assert np.array_equal(row, column_by_record(lambda r, w=wanted: all(r[k] == v for k, v in w.items())))


@pytest.mark.parametrize("ways", [1, 2, 3, 4])
def test_all_marginals_of_so_many_ways(ways):
    queries = dx.LinearQueries.marginals(UNIVERSE, ways=ways)
    tables = list(itertools.combinations(UNIVERSE.names, ways))
    assert queries.count == sum(np.prod([UNIVERSE.attribute(name).size for name in table]) for table in tables)
    counts = np.random.default_rng(ways).integers(0, 9, UNIVERSE.size)
    assert sum(queries.answers(counts)) == len(tables) * int(counts.sum())


def test_prefixes_and_ranges_count_between_values():
    age = column_by_record(lambda record: True) * [int(record["age"]) for record in RECORDS]
    prefixes = dx.LinearQueries.prefixes(UNIVERSE, "age")
    assert prefixes.names[1] == "age up to 5"
    assert np.array_equal(prefixes.numerators, [age <= top for top in range(0, 21, 5)])
    ranges = dx.LinearQueries.ranges(UNIVERSE, "age")
    ends = [(low, high) for low in range(0, 21, 5) for high in range(low, 21, 5)]
    assert ranges.names == tuple(f"age from {low} to {high}" for low, high in ends)
    assert np.array_equal(ranges.numerators, [(low <= age) & (age <= high) for low, high in ends])


def test_prefixes_and_ranges_may_go_by_bounds():
    age = column_by_record(lambda record: True) * [int(record["age"]) for record in RECORDS]
    prefixes = dx.LinearQueries.prefixes(UNIVERSE, "age", at=[5, 15])
    assert prefixes.names == ("age below 5", "age below 15")
    assert np.array_equal(prefixes.numerators, [age < 5, age < 15])
    ranges = dx.LinearQueries.ranges(UNIVERSE, "age", at=[15])
    assert np.array_equal(ranges.numerators, [age < 15, age >= 0, age >= 15])


def test_kronecker_products_multiply_the_weights_of_each_value():
    factors = {"sex": [[0, 1], [2, -1]], "race": [1, 5, 0]}
    queries = dx.LinearQueries.kronecker(["x", "y"], UNIVERSE, factors, Fraction(1, 4))
    weights = {"sex": {"F": (0, 2), "M": (1, -1)}, "race": {"a": 1, "b": 5, "c": 0}}
    for k, row in enumerate(queries.numerators):
        expected = [weights["sex"][r["sex"]][k] * weights["race"][r["race"]] for r in RECORDS]
        assert row.tolist() == expected
    assert queries.units == (Fraction(1, 4),) * 2


def test_a_count_of_every_record_looks_at_nothing():
    queries = dx.LinearQueries.kronecker(["all"], UNIVERSE, {})
    assert queries.tables.tables[0].axes == ()
    assert queries.answers(np.ones(UNIVERSE.size, dtype=np.int64)) == [UNIVERSE.size]


def test_stacked_workloads_keep_their_order_and_importance():
    first = dx.LinearQueries.prefixes(UNIVERSE, "age")
    matrix = np.random.default_rng(0).integers(0, 5, (2, UNIVERSE.size))
    second = dx.LinearQueries(("f", "g"), matrix, (Fraction(1),) * 2, UNIVERSE, None, (Fraction(3),) * 2)
    both = dx.LinearQueries.stack([second, first])
    assert both.names == second.names + first.names
    assert np.array_equal(both.numerators, np.concatenate([matrix, first.numerators]))
    assert both.importance == (3, 3, 1, 1, 1, 1, 1)
    assert dx.LinearQueries.stack([first]).importance is None
    with pytest.raises(UnsupportedCombination, match="the same universe"):
        dx.LinearQueries.stack([first, dx.LinearQueries(("f",), matrix[:1], (Fraction(1),))])


def test_seven_conditions_over_ten_million_records_are_a_small_table():
    universe = Universe(tuple(CategoricalAttribute(f"a{k}", tuple("0123456789")) for k in range(7)))
    factors = {f"a{k}": [1, 1, 0, 0, 0, 0, 0, 0, 0, 1] for k in range(7)}
    queries = dx.LinearQueries.kronecker(["all"], universe, factors)
    assert queries.size == 10**7
    assert queries.tables.tables[0].weights.size == 2**7


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: dx.LinearQueries.marginals(UNIVERSE),
        lambda: dx.LinearQueries.marginals(UNIVERSE, [["sex"]], ways=1),
        lambda: dx.LinearQueries.marginals(UNIVERSE, ways=5),
        lambda: dx.LinearQueries.marginals(UNIVERSE, [["sex", "sex"]]),
        lambda: dx.LinearQueries.marginals(UNIVERSE, [["sexe"]]),
        lambda: dx.LinearQueries.prefixes(UNIVERSE, "race"),
        lambda: dx.LinearQueries.ranges(UNIVERSE, "nothing"),
        lambda: dx.LinearQueries.ranges(UNIVERSE, "age", at=[5, 3]),
        lambda: dx.LinearQueries.ranges(UNIVERSE, "age", at=[5, 6]),
        lambda: dx.LinearQueries.prefixes(UNIVERSE, "age", at=["young"]),
        lambda: dx.LinearQueries.prefixes(UNIVERSE, "age", at=[]),
        lambda: dx.LinearQueries.kronecker(["q"], UNIVERSE, {"sex": [1, 2, 3]}),
        lambda: dx.LinearQueries.kronecker(["q"], UNIVERSE, {"sex": [0.5, 1]}),
        lambda: dx.LinearQueries.kronecker(["q"], UNIVERSE, {"sex": [0, 2**60]}),
        lambda: dx.LinearQueries.kronecker(["q", "r"], UNIVERSE, {"sex": [0, 1]}),
        lambda: dx.LinearQueries.stack([]),
    ],
)
def test_a_workload_that_does_not_fit_is_refused(wrong):
    with pytest.raises(UnsupportedCombination):
        wrong()


def test_a_workload_too_large_to_lay_out_is_refused_only_when_it_is_laid_out():
    universe = Universe(tuple(CategoricalAttribute(f"a{k}", tuple("0123456789")) for k in range(7)))
    queries = dx.LinearQueries.marginals(universe, ways=2)
    assert queries.count == 2100
    with pytest.raises(TooLarge, match=r"2,100 queries over 10,000,000 cells"):
        _ = queries.numerators
    with pytest.raises(TooLarge, match="weights"):
        dx.LinearQueries.marginals(universe, ways=5)


def test_the_fingerprint_changes_with_a_weight_a_name_and_an_importance():
    base = dx.LinearQueries.marginals(UNIVERSE, [["sex"]])
    others = [
        dx.LinearQueries.marginals(UNIVERSE, [["race"]]),
        dx.LinearQueries(("a", "b"), base.tables, base.units, UNIVERSE),
        dx.LinearQueries(base.names, base.tables, (Fraction(1), Fraction(2)), UNIVERSE),
        dx.LinearQueries(base.names, base.tables, base.units, UNIVERSE, None, (Fraction(1), Fraction(2))),
        dx.LinearQueries(base.names, base.tables.changed(lambda table: table.flat * 2), base.units, UNIVERSE),
    ]
    assert len({one.fingerprint for one in [base, *others]}) == 6
    assert base.fingerprint == dx.LinearQueries.marginals(UNIVERSE, [["sex"]]).fingerprint


def test_a_table_whose_queries_stand_in_another_order_is_no_plain_matrix():
    """Laid out in the table's order, a query would get the noise of another."""
    table = WeightTable(np.array([1, 0]), (0,), (np.arange(3),), np.array([[0, 1000, 0], [1, 0, 0]]))
    tables = WeightTables((3,), (table,))
    assert tables.matrix().tolist() == [[1, 0, 0], [0, 1000, 0]]
    assert tables.totals(np.array([2, 3, 5])) == [2, 3000]


def test_a_sparse_factor_is_refused_by_name():
    universe = dx.Policy.from_dict(
        {"policy": "p", "universe": {"attributes": {"a": ["x", "y"]}}, "rules": [{"change": "a", "epsilon": 1}]}
    ).universe
    with pytest.raises(WrongArgument, match="toarray"):
        dx.LinearQueries.kronecker(["a", "b"], universe, {"a": sparse.csr_matrix(np.eye(2, dtype=int))})


@pytest.mark.parametrize("seed", range(5))
def test_counts_by_their_ends_are_those_of_weights(seed):
    generator = np.random.default_rng(seed)
    classes = np.sort(np.concatenate([np.arange(6), generator.integers(0, 6, 4)]))
    lower = generator.integers(0, 6, 9)
    upper = generator.integers(lower + 1, 7)
    ends = counts_between(1, classes, lower, upper)
    dense = replace(ends, dense=ends.weights, between=None)
    counts = generator.integers(0, 2**40, 6)
    assert ends.fits((2, 10))
    assert ends.weights.tolist() == [[int(a <= c < b) for c in range(6)] for a, b in zip(lower, upper, strict=True)]
    assert (
        ends.totals(counts)
        == dense.totals(counts)
        == [int(counts[a:b].sum()) for a, b in zip(lower, upper, strict=True)]
    )
    assert ends.totals(counts << 22) == dense.totals(counts << 22)
    assert np.array_equal(ends.extremes, dense.extremes)
    assert np.array_equal(only(ends, [1, 4, 8]).weights, only(dense, [1, 4, 8]).weights)
    assert WeightTables((2, 10), (ends,)).digest == WeightTables((2, 10), (dense,)).digest
    assert (ends.cell_of is None) == (dense.cell_of is None)
    one, other = spans_of(ends), spans_of(dense)
    assert np.array_equal(one.lower, other.lower)
    assert np.array_equal(one.upper, other.upper)
    assert not replace(ends, between=np.stack([upper, lower])).fits((2, 10))
