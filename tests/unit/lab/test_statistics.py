"""Polynomial statistics: exact values, what one record can change, and their release."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.bodies import exact_gauge

import dxgeom as dx
from dxgeom.errors import BudgetExceeded, DataError, TooLarge, UnsupportedCombination
from dxgeom.geometry.hulls import EnclosureLimits, enclosing_polytope
from dxgeom.lab.statistic_release import (
    corner_structure,
    entry_blocks,
    entry_sensitivities,
    norm_sensitivities,
    statistic_mechanism,
)
from dxgeom.learning.adjacent_outputs import ListedOutputs, PolynomialOutputs
from dxgeom.learning.polynomials import (
    BoundedColumn,
    bounded_column,
    moments,
    polynomial_statistic,
    regression_statistic,
)
from dxgeom.numeric.exact_numbers import rational
from dxgeom.numeric.randomness import InsecureSeededRandomness

UNIT = bounded_column("x", 0, 1)
X, Y = bounded_column("x", -1, 1), bounded_column("y", -1, 1)
CURVE = polynomial_statistic([X], {"sum": {("x",): 1}, "twice squares": {("x", "x"): 2}})
SIX = 6.0


@st.composite
def small_statistics(draw, most_degree=2):
    """One or two columns with few grid points, and one or two entries."""
    columns = [
        BoundedColumn(name, Fraction(low, 3), Fraction(low, 3) + steps * Fraction(1, part), Fraction(1, part))
        for name, low, steps, part in draw(
            st.tuples(*[st.tuples(st.just(n), st.integers(-5, 5), st.integers(1, 4), st.integers(1, 4)) for n in "xy"])
        )
    ]
    monomials = [m for d in range(most_degree + 1) for m in itertools.combinations_with_replacement(("x", "y"), d)]
    coefficients = st.fractions(-5, 5, max_denominator=6)
    entries = draw(
        st.lists(st.dictionaries(st.sampled_from(monomials), coefficients, min_size=1), min_size=1, max_size=2)
    )
    try:
        return polynomial_statistic(columns, {f"entry {k}": entry for k, entry in enumerate(entries)}), entries
    except UnsupportedCombination:  # constant or dependent entries
        return None, entries


def grid_records(columns):
    return itertools.product(*[[c.low + k * c.step for k in range(c.steps + 1)] for c in columns])


def value(entry, record):
    place = {"x": 0, "y": 1}
    total = Fraction(0)
    for monomial, coefficient in entry.items():
        term = Fraction(coefficient)
        for name in monomial:
            term *= record[place[name]]
        total += term
    return total


@settings(max_examples=40)
@given(small_statistics())
def test_totals_are_exact_and_every_change_of_a_record_is_inside_the_body(drawn):
    """All pairs of grid records, in exact rationals, against the definition of the entries."""
    statistic, entries = drawn
    if statistic is None:
        return
    body = enclosing_polytope(PolynomialOutputs(statistic), EnclosureLimits(0.05)).body
    records = list(grid_records(statistic.columns))
    expected = [[value(entry, record) for entry in entries] for record in records]
    for record, row in zip(records, expected, strict=True):
        assert list(statistic.exact([[float(v) for v in record]])) == row
    table = [[float(v) for v in record] for record in records]
    assert list(statistic.exact(table)) == [sum(column) for column in zip(*expected, strict=True)]
    for one, other in itertools.combinations(expected, 2):
        move = [(a - b) / step for a, b, step in zip(one, other, statistic.steps, strict=True)]
        assert all(step.denominator == 1 for step in move)
        assert exact_gauge(body, move) <= 1


@settings(max_examples=20)
@given(small_statistics())
def test_sensitivities_are_no_smaller_than_any_change_of_a_record(drawn):
    statistic, entries = drawn
    if statistic is None:
        return
    outputs = PolynomialOutputs(statistic)
    norms, single = norm_sensitivities(outputs), entry_sensitivities(outputs)
    expected = [[value(entry, record) for entry in entries] for record in grid_records(statistic.columns)]
    for one, other in itertools.combinations(expected, 2):
        move = [abs(a - b) for a, b in zip(one, other, strict=True)]
        assert sum(move) <= norms.l1.upper
        assert max(move) <= norms.linf.upper
        assert sum(x * x for x in move) <= norms.l2_squared.upper
        assert all(x <= each.upper for x, each in zip(move, single, strict=True))


@settings(max_examples=8)
@given(small_statistics(most_degree=3))
def test_every_change_of_a_record_is_inside_the_body_of_a_cubic_statistic(drawn):
    statistic, entries = drawn
    if statistic is None:
        return
    body = enclosing_polytope(PolynomialOutputs(statistic), EnclosureLimits(0.2)).body
    expected = [[value(entry, record) for entry in entries] for record in grid_records(statistic.columns)]
    for one, other in itertools.combinations(expected, 2):
        move = [(a - b) / step for a, b, step in zip(one, other, statistic.steps, strict=True)]
        assert exact_gauge(body, move) <= 1


def test_large_tables_add_up_without_overflow():
    """300,000 times the largest square of a fine grid is beyond 64 bits."""
    fine = bounded_column("x", 0, 1, Fraction(1, 2**24))
    statistic = moments([fine])
    table = np.ones((300_000, 1))
    assert statistic.exact(table) == (300_000, 300_000)
    eighth = polynomial_statistic([fine], {"a": {("x",) * 8: 1}})
    assert eighth.exact(table[:1000]) == (1000,)


def test_values_outside_the_box_are_clipped():
    statistic = moments([X])
    assert statistic.exact([[5.0], [-np.inf], [0.5]]) == (Fraction(1, 2), Fraction(9, 4))


def test_entries_are_named_after_what_they_sum():
    assert moments([X, Y]).names == ("x", "y", "x·x", "x·y", "y·y")
    assert regression_statistic([X], Y).names == ("x", "y", "x·x", "x·y")
    assert [c.name for c in regression_statistic([X], Y).columns] == ["x", "y"]


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"a": {("z",): 1}}, "uses 'z'"),
        ({"a": {(): 1}}, "same for every record"),
        ({"a": {("x",): 1, ("y",): 0}, "b": {("x",): 3, (): 7}}, "'b' follows"),
        ({"a": {("x",): 0.5j}}, "exact numbers"),
        ({"a": {("x",): "many"}}, "exact numbers"),
    ],
)
def test_entries_that_cannot_be_released_are_refused(entries, words):
    with pytest.raises(UnsupportedCombination, match=words):
        polynomial_statistic([X, Y], entries)


def test_too_many_entries_or_too_high_a_degree_are_refused():
    with pytest.raises(TooLarge, match="entries"):
        polynomial_statistic([X], {})
    with pytest.raises(TooLarge, match="degree 9"):
        polynomial_statistic([X], {"a": {("x",) * 9: 1}})
    with pytest.raises(UnsupportedCombination, match="distinct"):
        moments([X, X])


@pytest.mark.parametrize("body", ["hull", "box", "laplace"])
def test_errors_have_the_stated_covariance(body):
    """20,000 releases, fixed seed; six standard errors of each entry of the second moment."""
    mechanism = statistic_mechanism(CURVE, body)
    table = np.linspace(-1, 1, 11)[:, None]
    truth = np.array([float(v) for v in CURVE.exact(table)])
    half = Fraction(1, 2)
    noise = mechanism.law.draw(20_000, InsecureSeededRandomness(3), 1 / half) * [float(s) for s in CURVE.steps]
    products = noise[:, :, None] * noise[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(noise))
    assert np.all(np.abs(products.mean(axis=0) - mechanism.covariance(half)) <= SIX * error)
    answers = [mechanism.draw(table, half, InsecureSeededRandomness(seed)) for seed in range(200)]
    centred = np.array([[float(v) for v in answer] for answer in answers]) - truth
    deviations = np.sqrt(np.diagonal(mechanism.covariance(half)))
    assert np.all(np.abs(centred.mean(axis=0)) <= SIX * deviations / np.sqrt(len(answers)))


def test_answers_lie_on_the_lattice():
    mechanism = statistic_mechanism(moments([bounded_column("x", 0, 10, 1)]))
    for seed in range(20):
        answer = mechanism.draw([[3], [7.2]], Fraction(1), InsecureSeededRandomness(seed))
        assert all(entry.denominator == 1 for entry in answer)


def test_every_body_hides_every_change_of_a_record():
    """Extreme differences of the curve's grid, in exact rationals, for the three norms."""
    steps = 24
    column = bounded_column("x", -1, 1, Fraction(2, steps))
    statistic = polynomial_statistic([column], {"a": {("x",): 1}, "b": {("x", "x"): 2}})
    places = [column.low + k * column.step for k in range(steps + 1)]
    moves = [((a - b) / statistic.steps[0], 2 * (a * a - b * b) / statistic.steps[1]) for a in places for b in places]
    hull = statistic_mechanism(statistic, "hull").law.body
    widths = [Fraction(w) for w in statistic_mechanism(statistic, "box").law.body.half_widths.tolist()]
    scales = [Fraction(s) for s in statistic_mechanism(statistic, "laplace").law.scales.tolist()]
    for move in moves:
        assert exact_gauge(hull, move) <= 1
        assert all(abs(x) <= w for x, w in zip(move, widths, strict=True))
        assert sum(abs(x) / s for x, s in zip(move, scales, strict=True)) <= 1


