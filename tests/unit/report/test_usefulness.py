"""Answers of no use are named before anything is spent, with the least spend that helps, or as rounding to bins."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import dxgeom as dx
from dxgeom.report.exactness import covers
from dxgeom.report.short_plan import plan_screen
from dxgeom.report.usefulness import useless_of

POLICY = """\
policy: visits
universe:
  attributes:
    sex: [F, M]
    wait: {bins: [0, 300, 600], clamp: true, unit: min}
rules:
  - {change: [sex, wait], epsilon: 1}
"""
QUERIES = """\
records: 40
queries:
  - {name: women, count: sex == 'F'}
  - {name: mean wait, mean: wait}
"""


@pytest.fixture(scope="module")
def plan():
    policy = dx.parse_policy(POLICY)
    return dx.plan(policy.compile(), dx.parse_queries(QUERIES, policy), mechanism="laplace")


def test_what_covers_half_is_useless_and_the_spend_that_is_named_helps(plan):
    for spend in (Fraction(1, 100), Fraction(1, 10), Fraction(1)):
        for one in useless_of(plan, spend, 0.95):
            assert covers(one.half_width, one.possible)
            if one.spend is not None:
                assert one.spend > spend
                assert one.name not in [other.name for other in useless_of(plan, one.spend, 0.95)]
    assert "women" in [one.name for one in useless_of(plan, Fraction(1, 100), 0.95)]


def test_bins_that_are_too_coarse_are_named_and_no_larger_budget_is_advised(plan):
    [mean] = [one for one in useless_of(plan, Fraction(10), 0.95) if one.name == "mean wait"]
    assert mean.spend is None and mean.half_width > 75
    text = " ".join("\n".join(plan_screen(plan, Fraction(10)).lines()).split())
    assert "all of it is rounding to bins. Smaller bins help, not a larger budget." in text


def test_nothing_is_called_useless_where_the_number_of_people_is_not_public():
    policy = dx.parse_policy(POLICY)
    asked = dx.parse_queries("queries:\n  - count: sex == 'F'\n", policy)
    plan = dx.plan(policy.compile(), asked, mechanism="laplace")
    assert useless_of(plan, Fraction(1, 100), 0.95) == ()
    assert "depends on how many people there are (--records N)" in " ".join(plan_screen(plan, Fraction(1)).lines())


def test_a_ratio_is_useless_where_it_would_be_were_everybody_in_its_group():
    policy = dx.parse_policy(POLICY)
    text = "records: 40\nqueries:\n  - {name: mean wait of women, mean: wait, where: sex == 'F'}\n"
    plan = dx.plan(policy.compile(), dx.parse_queries(text, policy), mechanism="laplace")
    assert plan.queries.ratios
    found = [one for one in useless_of(plan, Fraction(1, 100), 0.95) if one.ratio]
    assert [one.name for one in found] == [one.name for one in plan.queries.ratios]
    shown = "\n".join(plan_screen(plan, Fraction(1, 100)).lines())
    assert "mean wait of women" in shown and "of no use" in shown and "at least" in shown


YEARS = {
    "policy": "years",
    "universe": {"attributes": {"year": {"range": [2000, 2010], "step": 1, "whole": True}, "sex": ["F", "M"]}},
    "rules": [{"change": ["year", "sex"], "epsilon": 1}],
}


@pytest.mark.long
def test_noise_that_a_sum_and_a_count_share_is_not_held_against_their_ratio():
    # Gaussian noise for sums of years and counts lies along (2005, 1).
    policy = dx.Policy.from_dict({**YEARS, "privacy": "concentrated"})
    asked = {"records": 300, "queries": [{"mean": "year", "where": "sex == 'F'"}]}
    plan = dx.plan(policy.compile(), dx.queries_from_dict(asked, policy), mechanism="gaussian")
    table = {"year": [2000, 2005, 2010] * 100, "sex": ["F"] * 300}
    for spend, useless in ((Fraction(1), False), (Fraction(1, 200), True)):
        said = [one.half_width for one in useless_of(plan, spend, 0.95) if one.ratio]
        assert bool(said) == useless
        released = plan.release(table, ledger=":memory:", spend=spend, insecure_test_seed=3)
        [one] = released.answer.ratios(0.95)
        low, high = one.interval
        assert high - low < 5 if not useless else high - low == 10


def test_variances_are_called_useless_too():
    policy = dx.Policy.from_dict(YEARS)
    asked = {"records": 300, "queries": [{"variance": "year", "where": "sex == 'F'"}]}
    plan = dx.plan(policy.compile(), dx.queries_from_dict(asked, policy), mechanism="laplace")
    [one] = [one for one in useless_of(plan, Fraction(1, 50), 0.9) if one.ratio]
    assert one.name == plan.queries.variances[0].name and one.possible == (0, 25) and covers(one.half_width, (0, 25))
    assert one.name not in [other.name for other in useless_of(plan, one.spend, 0.9)]


def test_the_number_of_people_is_not_asked_for_where_it_is_private_and_small_groups_are_mentioned():
    policy = dx.Policy.from_dict({**YEARS, "rules": [{"presence": True, "epsilon": 1}]})
    asked = [{"mean": "year", "where": "sex == 'F'"}]
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"queries": asked}, policy), mechanism="laplace")
    text = " ".join(" ".join(plan_screen(plan, Fraction(1)).lines()).split())
    assert "depends on how many people there are." in text and "--records" not in text
    policy = dx.Policy.from_dict(YEARS)
    queries = dx.queries_from_dict({"records": 10**6, "queries": asked}, policy)
    text = " ".join(plan_screen(dx.plan(policy.compile(), queries, mechanism="laplace"), Fraction(1)).lines())
    assert "may be of none if these are few" in text


@pytest.mark.long
@pytest.mark.parametrize(
    ("objective", "said"),
    [
        ("mse", "No added noise has less squared error."),
        ("l1", "No added noise has a smaller expected ℓ₁ error."),
        ("quantile-95", "Its 95 % quantile of the largest error is at most {} times the least"),
    ],
)
def test_how_near_a_plan_is_to_the_least_is_said_of_what_it_makes_small(objective, said):
    policy = dx.parse_policy(POLICY)
    asked = dx.parse_queries("queries:\n  - count: sex == 'F'\n  - count: wait < 300\n", policy)
    plan = dx.plan(policy.compile(), asked, objective=objective)
    text = " ".join(" ".join(plan_screen(plan, Fraction(1)).lines()).split())
    assert said.format(f"{math.ceil(plan.gap * 100) / 100:g}") in text
