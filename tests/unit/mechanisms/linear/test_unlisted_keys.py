"""Keys that nobody listed: the law of what is reported, exact divergences, what is refused, and what nothing tells."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.engines.counted_tables import KeyTable
from dxgeom.errors import BudgetExceeded, DataError, FileMistakes, TooLarge, UnsupportedCombination
from dxgeom.ledger.history import verify_ledger
from dxgeom.mechanisms.contract.composition import followed_by, in_sequence
from dxgeom.mechanisms.linear.key_counts import NoisyKeys
from dxgeom.mechanisms.linear.unlisted_keys import UnlistedKeys
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.universe.workloads.groups import groups_of_column, unlisted_groups

CHANGE = [{"change": ["page", "country"], "epsilon": 2}]
PRESENCE = [{"presence": True, "epsilon": 1}]
ROWS = {"column": "user", "count": "rows", "at_most": 3, "order": "time"}


def policy_of(rules, privacy="pure", people="one row each", delta="1e-3", **more):
    attributes = {"page": {"open": "text"}, "country": ["DE", "FR"]}
    said = {"policy": "pages", "universe": {"attributes": attributes}, "rules": rules, "budget": 1000, "delta": delta}
    open_ended = {} if any("change" in rule for rule in rules) else {"unconnected": "allow"}
    return dx.Policy.from_dict({**said, "privacy": privacy, "people": people, **open_ended, **more})


def plan_of(rules, privacy="pure", people="one row each", *, keys=("page", "country"), delta="1e-4"):
    policy = policy_of(rules, privacy, people)
    tasks = dx.queries_from_dict({"tasks": [{"name": "read", "keys": [*keys], "delta": delta}]}, policy)
    return dx.plan(policy.compile(), tasks)


def mechanism_of(*said, **more) -> UnlistedKeys:
    (part,) = plan_of(*said, **more).parts
    return part.mechanism


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """What plans and reads is loaded before a test is timed."""
    plan_of(PRESENCE).release({"page": ["a"], "country": ["DE"]}, ledger=":memory:", spend=1)


def tail(scale, threshold, normal=False):
    """P(round(V) ≥ threshold), in float64."""
    edge = threshold - 0.5
    if normal:
        return 0.5 * math.erfc(edge / (scale * math.sqrt(2)))
    return 0.5 * math.exp(-edge / scale) if edge >= 0 else 1 - 0.5 * math.exp(edge / scale)


@pytest.mark.parametrize(
    ("rules", "privacy", "people", "scale"),
    [
        (CHANGE, "pure", "one row each", 1.0),  # ε = 2 between any two: 1/r with r = 2/2
        (PRESENCE, "pure", "one row each", 1.0),
        (PRESENCE, "concentrated", "one row each", 1.0),
        (PRESENCE, "pure", ROWS, 3.0),  # a row has a third of the distance
        (PRESENCE, "pure", {"column": "user", "count": "single"}, 1.0),
    ],
)
def test_the_threshold_is_that_of_the_noise_and_of_a_persons_rows(rules, privacy, people, scale):
    mechanism = mechanism_of(rules, privacy, people)
    rows = people["at_most"] if people is ROWS else 1
    threshold = mechanism.threshold(Fraction(1))

    def worst(theta):
        chances = {own: tail(scale, theta - own, privacy != "pure") for own in range(1, rows + 1)}
        splits = ([1] * rows, [rows], [rows - 1, 1] if rows > 1 else [1])
        return max(1 - math.prod(1 - chances[own] for own in split) for split in splits)

    assert worst(threshold) <= 1e-4 < worst(threshold - 1)
    assert mechanism.threshold(Fraction(1, 4)) > threshold


def table(words, keys, counts):
    return KeyTable(np.array(keys, np.int64), np.array(counts, np.int64), sum(counts), words=tuple(words))


@pytest.mark.long
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_what_is_reported_has_the_law_of_noise_on_keys_that_are_there(privacy):
    """χ² of 4,000 draws of two keys, each below the threshold or in one of four cells above it, against the exact
    chances: 24 degrees of freedom, false alarms 1 in 10⁶."""
    mechanism = mechanism_of(PRESENCE, privacy, delta="1e-3")
    threshold, counts = mechanism.threshold(Fraction(1)), (9, 7)
    data = table(["a", "b"], [0, 3], counts)  # a in DE, b in FR
    edges = [threshold, threshold + 1, threshold + 2, threshold + 4]

    def cells(count):
        above = [1.0, *(tail(1.0, edge - count, privacy != "pure") for edge in edges), 0.0]
        return -np.diff(above)

    expected = np.outer(cells(counts[0]), cells(counts[1])).ravel()
    draws, seen = 4000, Counter()
    randomness = InsecureSeededRandomness(11)
    for answer in mechanism.draws(data, Fraction(1), draws, randomness):
        told = dict(zip(answer.keys.tolist(), answer.numerators.tolist(), strict=True))
        named = {(answer.words[key // 2], key % 2): value for key, value in told.items()}
        assert named.keys() <= {("a", 0), ("b", 1)}
        each = [int(np.searchsorted(edges, named.get(key, 0), side="right")) for key in (("a", 0), ("b", 1))]
        seen[each[0] * 5 + each[1]] += 1
    found = np.array([seen[cell] for cell in range(25)])
    few = expected * draws >= 5
    pooled = np.append(expected[few], expected[~few].sum()) * draws, np.append(found[few], found[~few].sum())
    assert float(((pooled[1] - pooled[0]) ** 2 / pooled[0]).sum()) < 75.0


REACH = 40
OTHERS = {"home": 4}
"""Keys that others have, too."""


def law_of(own, threshold, scale, normal=False):
    """Of what one person's rows are reported beside those of others, the chance of each answer; far ones are one."""
    each = []
    for key in ("home", "x", "y"):
        count = OTHERS.get(key, 0) + own.get(key, 0)
        if not count:
            each.append({None: 1.0})
            continue
        above = [tail(scale, value - count, normal) for value in range(threshold, threshold + REACH + 1)]
        law = {threshold + place: above[place] - above[place + 1] for place in range(REACH)}
        each.append(law | {None: 1 - above[0], "beyond": above[-1]})
    return {key: math.prod(own[k] for own, k in zip(each, key, strict=True)) for key in itertools.product(*each)}


