"""Picks by scores that are not linear, and picks of several: the laws, the bounds, the promises."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from reference.selection_law import CHANCES, permute_and_flip_chances

import dxgeom as dx
from dxgeom.errors import DataError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.selection.scores import challenge
from dxgeom.numeric.randomness import InsecureSeededRandomness

DRAWS = 20_000
ORDINARY = dx.verify_metric(1 - np.eye(3))
FAR = dx.verify_metric([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
ONE = Fraction(1)


def candidates(weights):
    return dx.LinearQueries.from_matrix([f"c{k}" for k in range(len(weights))], np.array(weights))


def farthest(counts):
    """No sum: the larger of two counts, and the product of two."""
    return [max(int(counts[0]), int(counts[1])), Fraction(int(counts[1]) * int(counts[2]), 2)]


def frequencies(draws):
    return {answer: count / len(draws) for answer, count in Counter(draws).items()}


@pytest.mark.parametrize("law", CHANCES)
def test_the_best_few_are_picked_one_after_the_other_at_their_shares(law):
    """Each frequency is within 5 standard errors of the product of its picks' chances."""
    mechanism = dx.mechanisms.selection.top_selection(ORDINARY, candidates(np.eye(3, dtype=int)), 2, law)
    counts = np.array([4, 2, 1])
    rate = Fraction(1, 2) / Fraction(mechanism.each.range_sensitivity)
    found = frequencies(mechanism.draws(counts, ONE, DRAWS, InsecureSeededRandomness(3)))
    whole = CHANCES[law](counts.tolist(), rate)
    for first, second in itertools.permutations(range(3), 2):
        left = [place for place in range(3) if place != first]
        rest = CHANCES[law]([int(counts[place]) for place in left], rate)
        chance = float(whole[first] * rest[left.index(second)])
        assert abs(found.get((first, second), 0) - chance) <= 5 * (chance * (1 - chance) / DRAWS) ** 0.5


def test_every_place_is_nearly_as_good_as_the_best_for_it():
    rows = np.eye(6, dtype=int)
    mechanism = dx.mechanisms.selection.top_selection(dx.verify_metric(1 - np.eye(6)), candidates(rows), 3)
    counts = np.array([100, 90, 80, 40, 20, 0])
    bound = mechanism.shortfall(0.9, Fraction(1, 4))
    draws = mechanism.draws(counts, Fraction(1, 4), 2000, InsecureSeededRandomness(1))
    broken = [
        any(counts[place] < best - bound for place, best in zip(one, (100, 90, 80), strict=True)) for one in draws
    ]
    assert np.mean(broken) <= 0.1
    with pytest.raises(UnsupportedCombination, match="at least 1 and at most 6"):
        dx.mechanisms.selection.top_selection(mechanism.metric, candidates(rows), 7)


def test_a_table_of_scores_has_the_largest_change_there_is():
    proved = dx.mechanisms.selection.tabled_selection(FAR, ["max", "product"], farthest, records=4)
    worst = Fraction(0)
    data = [np.array(one) for one in itertools.product(range(5), repeat=3) if sum(one) == 4]
    for counts in data:
        for i, j in itertools.permutations(range(3), 2):
            if counts[i]:
                after = counts - np.eye(3, dtype=int)[i] + np.eye(3, dtype=int)[j]
                change = [Fraction(b) - a for a, b in zip(farthest(counts), farthest(after), strict=True)]
                worst = max(worst, (max(change) - min(change)) / int(FAR.distance(i, j)))
    assert float(worst) <= proved.range_sensitivity * float(proved.unit) <= float(worst) * (1 + 1e-12)


def test_tabled_and_declared_scores_pick_by_the_same_law():
    counts = np.array([1, 2, 1])
    proved = dx.mechanisms.selection.tabled_selection(FAR, ["max", "product"], farthest, records=4)
    declared = dx.mechanisms.selection.declared_selection(
        FAR, ["max", "product"], farthest, sensitivity=2, version="farthest"
    )
    rate = Fraction(1, 4)
    chance = float(permute_and_flip_chances([Fraction(one) for one in farthest(counts)], rate)[0])
    for mechanism, spend in (
        (proved, rate * Fraction(proved.range_sensitivity) * proved.unit),
        (declared, rate * declared.lead_sensitivity),
    ):
        draws = mechanism.draws(counts, spend, DRAWS, InsecureSeededRandomness(5))
        picked = np.mean([getattr(one, "place", one) == 0 for one in draws])
        assert abs(picked - chance) <= 5 * (chance * (1 - chance) / DRAWS) ** 0.5


def test_a_promise_is_said_with_every_answer_and_refuted_where_it_is_seen_to_be_untrue():
    untrue = dx.mechanisms.selection.declared_selection(
        FAR, ["max", "product"], farthest, sensitivity=1, version="farthest"
    )
    release = dx.release(untrue, [1, 2, 1], ledger=":memory:", spend=1)
    said = json.loads(release.to_json())["answer"]
    assert said["promise"] == untrue.promise and "not proved" in said["promise"]
    assert untrue.promise in str(release.answer)
    found = challenge(untrue)
    assert found.refutation is not None and str(found).startswith("the promise is untrue: replacing a record of type")
    before, after = farthest(found.refutation.before), farthest(found.refutation.after)
    assert max(abs(Fraction(b) - a) for a, b in zip(before, after, strict=True)) == found.refutation.changed > 1
    true = dx.mechanisms.selection.declared_selection(
        ORDINARY, ["a"], lambda counts: [int(counts[0])], sensitivity=1, version="count"
    )
    kept = challenge(true, [[5, 0, 0]], tries=50)
    assert kept.refutation is None and str(kept).endswith("that is no proof of it")
    both_ways = dx.mechanisms.selection.declared_selection(
        ORDINARY, ["a", "b"], lambda counts: counts[:2].tolist(), sensitivity=1, version="two", one_way=True
    )
    assert "their lead" in str(challenge(both_ways))


def test_scores_may_be_any_finite_numbers_and_others_are_refused():
    for scores, said in (([0.1, 10**400], None), ([0.25], "for each of 2"), ([float("nan"), 1], "finite number")):
        mechanism = dx.mechanisms.selection.declared_selection(
            ORDINARY, ["a", "b"], lambda _, s=scores: s, sensitivity="0.5", version="x"
        )
        if said is None:
            assert mechanism.draw(np.array([1, 1, 1]), ONE, InsecureSeededRandomness(1)).place == 1
        else:
            with pytest.raises(DataError, match=said):
                mechanism.draw(np.array([1, 1, 1]), ONE, InsecureSeededRandomness(1))
    with pytest.raises(DataError, match="an int or a Fraction"):
        dx.mechanisms.selection.tabled_selection(ORDINARY, ["a"], lambda _: [0.5], records=2)


def test_tables_refuse_what_they_cannot_prove():
    with pytest.raises(TooLarge, match="declare the sensitivity"):
        dx.mechanisms.selection.tabled_selection(ORDINARY, ["a"], lambda _: [0], records=1000)
    with pytest.raises(UnboundedLoss):
        zero = dx.verify_metric([[0, 0], [0, 0]])
        dx.mechanisms.selection.tabled_selection(zero, ["a", "b"], lambda counts: [int(counts[0]), 0], records=2)
    with pytest.raises(DataError, match="data sets of 4 records"):
        dx.release(
            dx.mechanisms.selection.tabled_selection(FAR, ["a", "b"], farthest, records=4),
            [1, 0, 0],
            ledger=":memory:",
            spend=1,
        )
