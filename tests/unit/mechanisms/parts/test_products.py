"""Noise in products hides records, summed by brute force; what it answers are the true weights, or it is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.product_search import QUICK, inverse_of, sought_products
from dxgeom.mechanisms.parts.products import (
    ProductNumbers,
    ProductStrategy,
    StrategyFactor,
    in_products,
    product_of,
    product_queries,
)

SIZES = {"a": 5, "b": 2, "c": 3}
PRESENCE = {"presence": True, "epsilon": 0.5}


def policy_of(*rules):
    attributes = {name: {"range": [0, size - 1], "step": 1} for name, size in SIZES.items()}
    whole = {"policy": "small", "budget": 100, "universe": {"attributes": attributes}}
    return dx.Policy.from_dict({**whole, "rules": [PRESENCE, *rules]})


def queries_of(universe):
    """Prefixes by a value of another attribute; and a table without them, whose rows weigh 3 and -2."""
    prefixes = {"a": np.tril(np.ones((5, 5), dtype=int)), "b": np.eye(2, dtype=int)}
    weighed = {"b": np.array([[1, 1], [3, -2]]), "c": np.eye(3, dtype=int)}
    parts = [
        dx.LinearQueries.kronecker([f"{name}{number}" for number in range(count)], universe, factors)
        for name, count, factors in (("x", 10, prefixes), ("y", 6, weighed))
    ]
    return dx.LinearQueries.stack(parts)


POLICY = policy_of()
SENSITIVITY = sensitivity_of(POLICY.compile(), queries_of(POLICY.universe))
QUERIES = product_queries(SENSITIVITY)
COSTS = (SENSITIVITY.queries.float_steps * QUERIES.units) ** 2
PRODUCTS, PLACES = sought_products(QUERIES, COSTS, Fraction(1, 2), QUICK)


def made(products=PRODUCTS, places=PLACES, sensitivity=SENSITIVITY):
    return in_products(sensitivity, QUERIES, products, places)


def test_no_record_that_comes_or_goes_shifts_the_noise_by_more_than_its_distance():
    """By brute force: every number is summed up for every record, every scale is the very one that is drawn with."""
    mechanism = made()
    measured = mechanism.mixing.measured
    scales = [Fraction(scale) for scale in mechanism.law.scales.tolist()]
    for record in itertools.product(*map(range, SIZES.values())):
        numbers = []
        for block in measured.blocks:
            told = {axis: measured.codes[axis][record[axis]] for axis in block.axes}
            columns = [one.rows[:, told[axis]] for axis, one in zip(block.axes, block.sums, strict=True)]
            numbers += [int(np.prod(one)) * measured.steps_per_count for one in itertools.product(*columns)]
        load = sum(abs(number) / scale for number, scale in zip(numbers, scales, strict=True))
        assert load <= Fraction(1, 2)


def test_answers_without_noise_are_those_of_the_queries():
    mechanism, generator = made(), np.random.default_rng(0)
    histogram = np.append(generator.integers(0, 9, size=30), 0)
    exact = mechanism.answered(histogram, [[0] * mechanism.law.dimension])[0]
    assert list(exact) == queries_of(POLICY.universe).answers(histogram)


def test_an_answer_is_its_products_numbers_and_nothing_else():
    """With numbers M·x in place of noise, and nobody counted, answers are the queries' of x."""
    mechanism, generator = made(), np.random.default_rng(1)
    counts = generator.integers(0, 9, size=tuple(SIZES.values()))
    numbers = []
    for block in mechanism.mixing.measured.blocks:
        table = counts.sum(axis=tuple(axis for axis in range(3) if axis not in block.axes))
        for place, (axis, one) in enumerate(zip(block.axes, block.sums, strict=True)):
            classes = mechanism.mixing.measured.codes[axis]
            told = np.zeros((*np.delete(table.shape, place), int(classes.max()) + 1), dtype=np.int64)
            np.add.at(told, (..., classes), np.moveaxis(table, place, -1))
            table = np.moveaxis(one.summed(told), -1, place)
        numbers += (table.ravel() * mechanism.mixing.measured.steps_per_count).tolist()
    nobody = np.zeros(31, dtype=np.int64)
    exact = queries_of(POLICY.universe).answers(np.append(counts.ravel(), 0))
    assert list(mechanism.answered(nobody, [numbers])[0]) == exact


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_whatever_its_numbers_are_a_factor_makes_exact_numbers_exact(data):
    size, sums = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 3))
    whole = lambda *shape: np.array(  # noqa: E731
        data.draw(st.lists(st.integers(0, 99), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))),
        dtype=np.int64,
    ).reshape(shape)
    factor = StrategyFactor(np.arange(size), whole(sums, size), whole(size + sums) + 1, whole(size, sums) - 50, 5)
    assert np.array_equal(factor.inverse @ factor.rows, 32 * np.eye(size, dtype=int))
    assert factor.largest == max(int(column @ factor.rates) for column in factor.rows.T)
    product = ProductStrategy(((0, factor), (1, factor)), 3.7)
    rates = np.multiply.outer(factor.rates, factor.rates).ravel().tolist()
    assert all(
        Fraction(scale) >= Fraction(3.7) / rate for scale, rate in zip(product.scales.tolist(), rates, strict=True)
    )


