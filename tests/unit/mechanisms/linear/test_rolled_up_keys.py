"""Keys that are rolled up: the law of their levels, the distances that they keep, what is left, and their words."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.engines.counted_tables import KeyTable
from dxgeom.errors import QueryError, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.linear.key_counts import NoisyKeys
from dxgeom.mechanisms.linear.rolled_up_keys import ALL, OTHERS, RolledUpKeys
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.tasks.key_answers import KeyAnswers

RULES = [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": "0.5"}]
PER_VALUE = [{"change": "a", "epsilon": 1}, {"change": "b", "individuals": {"x": "0.2", "y": 1, "z": "0.5"}}]
SHAPE = (2, 3)


def policy_of(rules, privacy="pure", **more):
    attributes = {"a": ["p", "q"], "b": ["x", "y", "z"]}
    said = {"policy": "keys", "universe": {"attributes": attributes}, "rules": rules, "budget": 100}
    return dx.Policy.from_dict({**said, "privacy": privacy, "unconnected": "allow", **more})


def plan_of(policy, **said):
    asked = {"keys": ["a", "b"], "rollup": {"a": "0.3"}, **(said or {"at_least": 2})}
    return dx.plan(policy.compile(), dx.queries_from_dict({"tasks": [{"name": "k", **asked}]}, policy))


def mechanism_of(rules, privacy="pure", **said):
    (part,) = plan_of(policy_of(rules, privacy), **said).parts
    assert isinstance(part.mechanism, RolledUpKeys)
    return part.mechanism


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """What plans is loaded before a test is timed."""
    mechanism_of(RULES)


def table(counts):
    there = np.flatnonzero(counts)
    return KeyTable(there, np.asarray(counts, dtype=np.int64)[there], int(np.sum(counts)))


def rows(mechanism, answer):
    """Every row by its words."""
    codes = mechanism.codes_of(answer.keys)
    words = [[own[code] for code in place.tolist()] for own, place in zip(mechanism.words, codes, strict=True)]
    return dict(zip(zip(*words, strict=True), answer.numerators.tolist(), strict=True))


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("rules", [RULES, PER_VALUE])
def test_levels_together_use_up_no_more_than_the_distance(rules, privacy):
    """Of every change of a record: what it moves in each level, over that level's noise at its share."""
    mechanism = mechanism_of(rules, privacy)
    power = 1 if privacy == "pure" else 2
    for i, j in itertools.combinations(range(6), 2):
        used = 0.0
        for level in mechanism.levels:
            codes = [np.unravel_index([one], SHAPE) for one in (i, j)]
            own = [
                int(np.ravel_multi_index([c[p][0] for p in level.places], [SHAPE[p] for p in level.places]))
                for c in codes
            ]
            if own[0] != own[1]:
                blocks = level.counts.blocks_of(np.array(own))
                used += sum((float(level.share) / level.counts.blocks[int(b)].scale) ** power for b in blocks)
        assert used <= float(mechanism.metric.distance(i, j)) ** power * (1 + 1e-12)


def test_children_are_told_below_told_parents_alone_and_the_rest_is_what_they_leave():
    mechanism = mechanism_of(RULES)
    counts = table([9, 4, 0, 3, 8, 2])
    seen = set()
    for seed in range(60):
        found = rows(mechanism, mechanism.draw(counts, Fraction(2), InsecureSeededRandomness(seed)))
        for (a, b), count in found.items():
            assert (a, ALL) in found
            if b == OTHERS:
                children = [number for (one, value), number in found.items() if one == a and value in "xyz"]
                assert children
                assert count == found[a, ALL] - sum(children)
            else:
                assert count >= 2
        seen |= {(len(found), (("p", OTHERS) in found))}
    assert len(seen) > 4


def test_every_level_has_its_own_draw_of_the_counts_of_keys():
    """The parents of an answer are those of KeyCounts from the same bits, at the level's share."""
    mechanism, data = mechanism_of(PER_VALUE), table([9, 4, 0, 3, 8, 2])
    top, bottom = mechanism.levels
    for seed in range(10):
        bits = InsecureSeededRandomness(seed)
        parents = top.counts.draw(table([13, 13]), Fraction(3, 10), bits)
        children = bottom.counts.draw(data, Fraction(7, 10), bits)
        found = rows(mechanism, mechanism.draw(data, Fraction(1), InsecureSeededRandomness(seed)))
        expected = {
            ("pq"[key], ALL): count for key, count in zip(parents.keys, parents.numerators.tolist(), strict=True)
        }
        for key, count in zip(children.keys.tolist(), children.numerators.tolist(), strict=True):
            if key // 3 in parents.keys:
                expected["pq"[key // 3], "xyz"[key % 3]] = count
        assert {row: count for row, count in found.items() if row[1] != OTHERS} == expected


@pytest.mark.long
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_intervals_hold_of_all_that_is_told(privacy):
    """Each kind of row, given that it is told, is missed no more often than stated: the chance that as many are missed
    by rows that miss just so often is below 1e-6 in each case."""
    policy = policy_of(RULES, privacy)
    plan = plan_of(policy, at_least=2)
    (part,) = plan.parts
    true = np.array([9, 4, 0, 3, 8, 2]).reshape(SHAPE)
    found = {"parent": [0, 0], "child": [0, 0], "rest": [0, 0]}
    for answer in part.mechanism.draws(table(true.ravel()), Fraction(1), 400, InsecureSeededRandomness(8)):
        answers = KeyAnswers(part.question, part.mechanism, answer, Fraction(1))
        told = [*zip(*answers.groups.values(), strict=True)]
        for (a, b), (low, high) in zip(told, answers.intervals(0.9).tolist(), strict=True):
            place = "pq".index(a)
            if b == OTHERS:
                exact = true[place].sum() - sum(
                    true[place]["xyz".index(c)] for one, c in told if one == a and c in "xyz"
                )
            else:
                exact = true[place].sum() if b == ALL else true[place]["xyz".index(b)]
            kind = found["rest" if b == OTHERS else "parent" if b == ALL else "child"]
            kind[0] += 1
            kind[1] += not low <= exact <= high
    for number, missed in found.values():
        assert number > 150
        assert missed <= 0.1 * number + 5 * math.sqrt(0.09 * number)


@pytest.mark.long
def test_three_levels_in_the_order_that_is_stated():
    attributes = {"page": {"range": [0, 3], "step": 1}, "country": ["DE", "FR"], "device": ["tv", "pc"]}
    policy = dx.Policy.from_dict(
        {
            "policy": "keys",
            "universe": {"attributes": attributes},
            "rules": [{"presence": True, "epsilon": 20}],
            "budget": 9,
            "unconnected": "allow",
        }
    )
    asked = {"keys": ["page", "country", "device"], "rollup": {"country": "0.2", "page": "0.3"}, "at_least": 3}
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"tasks": [asked]}, policy))
    data = pa.table(
        {"page": [1] * 50 + [2] * 30, "country": ["DE"] * 80, "device": ["tv"] * 20 + ["pc"] * 30 + ["tv", "pc"] * 15}
    )
    release = plan.release(data, ledger=":memory:", spend=1)
    found = {(one["page"], one["country"], one["device"]): one["value"] for one in release.to_arrow().to_pylist()}
    assert {(ALL, "DE", ALL), ("1", "DE", ALL), ("1", "DE", "tv"), ("2", "DE", OTHERS)} <= found.keys()
    assert (OTHERS, "DE", ALL) in found
    assert not any(country == ALL for _, country, _ in found)
    assert abs(found[ALL, "DE", ALL] - 80) < 40