def test_the_mechanism_of_least_relative_error_is_chosen():
    assert statistic_mechanism(CURVE).name == "statistic, hull"
    for name in ("hull", "box", "laplace"):
        assert np.trace(statistic_mechanism(CURVE).covariance()) <= np.trace(
            statistic_mechanism(CURVE, name).covariance()
        )


def test_a_regression_with_two_predictors_is_released_by_cylinders():
    """All extreme changes of a record, in exact rationals; noise below that of the box by a third, fixed seed."""
    z = bounded_column("z", 0, 1, 1)
    statistic = regression_statistic([bounded_column("x", -1, 1, 1), z], bounded_column("y", -1, 1, 1))
    mechanism = statistic_mechanism(statistic)
    assert mechanism.name == "statistic, cylinders"
    assert sorted(map(len, entry_blocks(statistic))) == [4, 4]
    moves = {
        tuple(a - b for a, b in zip(statistic.exact([one]), statistic.exact([other]), strict=True))
        for one, other in itertools.combinations(grid_records(statistic.columns), 2)
    }
    body = mechanism.law.known_body
    for move in moves:
        assert body.exact_gauge([rational(d / step) for d, step in zip(move, statistic.steps, strict=True)]) <= 1
    single = [float(each.upper) for each in entry_sensitivities(PolynomialOutputs(statistic))]
    variances = [np.diagonal(statistic_mechanism(statistic, body).covariance()) for body in ("cylinders", "box")]
    assert np.sum(variances[0] / np.square(single)) < 0.75 * np.sum(variances[1] / np.square(single))
    noise = mechanism.law.draw(4_000, InsecureSeededRandomness(3)) * [float(step) for step in statistic.steps]
    squares = noise**2
    error = squares.std(axis=0) / np.sqrt(len(noise))
    assert np.all(np.abs(squares.mean(axis=0) - variances[0]) <= SIX * error)
    answer = dx.release(mechanism, [[1, 0, 1], [-1, 1, 0]], ledger=":memory:", spend="1/2").answer
    assert len(answer) == 8


