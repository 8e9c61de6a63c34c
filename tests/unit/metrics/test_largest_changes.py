"""Attributes that move together by their largest change: pairs of classes instead of pairs of all combinations."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from reference.bodies import generating_pairs_of

import dxgeom as dx
from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.combinations import MaxMetric, SumMetric
from dxgeom.metrics.diameters import smallest_distance
from dxgeom.metrics.differences import differences_of_tables
from dxgeom.metrics.families import DiscreteMetric, LineMetric, nearest_of_classes
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.restriction import without_idle_attributes
from dxgeom.universe.weight_table import WeightTable
from dxgeom.universe.weight_tables import WeightTables

APART = GraphMetric(5, np.array([0, 1, 3]), np.array([1, 2, 4]), np.array([0.5, 0.75, 0.25]))
UNEVEN = LineMetric(tuple(Fraction(x) for x in ("0", "1", "3", "3.5")), Fraction("0.3"))
EVEN = LineMetric(tuple(Fraction(x) for x in range(4)), Fraction("0.3"))


def places(count, seed, floor="0"):
    spots = np.random.default_rng(seed).uniform(0, 4, (count, 2)).round(2)
    return PointsMetric(spots, "plane", Fraction("0.7"), Fraction(floor))


def classes(generator, size):
    """A class of each value, none of them empty."""
    some = generator.integers(0, size, size)
    return np.unique(some, return_inverse=True)[1].astype(np.int64)


def table(generator, shape, axes, queries):
    each = tuple(classes(generator, shape[axis]) for axis in axes)
    weights = generator.integers(-2, 3, (len(queries), *(int(own.max()) + 1 for own in each)))
    return WeightTable(np.array(queries), axes, each, weights)


def least_by_difference(metric, matrix):
    """Of all generating pairs, one by one."""
    found = {}
    for (i, j), bound in generating_pairs_of(metric).items():
        change = tuple((matrix[:, i] - matrix[:, j]).tolist())
        if any(change):
            change = max(change, tuple(-part for part in change))
            found[change] = min(bound, found.get(change, bound))
    return found


MIXED = {
    "two places": MaxMetric((places(5, 1), places(4, 2, "0.2"))),
    "a place, a graph in two pieces, a line": MaxMetric((places(4, 3), APART, UNEVEN)),
    "in a sum": SumMetric((DiscreteMetric(3, Fraction("0.4")), MaxMetric((places(4, 4), UNEVEN)))),
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_classes_make_the_differences_of_all_pairs_of_records(name, seed):
    metric, generator = MIXED[name], np.random.default_rng(seed)
    parts = metric.parts if name != "in a sum" else (metric.parts[0], *metric.parts[1].parts)
    shape = tuple(part.size for part in parts)
    axes = [tuple(range(len(shape))), (len(shape) - 1,), (0, 1)]
    tables = WeightTables(shape, tuple(table(generator, shape, own, [k]) for k, own in enumerate(axes)))
    rows, bounds = differences_of_tables(metric, tables)
    found = {
        max(tuple(row), tuple(-part for part in row)): Fraction(bound)
        for row, bound in zip(rows.tolist(), bounds.tolist(), strict=True)
    }
    assert found == least_by_difference(metric, tables.matrix())


@pytest.mark.parametrize("part", [places(6, 5), places(6, 6, "0.5"), APART, UNEVEN, DiscreteMetric(1, Fraction(1))])
def test_classes_are_as_near_as_their_nearest_values(part):
    generator = np.random.default_rng(1)
    for _ in range(5):
        of = classes(generator, part.size)
        near = nearest_of_classes(part, of)
        for one, other in itertools.product(range(len(near)), repeat=2):
            pairs = itertools.product(np.flatnonzero(of == one), np.flatnonzero(of == other))
            assert near[one, other] == min(float(part.distance(i, j)) for i, j in pairs)


@pytest.mark.parametrize("left", [(0,), (1,), (0, 1), (1, 2), (2,)])
def test_parts_that_nothing_looks_at_go_and_no_bound_changes(left):
    metric = MaxMetric((EVEN, UNEVEN, EVEN))
    values = np.random.default_rng(0).integers(0, 99, [size if k in left else 1 for k, size in enumerate(metric.shape)])
    matrix = np.broadcast_to(values, metric.shape).reshape(1, -1)
    fewer, rows = without_idle_attributes(metric, matrix)
    assert fewer.size == 4 ** len(left) == rows.shape[1]
    assert least_by_difference(fewer, rows) == least_by_difference(metric, matrix)


@pytest.mark.parametrize("metric", [MaxMetric((places(5, 1), UNEVEN)), MaxMetric((APART, places(3, 8, "0.3")))])
def test_the_smallest_distance_is_that_of_a_part(metric):
    positive = [bound for bound in generating_pairs_of(metric).values() if bound > 0]
    assert Fraction(smallest_distance(metric)) == min(positive)


def test_too_many_pairs_are_refused_before_the_first():
    metric = MaxMetric((places(300, 1), places(300, 2)))
    with pytest.raises(TooLarge, match="4,049,955,000 pairs of records would have to be compared"):
        next(metric.generating_pairs())


POLICY = """
policy: two positions
universe:
  attributes:
    home: {points: spots.csv, key: spot, x: x, "y": y, unit: km}
    work: {points: spots.csv, key: spot, x: x, "y": y, unit: km}
rules:
  - {change: [home, work], together: true, measure: max, epsilon: 1, per: 2 km}
"""


@pytest.mark.long
@pytest.mark.parametrize("count", [60, 400])
def test_two_positions_among_many_places_move_together(tmp_path, count):
    spots = np.random.default_rng(7).uniform(0, 10, (count, 2)).round(3)
    sides = np.where(spots[:, 0] < 5, "west", "east")
    lines = [f"s{k},{x},{y},{side}" for k, ((x, y), side) in enumerate(zip(spots.tolist(), sides, strict=True))]
    (tmp_path / "spots.csv").write_text("\n".join(["spot,x,y,side", *lines]))
    (tmp_path / "policy.yaml").write_text(POLICY)
    policy = dx.load_policy(tmp_path / "policy.yaml")
    metric = policy.compile()
    assert metric.size == count**2
    apart = np.sqrt(((spots[:, None] - spots) ** 2).sum(axis=2)) / 2
    assert float(metric.distance(1 * count + 2, 3 * count + 4)) == pytest.approx(max(apart[1, 3], apart[2, 4]))
    queries = dx.queries_from_dict({"queries": [{"marginal": ["home.side", "work.side"]}]}, policy)
    found = sensitivity_of(metric, queries)
    west, east = np.flatnonzero(sides == "west"), np.flatnonzero(sides == "east")
    across = apart[np.ix_(west, east)].min()
    # Whatever moves from one cell to another crosses the border in one of the two, and need not move in the other.
    assert len(found.bounds) == 6
    assert np.allclose(found.bounds, across, rtol=1e-9, atol=0)
