"""Policies of one meaning are told from others by their distances and readings, not by their words."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from dxgeom.policy.lower import meaning
from dxgeom.policy.policy import Policy

AGE = {"range": [0, 40], "step": 10}
ATTRIBUTES: dict[str, Any] = {"age": AGE, "sex": ["f", "m"], "city": ["a", "b", "c"]}
RULES: list[dict[str, Any]] = [
    {"change": "age", "epsilon": "0.5", "per": 10},
    {"change": "sex", "epsilon": 1},
    {"change": "city", "epsilon": 2},
]


def policy(rules: list[dict[str, Any]] = RULES, attributes: dict[str, Any] = ATTRIBUTES, **more: Any) -> Policy:
    return Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules, **more})


@pytest.fixture(params=[512, 0], ids=["pair by pair", "as stated"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(meaning, "_SMALL", request.param)
    return int(request.param)


def alike() -> dict[str, Policy]:
    idle: list[dict[str, Any]] = [
        {"between": "everything", "epsilon": 100},
        {"change": "sex", "epsilon": 7},
        {"change": "age", "epsilon": 50},
        {"change": ["age", "sex"], "epsilon": 50, "together": True},
    ]
    return {
        "as it is": policy(),
        "rules in another order": policy(RULES[::-1]),
        "a rule twice": policy([*RULES, RULES[0]]),
        "another budget": policy(about="something else", budget=7),
        "attributes in another order": policy(attributes=dict(reversed(ATTRIBUTES.items()))),
        "read from its own name": policy(attributes={**ATTRIBUTES, "age": {**AGE, "from": "age"}}),
        **{f"idle {k}": policy([*RULES, rule]) for k, rule in enumerate(idle)},
    }


def different() -> dict[str, Policy]:
    return {
        "epsilon": policy([*RULES[:2], {"change": "city", "epsilon": "1.99"}]),
        "a rule that binds": policy([*RULES, {"between": "everything", "epsilon": "4.9"}]),
        "a group that binds": policy([*RULES, {"change": ["age", "sex"], "epsilon": "2.9", "together": True}]),
        "more": policy([*RULES[:2], {"change": "city", "epsilon": 3}]),
        "presence": policy([*RULES, {"presence": True, "epsilon": 9}]),
        "another label": policy(attributes={**ATTRIBUTES, "city": ["a", "b", "d"]}),
        "labels in another order": policy(attributes={**ATTRIBUTES, "city": ["b", "a", "c"]}),
        "another end": policy(attributes={**ATTRIBUTES, "age": {"range": [0, 44], "step": 10}}),
        "another column": policy(attributes={**ATTRIBUTES, "age": {**AGE, "from": "years"}}),
        "squares": policy(privacy="concentrated"),
    }


def test_words_that_change_no_distance_and_no_reading_change_no_meaning(small: int) -> None:
    made = alike()
    seen = {name: one.meaning for name, one in made.items()}
    assert set(seen.values()) == {made["as it is"].meaning}, seen
    assert len({one.fingerprint for one in made.values()}) > 5


@pytest.mark.parametrize("bound", [{"per": 10}, {"within": 20}, {"within": 20, "beyond": "linear"}, {}], ids=str)
def test_an_idle_ceiling_over_an_attribute_that_is_not_compared_pair_by_pair_changes_nothing(bound: Any) -> None:
    attributes = {**ATTRIBUTES, "age": {"range": [0, 9990], "step": 10}}
    rules: list[dict[str, Any]] = [*RULES[1:], {"change": "age", "epsilon": "0.5", **bound}]
    plain = policy(rules, attributes)
    for idle in ({"change": "age"}, {"between": "everything"}, {"change": ["age", "city"], "together": True}):
        assert policy([*rules, {**idle, "epsilon": 2000}], attributes).meaning == plain.meaning
        assert policy([*rules, {**idle, "epsilon": "0.4"}], attributes).meaning != plain.meaning


BASES: dict[str, list[dict[str, Any]]] = {
    "per": [{"epsilon": "0.5", "per": 10}],
    "within": [{"epsilon": "0.5", "within": 20}],
    "beyond": [{"epsilon": "0.5", "within": 20, "beyond": "linear"}],
    "constant": [{"epsilon": "0.5"}],
    "values": [{"values": {"0": "0.25", "10": 1}, "otherwise": "0.5"}],
    "two": [{"epsilon": "0.5", "per": 10}, {"epsilon": 1, "within": 50}],
}
IDLE: dict[str, dict[str, Any]] = {
    "constant": {"epsilon": 20000},
    "per": {"epsilon": 300, "per": 10},
    "per two": {"epsilon": 600, "per": 20},
    "within": {"epsilon": 300, "within": 20},
    "beyond": {"epsilon": 300, "within": 20, "beyond": "linear"},
    "values": {"values": {"0": 20000, "10": 10000}, "otherwise": 20000},
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("size", [41, pytest.param(700, marks=pytest.mark.long)])
def test_an_idle_rule_of_any_kind_beside_one_of_any_kind_is_seen(base: str, size: int, small: int) -> None:
    """Also where both are mixed, and other sums are rounded."""
    attributes = {**ATTRIBUTES, "age": {"range": [0, 10 * size - 10], "step": 10}}
    rules = [*RULES[1:], *({"change": "age", **one} for one in BASES[base])]
    plain = policy(rules, attributes)
    for name, one in IDLE.items():
        assert policy([*rules, {"change": "age", **one}], attributes).meaning == plain.meaning, name
    every = [{"change": "age", **one} for one in IDLE.values()]
    assert policy([*every, *rules], attributes).meaning == plain.meaning


def scaled(word: str, value: Any, less: Decimal) -> Any:
    """A part of a rule with its epsilons multiplied."""
    if isinstance(value, dict):
        return {one: str(epsilon * less) for one, epsilon in value.items()}
    return str(value * less) if word in ("epsilon", "otherwise") else value


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 12))])
def test_rules_of_all_kinds_are_idle_just_where_no_distance_is_another(seed: int, small: int) -> None:
    """Up to what is rounded of sums, which rules of two kinds add up in another order; where rules are compared as they
    are stated, other rules that come to the same may be others."""
    chance = np.random.default_rng(seed)
    attributes = {"age": {"range": [0, 80], "step": 10}}
    found: dict[str, Any] = {}
    for _ in range(18):
        rules = [{"change": "age", **one} for one in [*BASES.values()][int(chance.integers(len(BASES)))]]
        for name in chance.choice([*IDLE], int(chance.integers(3)), replace=False):
            less = Decimal(f"{10 ** -chance.uniform(0, 5):.7f}")
            rules.append({"change": "age", **{word: scaled(word, value, less) for word, value in IDLE[name].items()}})
        distances = policy(rules, attributes).metric.distance(np.arange(9)[:, None], np.arange(9)[None, :])
        meaning = policy(rules, attributes).meaning
        assert np.allclose(found.setdefault(meaning, distances), distances, rtol=1e-11, atol=0)
        alike = [one for one in found if np.allclose(found[one], distances, rtol=1e-11, atol=0)]
        assert alike == [meaning] or (not small and meaning in alike)


def test_whatever_changes_a_distance_or_a_reading_changes_the_meaning(small: int) -> None:
    made = {"as it is": policy(), **different()}
    for (first, one), (second, other) in itertools.combinations(made.items(), 2):
        assert one.meaning != other.meaning, (first, second)


def test_policies_of_one_meaning_have_the_same_distances(small: int) -> None:
    """Random rules, many of them idle: equal meanings are equal distances of all pairs."""
    chance = np.random.default_rng(5)
    found: dict[str, Any] = {}
    shared = 0
    for _ in range(150):
        rules = [{"change": name, "epsilon": int(chance.integers(1, 3))} for name in ("sex", "city")]
        rules.append({"change": "age", "epsilon": int(chance.integers(1, 3)), "per": 10})
        if chance.random() < 0.5:
            rules.append({"change": "age", "epsilon": int(chance.integers(3, 12))})
        if chance.random() < 0.5:
            rules.append({"between": "everything", "epsilon": int(chance.integers(6, 14))})
        if chance.random() < 0.5:
            rules.append({"change": ["age", "sex"], "epsilon": int(chance.integers(3, 12)), "together": True})
        one = policy(rules)
        every = np.arange(one.metric.size)
        distances = one.metric.distance(every[:, None], every[None, :])
        shared += one.meaning in found
        assert np.array_equal(found.setdefault(one.meaning, distances), distances)
    assert shared > 20


def test_a_kept_text_is_compared_and_one_that_cannot_be_read_is_another() -> None:
    one, other = policy(), policy([*RULES, {"between": "everything", "epsilon": 100}])
    text = other.stated()
    assert text is not None and one.means(text) and other.means(text)
    for unreadable in ("", "{}", "no JSON", '{"policy": "of another language"}'):
        assert not one.means(unreadable)
    for stranger in different().values():
        said = stranger.stated()
        assert said is not None and not one.means(said)