def test_cylinders_are_for_a_dozen_entries():
    columns = [bounded_column(name, 0, 1, 1) for name in "abcdefghijklm"]
    assert [len(block) for block in entry_blocks(moments(columns[:9], 1))] == [3, 3, 3]
    with pytest.raises(TooLarge, match="at most 12 entries, found 13"):
        statistic_mechanism(moments(columns, 1), "cylinders")


def test_what_cannot_be_released_is_refused():
    mechanism = statistic_mechanism(CURVE)
    source = InsecureSeededRandomness(0)
    for epsilon in (0, 0.5, Fraction(0), Fraction(-1)):
        with pytest.raises(UnsupportedCombination, match="positive Fraction"):
            mechanism.draw([[0.0]], epsilon, source)
    with pytest.raises(TooLarge, match="64-bit"):
        mechanism.draw([[0.0]], Fraction(1, 10**12), source)
    with pytest.raises(DataError):
        mechanism.draw([[np.nan]], Fraction(1), source)
    with pytest.raises(TooLarge, match="coarser"):
        statistic_mechanism(moments([UNIT], 3))
    with pytest.raises(TooLarge, match="at most 6"):
        statistic_mechanism(regression_statistic([X, bounded_column("z", 0, 1)], Y), "hull")
    with pytest.raises(UnsupportedCombination, match="auto, hull"):
        statistic_mechanism(CURVE, "disc")


