"""The polygons that pictures draw."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from reference.project import POLICIES

import dxgeom as dx
from dxgeom.planner.plan import Plan
from dxgeom.report.projection import convex_polygon, projected_differences, projection_of_body

MECHANISMS = ("hull", "laplace", "epsilon-dp")


def depth(polygon: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each point the smallest signed distance to a side of a counter-clockwise polygon; negative is outside."""
    sides = np.roll(polygon, -1, axis=0) - polygon
    away = points[:, None] - polygon[None]
    crossed = sides[None, :, 0] * away[..., 1] - sides[None, :, 1] * away[..., 0]
    return np.asarray(np.min(crossed / np.linalg.norm(sides, axis=1), axis=1))


def clinic_plan(mechanism: str) -> Plan:
    policy = dx.load_policy(POLICIES / "clinic" / "policy.yaml")
    queries = dx.load_queries(POLICIES / "clinic" / "queries.yaml", policy)
    return dx.plan(policy.compile(), queries, mechanism=mechanism)  # type: ignore[arg-type]


def points_plan(mechanism: str, seed: int) -> Plan:
    generator = np.random.default_rng(seed)
    points = generator.random((12, 2))
    metric = dx.verify_metric(np.linalg.norm(points[:, None] - points[None], axis=2))
    queries = dx.LinearQueries.from_matrix(["a", "b", "c", "d"], generator.normal(size=(4, 12)))
    return dx.plan(metric, queries, mechanism=mechanism)  # type: ignore[arg-type]


def check_shadows_hold_differences(plan: Plan) -> None:
    for first, second in permutations(range(plan.queries.count), 2):
        polygon = projection_of_body(plan.mechanism, first, second)
        moved = projected_differences(plan.mechanism, first, second)
        assert np.min(depth(polygon, moved)) >= -1e-9 * np.abs(polygon).max()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_shadow_of_a_policy_holds_the_shadow_of_every_difference(mechanism: str) -> None:
    check_shadows_hold_differences(clinic_plan(mechanism))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("seed", range(3))
def test_the_shadow_of_real_queries_holds_the_shadow_of_every_difference(mechanism: str, seed: int) -> None:
    check_shadows_hold_differences(points_plan(mechanism, seed))


@pytest.mark.parametrize("seed", range(3))
def test_the_shadow_of_the_hull_is_the_hull_of_the_differences_and_no_larger(seed: int) -> None:
    plan = points_plan("hull", seed)
    for first, second in permutations(range(plan.queries.count), 2):
        polygon = projection_of_body(plan.mechanism, first, second)
        tight = convex_polygon(projected_differences(plan.mechanism, first, second))
        assert np.min(depth(tight, polygon)) >= -1e-6 * np.abs(polygon).max()


def test_the_shadow_of_a_laplace_body_is_a_diamond_of_its_scales() -> None:
    plan = clinic_plan("laplace")
    scales = np.sqrt(plan.mechanism.variances() / 2)
    polygon = projection_of_body(plan.mechanism, 0, 2)
    diamond = [[-scales[0], 0], [0, -scales[2]], [scales[0], 0], [0, scales[2]]]
    assert polygon == pytest.approx(np.array(diamond), rel=1e-3)


def test_two_answers_that_need_no_noise_have_a_point_for_a_shadow() -> None:
    metric = dx.verify_metric(np.array([[0.0, 1.0], [1.0, 0.0]]))
    plan = dx.plan(metric, dx.LinearQueries.from_matrix(["all", "twice all"], [[1, 1], [2, 2]]))
    assert projection_of_body(plan.mechanism, 0, 1).tolist() == [[0.0, 0.0]]


@given(arrays(np.int64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.integers(-6, 6)))
def test_a_convex_polygon_turns_left_everywhere_and_holds_every_point(points: NDArray[np.int64]) -> None:
    polygon = convex_polygon(points.astype(np.float64))
    corners = {tuple(corner) for corner in polygon.tolist()}
    assert corners <= {tuple(point) for point in points.astype(float).tolist()}
    assert len(corners) == len(polygon)
    if len(polygon) < 3:
        offsets = points - points[0]
        assert np.linalg.matrix_rank(offsets) == len(polygon) - 1
        assert polygon.min(axis=0).tolist() == points.min(axis=0).tolist()
        assert polygon.max(axis=0).tolist() == points.max(axis=0).tolist()
        return
    sides = np.roll(polygon, -1, axis=0) - polygon
    following = np.roll(sides, -1, axis=0)
    assert np.all(sides[:, 0] * following[:, 1] - sides[:, 1] * following[:, 0] > 0)
    assert np.min(depth(polygon, points.astype(np.float64))) >= 0
