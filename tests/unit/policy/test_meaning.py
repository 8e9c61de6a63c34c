"""Policies of one meaning are told from others by their distances and readings, not by their words."""

from __future__ import annotations

import itertools
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