def stick(first, second, distance):
    """By how much more than e^distance times as likely some set of answers is."""
    return sum(max(0.0, p - math.exp(distance) * second.get(key, 0.0)) for key, p in first.items())


@pytest.mark.long
def test_neighbours_are_told_apart_by_the_promise_and_delta_alone():
    """Exact hockey-sticks between tables that differ in one person's three rows, over what they may report together."""
    mechanism = mechanism_of(PRESENCE, "pure", ROWS)
    spend, scale = Fraction(3), 1.0  # noise of scale 1 on each row
    tables = [{}, {"x": 3}, {"x": 2, "y": 1}, {"home": 1, "x": 2}, {"home": 3}, {"y": 3}]
    laws, worst = [law_of(own, mechanism.threshold(spend), scale) for own in tables], 0.0
    for (one, first), (other, second) in itertools.permutations(zip(tables, laws, strict=True), 2):
        moved = sum(abs(one.get(key, 0) - other.get(key, 0)) for key in ("home", "x", "y"))
        worst = max(worst, stick(first, second, moved / scale))
    assert 1e-5 < worst <= 1e-4  # not only below: the threshold wastes little


@pytest.mark.parametrize("spend", [Fraction(1), Fraction(1, 2)])
def test_a_record_that_moves_between_a_shared_key_and_an_own_one_is_told_apart_by_delta_alone(spend):
    """Exact hockey-sticks at the distance that the policy states for the change; a threshold of one less shows more."""
    mechanism = mechanism_of(CHANGE)
    threshold, scale = mechanism.threshold(spend), float(1 / spend)  # ε = 2 between any two keys: 2/ε
    tables = [{"home": 1}, {"x": 1}, {"y": 1}]

    def worst(theta):
        laws = [law_of(own, theta, scale) for own in tables]
        return max(stick(one, other, 2 * float(spend)) for one, other in itertools.permutations(laws, 2))

    assert 1e-5 < worst(threshold) <= 1e-4 < worst(threshold - 1)


def rows_of(*groups):
    each = [(page, country) for page, country, many in groups for _ in range(many)]
    return {"page": [page for page, _ in each], "country": [country for _, country in each]}


def test_a_table_is_answered_by_its_own_texts(tmp_path):
    plan = plan_of(PRESENCE)
    rows = rows_of(("zebra", "DE", 90), ("home", "FR", 70), ("", "DE", 3), ("own", "DE", 1), ("home", "DE", 60))
    with pytest.raises(DataError, match="any text is a value, and none is not"):
        plan.release(rows, ledger=":memory:", spend=1)
    ledger = str(tmp_path / "a.db")
    release = plan.release(rows, ledger=ledger, spend=1, outside="drop", id="first")
    found = release.to_arrow().to_pydict()
    assert (found["page"], found["country"]) == (["home", "home", "zebra"], ["DE", "FR", "DE"])
    for value, low, high, true in zip(found["value"], found["low"], found["high"], (60, 70, 90), strict=True):
        assert abs(value - true) < 20
        assert low <= value <= high
    again = plan.release(rows, ledger=ledger, spend=1, id="first")
    assert again.repeated
    assert again.to_arrow().to_pydict() == found
    document = release.as_dict()
    assert document["delta"] == "1/10000"
    assert "except with chance 1e-4" in json.dumps(document)
    assert {one.chance for one in verify_ledger(ledger).chances.values()} == {Fraction(1, 10**4)}


