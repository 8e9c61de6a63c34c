"""Differences kept as pairs of kinds of records are the listed ones, and noise is proved to hide every one of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.forged import forged

import dxgeom as dx
import dxgeom.mechanisms.linear.sensitivity as sensitivity_module
import dxgeom.metrics.paired_changes as paired_module
from dxgeom.errors import CertificateRefused, TooLarge, UnboundedLoss
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.linear.containment import hiding, largest_load, load_of_changes, require_hiding
from dxgeom.mechanisms.linear.laplace import max_min_laplace, optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.round_spaces import round_space
from dxgeom.mechanisms.shapes.strategy import best_strategy, box_mechanism, ellipsoid_mechanism, rotated_laplace
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.differences import differences_of_tables
from dxgeom.metrics.paired_changes import PairedChanges, paired_changes
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.round_laws import LaplaceNoise

POLICY = """
policy: p
universe:
  attributes:
    sex: [F, M]
    age: {range: [0, 40], step: 5}
    race: [a, b, c]
    pay: {bins: [0, 1, 2.5, 9]}
rules:
  - {change: sex, epsilon: 1}
  - {change: age, epsilon: 0.5, per: 10}
  - {change: race, values: {a: 0.1}, otherwise: 1}
  - {change: pay, epsilon: 0.3}
