"""Lengths where records come and go: against a linear program, and how far they move when one record does."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from reference.quantile_lengths import FAR, closure, joint_chances
from scipy.optimize import linprog

from dxgeom.mechanisms.quantiles.question import OrderedValues
from dxgeom.mechanisms.quantiles.reach import reach_of
from dxgeom.mechanisms.quantiles.transport import LONGEST, lengths_with_absence, parts_of_a_record
from dxgeom.metrics.combinations import CapMetric, PresenceMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.numeric.rounding import round_down

pytestmark = pytest.mark.long

HALF = Fraction(1, 2)


def line(*positions):
    return LineMetric(tuple(map(Fraction, positions)), Fraction(1, 10))


def graph(size, edges, lengths):
    first, second = np.array(edges, dtype=np.int64).T
    return GraphMetric(size, first, second, np.array(lengths))


METRICS = {
    "line": (line(0, 1, Fraction(5, 2), 7, 8), range(5)),
    "line under a ceiling": (CapMetric(line(0, 1, 2, 5, 6), Fraction(1, 4)), range(5)),
    "all alike": (DiscreteMetric(4, Fraction(3, 10)), range(4)),
    "two parts": (graph(5, [(0, 2), (1, 3), (3, 4)], [0.3, 0.2, 0.1]), range(5)),
    "nothing hidden": (GraphMetric(3, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)), range(3)),
    "values in no order": (
        graph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], [0.3, 0.7, 0.2, 0.1, 0.4]),
        [2, 0, 1, 2, 3],
    ),
}
STAYS = (Fraction(1, 20), Fraction(1, 4), Fraction(3))
LEVELS = (Fraction(0), Fraction(1, 4), HALF, Fraction(4, 5), Fraction(1))


def made(name, epsilon):
    metric, places = METRICS[name]
    kept = np.array([*places, 0], dtype=np.int64)
    numbers = tuple(map(Fraction, range(int(kept.max()) + 1)))
    values = OrderedValues("value", tuple(map(str, numbers)), numbers, kept)
    reach = reach_of(metric, values, round_down(epsilon))
    present = closure(PresenceMetric(metric, epsilon), reach.unit)
    return reach, present, list(places), int(Fraction(round_down(epsilon)) // reach.unit)


def lengths(reach, counts, levels, stay):
    return lengths_with_absence(reach, reach.tally(np.append(counts, 0)), levels, stay)


def by_program(apart, places, counts, value, level, above):
    """The least cost to a measure of which the value is no more (or no less) than the quantile."""
    kinds, absent = len(places), len(places)
    costs = np.array([[min(cost, FAR) for cost in row] for row in apart], dtype=float)
    moves = [(i, j) for i in range(kinds + 1) for j in range(kinds + 1) if i != j and costs[i, j] < FAR]
    after = np.zeros((kinds, len(moves)))
    for k, (i, j) in enumerate(moves):
        if i != absent:
            after[i, k] -= 1
        if j != absent:
            after[j, k] += 1
    q = float(level)
    if above:
        weight = np.array([-(1 - q) if place < value else q for place in places])
    else:
        weight = np.array([1 - q if place <= value else -q for place in places])
    # What is left is not negative, and weighs enough.
    rows, sides = np.vstack([-after, -weight @ after]), np.append(counts, weight @ counts)
    found = linprog([costs[i, j] for i, j in moves], A_ub=rows, b_ub=sides, method="highs")
    return found.fun if found.success else math.inf


@pytest.mark.parametrize("name", METRICS)
def test_lengths_are_the_least_cost_to_a_measure_of_which_the_value_is_a_quantile(name):
    generator = np.random.default_rng(len(name))
    for stay_epsilon, level in itertools.product(STAYS, LEVELS):
        reach, _, places, stay = made(name, stay_epsilon)
        parts = parts_of_a_record([level])
        # As if it cost as little to come and go as the price that was rounded down says.
        price = math.floor(stay / max(level, 1 - level)) * max(level, 1 - level)
        inner = closure(METRICS[name][0], reach.unit)
        apart = [[*(min(cost, 2 * price) for cost in row), price] for row in inner]
        apart.append([price] * len(places) + [0])
        counts = generator.integers(0, 4, len(places))
        found = lengths(reach, counts, [level], stay)[0] / parts
        for value in range(max(places) + 1):
            wanted = max(by_program(apart, places, counts, value, level, above) for above in (True, False))
            assert found[value] == pytest.approx(wanted, rel=1e-6, abs=1e-3), (stay_epsilon, level, value)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("stay_epsilon", STAYS, ids=str)
def test_a_record_that_comes_goes_or_changes_moves_lengths_by_its_distance_at_most(name, stay_epsilon):
    reach, apart, places, stay = made(name, stay_epsilon)
    generator = np.random.default_rng(len(name))
    parts = parts_of_a_record(LEVELS)
    for _ in range(600):
        counts = np.append(
            generator.multinomial(generator.integers(0, 20), generator.dirichlet(np.ones(len(places)) / 2)), 1
        )
        old = int(generator.choice(np.flatnonzero(counts)))
        new = int(generator.integers(0, len(counts)))
        after = counts.copy()
        after[old] -= 1
        after[new] += 1
        moved = lengths(reach, after[:-1], LEVELS, stay) - lengths(reach, counts[:-1], LEVELS, stay)
        assert np.abs(moved).max() <= parts * apart[old][new]


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("law", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize("levels", [(HALF,), (Fraction(1, 4), Fraction(1))], ids=str)
def test_no_odds_change_by_more_than_the_distance(name, law, levels):
    """Every table of at most three records, whichever comes, goes or changes."""
    reach, apart, places, stay = made(name, Fraction(1, 4))
    spend, kinds = 4, len(places)
    rate = spend * reach.unit / (2 * parts_of_a_record(levels))
    laws = {}
    for table in itertools.chain(*(itertools.combinations_with_replacement(range(kinds), n) for n in range(4))):
        counts = np.bincount(table, minlength=kinds).astype(np.int64) if table else np.zeros(kinds, np.int64)
        kept = law if len(levels) == 1 else "exponential"
        laws[table] = joint_chances(lengths(reach, counts, levels, stay), rate, False, kept)
    for table, chances in laws.items():
        full = [*table, *[kinds] * (3 - len(table))]
        for at, new in itertools.product(range(3), range(kinds + 1)):
            other = tuple(sorted(one for one in [*full[:at], new, *full[at + 1 :]] if one != kinds))
            allowed = math.exp(spend * reach.unit * apart[full[at]][new]) * (1 + 1e-12)
            assert all(chance <= allowed * laws[other][answer] for answer, chance in chances.items())


def test_lengths_are_0_at_the_quantile_and_everywhere_without_records():
    reach, _, _, stay = made("line", HALF)
    generator = np.random.default_rng(1)
    for _ in range(50):
        counts = generator.integers(0, 5, 5)
        if not counts.sum():
            continue
        for level, row in zip(LEVELS, lengths(reach, counts, LEVELS, stay), strict=True):
            rank = max(1, math.ceil(level * int(counts.sum())))
            assert row[np.searchsorted(np.cumsum(counts), rank)] == 0
    assert not lengths(reach, np.zeros(5, np.int64), LEVELS, stay).any()


def test_numbers_of_records_that_64_bits_could_not_hold_are_neither_refused_nor_wrong():
    reach, _, _, stay = made("line", HALF)
    level = [Fraction(333, 1000)]
    few = lengths(reach, np.array([5, 0, 1, 0, 9]), level, stay)
    many = lengths(reach, np.array([5, 0, 1, 0, 9]) * 10**17, level, stay)
    assert np.array_equal(np.minimum(few.astype(object) * 10**17, LONGEST), many)
