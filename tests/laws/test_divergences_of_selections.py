"""Rényi divergences of what picks under concentrated privacy, of the exact law, for all data sets of a few records.

The chances are those of the definitions, in 40 digits; nothing is drawn. ``DXGEOM_ENUMERATED``: how many random
metrics; make soak asks for hundreds.
"""

from __future__ import annotations

import itertools
import os
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pytest
from reference.random_workloads import Chance
from reference.replayed import Script, answer_law, played
from reference.selection_law import CHANCES, exponential_chances, permute_and_flip_chances

import dxgeom as dx
from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.selection import selections
from dxgeom.mechanisms.selection.selections import charged_lead, selection, top_selection
from dxgeom.mechanisms.synthetic.multiplicative_weights import SELECTING, mwem
from dxgeom.metrics.verification import verify_metric
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.universe.queries import LinearQueries

COUNT = int(os.environ.get("DXGEOM_ENUMERATED", "2"))
ORDERS = (1.1, 2, 8, 32)
SIZE = 3
SLACK = 1e-9


def divergence(here, there, order):
    """D_α in nats, of chances with one place for each outcome."""
    pairs = zip(here, there, strict=True)
    return mpmath.log(mpmath.fsum(p * (p / q) ** (order - 1) for p, q in pairs)) / (order - 1)


def metric_of(chance):
    apart = np.zeros((SIZE, SIZE))
    for i, j in itertools.combinations(range(SIZE), 2):
        apart[i, j] = apart[j, i] = chance.whole(2, 24) / 8
    for k in range(SIZE):
        apart = np.minimum(apart, apart[:, k, None] + apart[None, k])
    return apart, verify_metric(apart, budget=Fraction(100), privacy="concentrated")


def candidates_of(chance, count):
    rows = [[chance.whole(-2, 3) for _ in range(SIZE)] for _ in range(count)]
    rows = [row if len({*row}) > 1 else [1, *([0] * (SIZE - 1))] for row in rows]
    return LinearQueries.from_matrix([f"q{k}" for k in range(count)], np.array(rows))


def data_sets(records=2):
    for types in itertools.combinations_with_replacement(range(SIZE), records):
        yield np.bincount(types, minlength=SIZE).astype(np.int64)


def worst_of(mechanism, apart, spend):
    """The largest D_α over what is promised, of all neighbours and orders."""
    laws = {}
    for data in data_sets():
        law = answer_law(partial(mechanism.drawn, data, spend, 1, InsecureSeededRandomness(0)))
        laws[tuple(data)] = [mpmath.exp(law[answer]) for answer in sorted(law)]
    worst = 0.0
    for (one, here), (other, there) in itertools.permutations(laws.items(), 2):
        change = np.subtract(other, one)
        if np.abs(change).sum() != 2:
            continue
        promised = (float(spend) * apart[int(change.argmin()), int(change.argmax())]) ** 2 / 2
        worst = max(worst, *(float(divergence(here, there, order)) / order / promised for order in ORDERS))
    return worst


MADE = {
    "exponential": lambda metric, chance: selection(metric, candidates_of(chance, 3), "exponential"),
    "top two, exponential": lambda metric, chance: top_selection(metric, candidates_of(chance, 3), 2, "exponential"),
    "permute and flip": lambda metric, chance: selection(metric, candidates_of(chance, 3)),
}


@pytest.mark.parametrize("name", MADE)
def test_no_order_of_a_selection_tells_more_than_its_promise(name):
    nearest = 0.0
    for number in range(COUNT):
        chance = Chance(f"divergences, {name} {number}")
        apart, metric = metric_of(chance)
        spend = chance.one((Fraction(1), Fraction(1, 3), Fraction(2)))
        found = worst_of(MADE[name](metric, chance), apart, spend)
        assert found <= 1 + SLACK, number
        nearest = max(nearest, found)
    assert nearest > 0.05


