"""Rows of people without an order: every clause of the theorem of decision 060, on small universes, by exact masses.

``DXGEOM_PAIRS`` says how many pairs of tables come from rows (make soak).
"""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from reference.people import earth_mover

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError
from dxgeom.mechanisms.selection.selections import selection
from dxgeom.metrics.components import components_of
from dxgeom.numeric.arrays import LARGEST
from dxgeom.universe.people.people import MOST_SPREAD, SHARES, People, ShareCounter

PAIRS = int(os.environ.get("DXGEOM_PAIRS", "3"))
ROOMS, NOWHERE = ("a", "b", "c"), "elsewhere"
OUTSIDE, NOBODY = 3, 3
"""A row outside the universe; where somebody may be absent it lies on absence."""
Rows = tuple[int, ...]
Apart = list[list[Fraction | float]]


def written(most: int, edges: Sequence[Sequence[Any]], absence: Fraction | None) -> dict[str, Any]:
    rules: list[dict[str, Any]] = [{"change": "room", "secrets": {"edges": [list(edge) for edge in edges]}}]
    rules += [] if absence is None else [{"presence": True, "epsilon": float(absence)}]
    told = {"policy": "p", "universe": {"attributes": {"room": list(ROOMS)}}, "rules": rules, "unconnected": "allow"}
    return {**told, "people": {"column": "who", "count": "rows", "at_most": most}}


def random_case(seed: int) -> tuple[int, Apart, bool, dict[str, Any]]:
    """What a person counts at most, the distances of the rooms and of nobody, whether these may be, and the policy."""
    random = np.random.default_rng(seed)
    most, presence = int(random.integers(1, 4)), seed % 2 == 1
    ways = list(itertools.combinations(range(3), 2))[: 3 if presence else int(random.integers(1, 4))]
    edges = [(ROOMS[i], ROOMS[j], str(int(random.integers(1, 9)) / 4)) for i, j in ways]
    absence = Fraction(int(random.integers(1, 9)), 4) if presence else None
    apart: Apart = [[Fraction(0) if i == j else math.inf for j in range(4)] for i in range(4)]
    for (i, j), edge in zip(ways, edges, strict=True):
        apart[i][j] = apart[j][i] = Fraction(edge[2])
    for i in range(3 if absence is not None else 0):
        apart[i][NOBODY] = apart[NOBODY][i] = absence or 0
    for k, i, j in itertools.product(range(4), repeat=3):
        apart[i][j] = min(apart[i][j], apart[i][k] + apart[k][j])
    return most, apart, presence, written(most, edges, absence)


def even(rows: Rows) -> list[Fraction]:
    """The even spread: a part for each of three rooms and nobody, all of it on nobody where there are no rows."""
    counts = Counter(rows or (NOBODY,))
    return [Fraction(counts[k], len(rows) or 1) for k in range(4)]


def masses(rows: Rows, most: int, presence: bool) -> list[Fraction]:
    """μ, by the definition: min(n, m)/n of every row; the rest, up to m, is absent. Rows outside are absent, too, or
    gone before anything is counted."""
    rows = rows if presence else tuple(row for row in rows if row != OUTSIDE)
    number = min(len(rows), most)
    found = [part * number for part in even(rows)]
    found[NOBODY] = most - sum(found[:3]) if presence else Fraction(0)
    return found


def far(one: Sequence[Fraction], other: Sequence[Fraction], apart: Apart) -> float:
    return earth_mover(one, other, lambda i, j: float(apart[i][j]))


def random_rows(random: np.random.Generator, largest: int, kinds: int = 4) -> Rows:
    return tuple(random.integers(0, kinds, random.integers(1, largest + 1)).tolist())


def table_of(people: Sequence[Rows]) -> pa.Table:
    rows = [(f"p{person}", (*ROOMS, NOWHERE)[row]) for person, theirs in enumerate(people) for row in theirs]
    return pa.table({"who": [who for who, _ in rows], "room": [room for _, room in rows]})


def read(policy: dx.Policy, people: Sequence[Rows]) -> Any:
    of = components_of(policy.compile().metric).of
    return histogram_of_table(table_of(people), policy.universe, outside="drop", component_of=of)


