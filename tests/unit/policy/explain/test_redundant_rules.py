"""A rule is called redundant only when the metric is the same without it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxgeom.policy.policy import Policy, parse_policy

HEAD = """policy: p
unconnected: allow
universe:
  attributes:
    ill: [HIV, flu, cold]
    age: {range: [0, 4], step: 1}
"""
RULES = (
    "{change: ill, epsilon: 0.5}",
    "{change: ill, epsilon: 2}",
    "{change: [ill, age], epsilon: 1}",
    "{change: ill, values: {HIV: 0.1}, otherwise: 3}",
    "{change: age, epsilon: 0.3, per: 1}",
    "{change: age, epsilon: 1, within: 2}",
    "{change: age, epsilon: 0.1, within: 1}",
    "{change: age, epsilon: 4, within: 0.5}",
    "{between: everything, epsilon: 1.2}",
    "{between: everything, epsilon: 9}",
)


def policy(rules: list[str]) -> Policy:
    return parse_policy(HEAD + "rules:\n" + "\n".join(f"  - {rule}" for rule in rules) + ("" if rules else "  []"))


def distances(rules: list[str]) -> np.ndarray:
    codes = np.arange(15)
    return policy(rules).compile().distance(codes[:, None], codes[None, :])


@pytest.mark.long
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(RULES), min_size=1, max_size=5, unique=True))
def test_the_metric_is_the_same_without_a_redundant_rule(rules):
    for number, rule in enumerate(policy(rules).review().rules):
        if rule.redundant:
            rest = rules[:number] + rules[number + 1 :]
            assert np.allclose(distances(rest), distances(rules), rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    ("rules", "redundant"),
    [
        ([RULES[0], RULES[1]], [False, True]),
        ([RULES[0], RULES[2]], [False, False]),
        ([RULES[0], RULES[2], RULES[6]], [False, True, False]),
        ([RULES[0], RULES[6], RULES[9]], [False, False, True]),
        ([RULES[0], RULES[8]], [False, False]),
        ([RULES[8], RULES[9]], [False, True]),
        ([RULES[7]], [False]),
    ],
)
def test_rules_that_never_bind_are_found(rules, redundant):
    assert [rule.redundant for rule in policy(rules).review().rules] == redundant


def test_a_redundant_rule_is_a_warning_with_its_line():
    (warning,) = policy([RULES[0], RULES[1]]).review().warnings
    assert warning == "the rule at line 9 (change ill: epsilon 2) never binds: the other rules ask for more"