@pytest.mark.parametrize("spend", [Fraction(1, 3), Fraction(2)])
def test_what_multiplicative_weights_select_tells_no_more_than_its_part_of_a_round(spend):
    nearest = 0.0
    for number in range(COUNT):
        chance = Chance(f"divergences, weights {number}")
        apart, metric = metric_of(chance)
        mechanism, laws = mwem(metric, candidates_of(chance, 3), rounds=1), {}
        for data in data_sets():
            laws[tuple(data)] = [mpmath.exp(first_pick(mechanism, data, spend, place)) for place in range(3)]
        part = spend * SELECTING / (SELECTING**2 + (1 - SELECTING) ** 2) ** Fraction(1, 2)
        for (one, here), (other, there) in itertools.permutations(laws.items(), 2):
            change = np.subtract(other, one)
            if np.abs(change).sum() == 2:
                promised = (float(part) * apart[int(change.argmin()), int(change.argmax())]) ** 2 / 2
                found = max(float(divergence(here, there, order)) / order / promised for order in ORDERS)
                assert found <= 1 + SLACK, number
                nearest = max(nearest, found)
    assert nearest > 0.02


def first_pick(mechanism, data, spend, place):
    """The logarithm of its chance."""
    script = Script([place])
    with played(script):
        mechanism.drawn(data, spend, 1, InsecureSeededRandomness(0))
    return script.log_chances[0]


def test_half_the_range_is_what_the_exponential_law_costs_and_no_less():
    """Two candidates apart by R in log-odds, at even chances: D_α is α·R²/8 up to a term of R⁴."""
    small = Fraction(1, 50)
    here, there = (exponential_chances([0, sign * small / 2], Fraction(1)) for sign in (1, -1))
    lead = charged_lead(float(small), at_half=True)
    assert 0.999 < float(divergence(here, there, 2)) / lead**2 <= 1


def test_a_mutant_that_charges_permute_and_flip_half_is_caught(monkeypatch):
    """The planted leak: the same selection at twice the rate, by the other law."""
    apart = np.array([[0, 1], [1, 0]]) / 2
    metric = verify_metric(apart, budget=Fraction(100), privacy="concentrated")
    candidates = LinearQueries.from_matrix(["one", "other"], np.array([[1, 0], [0, 1]]))
    true = selection(metric, candidates, "exponential")
    with pytest.raises(CertificateRefused, match="only the exponential law"):
        selections.replace(true, name="permute-and-flip")
    monkeypatch.setattr(selections, "require_half", lambda metric, law: None)
    mutant = selections.replace(true, name="permute-and-flip")

    def told(mechanism):
        worst = 0.0
        for one, other in itertools.permutations(([2, 0], [1, 1], [0, 2]), 2):
            if abs(one[0] - other[0]) == 1:
                here, there = (
                    CHANCES[mechanism.name](data, Fraction(1) / Fraction(mechanism.lead)) for data in (one, other)
                )
                worst = max(worst, *(float(divergence(here, there, order)) / order * 8 for order in ORDERS))
        return worst

    assert told(true) <= 1 + SLACK
    assert told(mutant) > 1.5


def test_permute_and_flip_tells_more_than_half_its_range_allows():
    """Why it is charged the whole: one candidate far ahead, whose rivals never pass while it is sure to."""
    change = Fraction(1, 10)
    here, there = (permute_and_flip_chances(scores, Fraction(1)) for scores in ([0, 0], [0, -change]))
    assert float(divergence(here, there, 2)) / 2 > 1.5 * (float(change) ** 2 / 8)


def test_only_concentrated_privacy_has_the_law_at_half():
    rows = LinearQueries.from_matrix(["a", "b"], np.array([[1, 0], [0, 1]]))
    for privacy in ("pure", "concentrated"):
        metric = dx.verify_metric([[0, 1], [1, 0]], privacy=privacy)
        made = selection(metric, rows, "exponential")
        assert made.at_half == (privacy == "concentrated")
        assert mwem(metric, rows, rounds=1).law == ("exponential" if made.at_half else "permute-and-flip")
        assert not selection(metric, rows).at_half
    pure = selection(dx.verify_metric([[0, 1], [1, 0]]), rows, "exponential")
    with pytest.raises(CertificateRefused):
        selections.replace(pure, at_half=True)
    old = selections.replace(made, at_half=False)
    assert (old.lead, old.fingerprint) != (made.lead, made.fingerprint)
    assert old.lead == 2 * made.lead