@pytest.mark.parametrize("presence", [False, True], ids=["all are there", "some may be absent"])
def test_tables_of_rows_differ_by_no_more_than_is_promised(presence: bool) -> None:
    """From rows to shares: these are what the definition gives, and moving them costs (1/m)·W and no more."""
    for seed in range(presence, 2 * PAIRS, 2):
        most, apart, _, policy = random_case(seed)
        own, random = dx.Policy.from_dict(policy), np.random.default_rng([seed, 1])
        others = [random_rows(random, 5) for _ in range(2)] + [(0,)]
        one, other = random_rows(random, 9), random_rows(random, 9)
        found = [read(own, [*others, rows]) for rows in (one, other)]
        for rows, each in zip((one, other), found, strict=True):
            wanted = sum(np.array(masses(rows, most, presence)[:3]) for rows in [*others, rows])
            assert [Fraction(int(share), SHARES) for share in each.counts[:3]] == wanted.tolist(), (seed, rows)
        change = [Fraction(int(n), SHARES) for n in found[0].counts[:3] - found[1].counts[:3]]
        supply, demand = ([max(sign * part, Fraction(0)) for part in change] for sign in (1, -1))
        supply.append(max(sum(demand) - sum(supply), Fraction(0)) if presence else Fraction(0))
        demand.append(sum(supply) - sum(demand))
        if not presence and found[0].total != found[1].total:
            continue  # nothing is promised of people who count unequally
        promised = far(masses(one, most, presence), masses(other, most, presence), apart)
        assert far(supply, demand, apart) <= promised + 1e-9, (seed, one, other)


def test_each_clause_of_the_theorem_holds() -> None:
    for seed in range(40):
        most, apart, presence, _ = random_case(seed)
        random = np.random.default_rng([seed, 2])
        one, other = random_rows(random, 7, 3), random_rows(random, 7, 3)
        cost = far(masses(one, most, presence), masses(other, most, presence), apart) / most
        numbers = (len(one), len(other))
        if min(numbers) >= most or numbers[0] == numbers[1]:
            # (i) what once promises, in the proportion of what is counted
            part = Fraction(min(numbers[0], most), most)
            once = far(even(one), even(other), apart)
            assert cost == pytest.approx(float(part) * once, abs=1e-9) and cost <= once + 1e-9
        if numbers[0] == numbers[1] <= most:
            # (ii) every pairing is a plan
            pairings = (zip(one, order, strict=True) for order in itertools.permutations(other))
            sums = [sum(float(apart[i][j]) for i, j in pairing) for pairing in pairings]
            assert cost == pytest.approx(min(sums) / most, abs=1e-9)
        if presence:
            # (iii) being there costs its part of absence, any change at most twice absence
            absence = float(apart[0][NOBODY])
            there = far(masses(one, most, True), masses((), most, True), apart) / most
            reach = max(float(apart[row][NOBODY]) for row in range(3))
            assert there <= reach * min(numbers[0], most) / most + 1e-9
            assert reach == absence and cost <= 2 * absence + 1e-9


