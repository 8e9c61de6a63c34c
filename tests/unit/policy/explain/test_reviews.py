from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from dxgeom.policy.explain.review import Review
from dxgeom.policy.policy import parse_policy
from dxgeom.wording.numbers import odds

HEAD = "policy: p\nuniverse:\n  attributes:\n"


def review_of(attributes: str, rules: str, tail: str = "") -> Review:
    return parse_policy(f"{HEAD}    {attributes}\nrules:\n{rules}\n{tail}").review()


def test_odds_are_rounded_up():
    assert odds(0.1) == "1.11 to 1"
    assert odds(1) == "2.72 to 1"
    assert odds(10) == "22,100 to 1"
    assert odds(10**9) == "more than 1,000,000 to 1"
    for epsilon in (Fraction(k, 37) for k in range(1, 250)):
        assert float(odds(float(epsilon)).split(" ")[0].replace(",", "")) >= math.exp(epsilon)


def test_a_detour_through_a_sensitive_value_is_reported_with_its_path():
    (found,) = review_of("ill: [HIV, flu, cold]", "- change: ill\n  values: {HIV: 0.1}\n  otherwise: 1").tightened
    assert (found.line, found.pairs, found.stated) == (6, 1, 1.0)
    assert found.given == pytest.approx(0.2)
    assert (found.start, found.path) == ("flu", ((6, "HIV"), (6, "cold")))
    assert str(found) == (
        "the rule at line 6 states 1 but the metric gives 0.2 for 1 pair of values of 'ill', "
        "e.g. flu → HIV (rule line 6) → cold (rule line 6)"
    )


def test_a_rule_that_another_one_undercuts_is_reported():
    found = review_of("a: [u, v, w]", "- {change: a, epsilon: 1}\n- {change: a, epsilon: 0.5}").tightened
    assert [(one.line, one.given, one.pairs, one.path[0][0]) for one in found] == [(6, 0.5, 3, 7)]


def test_the_cap_of_everything_is_a_rule_like_any_other():
    found = review_of(
        "a: {range: [0, 9], step: 1}", "- {change: a, epsilon: 1, per: 1}\n- {between: everything, epsilon: 3}"
    )
    by_line = {one.line: one for one in found.tightened}
    assert by_line[6].pairs == sum(9 - k + 1 for k in range(4, 10))
    assert by_line[7].pairs == 9 + 8
    assert found.attributes[0].diameter == 3


def test_every_path_of_a_tightening_adds_up_to_the_distance():
    found = review_of(
        "a: {range: [0, 20], step: 1}",
        "- {change: a, epsilon: 1, within: 3}\n- {change: a, values: {7: 0.3}, otherwise: 2}\n"
        "- {change: a, epsilon: 5}",
    )
    epsilons = {6: lambda u, v: 1.0, 7: lambda u, v: 0.3 if 7 in (u, v) else 2.0, 8: lambda u, v: 5.0}
    assert len(found.tightened) == 3
    for one in found.tightened:
        here, total = int(one.start), 0.0
        for line, label in one.path:
            total, here = total + epsilons[line](here, int(label)), int(label)
        assert total == pytest.approx(one.given)


def test_a_policy_that_states_its_metric_is_not_tightened():
    for rules in ("- {change: a, epsilon: 1, per: 0.1}", "- {change: a, epsilon: 0.7, within: 0.3, beyond: linear}"):
        assert review_of("a: {range: [0, 3], step: 0.1}", rules).tightened == ()


def test_a_rule_that_selects_no_pair_is_a_warning_and_no_other_is():
    found = review_of(
        "a: {range: [0, 9], step: 1}\n    only: [one]",
        "- {change: [a, only], epsilon: 1}\n- {change: only, epsilon: 1}\n- {change: a, epsilon: 1, within: 0.5}\n"
        "- {between: everything, epsilon: 9}",
    )
    assert [rule.line for rule in found.rules if rule.idle] == [8, 9]
    assert len([warning for warning in found.warnings if "selects no pair" in warning]) == 2


def test_attributes_too_large_to_examine_are_named():
    found = review_of("a: {range: [0, 5000], step: 1}", "- {change: a, epsilon: 1, per: 100}")
    assert found.not_examined == ("a",)
    assert (found.attributes[0].diameter, found.attributes[0].smallest) == (50.0, pytest.approx(0.01))
    assert any("Not examined" in line and line.endswith(": a.") for line in found.lines())


def test_closed_forms_and_pairwise_examination_agree():
    for rules in (
        "- {change: a, epsilon: 1, per: 100}",
        "- {change: a, epsilon: 1}",
        "- {change: a, values: {3: 0.1, 5: 0.15}, otherwise: 7}",
        "- {change: a, epsilon: 1, per: 100}\n- {change: a, epsilon: 4}",
    ):
        small = review_of("a: {range: [0, 1000], step: 1}", rules).attributes[0]
        large = review_of("a: {range: [0, 1000], step: 0.25}", rules).attributes[0]
        assert small.examined
        assert not large.examined
        assert large.diameter == pytest.approx(small.diameter)
        scale = 4 if "per" in rules else 1
        assert large.smallest == pytest.approx(small.smallest / scale)


def test_the_budget_multiplies_the_odds():
    found = review_of("n: [Yes, No]", "- {change: n, epsilon: 0.1}", "budget: 10")
    assert found.rules[0].sentence == "two records that differ only in n are told apart with odds at most 2.72 to 1"


def test_sentences_say_what_was_ruled():
    found = review_of(
        "age: {range: [0, 100], step: 5}\n    ill: [HIV, flu, cold]",
        "- {change: age, epsilon: 1, per: 10}\n- {change: age, epsilon: 1, within: 2 steps}\n"
        "- {change: ill, values: {HIV: 0.1}, otherwise: 1}\n- {between: everything, epsilon: 3}",
    )
    assert [rule.sentence for rule in found.rules] == [
        "two records that differ only in age, by 10, are told apart with odds at most 2.72 to 1; "
        "by twice that, at most 7.39 to 1",
        "two records that differ only in age, by at most 2 steps, are told apart with odds at most 2.72 to 1",
        "two records that differ only in ill, one of them HIV, are told apart with odds at most 1.11 to 1; "
        "others at most 1.23 to 1",
        "any two records are told apart with odds at most 20.1 to 1",
    ]


def test_a_review_is_json_without_nan_or_infinity():
    found = review_of("a: [u, v]\n    b: [s, t]", "- {change: a, epsilon: 1}", "unconnected: allow")
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["attributes"][1]["diameter"] == "inf"
    assert data["unprotected"] == ["no rule protects the attribute 'b': its values may be told apart exactly"]
    assert np.isinf(found.attributes[1].diameter)
