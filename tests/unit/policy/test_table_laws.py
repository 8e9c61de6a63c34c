"""The laws of policies, where a table lists the records: the closure is over listed records only."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.policy_closure import after_hop, bound, closure, text_of
from reference.random_policies import RELATIVE, all_distances, any_rule, same, with_data_files
from reference.random_tables import compiled_table, tables

from dxgeom.numeric.shortest_paths import distances_from, edge_graph
from dxgeom.policy.explain.tightening import NOBODY
from dxgeom.policy.policy import parse_policy

lawful = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_data_files(tmp_path_factory.mktemp("tables"))


@lawful
@given(tables())
def test_the_compiled_metric_is_the_closure_over_listed_records_rounded_down(folder, drawn):
    attributes, rules, listed = drawn
    found = all_distances(compiled_table(attributes, rules, listed, folder))
    for i, row in enumerate(closure(attributes, rules, listed)):
        for j, exact in enumerate(row):
            if exact == float("inf"):
                assert np.isinf(found[i, j])
            else:
                assert Fraction(found[i, j]) <= exact
                assert found[i, j] >= float(exact) * (1 - RELATIVE) - 1e-12


@lawful
@given(tables())
def test_the_generating_pairs_generate_the_metric(folder, drawn):
    policy = compiled_table(*drawn, folder)
    blocks = list(policy.compile().metric.generating_pairs())
    pairs = [np.concatenate([[], *(block[k] for block in blocks)]) for k in range(3)]
    graph = edge_graph(policy.universe.size, pairs[0].astype(np.int64), pairs[1].astype(np.int64), pairs[2])
    assert same(distances_from(graph, np.arange(policy.universe.size)), all_distances(policy))


@lawful
@given(tables(), st.data())
def test_order_and_repetition_change_nothing_and_another_rule_never_raises_a_distance(folder, drawn, data):
    attributes, rules, listed = drawn
    policy = compiled_table(attributes, rules, listed, folder)
    shuffled = compiled_table(attributes, [*rules[::-1], *rules[:1]], listed, folder)
    assert shuffled.fingerprint == policy.fingerprint
    assert same(all_distances(shuffled), all_distances(policy))
    more = compiled_table(attributes, [*rules, data.draw(any_rule(attributes))], listed, folder)
    size = policy.universe.size
    assert np.all(all_distances(more)[:size, :size] <= all_distances(policy) * (1 + RELATIVE) + 1e-12)


@lawful
@given(tables())
def test_records_that_are_not_listed_never_shorten_a_distance(folder, drawn):
    attributes, rules, listed = drawn
    policy = compiled_table(attributes, rules, listed, folder)
    product = parse_policy(text_of(attributes, rules), folder=folder)
    places = np.array([np.ravel_multi_index(codes, product.universe.shape) for codes in listed])
    known = all_distances(product)[places[:, None], places[None, :]]
    assert np.all(all_distances(policy)[: len(listed), : len(listed)] >= known * (1 - RELATIVE) - 1e-12)


@lawful
@given(tables())
def test_a_table_of_the_whole_product_in_its_order_is_the_product(folder, drawn):
    attributes, rules, _ = drawn
    every = list(itertools.product(*(range(len(attribute.labels)) for attribute in attributes)))
    policy = compiled_table(attributes, rules, every, folder)
    assert policy.universe.listed is None
    assert policy.fingerprint == parse_policy(text_of(attributes, rules), folder=folder).fingerprint


@lawful
@given(tables())
def test_explanations_go_through_listed_records_and_tell_the_distance(folder, drawn):
    attributes, rules, listed = drawn
    policy = compiled_table(attributes, rules, listed, folder)
    expected = closure(attributes, rules, listed)
    records = [*listed, *[None] * (policy.universe.size - len(listed))]
    for i, j in itertools.product(range(0, len(records), 3), range(len(records))):
        told = policy.explain(i, j)
        assert math.isclose(told.distance, expected[i][j], rel_tol=1e-9, abs_tol=1e-12)
        now = records[i]
        for hop in told.hops:
            after = None if hop.end == NOBODY else records[j]
            if hop.attribute is not None or hop.together:
                after = after_hop(attributes, now, hop)
            assert after in records
            assert math.isclose(hop.bound, bound(attributes, rules, now, after), rel_tol=1e-12)
            now = after
        assert told.distance == math.inf or now == records[j]


@lawful
@given(tables())
def test_reviews_name_what_was_lowered_and_rules_that_change_nothing(folder, drawn):
    attributes, rules, listed = drawn
    policy = compiled_table(attributes, rules, listed, folder)
    review = policy.review()
    assert all(one.given < one.stated and one.path for one in review.tightened)
    assert [form.name for form in policy.forms()] == [*policy.universe.names, "records"]
    # What attributes state about missing values comes before the rules.
    for number, rule in enumerate(review.rules[len(review.rules) - len(rules) :]):
        if rule.idle or rule.redundant:
            rest = compiled_table(attributes, rules[:number] + rules[number + 1 :], listed, folder)
            size = min(rest.universe.size, policy.universe.size)
            assert same(all_distances(rest)[:size, :size], all_distances(policy)[:size, :size])
