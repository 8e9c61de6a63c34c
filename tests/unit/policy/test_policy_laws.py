"""Order never matters, adding never raises, repeating changes nothing; and the structured form is the closure."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from reference.policy_closure import PlainAttribute, PlainRule, closure, decimal, optional
from reference.random_policies import (
    PLACES,
    RELATIVE,
    all_distances,
    any_rule,
    compiled,
    crowded,
    epsilons,
    joint,
    policies,
    same,
    with_data_files,
)

from dxgeom.metrics.verification import verify_metric
from dxgeom.numeric.shortest_paths import distances_from, edge_graph

pytestmark = pytest.mark.long


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
    one = compiled(attributes, rules, folder)
    other = compiled(list(map(twice_as_far_when_missing, attributes)), list(map(doubled, rules)), folder)
    assert same(2 * all_distances(one), all_distances(other))


def twice_as_far_when_missing(attribute: PlainAttribute) -> PlainAttribute:
    if not isinstance(attribute.missing, Fraction):
        return attribute
    once, twice = (decimal(factor * attribute.missing) for factor in (1, 2))
    return replace(attribute, yaml=attribute.yaml.replace(once, twice), missing=2 * attribute.missing)


@settings(lawful, max_examples=100)
@given(policies() | crowded() | joint(), epsilons | st.just("public"), st.data())
def test_a_missing_value_never_raises_a_distance(folder, policy, missing, data):
    """Nor does it lower one where it is public, or at half the diameter or more."""
    attributes, rules = policy
    plain = [place for place, attribute in enumerate(attributes) if attribute.missing is None]
    assume(plain and not any(rule.joint for rule in rules))
    assume(missing != "public" or all(rule.change is not None and not rule.presence for rule in rules))
    place = data.draw(st.sampled_from(plain))
    more = [*attributes[:place], optional(attributes[place], missing), *attributes[place + 1 :]]
    before = all_distances(compiled(attributes, rules, folder))
    policy_after = compiled(more, rules, folder)
    after = all_distances(policy_after)
    last = len(attributes[place].labels)
    there = [k for k in range(policy_after.universe.record_types) if policy_after.universe.codes(k)[place] != last]
    there += [policy_after.universe.record_types] * policy_after.universe.presence
    kept = after[np.ix_(there, there)]
    assert np.all(kept <= before * (1 + RELATIVE))
    # A rule by value counts a missing one among the others, and may state less about these than twice epsilon.
    among_others = any(rule.otherwise is not None for rule in rules)
    if missing == "public" or (before.max() <= 2 * missing and not among_others):
        assert same(kept, before)


@settings(lawful, max_examples=100)
@given(policies() | joint())
def test_where_it_is_public_whether_a_value_is_missing_nothing_hides_it(folder, policy):
    found = compiled(*policy, folder)
    gone = [
        np.array([found.universe.codes(k)[place] == len(attribute.labels) - 1 for k in range(found.universe.size)])
        for place, attribute in enumerate(policy[0])
        if attribute.missing == "public"
    ]
    for lacking in gone:
        assert np.all(np.isinf(all_distances(found)[np.ix_(lacking, ~lacking)]))


def without_places(policy: tuple[list[PlainAttribute], list[PlainRule]]) -> bool:
    return all(attribute.name != PLACES.name for attribute in policy[0])


@settings(lawful, max_examples=100)
@given((policies() | crowded() | joint()).filter(without_places))
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
