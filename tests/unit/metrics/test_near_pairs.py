"""Of very many places only near pairs are looked at, and what hides these hides all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dxgeom.errors import UnboundedLoss
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.metrics.near_places import near_pairs
from dxgeom.metrics.paired_changes import changes_of_places, paired_changes
from dxgeom.metrics.points import PointsMetric
from dxgeom.universe.weight_table import tabulated
from dxgeom.universe.weight_tables import WeightTables

PLACES, QUERIES = 3100, 11
SPOTS = np.random.default_rng(1).random((PLACES, 2))
METRICS = {
    "plane": PointsMetric(SPOTS * 100, "plane", Fraction(1)),
    "great circle": PointsMetric(SPOTS * (100, 300) - (50, 150), "great circle", Fraction(1, 100)),
    "floor": PointsMetric(SPOTS * 100, "plane", Fraction(1), Fraction(1, 2)),
}


def weights(seed: int, most: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, most + 1, (QUERIES, PLACES))


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("most", [1, 1000])
def test_whatever_norm_hides_near_pairs_hides_all(name: str, most: int) -> None:
    metric, values = METRICS[name], weights(most, most).T.copy()
    pairs = near_pairs(metric, values, 5_000_000)
    assert pairs is not None and len(pairs.first) < PLACES * (PLACES - 1) // 4
    generator = np.random.default_rng(0)
    images = generator.standard_normal((4, QUERIES, QUERIES))
    near = [np.abs((values[pairs.first] - values[pairs.second]) @ image).sum(axis=1) for image in images]
    tops = [float((sizes / metric.distance(*pairs)).max()) for sizes in near]
    for first in range(0, PLACES, 100):
        others = np.arange(first + 1, PLACES)
        bounds = metric.distance(np.full(len(others), first), others)
        for image, top in zip(images, tops, strict=True):
            sizes = np.abs((values[others] - values[first]) @ image).sum(axis=1)
            assert np.all(sizes <= top * bounds * (1 + 1e-9))


def test_queries_that_follow_from_others_are_left_to_all_pairs() -> None:
    values = weights(3, 1)
    values[-1] = values[0] + values[1]
    assert near_pairs(METRICS["plane"], values.T.copy(), 5_000_000) is None


@pytest.mark.parametrize("count", [1, 4])
def test_few_queries_look_at_near_pairs_as_well_where_places_are_of_many_kinds(count: int) -> None:
    metric, values = METRICS["plane"], np.random.default_rng(count).integers(0, 10**6, (count, PLACES))
    tables = WeightTables((PLACES,), (tabulated((0,), values),))
    near = changes_of_places(metric, tables)
    assert near is not None and near.count < PLACES
    assert near.of_each_query == pytest.approx([lipschitz(metric, row) for row in values], rel=1e-12)
    few = WeightTables((PLACES,), (tabulated((0,), values % 2),))
    assert changes_of_places(metric, few) is None


def test_two_places_at_one_spot_are_still_found_out() -> None:
    spots = SPOTS.copy()
    spots[7] = spots[1900]
    values = weights(4, 1)
    values[:, 7], values[:, 1900] = 0, 1
    tables = WeightTables((PLACES,), (tabulated((0,), values),))
    with pytest.raises(UnboundedLoss):
        paired_changes(PointsMetric(spots, "plane", Fraction(1)), tables)
