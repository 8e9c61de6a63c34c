from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.bodies import generating_pairs_of

from dxgeom.errors import TooLarge
from dxgeom.metrics import lipschitz_maps as extension
from dxgeom.metrics.combinations import CapMetric, Group, GroupedMetric, MaxMetric, ReorderedMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric, StarMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.lipschitz_maps import lower_extension, upper_extension
from dxgeom.metrics.matrices import DenseMetric
from dxgeom.metrics.points import PointsMetric


def F(text):
    return Fraction(text)


def graph(count, seed):
    generator = np.random.default_rng(seed)
    pairs = [(i, j) for i, j in itertools.combinations(range(count), 2) if generator.random() < 0.3]
    first, second = np.array(pairs).T
    return GraphMetric(count, first, second, generator.choice([0.1, 0.5, 1.0, 0.0], len(pairs)))


LINE = LineMetric(tuple(F(x) for x in ("0", "0.1", "5", "5.5", "100")), F("0.3"))
EVEN = LineMetric(tuple(F(x) for x in ("1", "1.5", "2")), F("0.3"))
VALUES = ValueSensitivityMetric((F("1"), F("1"), F("0.1"), F("0.7")))
STAR = StarMetric(tuple(F(x) for x in ("0.3", "1/3", "0.1", "2", "0.1")))
PLACES = np.random.default_rng(1).random((9, 2)) * 100
METRICS = {
    "discrete": DiscreteMetric(6, F("0.1")),
    "values": VALUES,
    "individuals": STAR,
    "line": LINE,
    "points": PointsMetric(PLACES, "plane", F("0.02")),
    "points with floor": PointsMetric(PLACES, "plane", F("0.02"), F("0.7")),
    "graph": graph(9, 4),
    "no edges": GraphMetric(4, np.empty(0, int), np.empty(0, int), np.empty(0)),
    "dense": DenseMetric(np.abs(np.arange(5.0)[:, None] ** 2 - np.arange(5.0) ** 2)),
    "sum": SumMetric((DiscreteMetric(2, F("0.1")), LINE, VALUES)),
    "sum with graph": SumMetric((graph(5, 6), DiscreteMetric(3, F("1/3")), STAR)),
    "cap": CapMetric(SumMetric((LINE, VALUES)), F("0.6")),
    "groups": GroupedMetric((DiscreteMetric(2, F("0.5")), EVEN, VALUES), (Group((0, 2), F("0.6")),)),
    "partition": PartitionMetric(np.array([2, 0, 2, 1, 2, 0]), F("0.3")),
    "time series": MaxMetric((EVEN, LINE)),
    "reordered": ReorderedMetric(SumMetric((EVEN, DiscreteMetric(2, F("0.1")))), (2, 3), (1, 0)),
}


@pytest.fixture(params=METRICS)
def metric(request):
    return METRICS[request.param]


def distances(metric):
    every = np.arange(metric.size)
    return metric.distance(every[:, None], every[None, :])


def random_map(metric, seed, largest=1000):
    return np.random.default_rng(seed).integers(0, largest, metric.size).astype(float)


def test_an_extension_is_the_minimum_over_all_records(metric):
    for seed, scale in itertools.product(range(3), (1e-3, 10.0, 300.0, 1e5)):
        values = random_map(metric, seed)
        table = distances(metric)
        expected = np.where(np.isinf(table), np.inf, values + scale * np.where(np.isinf(table), 0, table)).min(axis=1)
        assert lower_extension(metric, values, scale) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        mirrored = -np.where(np.isinf(table), np.inf, -values + scale * np.where(np.isinf(table), 0, table)).min(axis=1)
        assert upper_extension(metric, values, scale) == pytest.approx(mirrored, rel=1e-9, abs=1e-9)


def slow_whole_extension(metric, values, scale):
    """Relax every generating pair until nothing changes, in Python integers; an allowance next below its integer."""
    lowered = [int(value) for value in values]
    edges = [(i, j, Fraction(scale) * Fraction(bound)) for (i, j), bound in generating_pairs_of(metric).items()]
    floored = [(i, j, int(allowed * (1 - Fraction(1, 2**51)))) for i, j, allowed in edges]
    changed = True
    while changed:
        changed = False
        for i, j, allowed in floored:
            for one, other in ((i, j), (j, i)):
                if lowered[one] > lowered[other] + allowed:
                    lowered[one], changed = lowered[other] + allowed, True
    return lowered, edges


def test_a_whole_extension_is_a_map_of_integers_within_every_allowance(metric):
    for scale in (7.3, 1234.5, 3e6):
        values = random_map(metric, 5, 2**40)
        lowered = lower_extension(metric, values, scale * 2**20, whole=True)
        expected, edges = slow_whole_extension(metric, values, scale * 2**20)
        assert np.array_equal(lowered, np.round(lowered))
        assert all(abs(int(lowered[i]) - int(lowered[j])) <= allowed for i, j, allowed in edges)
        # Sums of allowances that were rounded one by one may lie a few units below those of the slow one.
        assert np.all(np.abs(lowered - np.array(expected, dtype=float)) <= 4 * metric.size)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.floats(0.01, 1e4), st.sampled_from(sorted(METRICS)))
def test_the_middle_of_both_extensions_is_never_further_off_than_half_the_worst_excess(seed, scale, name):
    metric = METRICS[name]
    values = random_map(metric, seed)
    low = lower_extension(metric, values, scale)
    middle = (low + upper_extension(metric, values, scale)) / 2
    bias = (values - low).max() / 2
    assert np.all(low <= values)
    assert np.abs(middle - values).max() <= bias * (1 + 1e-9) + 1e-9
    table = distances(metric)
    changes = np.abs(middle[:, None] - middle[None, :])
    finite = np.isfinite(table)
    assert np.all(changes[finite] <= scale * table[finite] * (1 + 1e-9) + 1e-9)


def test_a_map_that_changes_slowly_enough_is_its_own_extension():
    values = np.array([0.0, 0.03, 1.5, 1.65, 30.0])
    assert np.array_equal(lower_extension(LINE, values, 1.0001), values)


def test_comparing_too_many_pairs_is_refused(monkeypatch):
    monkeypatch.setattr(extension, "PAIR_LIMIT", 80)
    with pytest.raises(TooLarge, match="9 records in 1 rows"):
        lower_extension(METRICS["points"], np.arange(9.0), 1.0)
