"""Explanations tell the distance of the closure, by a path whose steps are what single rules state."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from reference.policy_closure import after_hop, bound, closure
from reference.project import POLICIES
from reference.random_policies import PLACES, compiled, crowded, joint, policies, with_data_files

import dxgeom as dx
from dxgeom.errors import DataError, TooLarge
from dxgeom.policy.explain.tightening import NOBODY
from dxgeom.policy.policy import parse_policy

MIXED = """\
policy: mixed
universe:
  attributes:
    sex: [F, M]
    age: {bins: [0, 18, 65, 100]}
    dose: {range: [0, 10], step: 0.5}
rules:
  - change: sex
    epsilon: 2
  - change: age
    values: {"[18, 65)": 0.1}
    otherwise: 1
  - change: dose
    epsilon: 0.1
    within: 1 steps
  - change: dose
    epsilon: 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return with_data_files(tmp_path_factory.mktemp("points"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(policies() | crowded() | joint())
@pytest.mark.long
def test_the_distance_told_is_the_closure_and_the_steps_are_what_rules_state(folder, policy):
    attributes, rules = policy
    policy = compiled(attributes, rules, folder)
    expected = closure(attributes, rules)
    records = list(itertools.product(*(range(len(attribute.labels)) for attribute in attributes)))
    records += [None] * (policy.universe.size - policy.universe.record_types)
    stated = {(one, other): bound(attributes, rules, one, other) for one in records for other in records}
    for i, j in itertools.product(range(0, len(records), 2), range(len(records))):
        told = policy.explain(i, j)
        if any(one.name == PLACES.name for one in attributes):
            assert math.isclose(told.distance, expected[i][j], rel_tol=1e-9, abs_tol=1e-12)
        else:
            assert told.distance == expected[i][j]
            assert isinstance(told.distance, Fraction) or told.distance == math.inf
        if told.distance == math.inf:
            assert told.apart
            continue
        now = records[i]
        for hop in told.hops:
            after = None if hop.end == NOBODY else records[j]
            if hop.attribute is not None or hop.together:
                after = after_hop(attributes, now, hop)
            assert math.isclose(hop.bound, stated[now, after], rel_tol=1e-12)
            now = after
        assert now == records[j]
        assert math.isclose(sum(hop.bound for hop in told.hops), told.distance, rel_tol=1e-9)


def test_every_pair_of_the_example_is_told_its_own_distance():
    policy = dx.load_policy(POLICIES / "adult" / "policy.yaml")
    metric, rng = policy.compile(), np.random.default_rng(7)
    for i, j in rng.integers(0, policy.universe.size, (200, 2)).tolist():
        told = policy.explain(i, j).distance
        assert isinstance(told, Fraction)
        assert Fraction(float(metric.distance(i, j))) <= told
        assert math.isclose(told, float(metric.distance(i, j)), rel_tol=1e-9)


def test_a_path_goes_through_the_most_sensitive_value_and_along_chains():
    policy = parse_policy(MIXED)
    told = policy.explain({"age": 5, "dose": 0, "sex": "F"}, {"age": 99, "dose": "1.7", "sex": "F"})
    assert [(hop.attribute, hop.start, hop.end, hop.bound, hop.line) for hop in told.hops] == [
        ("age", "[0, 18)", "[18, 65)", Fraction(1, 10), 10),
        ("age", "[18, 65)", "[65, 100]", Fraction(1, 10), 10),
        ("dose", "0", "0.5", Fraction(1, 10), 13),
        ("dose", "0.5", "1", Fraction(1, 10), 13),
        ("dose", "1", "1.5", Fraction(1, 10), 13),
    ]
    assert told.distance == Fraction(1, 2)
    assert policy.explain({"dose": 0}, {"dose": 10}).hops[0].line == 16


def test_a_rule_about_all_pairs_is_one_step():
    policy = parse_policy(MIXED + "  - between: everything\n    epsilon: 1.5\n")
    told = policy.explain({"sex": "F", "age": 5}, {"sex": "M", "age": 30})
    (hop,) = told.hops
    assert (hop.attribute, hop.bound, hop.line, told.otherwise) == (None, Fraction(3, 2), 18, Fraction(21, 10))
    assert told.lines()[-1].endswith("policy:18 (between everything: epsilon 1.5); one attribute after another: 2.1")


TOGETHER = """\
policy: together
universe:
  attributes:
    gender: [M, F]
    t1: {range: [0, 9], step: 1}
    age: {range: [0, 100], step: 10}
    t2: {range: [0, 9], step: 1}
rules:
  - change: [gender, age]
    epsilon: 0.8
  - change: [gender, age]
    together: true
    epsilon: 1
  - change: [t1, t2]
    together: true
    measure: max
    epsilon: 0.5
    per: 1
"""


def test_a_step_may_change_several_attributes_and_says_which():
    told = parse_policy(TOGETHER).explain(
        {"gender": "M", "age": 40, "t1": 1, "t2": 2}, {"gender": "F", "age": 70, "t1": 3, "t2": 7}
    )
    assert (told.distance, [hop.line for hop in told.hops]) == (Fraction(7, 2), [11, 14])
    assert told.lines()[-2:] == [
        "  gender, age: M, 40 → F, 70: 1 by policy:11 (change gender, age together: epsilon 1)",
        "  t1, t2: 1, 2 → 3, 7: 2.5 by policy:14 (change t1, t2 together: epsilon 0.5 per 1 of the largest change)",
    ]
    assert [(step["attribute"], step["together"]) for step in told.as_dict()["path"]] == [
        (None, ["gender", "age"]),
        (None, ["t1", "t2"]),
    ]
    assert [hop.attribute for hop in parse_policy(TOGETHER).explain({"age": 40}, {"age": 70}).hops] == ["age"]


def test_only_what_no_group_joins_is_apart():
    head = "policy: p\nuniverse: {attributes: {a: [x, y], b: [u, v], c: [s, t]}}\nunconnected: allow\n"
    policy = parse_policy(head + "rules: [{secrets: {partition: c}, epsilon: 1}]\n")
    told = policy.explain({"a": "x", "b": "u", "c": "s"}, {"a": "y", "b": "v", "c": "t"})
    assert (told.distance, told.apart) == (math.inf, ("c",))
    assert policy.explain({"a": "x", "b": "u"}, {"a": "y", "b": "v"}).distance == 1


def test_records_that_no_chain_of_rules_joins_are_named_and_so_is_the_attribute():
    policy = parse_policy("policy: p\nuniverse: {attributes: {a: [x, y], b: [u, v]}}\nunconnected: allow\n"
                          "rules: [{change: b, epsilon: 1}]\n")  # fmt: skip
    told = policy.explain({"a": "x", "b": "u"}, {"a": "y", "b": "v"})
    assert (told.distance, told.apart) == (math.inf, ("a",))
    assert "no chain of rules joins their values of 'a'" in told.lines()[3]
    assert told.as_dict()["distance"] == math.inf


def test_places_are_told_by_the_metric_rounded_down():
    policy = dx.load_policy(POLICIES / "us-cities" / "policy.yaml")
    told = policy.explain(0, 7)
    assert told.distance == float(policy.compile().distance(0, 7))
    assert told.as_dict()["distance_exact"] is None


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"sxe": "F"}, {"sxe": "M"}, "no attribute 'sxe'; did you mean 'sex'"),
        ({"sex": "F"}, {"sex": "X"}, "sex has no value 'X'"),
        ({"age": 5}, {"age": 101}, r"age runs from \[0, 18\) to \[65, 100\], found '101'"),
        ({"age": 5}, {"age": "old"}, "age is a number, found 'old'"),
        ({"age": 5}, {"sex": "F"}, "does not say its"),
        (0, {"sex": "F"}, "does not say its age"),
        (0, 126, "numbered from 0 to 125"),
        (-1, 0, "does not exist"),
        ("sex=F", 0, "found a str"),
    ],
)
def test_a_record_that_is_none_is_refused(first, second, message):
    with pytest.raises(DataError, match=message):
        parse_policy(MIXED).explain(first, second)


def test_an_attribute_too_large_for_paths_is_refused_unless_no_detour_pays():
    text = "policy: p\nuniverse: {{attributes: {{a: {{range: [0, 30000], step: 1}}}}}}\n"
    text += "rules: [{{change: a, epsilon: 1{}}}]"
    with pytest.raises(TooLarge, match="at most 20,000"):
        parse_policy(text.format(", within: 1")).explain({"a": 1}, {"a": 3})
    assert parse_policy(text.format(", per: 10")).explain({"a": 1}, {"a": 30_000}).distance == Fraction(29_999, 10)


def test_of_a_long_chain_a_reader_sees_both_ends():
    text = "policy: p\nuniverse: {attributes: {a: {range: [0, 100], step: 1}}}\n"
    told = parse_policy(text + "rules: [{change: a, epsilon: 1, within: 1}]").explain({"a": 0}, {"a": 100})
    assert (len(told.hops), told.distance) == (100, 100)
    lines = told.lines()
    assert len(lines) == 6 + 21
    assert lines[6].startswith("  a: 0 → 1: 1 by policy:3")
    assert lines[16] == "  … 80 more steps; --format json lists them"
    assert lines[-1].startswith("  a: 99 → 100: 1 by policy:3")
