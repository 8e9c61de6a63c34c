"""The sentences about observers are true, and there is one for each rule."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest

import dxgeom as dx
from dxgeom.lab.finite_mechanism import FiniteMechanism, most_learned, posterior
from dxgeom.policy.policy import parse_policy

HEAD = "policy: p\nuniverse:\n  attributes:\n"
FACTOR = re.compile(
    r"whatever an observer believed before, all releases together move the odds of (.+) against (.+) "
    r"by at most a factor ([0-9.,]+)$"
)


def beliefs_of(attributes: str, rules: str, tail: str = "") -> list[str]:
    policy = parse_policy(f"{HEAD}    {attributes}\nrules:\n{rules}\n{tail}")
    return [rule.belief for rule in policy.review().rules]


@pytest.mark.parametrize(
    ("attributes", "rule", "what", "epsilon"),
    [
        ("a: [x, y]", "{change: a, epsilon: 0.1}", "a 'x' against 'y'", 0.1),
        ("a: [x, y, z]", "{change: a, values: {z: 0.05}, otherwise: 1}", "a 'z' against 'x'", 0.05),
        ("a: {range: [0, 100], step: 5}", "{change: a, epsilon: 1, per: 10}", "a '0' against '5'", 0.5),
        ("a: {range: [0, 100], step: 5}", "{change: a, epsilon: 1, within: 10}", "a '0' against '5'", 1),
        ("a: [x, y]", "{between: everything, epsilon: 2}", "one record against another", 2),
    ],
)
def test_each_kind_of_rule_has_an_example_with_its_factor(attributes, rule, what, epsilon):
    (said,) = beliefs_of(attributes, f"  - {rule}")
    assert f"all releases together move the odds of {what} by" in said
    factor = float(FACTOR.match(said)[3])
    assert math.exp(epsilon) <= factor <= math.exp(epsilon) + 0.02


def test_the_factor_is_that_of_the_whole_budget_and_of_all_rules_together():
    rules = "  - {change: a, epsilon: 1}\n  - {between: everything, epsilon: 0.5}"
    assert [said[-4:] for said in beliefs_of("a: [x, y]", rules)] == ["1.65", "1.65"]
    assert [said[-4:] for said in beliefs_of("a: [x, y]", rules, "budget: 2")] == ["2.72", "2.72"]


def test_a_rule_that_selects_no_pair_has_no_example():
    rules = "  - {change: a, epsilon: 1, within: 1}"
    assert beliefs_of("a: {range: [0, 10], step: 5}", rules, "unconnected: allow") == [""]
    assert beliefs_of("a: [only]", "  - {change: a, epsilon: 1}") == [""]


def test_randomised_response_at_full_strength_teaches_as_much_as_is_said_and_no_more():
    """What one answer can teach is exact, by the audit of finite mechanisms; posteriors are Bayes' rule."""
    (said,) = beliefs_of("a: [x, y]", "  - {change: a, epsilon: 0.5}")
    factor = Fraction(FACTOR.match(said)[3])
    strongest = Fraction(math.exp(0.5))
    truth = strongest / (1 + strongest)
    mechanism = FiniteMechanism(((truth, 1 - truth), (1 - truth, truth)))
    assert factor - Fraction(1, 100) <= most_learned(mechanism, (0, 1)) <= factor
    for prior in (Fraction(1, 1000), Fraction(1, 3), Fraction(9, 10)):
        for answer in (0, 1):
            x, y = posterior(mechanism, (prior, 1 - prior), answer)
            moved = (x / y) / (prior / (1 - prior))
            assert 1 / factor <= moved <= factor


def test_check_says_it_under_every_rule(policies):
    for name in ("clinic", "us-cities", "adult", "bus-lines", "districts"):
        review = dx.load_policy(policies / name / "policy.yaml").review()
        lines = review.lines()
        for rule in review.rules:
            assert FACTOR.match(rule.belief)
            assert f"    {rule.belief}" in lines
            assert lines.index(f"    {rule.belief}") - 1 == lines.index(f"  line {rule.line}: {rule.sentence}")
        assert any(line.startswith("  Odds are those of an observer ") for line in lines)