@pytest.mark.long
def test_all_releases_together_keep_the_policys_delta(tmp_path):
    plan, ledger = plan_of(PRESENCE, delta="4e-4"), str(tmp_path / "a.db")
    rows = rows_of(("home", "DE", 50))
    for _ in range(2):
        plan.release(rows, ledger=ledger, spend=1)
    with pytest.raises(BudgetExceeded, match=r"'delta' of policy 'pages' is 0\.001: 8e-4 is spent"):
        plan.release(rows, ledger=ledger, spend=1)
    assert len(verify_ledger(ledger).entries) == 2


def test_only_texts_that_are_reported_are_in_an_answer():
    """Neither texts that are left out, nor their number: reported ones are numbered among themselves."""
    mechanism = mechanism_of(PRESENCE)
    secret = [f"secret {number}" for number in range(50)]
    words = sorted([*secret, "home", "zebra"])
    counts = [1000 if word in ("home", "zebra") else 1 for word in words]
    data = table(words, [2 * place for place in range(len(words))], counts)
    for answer in mechanism.draws(data, Fraction(1), 20, InsecureSeededRandomness(1)):
        kept = mechanism.encode_answer(answer)
        assert (answer.words, kept["words"]) == (("home", "zebra"), ["home", "zebra"])
        assert kept["keys"] == [0, 2]
        again = mechanism.decode_answer(json.loads(json.dumps(kept)))
        assert (again.words, again.keys.tolist()) == (answer.words, [0, 2])
    empty = mechanism.draw(table([], [], []), Fraction(1), InsecureSeededRandomness(1))
    assert mechanism.decode_answer(mechanism.encode_answer(empty)).keys.size == 0


def test_equal_protection_by_listed_values_goes_by_the_least_of_each_key():
    """Where a country has a number of its own, its keys have more noise, and one threshold hides all."""
    rules = [{"change": "page", "epsilon": 2}, {"change": "country", "individuals": {"DE": "0.25", "FR": 1}}]
    mechanism = mechanism_of(rules)
    scales = sorted(block.scale for block in mechanism.known.blocks)
    assert scales == pytest.approx([1.0, 4.0])
    threshold = mechanism.threshold(Fraction(1))
    assert tail(4.0, threshold - 1) <= 1e-4 < tail(4.0, threshold - 2)


@pytest.mark.parametrize("wrapped", ["sequence", "function"])
def test_what_is_made_of_it_carries_its_chance(wrapped, tmp_path):
    inner = mechanism_of(PRESENCE)
    if wrapped == "sequence":
        mechanism, chance = in_sequence([inner]), Fraction(1, 10**4)
        assert in_sequence([inner, inner]).delta == 2 * chance
    else:
        mechanism, chance = followed_by(inner, lambda answer: len(answer.keys), "how many"), Fraction(1, 10**4)
    assert mechanism.delta == chance
    ledger = str(tmp_path / "a.db")
    dx.release(mechanism, rows_of(("home", "DE", 50)), ledger=ledger, spend=1)
    assert verify_ledger(ledger).chances[1].chance == chance
    assert (
        dx.plan(
            policy_of(PRESENCE).compile(),
            dx.queries_from_dict({"queries": [{"name": "all", "count": "true"}]}, policy_of(PRESENCE)),
        ).mechanism.delta
        is None
    )