"""
POLICIES = {
    "sum": POLICY,
    "capped": POLICY + "  - {between: everything, epsilon: 0.9}\n",
    "together": POLICY + "  - {change: [sex, race], together: true, epsilon: 0.4}\n",
}
WORKLOADS = {
    "counts": "  - count: age >= 20 and sex == 'M'\n  - count: race == 'a' or pay < 1\n"
    "  - {sum: age, where: sex == 'M'}\n",
    "marginals": "  - {marginals: {ways: 2, of: [sex, race, pay]}}\n  - prefixes: age\n",
    "nothing": "  - count: 'true'\n  - count: sex == 'M'\n",
}


def asked(policy, workload):
    read = dx.parse_policy(POLICIES[policy])
    return read.compile(), dx.parse_queries("queries:\n" + WORKLOADS[workload], read)


def laid_out(queries):
    return dx.LinearQueries(queries.names, queries.numerators, queries.units, queries.universe)


def places(count, queries, seed):
    generator = np.random.default_rng(seed)
    spots = generator.random((count, 2))
    apart = np.sqrt(((spots[:, None] - spots[None]) ** 2).sum(axis=2))
    metric = dx.verify_metric(apart + 0.1 * (1 - np.eye(count)))
    names = [f"q{k}" for k in range(queries)]
    return metric, dx.LinearQueries.from_matrix(names, generator.integers(0, 3, (queries, count)))


def paired(sensitivity):
    """The same sensitivity, its differences kept in pairs."""
    changes = sensitivity.changes
    both = np.concatenate([np.zeros((1, changes.differences.shape[1]), dtype=np.int64), changes.differences])
    ends = np.arange(1, len(both)), np.zeros(len(both) - 1, dtype=np.int64)
    return forged(sensitivity, changes=PairedChanges(paired_module.Kinds(both, *ends, changes.bounds)))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_pairs_are_the_distinct_differences_with_their_least_bounds(policy, workload):
    metric, queries = asked(policy, workload)
    for tables in (queries.tables, laid_out(queries).tables):
        found = paired_changes(metric.metric, tables)
        rows, bounds = differences_of_tables(metric.metric, tables)
        assert np.array_equal(found.listed().differences, rows)
        assert np.array_equal(found.listed().bounds, bounds)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_of_places_are_the_distinct_differences(seed):
    metric, queries = places(30, 4, seed)
    found = paired_changes(metric.metric, queries.tables)
    rows, bounds = differences_of_tables(metric.metric, queries.tables)
    assert np.array_equal(found.listed().differences, rows)
    assert np.array_equal(found.listed().bounds, bounds)


def test_differences_whose_hashes_meet_are_told_apart(monkeypatch):
    class Zeros:
        """Every difference has the hash 0, or one of a few."""

        def __init__(self, of):
            self.of = of

        def integers(self, low, high, size, dtype):
            return (np.arange(size) % self.of * 2).astype(dtype)

    metric, queries = places(25, 5, 1)
    rows, bounds = differences_of_tables(metric.metric, queries.tables)
    for of in (1, 2):
        with monkeypatch.context() as patch:
            patch.setattr(paired_module.np.random, "default_rng", lambda seed, of=of: Zeros(of))
            found = paired_changes(metric.metric, queries.tables)
        assert found.count >= len(rows)
        laid = {row.tobytes(): bound for row, bound in zip(rows, bounds, strict=True)}
        least = dict.fromkeys(laid, np.inf)
        for row, bound in zip(found.rows(np.arange(found.count)), found.bounds, strict=True):
            for one in (row, -row):
                if one.tobytes() in least:
                    least[one.tobytes()] = min(least[one.tobytes()], bound)
        assert least == laid


def test_sensitivities_and_loads_are_those_of_the_list():
    metric, queries = places(40, 6, 3)
    listed = sensitivity_of(metric, queries).changes
    found = paired_changes(metric.metric, queries.tables).scaled(np.array([1, 2, 4, 1, 8, 1]))
    theirs = ListedChanges(*differences_of_tables(metric.metric, queries.tables)).scaled(np.array([1, 2, 4, 1, 8, 1]))
    assert isinstance(listed, ListedChanges)
    assert np.array_equal(found.of_each_query, theirs.of_each_query)
    for seed in range(6):
        rates = np.random.default_rng(seed).random(6)
        assert found.largest_loads(rates, 1).loads[0] == pytest.approx(
            theirs.largest_loads(rates, 1).loads[0], rel=1e-14
        )
        assert found.largest_load(rates) >= theirs.largest_loads(rates, 1).loads[0]


def test_the_pool_of_heavy_differences_hides_none_that_is_too_heavy(monkeypatch):
    monkeypatch.setattr(paired_module, "_POOL", 0)
    metric, queries = places(40, 6, 4)
    sensitivity = sensitivity_of(metric, queries)
    ours = paired(sensitivity)
    for build in (optimal_laplace, max_min_laplace):
        assert build(ours).ideal_variances == pytest.approx(build(sensitivity).ideal_variances, rel=1e-8)


def test_shapes_from_pairs_are_proved_on_every_difference_though_sought_on_few(monkeypatch):
    import dxgeom.mechanisms.linear.sensitivity as active_module

    monkeypatch.setattr(active_module, "_ENTRIES", 0)
    monkeypatch.setattr(active_module, "_LEAST", 8)
    metric, queries = places(60, 5, 5)
    sensitivity = sensitivity_of(metric, queries)
    ours = paired(sensitivity)
    assert len(ours.shaping.bounds) < len(sensitivity.bounds) / 10
    space = round_space(ours)
    for made in (box_mechanism(space), ellipsoid_mechanism(space), rotated_laplace(space, best_strategy(space))):
        assert largest_load(made.law, sensitivity.differences, sensitivity.bounds) <= 1 + 1e-12
        require_hiding(made)
        require_hiding(replace(made, sensitivity=sensitivity))
        narrow = replace(made.law, map=made.law.map * (1 - 1e-6))
        with pytest.raises(CertificateRefused, match="too narrow"):
            require_hiding(replace(made, law=narrow))


def test_the_best_covariance_of_pairs_is_that_of_the_list_and_proved_on_all(monkeypatch):
    """Kept in pairs from the start, with an answer that follows from others and a pair of kinds that are not joined."""
    metric, queries = places(40, 5, 3)
    apart = np.block([[metric.metric.distance(*np.ix_(range(40), range(40))), np.full((40, 40), np.inf)]] * 2)
    apart[40:] = np.roll(apart[40:], 40, axis=1)
    weights = np.tile(queries.numerators, 2)
    weights = np.vstack([weights, weights[0] - 2 * weights[3]])
    metric = dx.verify_metric(apart, privacy="concentrated")
    queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(6)], weights)
    monkeypatch.setattr(sensitivity_module, "FEW_QUERIES", 0)
    listed = dx.plan(metric, queries, mechanism="gaussian")
    monkeypatch.setattr(sensitivity_module, "MOST_KEPT_ENTRIES", 0)
    plan = dx.plan(metric, queries, mechanism="gaussian")
    assert isinstance(plan.mechanism.sensitivity.changes, PairedChanges)
    assert plan.predicted_mse == pytest.approx(listed.predicted_mse, rel=1e-8) and plan.covariance_gap < 1e-9
    whole = listed.mechanism.sensitivity
    assert plan.mechanism.law.dimension == 5
    assert largest_load(plan.mechanism.law, whole.differences[:, :5], whole.bounds) <= 1 + 1e-12
    require_hiding(plan.mechanism)
    narrow = GaussianNoise(Ellipsoid(plan.mechanism.law.body.axes * (1 - 1e-6)))
    with pytest.raises(CertificateRefused, match="too narrow"):
        require_hiding(replace(plan.mechanism, law=narrow))
    wrong = plan.mechanism.mixing.copy()
    wrong[5, 0] += 1
    with pytest.raises(CertificateRefused, match="follows from others"):
        require_hiding(replace(plan.mechanism, mixing=wrong))
    assert dx.audit.audit_covariance(plan).gap < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_the_load_of_pairs_is_never_below_that_of_the_list(seed):
    metric, queries = places(40, 5, seed)
    sensitivity = sensitivity_of(metric, queries)
    image = np.random.default_rng(seed).standard_normal((5, 5))
    law = hiding(LaplaceNoise(np.ones(5)), image, sensitivity.changes)
    wide = load_of_changes(law, paired(sensitivity).changes)
    exact = largest_load(law, sensitivity.differences, sensitivity.bounds)
    assert exact * (1 - 1e-12) <= wide <= exact * (1 + 1e-9)
    bare = LaplaceNoise(np.full(5, 2.0))
    assert load_of_changes(bare, paired(sensitivity).changes) == pytest.approx(
        largest_load(bare, sensitivity.differences, sensitivity.bounds), rel=1e-14
    )


def test_a_query_that_separates_the_same_is_refused_and_so_are_too_many_pairs(monkeypatch):
    apart = 1 - np.eye(4)
    apart[0, 1] = apart[1, 0] = 0
    queries = dx.LinearQueries.from_matrix(list("ab"), [[1, 0, 0, 0], [0, 0, 1, 0]])
    with pytest.raises(UnboundedLoss, match="distance 0"):
        paired_changes(dx.verify_metric(apart).metric, queries.tables)
    metric, queries = asked("sum", "marginals")
    monkeypatch.setattr(paired_module, "MOST_PAIRS", 20)
    with pytest.raises(TooLarge, match="pairs of kinds"):
        paired_changes(metric.metric, queries.tables)
    monkeypatch.undo()
    monkeypatch.setattr(paired_module, "MOST_ENTRIES", 20)
    with pytest.raises(TooLarge, match="kinds of records apart"):
        paired_changes(metric.metric, queries.tables)


@pytest.mark.parametrize("asked_before", [False, True])
@pytest.mark.parametrize("workload", ["counts", "marginals"])
def test_what_each_query_changes_by_in_finer_steps_is_what_it_would_be_if_looked_at_again(workload, asked_before):
    metric, queries = asked("capped", workload)
    changes = paired_changes(metric.metric, queries.tables)
    if asked_before:
        _ = changes.of_each_query
    finer = np.random.default_rng(1).integers(1, 10**6, queries.count)
    scaled = changes.scaled(finer)
    rows, bounds = np.abs(scaled.rows(np.arange(scaled.count))), scaled.bounds
    for query, (largest, place) in enumerate(zip(scaled.of_each_query, scaled.furthest, strict=True)):
        exact = [Fraction(int(row[query])) / Fraction(float(bound)) for row, bound in zip(rows, bounds, strict=True)]
        assert max(exact) <= Fraction(largest) <= max(exact) * (1 + Fraction(1, 2**51))
        assert float(exact[place]) == pytest.approx(float(max(exact)), rel=1e-12)


def test_few_queries_are_listed_where_there_are_too_many_pairs(monkeypatch):
    metric, queries = places(40, 9, 0)
    as_pairs = sensitivity_of(metric, queries)

    def too_many(*_):
        raise TooLarge("too many pairs")

    monkeypatch.setattr(sensitivity_module, "paired_changes", too_many)
    listed = sensitivity_of(metric, queries)
    assert isinstance(listed.changes, ListedChanges)
    assert np.array_equal(listed.of_each_query, as_pairs.of_each_query)
    assert set(map(tuple, listed.differences)) == set(map(tuple, as_pairs.differences))
    with pytest.raises(TooLarge, match="too many pairs"):
        sensitivity_of(*places(40, 11, 0))


@pytest.mark.long
@pytest.mark.parametrize("presence", [False, True])
def test_differences_without_their_zeros_are_the_same(presence, monkeypatch):
    """Cells of two-way tables change few answers each: bit for bit what is laid out says, of each query and of all."""
    rules = [{"change": name, "epsilon": bound} for name, bound in (("a", 1), ("b", "0.3"))]
    rules += [{"presence": True, "epsilon": "0.7"}] if presence else []
    attributes = {name: {"range": [0, 11], "step": 1} for name in "ab"}
    own = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})
    metric, queries = own.compile(), dx.LinearQueries.marginals(own.universe, ways=2)
    sparse = paired_changes(metric.metric, queries.tables)
    assert sparse._sizes is not None
    monkeypatch.setattr(paired_module, "_SPARSE", 1 << 40)
    dense = paired_changes(metric.metric, queries.tables)
    assert dense._sizes is None
    assert np.array_equal(sparse.of_each_query, dense.of_each_query)
    assert np.array_equal(sparse.furthest, dense.furthest)
    rates = np.random.default_rng(0).random(len(queries.names))
    one, other = sparse.largest_loads(rates, 40), dense.largest_loads(rates, 40)
    assert np.array_equal(one.loads, other.loads) and np.array_equal(one.rows, other.rows)
