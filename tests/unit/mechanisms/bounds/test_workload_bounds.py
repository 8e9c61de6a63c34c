"""Lower bounds of the error at any size: proved, never above the optimum, the same in closed form and from matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.mechanisms.bounds.factored_weights import factored
from dxgeom.mechanisms.bounds.lines import prefixes_bound, ranges_bound
from dxgeom.mechanisms.bounds.pair_kinds import pair_kinds
from dxgeom.mechanisms.bounds.root_trace import MatrixBall, root_trace_below
from dxgeom.mechanisms.bounds.weighed_pairs import WeighedBlock, even_weights, raised
from dxgeom.mechanisms.bounds.workload_bound import weighed_workload
from dxgeom.mechanisms.gaussian.mechanism import best_gaussian, gaussian_space
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.planner import candidate_builder
from dxgeom.planner.candidate_builder import CandidateBuilder

RULES = {
    "presence": [{"presence": True, "epsilon": 1}],
    "attributes": [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": "0.5"}],
    "both": [{"presence": True, "epsilon": 1}, {"change": "a", "epsilon": "0.25"}],
    "a line": [{"change": "b", "per": 2, "epsilon": 1}, {"change": "a", "epsilon": 1}],
    "presence and a line": [{"presence": True, "epsilon": 1}, {"change": "b", "per": 4, "epsilon": 1}],
    "whole records": [{"change": ["a", "b"], "together": True, "epsilon": 2}],
}


def policy(rules, sizes=(3, 4), privacy="concentrated"):
    attributes = {name: {"range": [0, size - 1], "step": 1} for name, size in zip("ab", sizes, strict=True)}
    universe = {"attributes": attributes}
    return dx.Policy.from_dict({"policy": "p", "privacy": privacy, "universe": universe, "rules": rules})


def workload(universe, kind, seed):
    generator = np.random.default_rng(seed)
    if kind == "tables":
        return dx.LinearQueries.marginals(universe, [["a"], ["b"], ["a", "b"]])
    if kind == "prefixes":
        return dx.LinearQueries.stack(
            [dx.LinearQueries.prefixes(universe, "b"), dx.LinearQueries.marginals(universe, [["a"]])]
        )
    if kind == "products":
        factors = {"a": generator.integers(-2, 3, (2, 3)), "b": generator.integers(0, 3, (3, 4))}
        return dx.LinearQueries.kronecker([f"q{i}" for i in range(6)], universe, factors)
    matrix = generator.integers(-2, 3, (4, 12))
    return dx.LinearQueries.from_matrix([f"q{i}" for i in range(4)], matrix, universe)


def optimum(metric, queries):
    sensitivity = sensitivity_of(metric, queries)
    space = gaussian_space(sensitivity, None, False)
    return best_gaussian(space, sensitivity, None).value


def weighed(metric, queries):
    own = sensitivity_of(metric, queries).queries
    return weighed_workload(metric.metric, own.tables, own.float_steps)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("kind", ["tables", "prefixes", "products", "any weights"])
def test_no_bound_is_above_the_optimum_and_it_is_near(rules, kind):
    own = policy(RULES[rules])
    metric, queries = own.compile(), workload(own.universe, kind, 1)
    found, best = weighed(metric, queries), optimum(metric, queries)
    bound = 0.0 if found is None else found.bound(2e9)
    assert bound <= best * (1 + 1e-9)
    assert bound >= 0.6 * best or kind == "any weights"


@pytest.mark.parametrize("times", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("rules", ["attributes", "whole records"])
def test_what_no_change_moves_adds_nothing(rules, times):
    """A total, however heavy, beside one count."""
    own = policy(RULES[rules])
    matrix = np.zeros((2, 12), dtype=np.int64)
    matrix[0], matrix[1, 0] = times, 1
    metric = own.compile()
    alone = weighed(metric, dx.LinearQueries.from_matrix(["count"], matrix[1:], own.universe)).bound(2e9)
    both = weighed(metric, dx.LinearQueries.from_matrix(["total", "count"], matrix, own.universe)).bound(2e9)
    least = min(float(rule["epsilon"]) for rule in RULES[rules]) ** -2
    assert alone <= least
    assert both <= least


def test_no_record_is_no_value_that_is_as_near_as_others():
    """It is a row of its own in matrices, where records come and go."""
    rules = [{"presence": True, "epsilon": 3}, {"change": "a", "epsilon": "0.1"}]
    universe = {"attributes": {"a": {"range": [0, 4], "step": 1}}}
    own = dx.Policy.from_dict({"policy": "p", "privacy": "concentrated", "universe": universe, "rules": rules})
    queries = dx.LinearQueries.from_matrix(["total"], np.ones((1, 5), dtype=np.int64), own.universe)
    assert 0.11 < weighed(own.compile(), queries).bound(1e9) <= 1 / 9


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(RULES)), st.sampled_from(["products", "any weights"]))
def test_bounds_of_random_weights_hold(seed, rules, kind):
    own = policy(RULES[rules])
    metric, queries = own.compile(), workload(own.universe, kind, seed)
    found = weighed(metric, queries)
    assert found is None or found.bound(1e9) <= optimum(metric, queries) * (1 + 1e-9)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("kind", ["tables", "prefixes", "products"])
@pytest.mark.parametrize("steps", [0, 2])
def test_the_blocks_are_the_matrix_of_all_pairs_turned(rules, kind, steps):
    """Brute force: every pair of records listed with its weight; the blocks have its singular values."""
    own = policy(RULES[rules])
    metric, queries = own.compile(), workload(own.universe, kind, 3)
    found = weighed(metric, queries)
    weights = even_weights(found.kinds, found.sizes)
    for _ in range(steps):
        weights = raised(found.blocks, found.kinds, weights, [None] * len(found.blocks))
    listed = sensitivity_of(metric, queries).queries
    tables = factored(listed.tables, listed.float_steps)
    axes, classes, shape = tables.axes, tables.classes, (3, 4)
    rows = (listed.tables.of_records(np.arange(12)) * listed.float_steps).T
    codes = np.array(list(itertools.product(*map(range, shape))))
    each = np.ones(12)
    for axis, own_classes, one in zip(axes, classes, weights.records, strict=True):
        each = each * (one / np.bincount(own_classes))[own_classes[codes[:, axis]]]
    for axis in set(range(2)) - set(axes):
        each = each / shape[axis]
    whole = np.zeros((len(rows),) * 2)
    for number, kind_of_pair in enumerate(found.kinds):
        whole += weights.shares[number] * all_pairs(kind_of_pair, rows, codes, each, axes, classes, weights, number)
    spectrum = np.sqrt(np.maximum(np.linalg.eigvalsh(whole), 0))
    balls = [(block.times, WeighedBlock(block, found.kinds, weights).ball) for block in found.blocks]
    parts = np.concatenate(
        [np.repeat(np.sqrt(np.maximum(np.linalg.eigvalsh(ball.middle), 0)), times) for times, ball in balls]
    )
    assert np.isclose(spectrum.sum(), parts.sum(), rtol=1e-6)


def all_pairs(kind, rows, codes, each, axes, classes, weights, number):
    found = np.zeros((len(rows),) * 2)
    if kind.moved is None and not kind.centred:
        return (rows * each) @ rows.T * float(kind.inverse)
    for i, j in itertools.permutations(range(len(codes)), 2):
        step = np.outer(rows[:, i] - rows[:, j], rows[:, i] - rows[:, j])
        if kind.moved is None:
            found += each[i] * each[j] * float(kind.inverse) * step
            continue
        axis, own = axes[kind.moved], classes[kind.moved]
        if not np.array_equal(np.delete(codes[i], axis), np.delete(codes[j], axis)):
            continue
        first, second = own[codes[i][axis]], own[codes[j][axis]]
        one = weights.records[kind.moved]
        others = each[i] / (one / np.bincount(own))[first]
        alike = 1 / np.bincount(own)[[first, second]].prod()
        if kind.listed:
            for at in np.flatnonzero((kind.first == first) & (kind.second == second)):
                found += weights.listed[number][at] * kind.inverse[at] * others * alike * step
        elif first != second:
            found += one[first] * one[second] / (1 - one @ one) * float(kind.inverse) * others * alike * step
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([0.0, 1e-6, 1e-2]))
def test_the_proof_is_below_the_trace_of_every_matrix_in_the_ball(size, rank, seed, off):
    generator = np.random.default_rng(seed)
    factor = generator.normal(size=(size, rank)) * 10.0 ** generator.integers(-8, 8)
    matrix = factor @ factor.T
    radius = off * np.trace(matrix) + 1e-14 * size * np.trace(matrix)
    nearby = factor * (1 - off / 2)
    exact = np.linalg.svd(nearby, compute_uv=False).sum()
    assert root_trace_below(MatrixBall(matrix, radius)) <= exact * (1 + 1e-12)
    if off == 0:
        assert root_trace_below(MatrixBall(matrix, radius)) >= exact * (1 - 1e-3)


def test_nothing_is_proved_of_nothing():
    for matrix in (np.zeros((2, 2)), np.full((2, 2), np.nan), -np.eye(2)):
        assert root_trace_below(MatrixBall(matrix, 0.0)) == 0
    assert root_trace_below(MatrixBall(np.eye(2), 10.0)) == 0


@pytest.mark.parametrize("size", [1, 2, 7, 60])
def test_closed_forms_are_those_of_matrices(size):
    """Σ H_ii² with H = (WᵀW)^{1/2}; not below what even weights have, nor above the optimum, where that is solved."""
    prefixes = np.tril(np.ones((size, size)))
    ranges = np.array(
        [[float(low <= i < high) for i in range(size)] for low in range(size) for high in range(low + 1, size + 1)]
    )
    for rows, bound in ((prefixes, prefixes_bound(size)), (ranges, ranges_bound(size))):
        _, lengths, turned = np.linalg.svd(rows, full_matrices=False)
        diagonal = np.einsum("kj,k,kj->j", turned, lengths, turned)
        assert np.isclose(bound, (diagonal**2).sum(), rtol=1e-8)
        assert bound <= (diagonal**2).sum()
        assert bound >= lengths.sum() ** 2 / size * (1 - 1e-8)


def test_closed_forms_of_long_lines_are_what_the_theory_says():
    figures = [np.sqrt(prefixes_bound(size) / size) for size in (128, 1024, 4096, 65_536)]
    assert np.all(np.array(figures) >= [2.305, 2.951, 3.3863, 4.26])
    assert np.all(np.array(figures) <= [2.311, 2.9914, 3.4276, 4.305])
    assert 3.5147 <= np.sqrt(ranges_bound(1024) / (1024 * 1025 / 2)) <= 3.5152
    assert prefixes_bound(0) == ranges_bound(0) == prefixes_bound(1 << 21) == 0


def test_prefixes_by_matrices_reach_the_closed_form():
    attributes = {"t": {"range": [0, 31], "step": 1}}
    rules = [{"presence": True, "epsilon": 1}]
    own = dx.Policy.from_dict(
        {"policy": "p", "privacy": "concentrated", "universe": {"attributes": attributes}, "rules": rules}
    )
    metric, queries = own.compile(), dx.LinearQueries.prefixes(own.universe, "t")
    found = weighed(metric, queries).bound(2e9)
    assert prefixes_bound(32) * (1 - 1e-9) <= found <= optimum(metric, queries)


def test_fewer_directions_prove_less():
    own = policy(RULES["presence"], (9, 9))
    metric, queries = own.compile(), workload(own.universe, "tables", 0)
    found = weighed(metric, queries)
    weights = even_weights(found.kinds, found.sizes)
    assert 0 < found.at(weights, 1.0) <= found.at(weights) * (1 + 1e-9)


def test_kinds_of_pairs_are_those_of_the_policy():
    own = policy(RULES["presence and a line"])
    classes = [np.arange(3), np.arange(4)]
    kinds = pair_kinds(own.compile().metric, (3, 4), (0, 1), classes)
    assert [(one.moved, one.centred, one.listed) for one in kinds] == [
        (None, False, False),
        (1, True, False),
        (1, False, True),
    ]


@pytest.mark.parametrize(("privacy", "work"), [("pure", 1e3), ("concentrated", 1e3), ("concentrated", 2e6)])
@pytest.mark.parametrize("rules", ["presence", "attributes", "both"])
def test_no_noise_that_was_tried_errs_less_than_the_plan_s_bound(rules, privacy, work):
    """With so little work neither shapes nor covariances are sought, and weights of pairs tell the bound."""
    own = policy(RULES[rules], (5, 6), privacy)
    queries = dx.LinearQueries.stack(
        [dx.LinearQueries.prefixes(own.universe, "b"), dx.LinearQueries.marginals(own.universe, [["a"], ["a", "b"]])]
    )
    plan = dx.plan(own.compile(), queries, search=dx.Search(work=work))
    losses = [one.loss for one in plan.candidates if one.loss is not None]
    assert 0 < plan.lower_bound <= min(losses)
    assert plan.gap == plan.loss / plan.lower_bound


@pytest.mark.parametrize("kind", ["tables", "prefixes", "products"])
@pytest.mark.parametrize("rules", ["presence", "attributes", "both"])
def test_bounds_of_answers_that_are_too_many_add_up(rules, kind, monkeypatch):
    """Some at a time, they are no more than all together have, and no more than the optimum."""
    own = policy(RULES[rules], (3, 4))
    metric, queries = own.compile(), workload(own.universe, kind, 1)
    sensitivity = sensitivity_of(metric, queries)
    together = CandidateBuilder(sensitivity)._bound_by_weights()
    monkeypatch.setattr(candidate_builder, "MOST_ANSWERS", 3)
    monkeypatch.setattr(candidate_builder, "_TOGETHER", 3)
    shared = CandidateBuilder(sensitivity)
    assert len(shared._weighed_workloads) == -(-queries.count // 3)
    assert 0 < shared._bound_by_weights() <= min(together * 1.05, optimum(metric, queries) * (1 + 1e-9))
    each = [optimum(metric, queries.only(range(first, queries.count, -(-queries.count // 3)))) for first in range(2)]
    assert shared._bound_by_weights() >= 0.5 * sum(each)