def test_smaller_noise_is_refused():
    narrower = [replace(one, size=one.size * 0.999) for one in PRODUCTS]
    with pytest.raises(CertificateRefused, match="does not hide a record"):
        made(narrower)


def test_answers_of_no_product_are_refused():
    with pytest.raises(CertificateRefused, match="the numbers of one of the products"):
        made(places=PLACES + len(PRODUCTS))


def test_what_only_looks_like_a_factor_is_refused():
    """Its largest column sum would be believed."""
    (axis, factor), *rest = PRODUCTS[0].factors
    looks = SimpleNamespace(**{name: getattr(factor, name) for name in ("kinds", "sums", "rates", "shares", "bits")})
    looks.largest, looks.size, looks.rows, looks.inverse = 1, factor.size, factor.rows, factor.inverse
    for factors in (((axis, looks), *rest), [*PRODUCTS[0].factors]):
        with pytest.raises(CertificateRefused, match="has factors of different attributes"):
            ProductStrategy(factors, 3.0)


@pytest.mark.parametrize("size", [0.0, -1.0, float("nan"), float("inf"), 2.0**-300, 2.0**300, 3])
def test_noise_of_no_size_or_one_that_floats_do_not_hold_is_refused(size):
    with pytest.raises(CertificateRefused, match="of a positive size"):
        ProductStrategy(PRODUCTS[0].factors, size)


def test_a_product_that_no_answer_takes_from_is_measured_all_the_same():
    """And hidden: what nobody is told costs accuracy."""
    wider = [replace(one, size=2 * one.size) for one in PRODUCTS]
    mechanism = made([*wider, ProductStrategy((), 8.0)])
    assert mechanism.mixing.numerators[:, -1].tolist() == [0] * len(PLACES)
    with pytest.raises(CertificateRefused, match="does not hide a record"):
        made([*PRODUCTS, ProductStrategy((), 8.0)])


def test_products_that_do_not_make_an_answer_are_refused():
    """One that leaves an attribute out, and all of them for a workload of which one weight is another."""
    coarser = [replace(one, factors=one.factors[:-1]) for one in PRODUCTS]
    with pytest.raises(CertificateRefused, match="not made of the numbers"):
        made(coarser)
    weights = np.array(queries_of(POLICY.universe).tables.matrix())
    weights[3, 7] += 1
    names = queries_of(POLICY.universe).names
    changed = dx.LinearQueries.from_matrix(names, weights[:, :30], POLICY.universe)
    with pytest.raises(CertificateRefused, match="not made of the numbers"):
        made(sensitivity=sensitivity_of(POLICY.compile(), changed))


