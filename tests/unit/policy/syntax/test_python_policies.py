"""Policies built in Python, and policies written back as text, mean what files mean."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.project import POLICIES, TESTS

import dxgeom as dx
from dxgeom.errors import PolicyError, TooLarge
from dxgeom.policy.policy import parse_policy
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.text import PolicyText
from dxgeom.policy.source.yaml_tree import read_tree
from dxgeom.policy.syntax.reader import plain_data
from dxgeom.policy.syntax.writing import word_of

FILES = sorted(POLICIES.glob("*/policy.yaml"))
WRONG = sorted((TESTS / "golden" / "policies" / "wrong").glob("*.yaml"))
ONLY_IN_TEXT = {"DX100", "DX101", "DX102", "DX104"}
CLINIC = {
    "policy": "clinic",
    "universe": {"attributes": {"native": ["Yes", "No"], "age": {"range": [0, 100], "step": 5}}},
    "rules": [{"change": "native", "epsilon": 0.1}, {"change": ["age"], "epsilon": Fraction(1, 8), "per": "2 steps"}],
}


def data_of(text):
    mistakes = Mistakes(PolicyText("policy", text, None))
    tree = read_tree(mistakes)
    return None if tree is None or mistakes else plain_data(tree, mistakes)


def with_rule(**rule):
    return {**CLINIC, "rules": [*CLINIC["rules"], rule]}


def mistakes_of(data, folder=None):
    with pytest.raises(PolicyError) as caught:
        dx.Policy.from_dict(data, folder=folder)
    return caught.value.diagnostics


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_every_example_comes_back_from_its_own_text_and_from_its_data(path):
    policy = dx.load_policy(path)
    text = policy.to_yaml()
    again = parse_policy(text, folder=path.parent)
    built = dx.Policy.from_dict(data_of(path.read_text(encoding="utf-8")), folder=path.parent)
    assert again.fingerprint == built.fingerprint == policy.fingerprint
    assert again.to_yaml() == built.to_yaml() == text
    assert (again.name, again.about, again.budget) == (policy.name, policy.about, policy.budget)


words = st.text(max_size=30)
decimals = st.decimals(min_value="1e-15", max_value=10**6, allow_nan=False, places=15)
names = st.text(st.characters(exclude_characters="`", categories=("L", "N", "P", "S")), min_size=1, max_size=12)


@given(name=names, values=st.lists(words, min_size=1, max_size=5, unique=True), about=words, epsilon=decimals)
def test_any_words_and_numbers_survive_being_written(name, values, about, epsilon):
    data = {
        "policy": "p",
        "about": about,
        "universe": {"attributes": {name: values}},
        "rules": [{"change": name, "values": dict.fromkeys(values, epsilon)}, {"change": name, "epsilon": epsilon}],
    }
    policy = dx.Policy.from_dict(data)
    assert (policy.about, policy.universe.attributes[0].labels) == (about, tuple(values))
    assert policy.rules[1].syntax.epsilon == Fraction(epsilon)
    again = parse_policy(policy.to_yaml())
    assert (again.fingerprint, again.to_yaml()) == (policy.fingerprint, policy.to_yaml())


def test_numbers_of_every_kind_are_exact():
    for number in (0.1, Decimal("0.1"), Fraction(1, 10), "0.1", np.float64(0.1), "1e-1"):
        assert dx.Policy.from_dict({**CLINIC, "budget": number}).budget == Fraction(1, 10)
    for number in (3, np.int64(3), 3.0, Decimal("3E+0"), "3"):
        assert dx.Policy.from_dict({**CLINIC, "budget": number}).budget == 3
    assert dx.Policy.from_dict({**CLINIC, "budget": 1e-7}).budget == Fraction(1, 10**7)


@pytest.mark.parametrize("number", [Fraction(1, 3), float("nan"), Decimal("Infinity"), -1, 0, 1e300])
def test_a_number_that_the_language_has_not_is_refused_with_its_path(number):
    (mistake,) = mistakes_of({**CLINIC, "budget": number})
    assert (mistake.code, mistake.path) == ("DX109", "budget")


def test_a_mistake_is_told_by_its_path():
    mistakes = mistakes_of(
        {
            "policy": "p",
            "universe": {"attributes": {"a b": ["Yes", "No", "No"], "c": {"range": [0, 1], "stp": 1}}},
            "rules": [{"change": "a"}, {}, {"change": ["c", "a bb"], "epsilon": 0}],
            "budgt": 1,
        }
    )
    found = {(mistake.code, mistake.path) for mistake in mistakes}
    assert found == {
        ("DX110", "universe.attributes['a b'][2]"),
        ("DX105", "universe.attributes.c.stp"),
        ("DX131", "rules[0]"),
        ("DX132", "rules[0].change"),
        ("DX130", "rules[1]"),
        ("DX131", "rules[1]"),
        ("DX132", "rules[2].change[1]"),
        ("DX109", "rules[2].epsilon"),
        ("DX105", "budgt"),
    }
    (first,) = [mistake for mistake in mistakes if mistake.code == "DX110"]
    assert str(first).startswith("policy: universe.attributes['a b'][2]: DX110: ")
    assert first.as_dict()["path"] == "universe.attributes['a b'][2]"


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_a_wrong_policy_gets_the_same_messages_as_data(path):
    text = path.read_text(encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        parse_policy(text, folder=path.parent)
    data = data_of(text)
    empty = any("has no value" in mistake.message for mistake in caught.value.diagnostics)
    if data is None or empty or ONLY_IN_TEXT & {mistake.code for mistake in caught.value.diagnostics}:
        return
    stated = sorted((mistake.code, mistake.message, mistake.advice) for mistake in caught.value.diagnostics)
    found = mistakes_of(data, path.parent)
    assert sorted((mistake.code, mistake.message, mistake.advice) for mistake in found) == stated
    assert all(mistake.path for mistake in found)


@pytest.mark.parametrize(
    ("data", "code", "path"),
    [
        ([], "DX108", "top level"),
        ("policy", "DX108", "top level"),
        ({**CLINIC, "about": {1, 2}}, "DX108", "about"),
        ({**CLINIC, "about": b"bytes"}, "DX108", "about"),
        ({**CLINIC, "budget": 10**1000}, "DX108", "budget"),
        ({**CLINIC, "about": None}, "DX107", "about"),
        ({**CLINIC, "about": "half a character: \ud800"}, "DX102", "about"),
        ({**CLINIC, "x" * 3000: 1}, "DX105", "x" * 3000),
        (with_rule(change="native", values={1: 2, "1": 2}), "DX104", "rules[2].values['1']"),
        (with_rule(**{"change": "native", "epsilon": 1, "x" * 3000: 1}), "DX105", f"rules[2].{'x' * 3000}"),
        (with_rule(change="native", values={"x" * 3000: 1}), "DX133", f"rules[2].values.{'x' * 3000}"),
    ],
    ids=range(11),
)
def test_data_that_no_file_could_hold_is_a_mistake_like_others(data, code, path):
    assert (code, path) in [(mistake.code, mistake.path) for mistake in mistakes_of(data)]


def test_data_that_contains_itself_is_refused_at_once():
    data = {}
    data["a"] = data["b"] = data
    (mistake,) = mistakes_of(data)
    assert mistake.code == "DX103"
    (mistake,) = mistakes_of({**CLINIC, "about": ["x"] * 60_000})
    assert mistake.code == "DX103"


def test_values_with_long_names_are_written_so_that_they_are_read():
    long = {"policy": "p", "universe": {"attributes": {"a": ["x" * 2000, "y"]}}}
    policy = dx.Policy.from_dict({**long, "rules": [{"change": "a", "values": {"x" * 2000: 1, "y": 2}}]})
    assert parse_policy(policy.to_yaml()).fingerprint == policy.fingerprint


def test_the_lines_of_a_review_are_those_of_the_text():
    policy = dx.Policy.from_dict({key: CLINIC[key] for key in reversed(CLINIC)})
    assert [rule.line for rule in policy.rules] == [rule.line for rule in parse_policy(policy.to_yaml()).rules]
    lines = policy.to_yaml().splitlines()
    assert [lines[rule.line - 1] for rule in policy.rules] == ["  - change: [native]", "  - change: [age]"]


def test_what_becomes_a_word_and_what_does_not():
    assert [word_of(value) for value in (True, 7, 2.5, "x", datetime.date(2026, 1, 31))] == [
        "true", "7", "2.5", "x", "2026-01-31",
    ]  # fmt: skip
    assert [word_of(value) for value in (None, [], object(), 1j)] == [None] * 4


def test_a_policy_too_long_for_a_file_is_not_written():
    """A character that editors do not show is one letter in the text that is read and six in the written one."""
    text = f"policy: p\nabout: {chr(0xE000) * 300_000}\nuniverse: {{attributes: {{a: [x, y]}}}}\n"
    policy = parse_policy(text + "rules: [{change: a, epsilon: 1}]\n")
    with pytest.raises(TooLarge, match="more than 1,048,576 bytes"):
        policy.to_yaml()


def test_numbers_with_many_digits_stay_exact():
    for number in (
        "0.1234567890123456789012345678901234567890123456789",
        "1.234567890123456789012345678901234567890e-30",
    ):
        policy = dx.Policy.from_dict({**CLINIC, "budget": Fraction(number)})
        assert policy.budget == parse_policy(policy.to_yaml()).budget == Fraction(number)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.fractions() | st.text(max_size=5) | st.binary()
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(leaves, inner, max_size=3), max_leaves=8
)
KEYS = ["policy", "about", "universe", "attributes", "rules", "change", "epsilon", "per", "values", "budget"]
KEYS += ["dataset", "name", "edition", "people"]


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), anything), st.sampled_from(KEYS[3:]), anything)
@pytest.mark.long
def test_no_data_whatever_gives_another_error_than_its_mistakes(data, key, value):
    below = {"rules": [{"change": "native", "epsilon": 1, key: value}]}
    for stated in (
        data,
        {**CLINIC, **data},
        {**CLINIC, **below},
        {**CLINIC, "universe": {"attributes": {"a": value}}},
        {**CLINIC, "dataset": {"name": "v", key: value}},
    ):
        try:
            policy = dx.Policy.from_dict(stated)
        except PolicyError as error:
            assert all(mistake.path for mistake in error.diagnostics)
        else:
            assert parse_policy(policy.to_yaml()).fingerprint == policy.fingerprint
