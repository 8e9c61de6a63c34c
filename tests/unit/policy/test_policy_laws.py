"""Order never matters, adding never raises, repeating changes nothing; and the structured form is the closure."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.policy_closure import PlainRule, closure
from reference.random_policies import (
    PLACES,
    RELATIVE,
    all_distances,
    any_rule,
    compiled,
    crowded,
    joint,
    policies,
    same,
    with_data_files,
)

from dxgeom.metrics.checking.verification import verify_metric
from dxgeom.numeric.shortest_paths import distances_from, edge_graph


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_data_files(tmp_path_factory.mktemp("points"))


lawful = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@lawful
@given(policies() | crowded() | joint())
def test_the_compiled_metric_is_the_closure_of_all_rules_rounded_down(folder, policy):
    attributes, rules = policy
    found = all_distances(compiled(attributes, rules, folder))
    expected = closure(attributes, rules)
    for i, row in enumerate(expected):
        for j, exact in enumerate(row):
            if exact == float("inf"):
                assert np.isinf(found[i, j])
            else:
                assert Fraction(found[i, j]) <= exact
                assert found[i, j] >= float(exact) * (1 - RELATIVE) - 1e-12


@lawful
@given(policies() | crowded() | joint())
def test_the_generating_pairs_generate_the_compiled_metric(folder, policy):
    compiled_policy = compiled(*policy, folder)
    size = compiled_policy.universe.size
    blocks = list(compiled_policy.compile().metric.generating_pairs())
    if not blocks:
        assert np.all(np.isinf(all_distances(compiled_policy)[~np.eye(size, dtype=bool)]))
        return
    first, second, bound = (np.concatenate([block[k] for block in blocks]) for k in range(3))
    assert np.all(np.isfinite(bound))
    graph = edge_graph(size, first, second, bound)
    assert same(distances_from(graph, np.arange(size)), all_distances(compiled_policy))


@lawful
@given(policies() | joint(), st.randoms(use_true_random=False))
def test_the_order_of_rules_never_matters(folder, policy, random):
    attributes, rules = policy
    shuffled = list(rules)
    random.shuffle(shuffled)
    one, other = compiled(attributes, rules, folder), compiled(attributes, shuffled, folder)
    assert one.fingerprint == other.fingerprint
    assert same(all_distances(one), all_distances(other))


@lawful
@given(policies() | joint(), st.data())
def test_adding_a_rule_never_raises_a_distance(folder, policy, data):
    attributes, rules = policy
    added = [*rules, data.draw(any_rule(attributes))]
    before, after = (
        all_distances(compiled(attributes, rules, folder)),
        all_distances(compiled(attributes, added, folder)),
    )
    # The first rule about presence brings an element that was not there before.
    after = after[: len(before), : len(before)]
    assert np.all(after <= before * (1 + RELATIVE) + 1e-12)


@lawful
@given(policies() | joint())
def test_repeating_a_rule_changes_nothing(folder, policy):
    attributes, rules = policy
    one, other = compiled(attributes, rules, folder), compiled(attributes, rules + rules[:1], folder)
    assert one.fingerprint == other.fingerprint
    assert np.array_equal(all_distances(one), all_distances(other))


def doubled(rule: PlainRule) -> PlainRule:
    values = tuple((word, 2 * epsilon) for word, epsilon in rule.values)
    epsilon, otherwise = (None if one is None else 2 * one for one in (rule.epsilon, rule.otherwise))
    return replace(rule, epsilon=epsilon, values=values, otherwise=otherwise)


@settings(lawful, max_examples=100)
@given(policies() | joint())
def test_twice_the_epsilons_give_twice_the_distances(folder, policy):
    attributes, rules = policy
    rules = [rule for rule in rules if rule.epsilon is not None or rule.values]
    one, other = (compiled(attributes, some, folder) for some in (rules, list(map(doubled, rules))))
    assert same(2 * all_distances(one), all_distances(other))


@settings(lawful, max_examples=100)
@given((policies() | crowded() | joint()).filter(lambda policy: PLACES not in policy[0]))
def test_the_triangle_inequality_checker_accepts_every_compiled_metric_without_places(folder, policy):
    """Distances of places are lowered by more than the checker allows for rounding."""
    assert verify_metric(all_distances(compiled(*policy, folder))).size


@lawful
@given(policies() | joint())
def test_every_random_policy_can_be_reviewed(folder, policy):
    found = compiled(*policy, folder).review()
    assert found.size == compiled(*policy, folder).universe.record_types
    stated = [one for one in found.tightened if not one.given < one.stated]
    assert stated == []
    for one in found.tightened:
        assert one.path
