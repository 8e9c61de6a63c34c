"""Counts of keys have the law of noise on every key, and hide what the policy protects: enumerated, and by χ²."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.engines.counted_tables import KeyTable
from dxgeom.errors import DataError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.linear.key_counts import KeyCounts, NoisyKeys
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.universe.people.people import SHARES
from dxgeom.universe.workloads.groups import groups_of_column

CONSTANT = [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": 3}]
PER_VALUE = [{"change": "a", "epsilon": "0.5"}, {"change": "b", "individuals": {"x": "0.1", "y": 1, "z": "0.3"}}]
PRESENCE = {"presence": True, "epsilon": "0.75"}
EACH_POLICY = {
    "constant": (CONSTANT, "pure"),
    "per value": (PER_VALUE, "pure"),
    "presence": ([*PER_VALUE, PRESENCE], "pure"),
    "concentrated": (CONSTANT, "concentrated"),
    "concentrated, per value": (PER_VALUE, "concentrated"),
    "concentrated, presence": ([*PER_VALUE, PRESENCE], "concentrated"),
}
KEYS = 6


def policy_of(rules, privacy="pure", **more):
    attributes = {"a": ["p", "q"], "b": ["x", "y", "z"]}
    said = {"policy": "keys", "universe": {"attributes": attributes}, "rules": rules, "budget": 100}
    return dx.Policy.from_dict({**said, "privacy": privacy, **more})


def mechanism_of(rules, privacy="pure", *, keys=("a", "b"), people=None, **said):
    policy = policy_of(rules, privacy, **({} if people is None else {"people": people}))
    tasks = dx.queries_from_dict({"tasks": [{"keys": [*keys], **(said or {"at_least": 3})}]}, policy)
    (part,) = dx.plan(policy.compile(), tasks).parts
    return part.mechanism


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """What plans is loaded before a test is timed."""
    mechanism_of(CONSTANT)


def table(counts):
    there = np.flatnonzero(counts)
    return KeyTable(there, np.asarray(counts, dtype=np.int64)[there], int(np.sum(counts)))


def above(mechanism, key, spend, edge):
    """P(V ≥ edge) of the noise on a key, in float64."""
    scale = mechanism.blocks[int(mechanism.blocks_of(np.array([key]))[0])].scale / float(spend)
    if mechanism.normal:
        return math.erfc(edge / scale / math.sqrt(2)) / 2
    return math.exp(-edge / scale) / 2 if edge >= 0 else 1 - math.exp(edge / scale) / 2


def chance(mechanism, key, count, spend, value, threshold):
    """Of a count with noise; ``value`` None for a key that is not reported."""
    if value is None:
        return 1 - above(mechanism, key, spend, threshold - count - 0.5)
    return above(mechanism, key, spend, value - count - 0.5) - above(mechanism, key, spend, value - count + 0.5)


@pytest.mark.parametrize(("rules", "privacy"), EACH_POLICY.values(), ids=EACH_POLICY)
def test_a_changed_record_changes_no_odds_by_more_than_its_distance(rules, privacy):
    """Every two records, every two outputs of the keys that they have: the rest of the answer has one law."""
    mechanism, spend, threshold = mechanism_of(rules, privacy), Fraction(1, 2), 3
    before, metric = np.array([4, 0, 1, 2, 0, 7]), mechanism.metric
    values = [None, *range(threshold, 15)]
    orders = (1.5, 2.0, 8.0)
    there = [*range(KEYS), *([] if metric.absent is None else [metric.absent])]
    for i, j in itertools.permutations(there, 2):
        if i == metric.absent or (i < KEYS and not before[i]):
            continue
        after = before.copy()
        after[i] -= 1
        if j < KEYS:
            after[j] += 1
        allowed = float(spend * Fraction(float(metric.distance(i, j))))
        losses = []
        for key in {i, j} - {metric.absent}:
            laws = [
                [chance(mechanism, key, counts[key], spend, z, threshold) for z in values] for counts in (before, after)
            ]
            if privacy == "pure":
                losses.append(max(abs(math.log(one / other)) for one, other in zip(*laws, strict=True)))
            else:
                losses.append([_renyi(*laws, order) for order in orders])
        if privacy == "pure":
            assert sum(losses) <= allowed * (1 + 1e-9)
        else:
            for place, order in enumerate(orders):
                assert sum(one[place] for one in losses) <= order * allowed**2 / 2 * (1 + 1e-9)


def _renyi(one, other, order):
    """Of two laws, of which all values beyond the last are left out: that lowers it."""
    total = sum(a**order * b ** (1 - order) for a, b in zip(one, other, strict=True) if b > 0)
    return math.log(max(total, 1e-300)) / (order - 1)


@pytest.mark.parametrize(("rules", "privacy"), EACH_POLICY.values(), ids=EACH_POLICY)
def test_all_that_is_allowed_is_used_by_some_change(rules, privacy):
    """Of the two most sensitive keys the noise is as small as it may be."""
    mechanism = mechanism_of(rules, privacy)
    rate = [1 / block.scale for block in mechanism.blocks]
    least = min(rate)
    distances = mechanism.metric.distance(np.arange(KEYS)[:, None], np.arange(KEYS))
    near = float(distances[distances > 0].min())
    used = 2 * least if privacy == "pure" else math.sqrt(2) * least
    presence = mechanism.rates.presence
    assert used == pytest.approx(near, rel=1e-9) or presence is not None or len(rate) > 1
    assert used <= near * (1 + 1e-9) if privacy == "pure" else least <= near


def chi_square(mechanism, counts, spend, answers, threshold):
    """Of each key over not reported, five values and more; all keys are independent."""
    total, degrees = 0.0, 0
    values = [None, *range(threshold, threshold + 5)]
    for key in range(KEYS):
        law = np.array([chance(mechanism, key, counts[key], spend, value, threshold) for value in values])
        law = np.append(law, 1 - law.sum())
        found = np.zeros(len(law))
        for answer in answers:
            place = np.flatnonzero(answer.keys == key)
            found[0 if not len(place) else min(int(answer.numerators[place[0]]) - threshold + 1, len(law) - 1)] += 1
        kept = law * len(answers) > 5
        total += float(((found - law * len(answers)) ** 2 / (law * len(answers)))[kept].sum())
        degrees += int(kept.sum()) - 1
    return total, degrees


@pytest.mark.long
@pytest.mark.parametrize(("rules", "privacy"), EACH_POLICY.values(), ids=EACH_POLICY)
def test_answers_have_the_law_of_noise_on_every_key(rules, privacy):
    """χ² beside the dense law: above its mean by 6 deviations and 12 with a chance below 1e-6, in each of 6 cases."""
    mechanism, spend = mechanism_of(rules, privacy), Fraction(1, 2)
    counts = np.array([4, 0, 1, 2, 0, 7])
    answers = mechanism.draws(table(counts), spend, 4000, InsecureSeededRandomness(3))
    assert all(np.all(np.diff(one.keys) > 0) for one in answers)
    found, degrees = chi_square(mechanism, counts, spend, answers, 3)
    assert found < degrees + 6 * math.sqrt(2 * degrees) + 12


@pytest.mark.long
def test_keys_are_reported_independently():
    """Of all pairs of keys how often both are reported: 15 pairs, six deviations each, a chance below 3e-8."""
    mechanism, spend, counts = mechanism_of(PER_VALUE), Fraction(1, 2), np.array([4, 0, 1, 2, 0, 7])
    answers = mechanism.draws(table(counts), spend, 4000, InsecureSeededRandomness(8))
    there = np.array([np.isin(np.arange(KEYS), one.keys) for one in answers])
    alone = np.array([above(mechanism, key, spend, 3 - counts[key] - 0.5) for key in range(KEYS)])
    for one, other in itertools.combinations(range(KEYS), 2):
        both = alone[one] * alone[other]
        found = int((there[:, one] & there[:, other]).sum())
        assert abs(found - 4000 * both) < 6 * math.sqrt(4000 * both * (1 - both)) + 1


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("spurious", ["0.5", "2"])
def test_no_more_are_expected_than_were_allowed_and_one_less_would_be_too_many(privacy, spurious):
    mechanism, spend = mechanism_of(PER_VALUE, privacy, spurious=spurious), Fraction(1, 3)
    threshold = mechanism.threshold(spend)

    def expected(edge):
        return sum(above(mechanism, key, spend, edge - 0.5) for key in range(KEYS))

    assert expected(threshold) <= float(spurious) * (1 + 1e-12)
    assert threshold == 1 or expected(threshold - 1) > float(spurious)
    assert mechanism.expected_spurious(spend) == pytest.approx(expected(threshold), rel=1e-12)
    none = math.prod(1 - above(mechanism, key, spend, threshold - 0.5) for key in range(KEYS))
    assert none - 2e-4 <= mechanism.none_spurious(spend) <= none


def presence_of_keys(count, epsilon):
    """One attribute of so many values, where a record comes and goes."""
    sides = {10**12: ([0, 9999],) * 3, 125_000_000: ([0, 499], [0, 499], [0, 499])}[count]
    attributes = {f"k{place}": {"range": side, "step": 1} for place, side in enumerate(sides)}
    said = {"policy": "many", "universe": {"attributes": attributes}, "budget": 1}
    policy = dx.Policy.from_dict({**said, "rules": [{"presence": True, "epsilon": epsilon}], "unconnected": "allow"})
    tasks = dx.queries_from_dict({"tasks": [{"keys": [*attributes], "spurious": "1"}]}, policy)
    (part,) = dx.plan(policy.compile(), tasks).parts
    return part


@pytest.mark.parametrize(
    ("count", "epsilon", "threshold", "kept"),
    [(125_000_000, "1", 19, 21), (125_000_000, "0.1", 181, 204)],
)
def test_the_thresholds_of_very_many_keys(count, epsilon, threshold, kept):
    part = presence_of_keys(count, epsilon)
    assert part.mechanism.threshold(Fraction(1)) == threshold
    assert part.statements(1)[2].startswith(f"a key of {kept} records or more")
    wider = replace(part.mechanism, spurious=None, at_least=90)
    if epsilon == "0.1":
        assert wider.expected_spurious(Fraction(1)) == pytest.approx(8108.6, abs=0.05)


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "threshold", "kept"), [("1", 28, 30), ("0.1", 270, 293)])
def test_the_thresholds_of_a_million_million_keys(epsilon, threshold, kept):
    part = presence_of_keys(10**12, epsilon)
    assert part.mechanism.threshold(Fraction(1)) == threshold
    assert part.statements(1)[2].startswith(f"a key of {kept} records or more")


@pytest.mark.long
def test_intervals_hold_for_keys_that_are_reported_given_that_they_are():
    """Exact: of each true count, the chance that a report misses it over the chance that there is one."""
    for rules, privacy in EACH_POLICY.values():
        policy, spend, level = policy_of(rules, privacy), Fraction(1, 2), 0.9
        tasks = dx.queries_from_dict({"tasks": [{"keys": ["a", "b"], "at_least": 4}]}, policy)
        (part,) = dx.plan(policy.compile(), tasks).parts
        values = np.arange(4, 200)
        for key in range(KEYS):
            reported = NoisyKeys(np.full(len(values), key), values, 1)
            ends = part.kind.answers(part, reported, spend, None).intervals(level)
            for count in (0, 3, 4, 5, 40):
                laws = [chance(part.mechanism, key, count, spend, value, 4) for value in values.tolist()]
                missed = sum(itertools.compress(laws, (count < ends[:, 0]) | (count > ends[:, 1])))
                assert missed <= (1 - level) * above(part.mechanism, key, spend, 4 - count - 0.5) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("count", ["once", "rows"])
def test_people_are_counted_in_shares(count):
    people = {"column": "who", "count": count, **({} if count == "once" else {"at_most": 2})}
    mechanism = mechanism_of(CONSTANT, people=people)
    data = KeyTable(np.array([1, 4]), np.array([SHARES, 2 * SHARES]), 3)
    answer = mechanism.draw(data, Fraction(20), InsecureSeededRandomness(1))
    assert answer.divisor == SHARES
    assert mechanism.threshold(Fraction(20)) == 3 * SHARES
    with pytest.raises(DataError, match="whole people"):
        mechanism.check(KeyTable(np.array([1]), np.array([SHARES + 1]), 1), Fraction(1))
    # One share that moves costs 1/SHARES of a person, who counts up to two rows.
    share = 2 if count == "rows" else 1
    assert mechanism.blocks[0].scale == pytest.approx(2 * share)


def test_no_key_in_the_data_is_an_answer_too():
    mechanism = mechanism_of([*CONSTANT, PRESENCE])
    answer = mechanism.draw(table(np.zeros(KEYS, dtype=np.int64)), Fraction(1), InsecureSeededRandomness(4))
    assert np.all(answer.numerators >= 3)
    assert mechanism.decode_answer(mechanism.encode_answer(answer)).as_dict() == answer.as_dict()
    with pytest.raises(DataError):
        mechanism.decode_answer({"keys": [KEYS], "counts": [4]})


def test_records_that_a_policy_lists_have_no_keys(tmp_path):
    """Their distances are by their place in the list, which is not that of the combination of their values."""
    (tmp_path / "posts.csv").write_text("post,floor\nx,1\ny,0\nx,0\ny,1\n")
    stated = {"table": "posts.csv", "attributes": {"floor": ["0", "1"]}}
    rules = [{"change": "post", "epsilon": 1}, {"change": "floor", "epsilon": 9}]
    policy = dx.Policy.from_dict({"policy": "listed", "universe": stated, "rules": rules}, folder=tmp_path)
    with pytest.raises(dx.QueryError, match="lists its records in a table"):
        dx.queries_from_dict({"tasks": [{"keys": "floor", "at_least": 3}]}, policy)
    axis = policy.universe.names.index("floor")
    floor = groups_of_column(policy.universe, axis, policy.universe.attributes[axis].columns[0])
    with pytest.raises(UnsupportedCombination, match="no listed records"):
        KeyCounts(policy.compile(), (floor,), None, 3)


def test_what_cannot_be_reported_or_protected_is_refused():
    made = mechanism_of(CONSTANT)
    many = replace(presence_of_keys(125_000_000, "0.1").mechanism, spurious=None, at_least=1)
    with pytest.raises(TooLarge, match="would be reported"):
        many.require_feasible(Fraction(1))
    unprotected = policy_of([CONSTANT[1]], unconnected="allow").compile()
    with pytest.raises(UnsupportedCombination, match="no rule protects these keys"):
        KeyCounts(unprotected, made.columns_of_keys[:1], None, 1)
    for wrong in ({"spurious": Fraction(0), "at_least": None}, {"at_least": 0}, {"spurious": Fraction(1)}):
        with pytest.raises(UnsupportedCombination, match="spurious"):
            replace(made, **wrong)
    with pytest.raises(UnsupportedCombination, match="one at least"):
        replace(made, columns_of_keys=())
    with pytest.raises(UnsupportedCombination):
        replace(made, columns_of_keys=made.columns_of_keys[::-1])
    with pytest.raises((UnboundedLoss, UnsupportedCombination)):
        metric = dx.verify_metric(np.zeros((KEYS, KEYS)), universe=made.metric.universe)
        KeyCounts(metric, made.columns_of_keys, None, 1)