def test_what_cannot_be_protected_is_refused():
    columns, metric = mechanism_of(PRESENCE).columns_of_keys, policy_of(PRESENCE).compile()
    for chance in (Fraction(0), Fraction(1, 500), 0.0001):
        with pytest.raises(UnsupportedCombination, match="at most the policy's own 'delta'"):
            UnlistedKeys(metric, columns, chance)
    with pytest.raises(UnsupportedCombination, match="nobody listed"):
        UnlistedKeys(metric, columns[1:], Fraction(1, 10**4))
    once = policy_of(PRESENCE, people={"column": "user", "count": "once"})
    for people in ({"column": "user", "count": "once"}, {"column": "user", "count": "rows", "at_most": 3}):
        spread = policy_of(PRESENCE, people=people)
        with pytest.raises(FileMistakes, match="keys in any number"):
            dx.queries_from_dict({"tasks": [{"keys": "page", "delta": "1e-4"}]}, spread)
    universe = once.universe
    both = unlisted_groups(universe, 0), groups_of_column(universe, 1, universe.attributes[1].columns[0])
    with pytest.raises(UnsupportedCombination, match="keys in any number"):
        UnlistedKeys(once.compile(), both, Fraction(1, 10**4))
    many = policy_of(PRESENCE, people={**ROWS, "at_most": 5000})
    tasks = dx.queries_from_dict({"tasks": [{"keys": "page", "delta": "1e-4"}]}, many)
    with pytest.raises(TooLarge, match="smaller 'at_most'"):
        dx.plan(many.compile(), tasks).release(
            {"page": ["a"], "country": ["DE"], "user": ["u"], "time": [1]}, ledger=":memory:", spend=1
        )


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"keys": "page"}, "with some chance one that a single person has is reported"),
        ({"keys": "page", "delta": "1e-4", "spurious": 1}, "'spurious' is for keys that are listed"),
        ({"keys": "page", "delta": "1e-4", "at_least": 9}, "'at_least' is for keys that are listed"),
        ({"keys": ["page", "country"], "delta": "1e-4", "rollup": {"page": "0.5"}}, "'rollup' is for keys"),
        ({"keys": "country", "delta": "1e-4"}, "'delta' is for keys that nobody listed"),
        ({"keys": "page", "delta": 2}, "a chance above 0 and below 1"),
        ({"distinct": "page"}, "nobody listed the values of 'page'"),
        ({"queries": [{"marginal": "page"}]}, "nobody listed the values of 'page'"),
        ({"queries": [{"count": "page == 'home'"}]}, "nobody listed the values of 'page'"),
    ],
)
def test_what_is_asked_wrongly_says_what_to_do(task, said):
    with pytest.raises(FileMistakes) as found:
        dx.queries_from_dict({"tasks": [task]}, policy_of(PRESENCE))
    assert said in str(found.value)


@pytest.mark.long
def test_other_questions_do_not_look_at_the_texts():
    policy = policy_of(PRESENCE)
    queries = dx.queries_from_dict({"queries": [{"marginal": "country"}]}, policy)
    rows = rows_of(("home", "DE", 50), ("own", "FR", 1), ("(any other text)", "FR", 1))
    plan = dx.plan(policy.compile(), queries)
    values = plan.release(rows, ledger=":memory:", spend=900, insecure_test_seed=1).values
    assert np.round(values).tolist() == [50, 2]


def test_a_delta_changes_fingerprints_of_questions_and_of_mechanisms():
    policy = policy_of(PRESENCE)
    asked = [dx.queries_from_dict({"tasks": [{"keys": "page", "delta": one}]}, policy) for one in ("1e-4", "1e-5")]
    assert len({one.fingerprint for one in asked}) == 2
    assert len({dx.plan(policy.compile(), one).fingerprint for one in asked}) == 2


def test_texts_may_stand_in_a_column_of_another_name():
    policy = dx.Policy.from_dict(
        {
            "policy": "pages",
            "universe": {"attributes": {"page": {"open": "text", "from": "url", "title": "Page"}}},
            "rules": PRESENCE,
            "delta": "1e-3",
            "unconnected": "allow",
        }
    )
    tasks = dx.queries_from_dict({"tasks": [{"keys": "page", "delta": "1e-4"}]}, policy)
    release = dx.plan(policy.compile(), tasks).release({"url": ["home"] * 90}, ledger=":memory:", spend=1)
    assert release.to_arrow().to_pydict()["page"] == ["home"]


def test_data_that_are_none_are_refused():
    mechanism = mechanism_of(PRESENCE)
    for wrong in (
        table(["a"], [0, 2], [1, 1]),  # no such text
        table(["b", "a"], [0], [1]),  # out of order
        table(["a", "a"], [0], [1]),
        table(["a"], [0], [0]),
        table(["a", "b"], [2, 0], [1, 1]),
    ):
        with pytest.raises(DataError):
            mechanism.check(wrong, Fraction(1))
    with pytest.raises(DataError, match="counts of keys and of their texts"):
        mechanism.check(NoisyKeys(np.zeros(0, np.int64), np.zeros(0, np.int64), 1), Fraction(1))
    with pytest.raises(DataError):
        mechanism.decode_answer({"keys": [5], "counts": [1], "words": ["a"]})