def test_rounding_to_few_shares_moves_people_by_no_more_than_stated() -> None:
    """Five share vectors for each of L = 5, 7: rounded masses are at most (k + k′)·D/2L further apart."""
    used = 0.0
    for seed in range(8):
        most, apart, presence, _ = random_case(seed)
        component = np.array([0 if apart[0][k] < math.inf else k for k in range(4)])
        random, shares = np.random.default_rng([seed, 3]), (5, 7)[seed % 3 == 0]
        diameter = max(float(one) for row in apart[: 3 + presence] for one in row if one < math.inf)
        for _ in range(5):
            one = random_rows(random, 40, 3 + presence)
            other = random_rows(random, len(one), 3 + presence) if len(one) < most else random_rows(random, 40, 3)
            if not presence and min(len(one), most) != min(len(other), most):
                continue
            ideal, rounded = [], []
            for rows in (one, other):
                counter = ShareCounter(4, lambda records, of=component: of[records], shares, most)
                counter.add(np.zeros(len(rows), np.int64), np.array(rows), np.ones(len(rows), np.int64))
                counts = counter.histogram(None).tolist()
                assert sum(counts) == min(len(rows), most) * shares == counter.records * shares
                counts[NOBODY] += (most * shares - sum(counts)) * presence
                rounded.append([Fraction(count, shares) for count in counts])
                ideal.append(masses(rows, most, presence))
            was, now = far(*ideal, apart), far(*rounded, apart)
            bound = (len(set(one)) + len(set(other))) * diameter / (2 * shares)
            if was < math.inf:
                assert now <= was + bound + 1e-9
                used = max(used, (now - was) / bound if bound else 0.0)
    assert used > 0.1, "the bound is near, not void"


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_exact_odds_of_a_selection_stay_within_what_is_promised_of_rows(most: int) -> None:
    """P(r) ∝ e^(rate·u_r): every table of two people of up to four rows, one of whom changes, every output."""
    edges = [("a", "b", "0.5"), ("b", "c", "1")]
    policy = dx.Policy.from_dict(written(most, edges, None))
    gaps = np.array([0.5, 1.0])
    metric, weights = policy.compile(), np.array([[3, 0, -1], [0, 2, 1], [1, 1, 5]])
    asked = dx.LinearQueries.from_matrix(("p", "q", "r"), weights, universe=policy.universe)
    mechanism = selection(metric, asked, "exponential")
    assert (mechanism.shares, metric.people) == (SHARES, People("who", "rows", most))
    people = [rows for n in range(1, 5) for rows in itertools.combinations_with_replacement(range(3), n)]
    spread = np.array([[float(part) for part in masses(rows, most, False)[:3]] for rows in people])
    scores = (spread[:, None] + spread) @ weights.T / float(mechanism.range_sensitivity)
    logs = scores - np.log(np.exp(scores).sum(axis=2, keepdims=True))
    nearest = 0.0
    for i, j in itertools.combinations(range(len(people)), 2):
        if min(len(people[i]), most) == min(len(people[j]), most):
            # On a line what passes a gap is all that lies beyond it.
            beyond = np.cumsum(spread[i] - spread[j])[:2]
            promised, worst = float(np.abs(beyond) @ gaps) / most, np.abs(logs[i] - logs[j]).max()
            assert worst <= promised + 1e-9
            nearest = max(nearest, worst / promised if promised else 0.0)
    assert nearest > 0.3


def test_one_row_at_most_is_what_once_is() -> None:
    random = np.random.default_rng(5)
    for presence in (None, Fraction(1)):
        rows = written(1, [("a", "b", "1"), ("b", "c", "1")], presence)
        once = {**rows, "people": {"column": "who", "count": "once"}}
        people = [random_rows(random, 30) for _ in range(20)]
        found = [read(dx.Policy.from_dict(one), people) for one in (rows, once)]
        assert np.array_equal(found[0].counts, found[1].counts)
        assert (found[0].total, found[0].dropped) == (found[1].total, found[1].dropped)


def test_how_many_rows_lie_outside_changes_nothing_that_is_read() -> None:
    """Beyond the promise: what is dropped is counted in people, so that it tells no number of rows."""
    policy = dx.Policy.from_dict(written(2, [("a", "b", "1"), ("b", "c", "1")], None))
    few, many = (read(policy, [(0, 1, *(OUTSIDE,) * n), (OUTSIDE,) * n, (2,)]) for n in (1, 6))
    assert np.array_equal(few.counts, many.counts)
    assert (few.total, few.dropped) == (many.total, many.dropped) == (3, 1)


def test_more_rows_than_64_bits_carry_are_refused_and_very_many_of_one_person_are_exact() -> None:
    counter = ShareCounter(2, lambda records: records * 0, at_most=MOST_SPREAD)
    person, rows = np.zeros(2, np.int64), np.array([3, MOST_SPREAD * 5])
    counter.add(person, np.array([0, 1]), rows)
    handed, total = MOST_SPREAD * SHARES, int(rows.sum())
    first = 3 * handed // total
    assert counter.histogram(None).tolist() == [first, handed - first]
    number = LARGEST // handed
    with pytest.raises(DataError, match="people or their rows are counted in shares; these are more"):
        counter.add(np.arange(number), np.zeros(number, np.int64), np.full(number, MOST_SPREAD))
