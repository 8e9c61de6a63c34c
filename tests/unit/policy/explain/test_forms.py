"""Each attribute's form, and the rules that gave it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from reference.project import POLICIES
from reference.random_policies import (
    all_distances,
    compiled,
    crowded,
    joint,
    policies,
    same,
    with_data_files,
)

import dxgeom as dx
from dxgeom.policy.policy import parse_policy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return with_data_files(tmp_path_factory.mktemp("points"))


def forms_of(*rules, attributes="a: {bins: [0, 1, 3, 4, 9]}"):
    lines = "".join(f"- {{{rule}}}\n" for rule in rules)
    text = f"policy: p\nuniverse: {{attributes: {{{attributes}}}}}\nunconnected: allow\nrules:\n{lines}"
    return parse_policy(text).forms()


@pytest.mark.parametrize(
    ("rules", "form", "why", "used", "idle"),
    [
        (["change: a, epsilon: 1"], "discrete", "the same epsilon", (5,), ()),
        (["change: a, epsilon: 2", "change: a, epsilon: 1"], "discrete", "the same epsilon", (6,), (5,)),
        (["change: a, epsilon: 1, per: 2"], "line", "neighbouring values", (5,), ()),
        (["change: a, epsilon: 1, per: 2", "change: a, epsilon: 1, per: 1"], "line", "neighbouring", (5,), (6,)),
        (["change: a, epsilon: 1, per: 2", "change: a, epsilon: 2"], "line, capped", "than the constant 2", (5, 6), ()),
        (["change: a, epsilon: 1, within: 2"], "graph", "shortest paths over those 2", (5,), ()),
        (["change: a, epsilon: 1, within: 2 steps, beyond: linear"], "points", "not from below", (5,), ()),
        (
            ["change: a, epsilon: 1, within: 1 steps", "change: a, epsilon: 0.5, per: 1"],
            "graph",
            "several kinds meet: shortest paths over the 6 pairs",
            (5, 6),
            (),
        ),
        (["change: a, values: {'[0, 1)': 1}, otherwise: 2"], "value sensitivities", "a detour", (5,), ()),
        (["change: a, values: {'[0, 1)': 1}", "change: a, epsilon: 3"], "value sensitivities", "detour", (5, 6), ()),
        (["between: everything, epsilon: 1"], "graph", "no rule is about it on its own", (), ()),
    ],
)
def test_an_attribute_has_the_form_of_its_rules_and_names_those_that_never_bind(rules, form, why, used, idle):
    told = forms_of(*rules)[0]
    assert (told.name, told.form, told.rules, told.idle) == ("a", form, used, idle)
    assert why in told.why


def test_the_records_have_a_form_of_their_own():
    two = "a: [x, y], b: [u, v]"
    one = forms_of("change: a, epsilon: 1", "change: b, epsilon: 1", attributes=two)[-1]
    assert (one.name, one.form) == ("records", "sum")
    assert "distances add" in one.why
    rules = ("change: [a, b], epsilon: 1", "between: everything, epsilon: 1.5", "between: everything, epsilon: 2")
    capped = forms_of(*rules, attributes=two)[-1]
    assert (capped.form, capped.rules, capped.idle) == ("sum, capped", (6,), (7,))
    assert capped.why.endswith("a rule about all pairs cuts them off at 1.5")
    assert str(capped).endswith("(line 6); line 7 never binds: another rule is nowhere above")
    bare = forms_of("between: everything, epsilon: 1.5", attributes=two)[-1]
    assert (bare.form, bare.why) == ("discrete", "the only rules are about all pairs of records")
    alone = forms_of("change: a, epsilon: 1")[-1]
    assert (alone.form, alone.why) == ("discrete", "there is one attribute, and its distance is the records'")


def test_every_example_policy_has_a_form_for_each_attribute_and_one_for_its_records():
    for path in sorted(POLICIES.glob("*/policy.yaml")):
        policy = dx.load_policy(path)
        assert [form.name for form in policy.forms()] == [*policy.universe.names, "records"]
        assert all(form.why for form in policy.forms())


@pytest.mark.long
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(policies() | crowded() | joint())
def test_without_the_rules_that_never_bind_nothing_changes(folder, policy):
    attributes, rules = policy
    whole = compiled(attributes, rules, folder)
    told = whole.forms()
    used = {line for form in told for line in form.rules}
    needed = [
        rule
        for rule, resolved in zip(rules, whole.rules[len(whole.rules) - len(rules) :], strict=True)
        if resolved.line in used
    ]
    assert {line for form in told for line in (*form.rules, *form.idle)} == {rule.line for rule in whole.rules}
    assert same(all_distances(compiled(attributes, needed, folder)), all_distances(whole))
