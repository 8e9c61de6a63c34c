import itertools
from fractions import Fraction

import numpy as np
import pytest

from dxgeom.metrics import lipschitz_maps as by_structure
from dxgeom.metrics.near_places import Separation, steepest_quotient
from dxgeom.metrics.points import PointsMetric


def all_quotients(metric, values):
    every = np.arange(metric.size)
    distance = metric.distance(every[:, None], every[None, :])
    change = np.abs(np.asarray(values, dtype=np.float64)[:, None] - values[None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(change == 0, 0.0, change / distance)))


def places(geometry, count, generator):
    if geometry == "plane":
        return generator.random((count, 2)) * 100
    return np.column_stack([generator.uniform(-90, 90, count), generator.uniform(-180, 180, count)])


MAPS = {
    "random": lambda points, generator: generator.random(len(points)),
    "smooth": lambda points, _: np.sin(points[:, 0] / 9) * np.cos(points[:, 1] / 7),
    "linear": lambda points, _: points @ [1.0, 2.0],
    "nearly linear": lambda points, generator: points @ [1.0, 2.0] + 1e-3 * generator.random(len(points)),
    "whole numbers": lambda points, _: np.rint(points @ [5.0, -3.0]).astype(np.int64),
    "constant": lambda points, _: np.ones(len(points)),
    "one high place": lambda points, _: (np.arange(len(points)) == 7).astype(np.int64),
    "huge": lambda points, generator: generator.random(len(points)) * 1e200,
}


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("count", [1, 2, 17, 700])
@pytest.mark.parametrize("geometry", ["plane", "great circle"])
def test_the_tree_finds_the_steepest_of_all_pairs(kind, count, geometry, monkeypatch):
    """Also where places are few: the walk, not its threshold, is judged."""
    for floor in ("0", "0.7"):
        monkeypatch.setattr(by_structure, "TREE_FROM", 1)
        generator = np.random.default_rng(count)
        points = places(geometry, count, generator)
        metric = PointsMetric(points, geometry, Fraction("0.02"), Fraction(floor))
        values = MAPS[kind](points, generator)
        largest = all_quotients(metric, values)
        for tolerance in (0.0, 1e-9, 1e-2):
            found = by_structure.lipschitz(metric, values, tolerance)
            assert largest * (1 - 1e-15) <= found <= largest * (1 + 1e-12 + tolerance)


@pytest.mark.parametrize("geometry", ["plane", "great circle"])
def test_places_at_one_spot_must_have_one_value(geometry):
    points = places(geometry, 4000, np.random.default_rng(3))
    points[3999] = points[0]
    metric = PointsMetric(points, geometry, Fraction(1))
    assert by_structure.lipschitz(metric, np.arange(4000)) == np.inf
    assert by_structure.lipschitz(metric, points[:, 0]) < np.inf


def test_antipodes_and_neighbours_are_told_apart_as_the_metric_does(monkeypatch):
    monkeypatch.setattr(by_structure, "TREE_FROM", 1)
    points = np.array([[90.0, 0.0], [-90.0, 10.0], [0.0, 180.0], [0.0, 1e-7], [1e-9, 0.0]])
    metric = PointsMetric(points, "great circle", Fraction("0.1"))
    for pair in ([0, 1], [2, 3], [2, 4], [3, 4]):
        part = PointsMetric(points[pair], "great circle", metric.rate)
        largest = all_quotients(part, np.array([0, 1]))
        assert largest <= by_structure.lipschitz(part, np.array([0, 1])) <= largest * (1 + 1e-12)


@pytest.mark.filterwarnings("error")
def test_what_memory_held_before_raises_no_warning(monkeypatch):
    """Boxes of nodes that are not filled yet are not looked at."""
    monkeypatch.setattr(np, "empty", lambda shape, dtype=np.float64: np.full(shape, np.inf, dtype))
    points = np.random.default_rng(2).random((400, 2))
    assert steepest_quotient(points, points[:, 0], Separation(1.0, 0.0, 0.0, 0.0)) > 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rate", [1e-300, 1.0, 1e300])
def test_extreme_numbers_neither_lower_the_result_nor_warn(rate):
    for across, high, floor in itertools.product((1e-12, 1.0, 1e99), (1e-300, 1.0, 1e139, 1e300), (0.0, 0.5)):
        generator = np.random.default_rng(11)
        points = generator.random((40, 2)) * (across, across * 1e-150)
        values = generator.random(40) * high
        found = steepest_quotient(points, values, Separation(rate, floor, 0.0, 0.0))
        apart = np.hypot(*(points[:, None] - points[None, :]).transpose(2, 0, 1)).max()
        assert found > 0
        # No pair is further apart than the farthest, and the two ends of the values change most.
        least = Fraction(float(np.ptp(values))) / max(Fraction(floor), Fraction(rate) * Fraction(float(apart)))
        assert found == np.inf or Fraction(found) >= least * (1 - Fraction(1, 10**12))
