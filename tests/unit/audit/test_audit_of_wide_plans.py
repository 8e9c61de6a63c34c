"""Plans over universes of any size are audited move by move: they hold, and at half the distances they do not."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused
from dxgeom.planner.plan import PlanFile
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries

NAMES = "abcdefghijkl"
LETTERS = ", ".join(
    f"{name}: {{values: [{name}0, {name}1{f', {name}2' * (place % 2)}]}}" for place, name in enumerate(NAMES)
)
EACH = [f"change: {name}, epsilon: {{}}" for name in NAMES]
AGES = "age: {range: [0, 65535], step: 1, whole: true}, sex: {values: [F, M]}"
YEARS = (
    "year: {range: [0, 20], step: 1, whole: true}, hour: {range: [0, 9], step: 1, whole: true}, sex: {values: [F, M]}"
)


def pairs(universe):
    return MarginalQueries.of(universe, list(itertools.combinations(NAMES, 2)))


def prefixes(universe):
    return BoxQueries.of(universe, [{"age": (0, end)} for end in range(1, 65_536, 512)])


def squares(universe):
    cuts = range(0, 65_536, 8192)
    return BoxQueries.of(universe, [{"age": (low, high), "sex": (0, 1)} for low, high in itertools.pairwise(cuts)])


def tables(universe):
    return MarginalQueries.of(universe, [("year", "hour"), ("hour", "sex"), ("year",)])


PLANS = {
    "tables": (LETTERS, EACH, pairs),
    "tables, presence": (LETTERS, [*EACH, "presence: true, epsilon: {}"], pairs),
    "tables, groups": (LETTERS, [*EACH, "change: [a, b, c], epsilon: {}", "change: [c, d], epsilon: {}"], pairs),
    "tables, any change": (LETTERS, [f"change: [{', '.join(NAMES)}], epsilon: {{}}"], pairs),
    "prefixes": (AGES, ["change: age, epsilon: {}", "change: sex, epsilon: {}"], prefixes),
    "prefixes, presence": (AGES, ["change: age, epsilon: {}", "presence: true, epsilon: {}"], prefixes),
    "boxes": (AGES, ["change: age, epsilon: {}", "change: sex, epsilon: {}"], squares),
    "bases": (
        YEARS,
        ["change: year, epsilon: {}, per: 5", "change: hour, epsilon: {}, per: 5", "change: sex, epsilon: {}"],
        tables,
    ),
    "bases, presence": (
        YEARS,
        ["change: year, epsilon: {}, per: 5", "change: hour, epsilon: {}, per: 5", "presence: true, epsilon: {}"],
        tables,
    ),
}


def policy_of(name, privacy, epsilon):
    attributes, rules, _ = PLANS[name]
    stated = "\n".join(f"- {{{rule.format(epsilon)}}}" for rule in rules)
    text = f"policy: wide\nprivacy: {privacy}\nuniverse: {{attributes: {{{attributes}}}}}\nrules:\n{stated}\n"
    return dx.parse_policy(text)


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("name", PLANS)
def test_wide_plans_hold_and_hide_no_more_than_they_have_to(name, privacy):
    policy = policy_of(name, privacy, 2)
    plan = dx.plan(policy.compile(), PLANS[name][2](policy.universe))
    audit = audit_plan(plan)
    assert (audit.verdict, audit.not_audited) == ("holds", ())
    with pytest.raises(CertificateRefused, match="does not hide"):
        audit_plan(replace(plan, file=PlanFile(policy_of(name, privacy, 1), None, "", None, str)))


def test_what_is_no_plan_is_refused():
    with pytest.raises(dx.errors.WrongArgument, match=r"dx\.load_plan"):
        audit_plan("plan.json")
