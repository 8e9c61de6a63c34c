"""A workload kept in tables is planned and released as if it were laid out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.changes import every_change, exact_largest_load

import dxgeom as dx
import dxgeom.mechanisms.linear.laplace as tied_module
import dxgeom.mechanisms.linear.sensitivity as sensitivity_module
import dxgeom.metrics.diameters as extent_module
from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.bars import half_widths
from dxgeom.mechanisms.linear.laplace import epsilon_dp_laplace, max_min_laplace, optimal_laplace
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.changes import FactoredChanges, ListedChanges
from dxgeom.metrics.diameters import l1_diameter, l1_diameter_of_tables
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.policy.policy import parse_policy
from dxgeom.queries.queries_file import parse_queries

pytestmark = pytest.mark.long

POLICY = """policy: p
universe:
  attributes:
    sex: [M, F]
    age: {range: [0, 40], step: 5}
    race: [a, b, c]
    income: {bins: [0, 1, 2.5, 9]}
rules:
  - {change: sex, epsilon: 1}
  - {change: age, epsilon: 0.5, per: 10}
  - {change: race, values: {a: 0.1}, otherwise: 1}
  - {change: income, epsilon: 0.3}
"""
CAPPED = POLICY + "  - {between: everything, epsilon: 0.9}\n"
WORKLOADS = {
    "counts": "records: 50\nqueries:\n  - count: age >= 20 and sex == 'M'\n  - count: race == 'a' or income < 1\n"
    "  - {sum: income, where: sex == 'M' and age < 30}\n  - mean: age\n  - count: 'true'\n",
    "marginals": "queries: [{marginals: {ways: 2, of: [sex, race, income]}}]\n",
    "prefixes": "queries:\n  - prefixes: age\n  - ranges: income\n    where: race != 'b'\n",
}


def loaded(text, name):
    policy = parse_policy(text)
    return policy.compile(), parse_queries(WORKLOADS[name], policy)


def laid_out(queries):
    return dx.LinearQueries(queries.names, queries.numerators, queries.units, queries.universe, queries.records)


def exact_rates(mechanism):
    return [1 / Fraction(float(scale)) for scale in mechanism.law.scales]


@pytest.mark.long
@pytest.mark.parametrize("text", [POLICY, CAPPED], ids=["sum", "capped"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_candidate_has_the_same_error_as_for_the_matrix(text, name):
    metric, queries = loaded(text, name)
    ours, theirs = dx.plan(metric, queries, objective="mse"), dx.plan(metric, laid_out(queries))
    assert str(ours.mechanism) == str(theirs.mechanism)
    assert ours.lower_bound == pytest.approx(theirs.lower_bound, rel=1e-12)
    for one, other in zip(ours.candidates, theirs.candidates, strict=True):
        assert (one.name, one.reason) == (other.name, other.reason)
        if one.name != "strategy":  # its sums are of the tables' classes, and a matrix does not tell those
            assert one.per_query == pytest.approx(other.per_query, rel=1e-8)


@pytest.fixture
def never_listed(monkeypatch):
    ways = sensitivity_module._ways
    monkeypatch.setattr(sensitivity_module, "_ways", lambda tables: ways(tables) if tables.is_matrix else ())


@pytest.mark.long
@pytest.mark.parametrize("text", [POLICY, CAPPED], ids=["sum", "capped"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_scales_from_factors_are_those_from_the_list_and_honour_every_pair(text, name, never_listed):
    metric, queries = loaded(text, name)
    factored, listed = sensitivity_of(metric, queries), sensitivity_of(metric, laid_out(queries))
    assert isinstance(factored.changes, FactoredChanges)
    assert isinstance(listed.changes, ListedChanges)
    assert np.array_equal(factored.of_each_query, listed.of_each_query)
    sizes, bounds = every_change(metric.metric, factored.queries.numerators)
    for build in (optimal_laplace, max_min_laplace, epsilon_dp_laplace):
        ours, theirs = build(factored), build(listed)
        assert ours.ideal_variances == pytest.approx(theirs.ideal_variances, rel=1e-6)
        assert exact_largest_load(sizes[:, ours.mixing.noisy], bounds, exact_rates(ours)) <= 1


@pytest.mark.parametrize("name", WORKLOADS)
def test_released_answers_are_the_exact_ones_plus_the_same_noise(name):
    metric, queries = loaded(POLICY, name)
    counts = np.random.default_rng(0).multinomial(50, np.full(queries.size, 1 / queries.size))
    chosen = dx.plan(metric, queries, mechanism="laplace").mechanism
    answers = chosen.draw(counts, Fraction(1), InsecureSeededRandomness(1))
    noise = iter(chosen.law.draw(1, InsecureSeededRandomness(1), Fraction(1))[0].tolist())
    for answer, exact, noisy, step in zip(
        answers, queries.answers(counts), chosen.mixing.noisy, chosen.sensitivity.queries.steps, strict=True
    ):
        assert answer == exact + (step * next(noise) if noisy else 0)


@pytest.mark.parametrize("name", WORKLOADS)
def test_noise_of_its_own_is_the_matrix_of_zeros_and_ones(name):
    sensitivity = sensitivity_of(*loaded(POLICY, name))
    own = optimal_laplace(sensitivity)
    assert isinstance(own.mixing, DiagonalMixing)
    mixed = replace(own, mixing=own.mixing.matrix)
    assert isinstance(mixed, AdditiveMechanism)
    counts = np.arange(sensitivity.metric.size)
    for spend in (Fraction(1), Fraction(1, 7)):
        assert own.variances(spend) == pytest.approx(mixed.variances(spend), rel=1e-12)
        draws = [one.draw(counts, spend, InsecureSeededRandomness(3)) for one in (own, mixed)]
        assert draws[0] == draws[1]
    assert own.lattice_widths == pytest.approx(mixed.lattice_widths)
    assert own.rounding_share == pytest.approx(mixed.rounding_share)
    level = half_widths(own, 0.95, Fraction(1), None), half_widths(mixed, 0.95, Fraction(1), None)
    assert level[0] == pytest.approx(level[1], rel=0.02)


def test_rates_that_are_tied_honour_every_pair_and_cost_nothing_where_values_are_alike(monkeypatch):
    policy = parse_policy(
        "policy: p\nuniverse: {attributes: {a: [u, v, w], b: [x, y], c: [k, l, m, n]}}\n"
        "rules:\n  - {change: [a, b], epsilon: 1}\n  - {change: c, epsilon: 0.3}\n"
    )
    queries = parse_queries("queries: [{marginals: {ways: 2}}]", policy)
    sensitivity = sensitivity_of(policy.compile(), queries)
    free = optimal_laplace(sensitivity), max_min_laplace(sensitivity)
    monkeypatch.setattr(tied_module, "MOST_FREE", 3)
    tied = optimal_laplace(sensitivity), max_min_laplace(sensitivity)
    for one, other in zip(free, tied, strict=True):
        assert other.ideal_variances == pytest.approx(one.ideal_variances, rel=1e-3)
        assert other.ideal_variances.sum() == pytest.approx(one.ideal_variances.sum(), rel=1e-8)
        assert len(set(np.round(other.ideal_variances, 9))) <= 3


def test_rates_that_are_tied_still_honour_a_metric_of_unlike_values(monkeypatch):
    monkeypatch.setattr(tied_module, "MOST_FREE", 3)
    metric, queries = loaded(POLICY, "marginals")
    sensitivity = sensitivity_of(metric, queries)
    sizes, bounds = every_change(metric.metric, sensitivity.queries.numerators)
    for build in (optimal_laplace, max_min_laplace):
        assert exact_largest_load(sizes, bounds, exact_rates(build(sensitivity))) <= 1
    monkeypatch.setattr(tied_module, "MOST_FREE", 1000)
    assert optimal_laplace(sensitivity).ideal_variances.sum() > 0


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_reach_of_ordinary_privacy_is_the_same_in_tables(name, monkeypatch):
    _, queries = loaded(POLICY, name)
    weights = np.random.default_rng(1).random(queries.count)
    exact = l1_diameter(queries.numerators, weights)
    assert l1_diameter_of_tables(queries.tables, weights) == pytest.approx(exact, rel=1e-12)
    for limit in (1 << 16, 0):
        monkeypatch.setattr(extent_module, "_LISTED_QUERIES", 0)
        monkeypatch.setattr(extent_module, "_SMALL_TABLE", limit)
        assert l1_diameter_of_tables(queries.tables, weights) >= exact * (1 - 1e-12)


def test_all_two_way_marginals_of_ten_million_record_types_are_planned_and_answered():
    attributes = "".join(f"    a{k}: [{', '.join('bcdefghijk')}]\n" for k in range(7))
    policy = parse_policy(
        f"policy: p\nuniverse:\n  attributes:\n{attributes}"
        "rules: [{change: [a0, a1, a2, a3, a4, a5, a6], epsilon: 1}]\n"
    )
    queries = parse_queries("queries: [{marginals: {ways: 2}}]", policy)
    chosen = dx.plan(policy.compile(), queries, mechanism="laplace")
    assert queries.count == 2100
    assert "too many to list" in next(one.reason for one in chosen.candidates if one.name == "hull")
    # One person's change of one value moves two cells of each of six tables, and all cells are alike.
    assert chosen.mechanism.ideal_variances == pytest.approx(2 * 12**2, rel=1e-8)
    counts = np.zeros(queries.size, dtype=np.int64)
    counts[[0, 1_234_567, 9_999_999]] = [5, 1, 2]
    answers = chosen.mechanism.draw(counts, Fraction(1), InsecureSeededRandomness(0))
    errors = np.array([float(a - e) for a, e in zip(answers, queries.answers(counts), strict=True)])
    # 2,100 squared Laplace errors: their mean is within six standard errors, √(5/2,100) of it, but for 1 in 10⁸ runs.
    assert np.mean(errors**2) == pytest.approx(288, rel=6 * np.sqrt(5 / 2100))
    with pytest.raises(TooLarge):
        _ = chosen.mechanism.sensitivity.differences
