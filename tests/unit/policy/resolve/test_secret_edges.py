from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dxgeom.errors import PolicyError
from dxgeom.metrics.combinations import CapMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.policy.policy import Policy, parse_policy

TREE = "child,parent,cost\nflu,virus,0.5\ncold,virus,0.25\nHIV,virus,0.1\n"
HEAD = "policy: p\nuniverse:\n  attributes:\n    ill: [flu, cold, HIV, virus]\n"


def policy(tmp_path: Path, bound: str, *more: str, edges: str = TREE, tail: str = "") -> Policy:
    (tmp_path / "edges.csv").write_text(edges)
    rules = [f"- {{change: ill, secrets: {{edges: edges.csv}}, {bound}}}", *more]
    return parse_policy(HEAD + "rules:\n" + "\n".join(rules) + "\n" + tail, folder=tmp_path)


def distances(found: Policy) -> np.ndarray:
    codes = np.arange(4)
    return found.compile().distance(codes[:, None], codes[None, :])


def test_a_tree_is_as_long_as_its_paths(tmp_path: Path):
    found = policy(tmp_path, "weight: cost")
    assert type(found.compile().metric) is GraphMetric
    expected = np.array([[0, 0.75, 0.6, 0.5], [0.75, 0, 0.35, 0.25], [0.6, 0.35, 0, 0.1], [0.5, 0.25, 0.1, 0]])
    assert np.allclose(distances(found), expected, rtol=1e-12)
    assert np.all(distances(found) <= expected)


def test_one_epsilon_for_every_edge_counts_hops(tmp_path: Path):
    expected = 2.0 * (np.ones((4, 4)) - np.eye(4))
    expected[3, :3] = expected[:3, 3] = 1
    assert np.allclose(distances(policy(tmp_path, "epsilon: 1")), expected, rtol=1e-12)


def test_a_ceiling_holds_beside_edges_and_replaces_those_above_it(tmp_path: Path):
    both = policy(tmp_path, "weight: cost", "- {change: ill, epsilon: 0.4}")
    assert type(both.compile().metric) is CapMetric
    assert distances(both).max() <= 0.4
    assert type(policy(tmp_path, "weight: cost", "- {change: ill, epsilon: 0.1}").compile().metric) is DiscreteMetric


def test_an_edge_given_twice_counts_with_its_smaller_weight(tmp_path: Path):
    once = policy(tmp_path, "weight: cost")
    twice = policy(tmp_path, "weight: cost", edges=TREE + "virus,HIV,0.9\nvirus,flu,0.5\n")
    assert once.fingerprint == twice.fingerprint
    other = policy(tmp_path, "weight: cost", edges=TREE + "virus,HIV,0.05\n")
    assert once.fingerprint != other.fingerprint


def test_the_order_of_edges_and_of_their_ends_has_no_meaning(tmp_path: Path):
    head, *lines = TREE.splitlines()
    turned = [",".join([line.split(",")[1], line.split(",")[0], line.split(",")[2]]) for line in reversed(lines)]
    one, other = policy(tmp_path, "weight: cost"), policy(tmp_path, "weight: cost", edges="\n".join([head, *turned]))
    assert one.fingerprint == other.fingerprint
    assert np.array_equal(distances(one), distances(other))


def test_values_that_no_edge_reaches_are_an_error_unless_allowed(tmp_path: Path):
    parted = "a,b\nflu,cold\nHIV,virus\n"
    with pytest.raises(PolicyError, match="DX151"):
        policy(tmp_path, "epsilon: 1", edges=parted)
    found = policy(tmp_path, "epsilon: 1", edges=parted, tail="unconnected: allow\n")
    assert np.isinf(distances(found)[0, 2])
    assert len(found.unprotected) == 1


def test_the_review_says_what_edges_promise_and_what_was_lowered(tmp_path: Path):
    weighted = policy(tmp_path, "weight: cost").review()
    assert weighted.rules[0].words == "change ill along the edges of edges.csv: weight cost"
    assert (
        "by an edge of edges.csv, are told apart with odds at most 1.11 to 1 for some and at most 1.65 to 1 for others"
        in weighted.rules[0].sentence
    )
    assert weighted.tightened == ()
    shortcut = policy(tmp_path, "weight: cost", edges=TREE + "flu,HIV,3\n").review()
    assert [(one.stated, round(one.given, 9)) for one in shortcut.tightened] == [(3, 0.6)]
    assert policy(tmp_path, "epsilon: 1").review().rules[0].sentence.endswith("odds at most 2.72 to 1")


LISTED = "[[flu, virus, 0.5], [cold, virus, 0.25], [HIV, virus, 0.1]]"


def test_edges_listed_in_the_policy_mean_what_those_of_a_file_mean(tmp_path: Path):
    listed = parse_policy(f"{HEAD}rules: [{{change: ill, secrets: {{edges: {LISTED}}}}}]")
    assert listed.fingerprint == policy(tmp_path, "weight: cost").fingerprint
    assert parse_policy(listed.to_yaml()).fingerprint == listed.fingerprint


def test_a_rule_along_edges_alone_is_about_the_attribute_whose_values_they_join(tmp_path: Path):
    (tmp_path / "edges.csv").write_text(TREE)
    two = (
        HEAD
        + "    sex: [F, M]\nrules:\n  - {change: sex, epsilon: 1}\n  - {RULEsecrets: {edges: edges.csv}, epsilon: 1}\n"
    )
    said, bare = (parse_policy(two.replace("RULE", word), folder=tmp_path) for word in ("change: ill, ", ""))
    assert bare.fingerprint == said.fingerprint
    assert bare.rules[1].words == "change ill along the edges of edges.csv: epsilon 1"
    assert parse_policy(bare.to_yaml(), folder=tmp_path).fingerprint == said.fingerprint


def test_a_bound_that_a_path_adds_up_to_is_that_number(tmp_path: Path):
    chain = "[[flu, cold], [cold, HIV], [HIV, virus]]"
    graph = f"policy: p\nuniverse: {{attributes: {{ill: {{graph: {chain}}}}}}}\nrules: [{{change: ill, RULE}}]"
    for rule in ("epsilon: 1, per: 3 steps", "epsilon: 1, within: 3 steps, beyond: linear"):
        assert parse_policy(graph.replace("RULE", rule)).compile().distance(0, 3) == 1.0
    tenths = f"{HEAD}rules: [{{change: ill, secrets: {{edges: {chain}}}, epsilon: 0.1}}]"
    assert parse_policy(tenths).compile().distance(0, 3) == 0.3