def test_queries_that_are_no_products_are_refused():
    weights = np.zeros((1, 30), dtype=int)
    weights[0, [0, 29]] = 1
    asked = dx.LinearQueries.from_matrix(["two corners"], weights, POLICY.universe)
    with pytest.raises(TooLarge, match="'two corners' is none"):
        product_queries(sensitivity_of(POLICY.compile(), asked))


@pytest.mark.parametrize(("epsilon", "refused"), [("0.9", True), (1, False)])
def test_rules_nearer_than_presence_are_refused(epsilon, refused):
    """Twice 0.5 is the distance of any two records: a rule of less is another constraint, of more is none."""
    metric = policy_of({"change": "a", "epsilon": float(epsilon)}).compile()
    if not refused:
        ProductNumbers(metric, QUERIES.classes, tuple(PRODUCTS))
        return
    with pytest.raises(CertificateRefused, match="no nearer changes"):
        ProductNumbers(metric, QUERIES.classes, tuple(PRODUCTS))


def test_the_inverse_of_a_strategy_is_that_of_its_columns():
    sums = np.random.default_rng(2).random((2, 5))
    rows = np.concatenate([np.eye(5), sums]) / (1 + sums.sum(axis=0))
    assert np.allclose(inverse_of(sums), np.linalg.inv(rows.T @ rows))


def test_errors_are_near_those_of_the_search_and_shares_are_read_back():
    mechanism = made()
    assert product_of(mechanism.mixing) == PLACES.tolist()
    alone = dx.plan(POLICY.compile(), queries_of(POLICY.universe), mechanism="laplace", thorough=True)
    assert mechanism.variances().sum() < alone.predicted_mse


def test_other_shares_among_the_same_products_are_worse():
    """Theorem 2 with one price: of the spend as the cube root of each product's error at all of it."""
    apart = [QUERIES.table == table for table in np.unique(QUERIES.table)]
    parts = [sought_products(some(one), COSTS[one], Fraction(1, 2), QUICK)[0][0] for one in apart]
    places = np.concatenate([np.full(int(one.sum()), place) for place, one in enumerate(apart)])
    assert np.array_equal(places, QUERIES.table)

    def total(share):
        sizes = [parts[0].size / share, parts[1].size / (1 - share)]
        shared = [replace(one, size=size) for one, size in zip(parts, sizes, strict=True)]
        return made(shared, places).ideal_variances.sum()

    halves = made([replace(one, size=2 * one.size) for one in parts], places).ideal_variances
    errors = [float(halves[one].sum()) / 4 for one in apart]
    roots = np.cbrt(errors)
    best = float(roots[0] / roots.sum())
    assert total(best) == pytest.approx(roots.sum() ** 3, rel=1e-9)
    assert total(best) <= halves.sum() * (1 + 1e-12)
    assert all(total(best + step) > total(best) for step in (-0.05, 0.05))


def some(rows):
    """The queries of these places, of which one table is left."""
    weights = {axis: own[rows] for axis, own in QUERIES.weights.items()}
    number = int(QUERIES.table[rows][0])
    left = QUERIES.kinds[number : number + 1]
    return replace(QUERIES, weights=weights, units=QUERIES.units[rows], table=QUERIES.table[rows] * 0, kinds=left)


@pytest.mark.long
def test_a_plan_is_the_same_from_its_file(tmp_path):
    plan = dx.plan(POLICY.compile(), queries_of(POLICY.universe), mechanism="product-laplace")
    dx.save_plan(plan, tmp_path / "plan.json", policy=POLICY)
    again = dx.load_plan(tmp_path / "plan.json")
    assert again.fingerprint == plan.fingerprint
    assert "ScalesInProducts" in (tmp_path / "plan.json").read_text()
    confirmed = " ".join(audit_plan(again).checked)
    assert "a record that comes or goes is hidden, whichever of 30 combinations of values it has" in confirmed
