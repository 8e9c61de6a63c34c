from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.mechanisms.linear.laplace import equal_shares, one_scale, optimal_laplace, proportional_shares
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of

STRATEGIES = (equal_shares, one_scale, proportional_shares)


def random_sensitivity(seed):
    """Few possible records, some of them alike for every query, some unprotected; repeated and constant queries too."""
    generator = np.random.default_rng(seed)
    size, count = int(generator.integers(3, 8)), int(generator.integers(1, 6))
    places = generator.random((size, 2))
    distances = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=-1))
    apart = generator.integers(0, 2, size) * generator.integers(0, 2)
    distances[apart[:, None] != apart[None]] = np.inf
    kind = generator.integers(0, 3)
    if kind == 0:
        matrix = generator.integers(0, 2, (count, size))
    elif kind == 1:
        matrix = generator.integers(-3, 4, (count, size)) * 10 ** generator.integers(0, 4, (count, 1))
    else:
        matrix = generator.random((count, size))
    if count > 1 and generator.random() < 0.3:
        matrix[-1] = matrix[0]
    queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(count)], matrix)
    return sensitivity_of(dx.verify_metric(distances), queries)


def noisy_scales(mechanism):
    return [] if mechanism.law is None else [Fraction(float(scale)) for scale in mechanism.law.scales]


def overspends(mechanism):
    """Exactly: does some generating pair's load exceed its bound?"""
    sensitivity = mechanism.sensitivity
    columns = np.flatnonzero(sensitivity.of_each_query > 0)
    rates = [1 / scale for scale in noisy_scales(mechanism)]
    return any(
        sum(abs(int(row[k])) * rate for k, rate in zip(columns, rates, strict=True)) > Fraction(float(bound))
        for row, bound in zip(sensitivity.differences, sensitivity.bounds, strict=True)
    )


def slow_proportional_rates(sensitivity):
    """The same rounds in exact rationals."""
    columns = np.flatnonzero(sensitivity.of_each_query > 0)
    rows = [[abs(int(row[k])) for k in columns] for row in sensitivity.differences]
    bounds = [Fraction(float(bound)) for bound in sensitivity.bounds]
    left, rates, open_queries = list(bounds), [Fraction(0)] * len(columns), set(range(len(columns)))
    while open_queries:
        usable = [e for e, row in enumerate(rows) if any(row[k] for k in open_queries)]
        alone = {k: max(rows[e][k] / left[e] for e in usable if rows[e][k]) for k in open_queries}
        loads = {e: sum(rows[e][k] / alone[k] for k in open_queries) for e in usable}
        shares = {k: min(left[e] / loads[e] for e in usable if rows[e][k]) / alone[k] for k in open_queries}
        for k, share in shares.items():
            rates[k] += share
        left = [rest - sum(row[k] * shares[k] for k in open_queries) for row, rest in zip(rows, left, strict=True)]
        spent = [row for row, rest, bound in zip(rows, left, bounds, strict=True) if rest <= bound / 10**12]
        open_queries -= {k for k in open_queries if any(row[k] for row in spent)}
    return rates


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_strategy_ever_overspends_a_pair(strategy):
    """Exact rationals; benchmarks/laplace_strategies.py does the same ten thousand times."""
    for seed in range(200):
        assert not overspends(strategy(random_sensitivity(seed))), seed


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_proportional_shares_are_those_of_the_slow_twin(seed):
    sensitivity = random_sensitivity(seed)
    expected = [1 / rate for rate in slow_proportional_rates(sensitivity)] if np.any(sensitivity.of_each_query) else []
    found = noisy_scales(proportional_shares(sensitivity))
    assert [float(scale) for scale in found] == pytest.approx([float(scale) for scale in expected], rel=1e-6)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(STRATEGIES))
def test_no_strategy_beats_the_optimal_scales(seed, strategy):
    sensitivity = random_sensitivity(seed)
    least = optimal_laplace(sensitivity).variances().sum()
    assert strategy(sensitivity).variances().sum() >= least * (1 - 1e-8)


def test_a_budget_used_up_by_two_queries_is_left_to_neither():
    """Queries 0 and 1 share pair (0, 1) and use it up at once; query 2 then gets all of its own pair (2, 3)."""
    inf = np.inf
    metric = dx.verify_metric([[0, 1, inf, inf], [1, 0, inf, inf], [inf, inf, 0, 2], [inf, inf, 2, 0]])
    queries = dx.LinearQueries.from_matrix(["a", "b", "c"], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    sensitivity = sensitivity_of(metric, queries)
    steps = sensitivity.queries.float_steps
    assert proportional_shares(sensitivity).law.scales * steps == pytest.approx([2, 2, 0.5])
    assert equal_shares(sensitivity).law.scales * steps == pytest.approx([3, 3, 1.5])
    assert one_scale(sensitivity).law.scales * steps == pytest.approx([2, 2, 2])


def test_constant_queries_are_answered_exactly_and_use_up_nothing():
    metric = dx.verify_metric([[0, 1], [1, 0]])
    queries = dx.LinearQueries.from_matrix(["records", "first"], [[1, 1], [1, 0]])
    for strategy in STRATEGIES:
        mechanism = strategy(sensitivity_of(metric, queries))
        assert mechanism.variances()[0] == 0
        assert mechanism.variances()[1] == pytest.approx(2, rel=1e-2)
        nothing = dx.LinearQueries.from_matrix(["records"], [[1, 1]])
        assert strategy(sensitivity_of(metric, nothing)).variances().tolist() == [0]


@pytest.mark.parametrize("name", ["laplace-equal-shares", "laplace-one-scale", "laplace-proportional-shares"])
def test_a_plan_takes_a_strategy_by_name_only(name):
    metric = dx.verify_metric(np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0))))
    queries = dx.LinearQueries.from_matrix(["a", "b"], np.random.default_rng(0).random((2, 6)))
    named = dx.plan(metric, queries, mechanism=name)
    assert named.mechanism.name == name
    assert [candidate.name for candidate in named.candidates][-1] == name
    assert name not in [candidate.name for candidate in dx.plan(metric, queries).candidates]