def test_listed_outputs_are_compared_pair_by_pair():
    values = np.random.default_rng(5).integers(-(2**51), 2**51, (60, 3))
    outputs = ListedOutputs(values)
    pairs = list(itertools.combinations(values.tolist(), 2))
    norms = norm_sensitivities(outputs)
    moves = [[abs(a - b) for a, b in zip(one, other, strict=True)] for one, other in pairs]
    assert norms.l1 == (max(map(sum, moves)),) * 2
    assert norms.linf == (max(map(max, moves)),) * 2
    assert norms.l2_squared == (max(sum(x * x for x in move) for move in moves),) * 2


@pytest.mark.parametrize(
    "values", [np.zeros((1, 2), dtype=np.int64), np.zeros((3, 2)), np.full((2, 2), 2**53), np.zeros(3, dtype=np.int64)]
)
def test_lists_that_are_no_outputs_are_refused(values):
    with pytest.raises(UnsupportedCombination, match="listed outputs"):
        ListedOutputs(values)


def test_corners_are_told_for_exact_support_functions_only():
    with pytest.raises(UnsupportedCombination, match="exact"):
        corner_structure(PolynomialOutputs(moments([bounded_column("x", 0, 1, "1/64")], 3)))


def test_a_statistic_of_many_columns_has_a_box():
    """Each entry uses two columns at most, whatever the others are."""
    predictors = [bounded_column(f"x{k}", -1, 1) for k in range(12)]
    statistic = regression_statistic(predictors[:9], predictors[9])
    mechanism = statistic_mechanism(statistic)
    assert mechanism.name == "statistic, box"
    widths = mechanism.law.body.half_widths * [float(step) for step in statistic.steps]
    squares = [name.split("·")[0] == name.split("·")[-1] and "·" in name for name in statistic.names]
    assert widths.tolist() == [1.0 if square else 2.0 for square in squares]
    assert entry_sensitivities(PolynomialOutputs(moments(predictors, 1))) == [(2, 2)] * 12
    with pytest.raises(TooLarge, match="m = 15"):
        norm_sensitivities(ListedOutputs(np.eye(15, dtype=np.int64)))


def test_a_statistic_accounts_for_its_columns_and_not_for_its_title(tmp_path):
    """Two titles for the same people were two budgets."""
    age, pay = bounded_column("age", 0, 120, 1), bounded_column("pay", 0, 100, 1)
    accounts = [
        statistic_mechanism(statistic, body, title=title).account.policy_fingerprint
        for statistic, body, title in (
            (moments([age, pay], 1), "box", "staff"),
            (moments([pay, age], 1), "laplace", "visitors"),
            (polynomial_statistic([age, pay], {"age": {("age",): 1}}), "box", "statistics"),
        )
    ]
    assert len(set(accounts)) == 1
    others = (
        [age],
        [age, bounded_column("pay", 0, 100, "1/2")],
        [age, bounded_column("pay", 0, 101, 1)],
        [age, bounded_column("pay", -1, 100, 1)],
        [age, bounded_column("wage", 0, 100, 1)],
    )
    accounts += [statistic_mechanism(moments(columns, 1), "box").account.policy_fingerprint for columns in others]
    assert len(set(accounts)) == 1 + len(others)
    ledger = tmp_path / "staff.db"
    first, second = (statistic_mechanism(moments([age], 1), title=title) for title in ("staff", "visitors"))
    assert dx.release(first, [[30.0]], ledger=ledger, spend="3/4").remaining == Fraction(1, 4)
    with pytest.raises(BudgetExceeded):
        dx.release(second, [[30.0]], ledger=ledger, spend="1/2")
    assert dx.release(second, [[30.0]], ledger=ledger, spend="1/4").remaining == 0
