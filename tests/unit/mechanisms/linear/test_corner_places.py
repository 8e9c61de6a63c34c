"""Which differences shapes are fitted to where there are very many of few queries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import dxgeom as dx
from dxgeom.mechanisms.linear import sensitivity as sensitivity_file
from dxgeom.mechanisms.linear import sensitivity as working_sets
from dxgeom.mechanisms.linear.sensitivity import corner_places, sensitivity_of
from dxgeom.mechanisms.shapes.hulls import sensitivity_hull
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.generating_pairs import Kinds
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.metrics.verification import verify_metric


def many(seed, queries, rank=None, count=4_000):
    """Differences of a cloud that is denser inside, with bounds of very different size."""
    rng = np.random.default_rng(seed)
    basis = rng.integers(-9, 10, (rank or queries, queries))
    return ListedChanges(rng.integers(-50, 51, (count, len(basis))) @ basis, rng.uniform(0.5, 2, count))


@pytest.mark.parametrize(("seed", "queries", "rank"), [(0, 2, None), (1, 3, None), (2, 4, None), (3, 4, 2), (4, 8, 3)])
def test_all_differences_lie_between_the_corners(seed, queries, rank):
    changes = many(seed, queries, rank)
    corners = corner_places(changes)
    assert corners is not None
    assert len(corners) < changes.count / 10
    points = changes.differences / changes.bounds[:, None]
    pivots = np.linalg.svd(points, full_matrices=False)[2][: rank or queries]
    points = points @ pivots.T
    hull = ConvexHull(np.vstack([points[corners], -points[corners]]))
    beyond = points @ hull.equations[:, :-1].T + hull.equations[:, -1]
    assert beyond.max() <= 1e-8 * np.abs(points).max()


def test_the_same_corners_every_time():
    assert np.array_equal(corner_places(many(5, 4)), corner_places(many(5, 4)))


@pytest.mark.parametrize(
    "changes",
    [
        many(0, 3, count=1_000),
        many(0, 1),
        many(0, 9),
        ListedChanges(np.rint(1e6 * np.random.default_rng(0).normal(size=(4_000, 6))).astype(np.int64), np.ones(4_000)),
    ],
    ids=["few differences", "one query", "many queries", "a round cloud of many corners"],
)
def test_where_corners_are_no_help_none_are_told_apart(changes):
    assert corner_places(changes) is None


def workload_of(count):
    places = np.random.default_rng(0).random((count, 2)) * 100
    distances = np.sqrt(((places[:, None] - places) ** 2).sum(axis=-1))
    rows = np.stack([places[:, 0] > 30, places[:, 0] > 60, np.rint(1e4 * places[:, 1])]).astype(np.int64)
    return verify_metric(distances), dx.LinearQueries.from_matrix(["a", "b", "c"], rows)


def test_the_hull_and_every_shape_hide_all_differences_and_not_only_the_corners(monkeypatch):
    metric, queries = workload_of(90)
    sensitivity = sensitivity_of(metric, queries)
    assert sensitivity.corners is not None
    assert len(sensitivity.shaping.bounds) < len(sensitivity.bounds)
    hull = sensitivity_hull(sensitivity)
    points = sensitivity.differences[:, hull.span.pivots] / sensitivity.bounds[:, None]
    assert hull.body.gauge(points).max() <= 1
    monkeypatch.setattr(sensitivity_file, "corner_places", lambda changes: None)
    by_all = sensitivity_hull(sensitivity_of(metric, queries))
    assert np.array_equal(np.sort(by_all.body.vertices, axis=0), np.sort(hull.body.vertices, axis=0))
    assert by_all.body.inflation == hull.body.inflation


def test_a_plan_that_looks_at_corners_is_as_good_as_one_that_looks_at_all(monkeypatch):
    metric, queries = workload_of(25)
    monkeypatch.setattr(working_sets, "_MANY", 100)
    quick = dx.plan(metric, queries, objective="mse")
    monkeypatch.setattr(sensitivity_file, "corner_places", lambda changes: None)
    slow = dx.plan(metric, queries, objective="mse")
    assert quick.predicted_mse == pytest.approx(slow.predicted_mse, rel=1e-6)
    assert quick.lower_bound == pytest.approx(slow.lower_bound, rel=1e-6)
    for one, other in zip(quick.candidates, slow.candidates, strict=True):
        assert one.name == other.name
        assert (one.predicted_mse is None) == (other.predicted_mse is None)
        if one.predicted_mse is not None:
            assert one.predicted_mse == pytest.approx(other.predicted_mse, rel=1e-2)
    assert len(quick.mechanism.sensitivity.bounds) > 200 > 2 * len(quick.mechanism.sensitivity.shaping.bounds)


def test_where_differences_are_left_out_the_others_still_span_all():
    rng = np.random.default_rng(0)
    # Kind 0 beside each of the others: only the last pair has anything of the last two directions.
    columns = np.zeros((400, 12), dtype=np.int64)
    columns[1:, :10] = rng.integers(-9, 10, (399, 10))
    columns[-2, 10], columns[-1, 10:] = 1, 1
    pairs = PairedChanges(Kinds(columns, np.arange(1, 400), np.zeros(399, dtype=np.int64), np.ones(399)))
    found = working_sets._in_all_directions(pairs, columns.astype(np.float64), np.arange(50), 1e-9)
    assert np.linalg.matrix_rank(pairs.rows(found)) == 12
    assert {*range(50)} < {*found.tolist()} and len(found) < 60
    assert np.linalg.matrix_rank(working_sets.active_differences(pairs).differences) == 12
