"""What every metric promises; a family that is missing here fails the last test."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from reference.bodies import closure, generating_pairs_of
from reference.families import members

import dxgeom.metrics.verification
from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.distance_bounds import distance_bounds_of
from dxgeom.metrics.combinations import (
    CapMetric,
    Group,
    GroupedMetric,
    MaxMetric,
    OneMoreMetric,
    PresenceMetric,
    ReorderedMetric,
    SumMetric,
)
from dxgeom.metrics.components import components_of, divided
from dxgeom.metrics.diameters import smallest_distance
from dxgeom.metrics.differences import generating_differences
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric, StarMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.metrics.matrices import DenseMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import verify

SLACK = 1 - 1e-12


def F(text):
    return Fraction(text)


def plane(count, seed):
    return np.random.default_rng(seed).random((count, 2)) * 100


def cities(count, seed):
    generator = np.random.default_rng(seed)
    return np.column_stack([generator.uniform(-90, 90, count), generator.uniform(-180, 180, count)])


def random_graph(count, seed):
    generator = np.random.default_rng(seed)
    pairs = [(i, j) for i, j in itertools.combinations(range(count), 2) if generator.random() < 0.3]
    first, second = np.array(pairs).T
    return GraphMetric(count, first, second, generator.choice([0.1, 0.5, 1.0, 0.0], len(pairs)))


def distance_matrix(points):
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))


STAR = StarMetric(tuple(F(x) for x in ("0.3", "1/3", "0.1", "2", "0.1")))
LINE = LineMetric(tuple(F(x) for x in ("0", "0.1", "5", "5.5", "100")), F("0.3"))
VALUES = ValueSensitivityMetric((F("1"), F("1"), F("0.1"), F("0.7")))
EVEN = LineMetric(tuple(F(x) for x in ("1", "1.5", "2", "2.5")), F("0.3"))
NOTHING = GraphMetric(3, np.empty(0, int), np.empty(0, int), np.empty(0))
METRICS = {
    "discrete": DiscreteMetric(6, F("0.1")),
    "values": VALUES,
    "binary values": ValueSensitivityMetric((F("1"), F("0.1"))),
    "individuals": STAR,
    "individuals beside a coin": SumMetric((STAR, DiscreteMetric(2, F("0.7")))),
    "line": LINE,
    "points": PointsMetric(plane(9, 1), "plane", F("0.02")),
    "great circle": PointsMetric(cities(9, 2), "great circle", F("1/50")),
    "points with floor": PointsMetric(plane(9, 3), "plane", F("0.02"), F("0.7")),
    "graph": random_graph(9, 4),
    "no edges": GraphMetric(4, np.empty(0, int), np.empty(0, int), np.empty(0)),
    "dense": DenseMetric(distance_matrix(plane(8, 5))),
    "sum": SumMetric((DiscreteMetric(2, F("0.1")), LINE, VALUES)),
    "sum with graph": SumMetric((random_graph(5, 6), DiscreteMetric(3, F("1/3")))),
    "cap": CapMetric(SumMetric((LINE, VALUES)), F("0.6")),
    "nested groups": GroupedMetric(
        (DiscreteMetric(2, F("0.5")), EVEN, VALUES), (Group((0, 2), F("0.6")), Group((0,), F("0.4")))
    ),
    "crossing groups": GroupedMetric(
        (DiscreteMetric(2, F("0.5")), EVEN, DiscreteMetric(2, F("0.7")), DiscreteMetric(3, F("1/3"))),
        (Group((0, 2), F("0.6")), Group((1, 3), F("0.55")), Group((1, 2), F("0.2"))),
    ),
    "partition of records": GroupedMetric(
        (DiscreteMetric(2, F("0.5")), NOTHING, DiscreteMetric(3, F("0.7"))), (Group((0, 2), F("0.6")),)
    ),
    "partition": PartitionMetric(np.array([2, 0, 2, 1, 2, 0]), F("0.3")),
    "partition in a sum": SumMetric((PartitionMetric(np.array([1, 0, 1, 0]), F("0.3")), DiscreteMetric(2, F("0.2")))),
    "even time series": MaxMetric((EVEN, EVEN, LineMetric((F(7), F(8)), F("0.15")))),
    "uneven time series": MaxMetric((EVEN, LINE)),
    "networks that move together": MaxMetric(
        (GraphMetric(4, np.array([0, 2]), np.array([1, 3]), np.array([0.5, 0.25])), EVEN)
    ),
    "places that move together": MaxMetric((PointsMetric(plane(4, 6), "plane", F("0.02")), EVEN)),
    "reordered": ReorderedMetric(
        SumMetric((MaxMetric((EVEN, EVEN)), DiscreteMetric(2, F("0.1")))), (4, 2, 4), (0, 2, 1)
    ),
    "cap over nothing": CapMetric(GraphMetric(4, np.empty(0, int), np.empty(0, int), np.empty(0)), F("0.6")),
    "presence": PresenceMetric(SumMetric((LINE, VALUES)), F("0.4")),
    "presence over a graph": PresenceMetric(random_graph(9, 4), F("0.35")),
    "presence over a cap": PresenceMetric(CapMetric(SumMetric((LINE, VALUES)), F("0.6")), F("0.5")),
    "presence over nothing": PresenceMetric(GraphMetric(4, np.empty(0, int), np.empty(0, int), np.empty(0)), F("0.4")),
    "presence over crossing groups": PresenceMetric(
        GroupedMetric(
            (DiscreteMetric(2, F("0.5")), EVEN, DiscreteMetric(3, F("0.7"))),
            (Group((0, 1), F("0.6")), Group((1, 2), F("0.55"))),
        ),
        F("0.4"),
    ),
    "presence over a partition": PresenceMetric(
        SumMetric((PartitionMetric(np.array([1, 0, 1, 0]), F("0.3")), NOTHING)), F("0.2")
    ),
    "presence over a time series": PresenceMetric(MaxMetric((EVEN, EVEN)), F("0.2")),
    "presence over a reordered cap": PresenceMetric(
        CapMetric(
            ReorderedMetric(SumMetric((MaxMetric((EVEN, EVEN)), DiscreteMetric(2, F("0.1")))), (4, 2, 4), (0, 2, 1)),
            F("0.3"),
        ),
        F("0.25"),
    ),
    "one more": OneMoreMetric(LINE, F("0.9")),
    "one more that lowers nothing": OneMoreMetric(VALUES, F("7")),
    "one more, apart": OneMoreMetric(STAR, None),
    "one more than capped": OneMoreMetric(CapMetric(LINE, F("0.6")), F("0.2")),
    "one more than equal ones": OneMoreMetric(DiscreteMetric(4, F("1/3")), F("0.25")),
    "one more beside a coin": SumMetric((OneMoreMetric(EVEN, F("0.35")), DiscreteMetric(2, F("0.7")))),
    "presence beside one more": PresenceMetric(
        SumMetric((OneMoreMetric(EVEN, F("0.35")), OneMoreMetric(DiscreteMetric(2, F("0.7")), None))), F("0.8")
    ),
    "groups of individuals": GroupedMetric((STAR, EVEN, DiscreteMetric(2, F("0.7"))), (Group((0, 2), F("0.9")),)),
    "presence of individuals": PresenceMetric(SumMetric((STAR, DiscreteMetric(2, F("0.7")))), F("0.5")),
}


def table_of(metric):
    every = np.arange(metric.size)
    return metric.distance(every[:, None], every[None, :])


@pytest.fixture(params=METRICS)
def metric(request):
    return METRICS[request.param]


def test_distances_are_symmetric_non_negative_and_zero_on_the_diagonal(metric):
    table = table_of(metric)
    assert np.array_equal(table, table.T)
    assert np.all(table >= 0)
    assert not np.diag(table).any()


def test_no_detour_is_shorter(metric):
    table = table_of(metric)
    detours = (table[:, :, None] + table[None, :, :]).min(axis=1)
    assert np.all(table * SLACK <= detours)


def test_distances_are_the_closure_of_the_generating_pairs_rounded_down(metric):
    exact = closure(metric.size, generating_pairs_of(metric))
    table = table_of(metric)
    for i, j in itertools.product(range(metric.size), repeat=2):
        path = exact[i][j]
        if path is None:
            assert table[i, j] == np.inf
        else:
            assert Fraction(float(table[i, j])) <= path * (1 + Fraction(1, 10**12))
            assert table[i, j] >= float(path) * SLACK


def test_generating_pairs_are_listed_once_and_are_finite(metric):
    seen = set()
    for block in metric.generating_pairs():
        assert len(block.first) == len(block.second) == len(block.bound)
        assert np.all(np.isfinite(block.bound))
        assert np.all(block.first != block.second)
        pairs = list(zip(block.first.tolist(), block.second.tolist(), block.bound.tolist(), strict=True))
        seen.update(pairs)
    inner = metric.inner if isinstance(metric, PresenceMetric) else metric
    if not isinstance(inner, CapMetric | GroupedMetric):
        unordered = {frozenset(pair[:2]) for pair in seen}
        assert len(unordered) == len(seen)


def test_the_smallest_distance_is_the_smallest_of_all(metric):
    table = table_of(metric)
    off_diagonal = table[~np.eye(metric.size, dtype=bool)]
    assert smallest_distance(metric) == pytest.approx(off_diagonal.min(), rel=1e-12)


def test_differences_represent_every_generating_pair(metric):
    """The twin lists the pairs one by one; the fast path goes by structure and distinct columns."""
    for seed in range(5):
        values = np.random.default_rng(seed).integers(-3, 4, (3, metric.size))
        values[:, np.random.default_rng(seed + 99).random(metric.size) < 0.3] = 1
        expected: dict[tuple[int, ...], float] = {}
        for block in metric.generating_pairs():
            for i, j, bound in zip(block.first, block.second, block.bound, strict=True):
                change = values[:, i] - values[:, j]
                if change.any():
                    change = change if change[np.flatnonzero(change)[0]] > 0 else -change
                    key = tuple(change.tolist())
                    expected[key] = min(expected.get(key, np.inf), float(bound))
        if any(bound == 0 for bound in expected.values()):
            with pytest.raises(dxgeom.metrics.differences.UnboundedLoss):
                generating_differences(metric, values)
            continue
        rows, bounds = generating_differences(metric, values)
        assert {tuple(row): bound for row, bound in zip(rows.tolist(), bounds.tolist(), strict=True)} == expected


def test_generating_pairs_bound_all_pairs(metric):
    """The lemma that everything rests on: a map that obeys the generating pairs obeys all pairs."""
    for seed in range(5):
        values = np.random.default_rng(seed).integers(-50, 51, metric.size)
        constant = lipschitz(metric, values)
        table = table_of(metric)
        changes = np.abs(values[:, None] - values[None, :])
        if constant == np.inf:
            assert np.any((table == 0) & (changes > 0))
            continue
        finite = np.isfinite(table)
        assert np.all(changes[finite] <= constant * table[finite] * (1 + 1e-12) + 1e-9)
        if constant > 0:
            attained = [
                abs(Fraction(int(values[i]) - int(values[j]))) / bound
                for (i, j), bound in generating_pairs_of(metric).items()
            ]
            assert Fraction(constant) >= max(attained)
            assert constant <= float(max(attained)) * (1 + 1e-12)


def test_every_family_can_be_verified(metric):
    verified = verify(metric, title="law", fingerprint="law", budget=Fraction(1))
    assert verified.certificate.size == metric.size
    assert verified.certificate.verdict in ("holds", "within rounding")


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_records_share_a_component_exactly_at_a_finite_distance(metric):
    first, second = (index.ravel() for index in np.meshgrid(np.arange(metric.size), np.arange(metric.size)))
    components = components_of(metric)
    found = components.of(np.arange(metric.size))
    assert np.array_equal(found[first] == found[second], np.isfinite(metric.distance(first, second)))
    assert components.count == len(np.unique(found))


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_a_part_of_a_metric_is_that_part_rounded_down(metric):
    for parts in (2, 7):
        first, second = (index.ravel() for index in np.meshgrid(np.arange(metric.size), np.arange(metric.size)))
        part = divided(metric, parts)
        whole, less = metric.distance(first, second), part.distance(first, second)
        finite = np.isfinite(whole)
        assert np.array_equal(finite, np.isfinite(less))
        # Each is rounded down from the same exact distance, by less than this.
        assert np.all(less[finite] * parts <= whole[finite] * (1 + 1e-14))
        assert np.all(less[finite] * parts >= whole[finite] * SLACK)
        assert verify(part, title="part", fingerprint="part", budget=F(1)).size == metric.size


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_values_told_apart_are_nearest_along_a_generating_pair(metric, monkeypatch):
    """What many values are told by, without a look at all pairs, is what all pairs say."""
    for apart in (1, 2, 3):
        classes = np.random.default_rng(apart).integers(0, apart, metric.size)
        found = []
        for listed in (4096, 0):
            monkeypatch.setattr("dxgeom.mechanisms.linear.distance_bounds._MOST_VALUES", listed)
            try:
                found.append(distance_bounds_of(metric, (metric.size,), {0: classes}))
            except TooLarge as refusal:
                found.append(str(refusal))
        by_pairs, by_steps = found
        if isinstance(by_pairs, str):
            assert by_steps == by_pairs
            continue
        for exact, near in zip(by_pairs.least, by_steps.least, strict=True):
            assert near == exact or SLACK * near <= exact <= near
        for exact, near in zip(by_pairs.most, by_steps.most, strict=True):
            assert near is None or exact is None or near >= exact * SLACK
            assert exact is not None or near is None


def test_no_family_is_forgotten():
    assert {type(metric) for metric in METRICS.values()} == members(Metric)