@pytest.mark.long
def test_an_answer_is_kept_shown_again_and_read_from_a_plan_file(tmp_path):
    policy = policy_of([{"presence": True, "epsilon": 5}])
    plan = plan_of(policy)
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    again = dx.load_plan(tmp_path / "plan.json")
    assert again.fingerprint == plan.fingerprint
    ledger = str(tmp_path / "a.db")
    rows_of = pa.table({"a": ["p"] * 30 + ["q"] * 4, "b": ["x"] * 20 + ["y"] * 14})
    one = plan.release(rows_of, ledger=ledger, spend=1, id="first")
    other = again.release(rows_of, ledger=ledger, spend=1, id="first")
    assert one.as_dict()["tasks"] == other.as_dict()["tasks"]
    assert json.loads(one.to_json())["tasks"][0]["answers"]
    said = str(plan.statements())
    assert "by a:" in said
    assert OTHERS in said


@pytest.mark.parametrize("stored", [{"keys": [99], "counts": [3]}, {"keys": [1], "counts": []}])
def test_stored_answers_of_other_rows_are_refused(stored):
    with pytest.raises(dx.DxgeomError):
        mechanism_of(RULES).decode_answer(stored)


@pytest.mark.parametrize(
    ("rollup", "said"),
    [
        ({"c": "0.1"}, "found 'c'"),
        ({"a": "0.1", "b": "0.1"}, "all of them"),
        ({"a": 1}, "leaves some"),
        ({"a": 0}, "leaves some"),
        ({"a": -1}, "leaves some"),
        ({"a": "much"}, "leaves some"),
        ("a", "leaves some"),
        ({}, "leaves some"),
    ],
)
def test_what_is_no_rollup_is_refused(rollup, said):
    policy = policy_of(RULES)
    asked = {"keys": ["a", "b"], "rollup": rollup, "at_least": 2}
    with pytest.raises(QueryError, match=said):
        dx.queries_from_dict({"tasks": [asked]}, policy)


def test_a_level_that_no_rule_protects_is_refused():
    with pytest.raises((UnsupportedCombination, UnboundedLoss), match="no rule protects"):
        mechanism_of([{"change": "b", "epsilon": 1}])


def test_fingerprints_of_keys_that_are_not_rolled_up_stay_and_shares_are_told_apart():
    policy = policy_of(RULES)
    one, other = (mechanism_of(RULES, rollup={"a": share}, at_least=2) for share in ("0.3", "0.2"))
    assert one.fingerprint != other.fingerprint
    asked = [
        dx.queries_from_dict({"tasks": [{"keys": ["a", "b"], "at_least": 2, **more}]}, policy)
        for more in ({}, {"rollup": {"a": "0.3"}}, {"rollup": {"a": "0.2"}}, {"rollup": {"b": "0.3"}})
    ]
    assert len({task.fingerprint for task in asked}) == 4
    assert NoisyKeys(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), 1).as_dict()["keys"] == []


@pytest.mark.parametrize("word", [ALL, OTHERS])
def test_values_that_are_called_like_what_stands_for_values_are_refused(word):
    """Two rows would have one name."""
    policy = policy_of(RULES, universe={"attributes": {"a": ["p", word], "b": ["x", "y", "z"]}})
    with pytest.raises(UnsupportedCombination, match="called so"):
        plan_of(policy)


def test_what_is_said_of_keys_below_others_counts_these():
    """A key with many records is not told where its parent's threshold is above all that the parent has."""
    (part,) = plan_of(policy_of([{"presence": True, "epsilon": 1}])).parts
    above, below = (line for line in part.statements()[2].split("; "))
    assert above.endswith("probability 0.95 at least")
    assert below.endswith("probability 0.95 at least where those above it are")
    assert "nearest two keys" not in str(part.statements())
