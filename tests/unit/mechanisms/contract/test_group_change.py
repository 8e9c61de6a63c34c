from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.contract.composition import group_loss
from dxgeom.metrics.combinations import PresenceMetric, SumMetric
from dxgeom.metrics.diameters import path_lengths
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.verification import verify

LINE = LineMetric(tuple(map(Fraction, range(4))), Fraction(1, 3))
METRICS = {
    "line": LINE,
    "sum": SumMetric((LineMetric((Fraction(0), Fraction(1)), Fraction(1, 7)), DiscreteMetric(2, Fraction(1, 10)))),
    "graph": GraphMetric(4, np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.1, 0.2, 0.3])),
    "partition": PartitionMetric(np.array([0, 0, 1, 1]), Fraction(1, 3)),
}


def verified(metric):
    return verify(metric, title="t", fingerprint="t", budget=Fraction(1))


def cheapest_assignment(metric, before, after):
    """Every record matched with every other, in all orders."""
    starts, ends = np.repeat(np.arange(4), before), np.repeat(np.arange(4), after)
    apart = metric.distance(np.arange(4)[:, None], np.arange(4))
    return min(sum(apart[i, j] for i, j in zip(starts, order, strict=True)) for order in itertools.permutations(ends))


@pytest.mark.parametrize("name", METRICS)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_it_is_the_cheapest_of_all_matchings(name, records, random):
    others = [random.randrange(4) for _ in records]
    before, after = (np.bincount(each, minlength=4) for each in (records, others))
    found = group_loss(verified(METRICS[name]), before, after)
    expected = cheapest_assignment(METRICS[name], before, after)
    assert found == expected == math.inf or expected <= found <= expected * (1 + 1e-12)


def test_a_smaller_spend_tells_proportionally_less():
    metric = verified(LINE)
    before, after = [5, 0, 0, 0], [0, 0, 0, 5]
    assert group_loss(metric, before, after) == pytest.approx(5)
    assert group_loss(metric, before, after, Fraction(1, 4)) == pytest.approx(5 / 4)


@pytest.mark.parametrize("name", METRICS)
def test_paths_are_never_shorter_than_the_bounds_they_consist_of(name):
    """Exact shortest paths over the float bounds, by relaxing every pair often enough."""
    exact = [[Fraction(0) if i == j else math.inf for j in range(4)] for i in range(4)]
    for pairs in METRICS[name].generating_pairs():
        for i, j, bound in zip(*pairs, strict=True):
            exact[i][j] = exact[j][i] = min(exact[i][j], Fraction(bound))
    for k, i, j in itertools.product(range(4), repeat=3):
        exact[i][j] = min(exact[i][j], exact[i][k] + exact[k][j])
    found = path_lengths(METRICS[name], np.arange(4), np.arange(4))
    for i, j in itertools.product(range(4), repeat=2):
        assert found[i, j] == exact[i][j] or exact[i][j] <= Fraction(found[i, j]) <= exact[i][j] * (
            1 + Fraction(1, 10**12)
        )


def test_where_records_may_be_absent_they_come_and_go():
    metric = verified(PresenceMetric(LINE, Fraction(1, 2)))
    assert group_loss(metric, [2, 0, 0, 0, 0], [0, 0, 0, 0, 0]) == pytest.approx(1)
    assert group_loss(metric, [1, 0, 0, 0, 0], [0, 0, 0, 2, 0]) == pytest.approx(1.5)
    assert group_loss(metric, [1, 0, 0, 0, 0], [0, 1, 0, 0, 0]) == pytest.approx(1 / 3)


def test_tables_that_do_not_fit_are_refused():
    metric = verified(LINE)
    for before, after in (
        ([1, 0, 0, 0], [1, 1, 0, 0]),
        ([1, 0], [0, 1]),
        ([1, 0, 0, -1], [0] * 4),
        ([1.0] * 4, [1] * 4),
    ):
        with pytest.raises(UnsupportedCombination):
            group_loss(metric, before, after)
    many = verified(DiscreteMetric(1000, Fraction(1)))
    with pytest.raises(TooLarge):
        group_loss(many, np.repeat([1, 0], 500), np.repeat([0, 1], 500))


def test_nothing_changed_tells_nothing():
    assert group_loss(verified(LINE), [3, 1, 0, 0], [3, 1, 0, 0]) == 0


def test_more_records_than_can_be_counted_are_refused_instead_of_wrapping_around():
    """Three counts of int64 that add up to 2⁶⁴ once made two tables of the same size, with no loss between them."""
    metric = verified(LINE)
    with pytest.raises(TooLarge):
        group_loss(metric, [0, 0, 0, 0], [2**63 - 1, 2**63 - 1, 2, 0])
    with pytest.raises(TooLarge):
        group_loss(metric, np.array([2**64 - 1, 1, 0, 0], np.uint64), np.array([2**64 - 2, 2, 0, 0], np.uint64))
    assert group_loss(metric, [2**52, 0, 0, 0], [0, 0, 0, 2**52]) == pytest.approx(2**52)


@pytest.mark.parametrize("spend", [Fraction(-1), 0, 0.5, math.nan, "1/2"])
def test_only_an_exact_positive_spend_has_a_group_loss(spend):
    with pytest.raises(UnsupportedCombination, match="positive Fraction"):
        group_loss(verified(LINE), [1, 0, 0, 0], [0, 1, 0, 0], spend)
