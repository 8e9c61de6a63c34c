"""Lengths against every table there is, and how far they move when one record does."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from reference.quantile_lengths import FAR, Tables, joint_chances

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.quantiles.question import OrderedValues
from dxgeom.mechanisms.quantiles.reach import FINEST, UNREACHED, LineReach, ListedReach, reach_of, whole_units
from dxgeom.metrics.combinations import CapMetric, Group, MaxMetric, SumMetric, grouped
from dxgeom.metrics.families import DiscreteMetric, LineMetric, StarMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.matrices import DenseMetric

HALF = Fraction(1, 2)


def line(*positions, rate=Fraction(1, 10)):
    return LineMetric(tuple(map(Fraction, positions)), rate)


def graph(size, edges, lengths):
    first, second = np.array(edges, dtype=np.int64).T
    return GraphMetric(size, first, second, np.array(lengths))


def random_metric(generator, size, cut=0):
    """Shortest paths over random lengths, some of them missing; two parts where ``cut`` is not 0."""
    pairs = [(i, j) for i, j in itertools.combinations(range(size), 2) if (i < cut) == (j < cut)]
    return graph(size, pairs, generator.choice([0.1, 0.25, 0.7, 1.3, 2.0], len(pairs)))


RANDOM = np.random.default_rng(3)
METRICS = {
    "even line": (line(0, 1, 2, 3, 4), range(5)),
    "uneven line": (line(0, 1, Fraction(5, 2), 7, 8), range(5)),
    "line under a ceiling": (CapMetric(line(0, 1, 2, 5, 6), Fraction(1, 4)), range(5)),
    "line under a ceiling that binds nowhere": (CapMetric(line(0, 1, 2, 5), Fraction(9, 10)), range(4)),
    "all alike": (DiscreteMetric(4, Fraction(1, 10)), range(4)),
    "two ceilings": (CapMetric(CapMetric(line(0, 3, 4), Fraction(1, 3)), HALF), range(3)),
    "near ones": (graph(5, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)], [0.1] * 5), range(5)),
    "two parts": (graph(5, [(0, 2), (1, 3), (3, 4)], [0.3, 0.2, 0.1]), range(5)),
    "nothing hidden": (GraphMetric(3, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)), range(3)),
    "sensitive values": (ValueSensitivityMetric((HALF, Fraction(1, 3), Fraction(2))), range(3)),
    "individuals of two values": (StarMetric((HALF, Fraction(1, 3), Fraction(2), Fraction(1))), [0, 1, 1, 0]),
    "line read backwards": (line(0, 1, 3), [2, 1, 0]),
    "values in no order": (random_metric(RANDOM, 5), [2, 0, 1, 2, 3]),
    "values in two parts": (random_metric(RANDOM, 5, 2), [0, 2, 2, 1, 0]),
    "at distance 0": (graph(4, [(0, 1), (1, 2), (2, 3)], [0.0, 0.4, 0.0]), range(4)),
    "two attributes": (SumMetric((line(0, 1, 4), DiscreteMetric(2, HALF))), [0, 0, 1, 1, 2, 2]),
    "two that change together": (
        grouped([DiscreteMetric(2, HALF), line(0, 1, 4)], [Group((0, 1), Fraction(1, 5))]),
        [0, 1, 2, 0, 1, 2],
    ),
    "the one that moves most": (MaxMetric((line(0, 1, 3), line(0, 2))), [0, 0, 1, 1, 2, 2]),
    "a dense matrix": (DenseMetric(np.array([[0, 1, 3.5], [1, 0, 2.5], [3.5, 2.5, 0]])), range(3)),
}


def ordered(places):
    kept = np.array(list(places), dtype=np.int64)
    numbers = tuple(map(Fraction, range(int(kept.max()) + 1)))
    return OrderedValues("value", tuple(map(str, numbers)), numbers, kept)


def made(name):
    metric, places = METRICS[name]
    return reach_of(metric, ordered(places)), metric, list(places)


def of_counts(reach, counts, ranks):
    found = reach.lengths(reach.tally(counts), ranks)
    return np.where(found == UNREACHED, FAR, found)


LAWS = [
    (name, ranks, law)
    for name, ranks, law in itertools.product(METRICS, [(2,), (1, 3)], ["exponential", "permute-and-flip"])
    if law == "exponential" or len(ranks) == 1 or made(name)[0].adds_up
]
"""The maximum of several lengths has the exponential law only."""


@pytest.mark.parametrize("name", METRICS)
def test_a_length_is_the_least_cost_to_pass_the_value(name):
    reach, metric, places = made(name)
    tables = Tables(metric, places, reach.unit, 3)
    for table in tables.all[::2]:
        for rank in (1, 2, 3):
            found = of_counts(reach, tables.counts(table), [rank])[0]
            wanted = [tables.length(table, rank, value) for value in range(max(places) + 1)]
            assert found.tolist() == wanted, (table, rank)


@pytest.mark.parametrize("name", METRICS)
def test_candidates_of_a_length_are_no_further_from_the_quantile_than_the_furthest_and_one_is_as_far(name):
    reach, metric, places = made(name)
    tables = Tables(metric, places, reach.unit, 3)
    numbers = np.cumsum(np.arange(max(places) + 1.0))
    found = [
        (int(length), abs(float(numbers[value] - numbers[sorted(places[kind] for kind in table)[rank - 1]])))
        for table, rank in itertools.product(tables.all, (1, 2, 3))
        for value, length in enumerate(reach.lengths(reach.tally(tables.counts(table)), [rank])[0])
        if length != UNREACHED
    ]
    for units in sorted({length for length, _ in found}):
        assert max(off for length, off in found if length <= units) == reach.furthest(numbers, units)


@pytest.mark.parametrize("name", ["even line", "uneven line", "line under a ceiling", "all alike", "two attributes"])
def test_where_the_nearest_value_is_the_next_it_is_the_cost_of_making_it_the_quantile(name):
    reach, metric, places = made(name)
    tables = Tables(metric, places, reach.unit, 3)
    for table, rank in itertools.product(tables.all[::3], (1, 2, 3)):
        found = of_counts(reach, tables.counts(table), [rank])[0]
        for value in range(max(places) + 1):
            assert found[value] == tables.cost(table, lambda y, r=rank, v=value: y[r - 1] == v)


@pytest.mark.parametrize("ranks", [(1, 2), (1, 3), (2, 3), (1, 2, 3)])
def test_on_a_line_lengths_add_up_to_the_cost_of_making_all_values_quantiles_at_once(ranks):
    reach, metric, places = made("uneven line")
    assert reach.adds_up
    tables = Tables(metric, places, reach.unit, 3)
    for table in tables.all[::3]:
        found = of_counts(reach, tables.counts(table), ranks)
        for values in itertools.combinations_with_replacement(places, len(ranks)):
            wanted = tables.cost(table, lambda y, v=values: [y[rank - 1] for rank in ranks] == list(v))
            assert sum(row[value] for row, value in zip(found, values, strict=True)) == wanted


def test_on_a_line_lengths_are_convex_and_0_at_the_quantile():
    reach, _, places = made("uneven line")
    generator = np.random.default_rng(6)
    for _ in range(100):
        counts = generator.integers(0, 6, len(places)) + np.eye(len(places), dtype=np.int64)[0]
        rank = int(generator.integers(1, counts.sum() + 1))
        (row,) = reach.lengths(counts, [rank])
        slopes = np.diff(row) / np.diff(reach.heights)
        assert np.all(np.diff(slopes) >= -1e-9)
        assert row[np.searchsorted(np.cumsum(counts), rank)] == 0


@pytest.mark.parametrize("name", METRICS)
def test_one_changed_record_changes_lengths_by_its_distance_at_most(name):
    """Ten thousand changes over all metrics: alone, and of several ranks together, in whatever order the values are."""
    reach, metric, places = made(name)
    apart = Tables(metric, places, reach.unit, 1).apart
    generator = np.random.default_rng(len(name))
    for _ in range(10_000 // len(METRICS) + 1):
        counts = generator.multinomial(int(generator.integers(1, 30)), generator.dirichlet(np.ones(metric.size) / 2))
        records = int(counts.sum())
        ranks = sorted(generator.choice(records, min(records, 3), replace=False) + 1)
        old = int(generator.choice(np.flatnonzero(counts)))
        new = int(generator.choice([j for j in range(metric.size) if apart[old][j] < FAR]))
        changed = counts.copy()
        changed[old] -= 1
        changed[new] += 1
        before, after = of_counts(reach, counts, ranks), of_counts(reach, changed, ranks)
        assert np.array_equal(before == FAR, after == FAR)
        moved = after - before
        assert np.abs(moved).max() <= apart[old][new]
        if reach.adds_up:
            # The worst values for all ranks at once, chosen one by one: the sum of the largest rises, and of falls.
            assert max(moved.max(axis=1).sum(), -moved.min(axis=1).sum()) <= apart[old][new]


@pytest.mark.parametrize(("name", "ranks", "law"), LAWS)
def test_no_odds_change_by_more_than_the_distance(name, ranks, law):
    """In 40 digits at least: every table of three records, every replacement, every answer."""
    reach, metric, places = made(name)
    tables = Tables(metric, places, reach.unit, 3)
    spend = 4
    laws = {
        table: joint_chances(
            reach.lengths(reach.tally(tables.counts(table)), ranks), spend * reach.unit / 2, reach.adds_up, law
        )
        for table in tables.all
    }
    for table in tables.all[::2]:
        for other, old, new in tables.neighbours(table):
            allowed = math.exp(spend * reach.unit * tables.apart[old][new]) * (1 + 1e-12)
            assert laws[table].keys() == laws[other].keys()
            assert all(chance <= allowed * laws[other][answer] for answer, chance in laws[table].items())


def test_units_never_pass_the_bounds_and_lose_little():
    bounds = np.array([0.1, 0.30000000000000004, 7.0, 0.1, 0.0])
    units, unit = whole_units(bounds, 7.3)
    exact = [Fraction(bound) for bound in bounds.tolist()]
    assert all(0 <= bound - int(one) * unit < unit for bound, one in zip(exact, units, strict=True))
    assert unit <= Fraction(8, FINEST)
    assert int(units[0]) * unit == exact[0]


def test_a_bound_far_below_the_rest_may_round_to_nothing():
    units, unit = whole_units(np.array([1e-12, 1.0]), 1.0)
    assert units.tolist() == [0, FINEST]
    assert unit == Fraction(1, FINEST)


def test_a_ceiling_may_not_be_forgotten_when_it_is_the_length_of_the_line():
    forgotten = reach_of(CapMetric(line(0, 1, 2), Fraction(1, 4)), ordered(range(3)))
    kept = reach_of(CapMetric(line(0, 1, 2), Fraction(1, 5)), ordered(range(3)))
    assert forgotten.adds_up and not kept.adds_up


def test_the_simplest_form_is_found():
    kinds = {name: type(made(name)[0]) for name in METRICS}
    simple = {name for name, kind in kinds.items() if kind is LineReach}
    assert simple == {
        "even line",
        "uneven line",
        "line under a ceiling",
        "line under a ceiling that binds nowhere",
        "all alike",
        "two ceilings",
        "two attributes",
        "two that change together",
    }
    assert {kinds[name] for name in METRICS if name not in simple} == {ListedReach}


def test_too_many_records_to_list_are_refused():
    size = 2_001
    edges = [(i, i + 1) for i in range(size - 1)]
    with pytest.raises(TooLarge, match="2,001"):
        reach_of(graph(size, edges, [0.1] * (size - 1)), ordered(range(size)))
