"""A plan is thorough in any case where that is little work, which is counted from sizes alone."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import dxgeom as dx
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.comparing.thoroughness import SHORT, SMALL, _most_facets, of_small_work, settled, work_of_search
from dxgeom.planner.objectives.objective import Objective
from dxgeom.planner.wish import PlanOptions

QUICK = PlanOptions(quick=True)


def of(queries: int, records: int, seed: int = 0):
    """Random counts of many corners: every pair of records differs otherwise."""
    rows = np.random.default_rng(seed).integers(0, 9, (queries, records))
    names = [f"q{k}" for k in range(queries)]
    return sensitivity_of(dx.verify_metric(1 - np.eye(records)), dx.LinearQueries.from_matrix(names, rows.tolist()))


def middling():
    """Between SMALL and SHORT: too much to be made in any case, short where something may be found."""
    found = of(4, 7)
    assert SMALL < work_of_search(found, 8_000) <= SHORT
    return found


@pytest.mark.parametrize("dimension", range(2, 7))
@pytest.mark.parametrize("corners", [8, 11, 14])
def test_no_polytope_has_more_facets_than_one_around_the_moment_curve(dimension, corners):
    curve = np.arange(corners, dtype=float)[:, None] / corners - 0.5
    points = curve ** np.arange(1, dimension + 1)
    assert _most_facets(corners, dimension) == len(ConvexHull(points / points.max(axis=0)).simplices)


def test_work_grows_with_queries_and_records_and_is_the_same_each_time():
    sizes = [(2, 3), (2, 6), (3, 6), (5, 6), (5, 12), (9, 30)]
    stated = [work_of_search(of(*size), 8_000) for size in sizes]
    assert stated == sorted(stated)
    assert stated == [work_of_search(of(*size), 8_000) for size in sizes]


def test_little_work_is_done_in_any_case():
    few = of(2, 3)
    assert work_of_search(few, 8_000) <= SMALL
    assert not of_small_work(QUICK, few).quick
    assert of_small_work(QUICK, middling()).quick


def test_a_short_search_is_made_where_what_is_found_at_once_may_leave_something():
    found = middling()
    assert settled(CandidateBuilder(found, options=QUICK)).options.quick
    assert not settled(CandidateBuilder(found, Objective("max"), QUICK)).options.quick
    named = PlanOptions("rotated-laplace", quick=True)
    assert not settled(CandidateBuilder(found, options=named)).options.quick


def test_a_long_search_is_made_by_request_alone():
    found = of(9, 30)
    assert work_of_search(found, 8_000) > SHORT
    assert settled(CandidateBuilder(found, Objective("max"), QUICK)).options.quick
    assert not settled(CandidateBuilder(found, Objective("max"))).options.quick


def test_a_thorough_plan_of_little_work_is_the_plan_that_is_made_by_default():
    metric = dx.verify_metric(1 - np.eye(3))
    queries = dx.LinearQueries.from_matrix(["a", "b"], [[1, 0, 2], [0, 3, 1]])
    plan = dx.plan(metric, queries)
    assert plan.comparison.search == "full"
    assert plan.fingerprint == dx.plan(metric, queries, thorough=True).fingerprint
    assert plan.as_dict() == dx.plan(metric, queries, thorough=True).as_dict()


def test_quick_is_understood_for_one_more_version():
    metric = dx.verify_metric(1 - np.eye(3))
    queries = dx.LinearQueries.from_matrix(["a", "b"], [[1, 0, 2], [0, 3, 1]])
    with pytest.warns(DeprecationWarning, match="thorough=False"):
        plan = dx.plan(metric, queries, quick=True)
    assert plan.fingerprint == dx.plan(metric, queries).fingerprint


@pytest.mark.parametrize("said", ["yes", 1, object()])
def test_progress_is_true_or_a_function(said):
    with pytest.raises(dx.DxgeomError, match="progress"):
        dx.plan(dx.verify_metric(1 - np.eye(2)), dx.LinearQueries.from_matrix(["a"], [[0, 1]]), progress=said)


def test_progress_may_be_a_line(capsys):
    metric, queries = dx.verify_metric(1 - np.eye(2)), dx.LinearQueries.from_matrix(["a"], [[0, 1]])
    for said in (True, False, None):
        dx.plan(metric, queries, progress=said)
    assert capsys.readouterr() == ("", "")  # over long before a line is due


def test_progress_is_told_every_candidate():
    told = []
    metric, queries = dx.verify_metric(1 - np.eye(2)), dx.LinearQueries.from_matrix(["a"], [[0, 1]])
    plan = dx.plan(metric, queries, progress=told.append)
    assert {one.name for one in plan.candidates} <= {re.split("[,;]", one)[0] for one in told}
    said = [one for one in told if not one.startswith("hull: ")]
    assert [int(re.search(r"; (\d+) of 10 kinds of noise are done$", one)[1]) for one in said] == [*range(10)]
    assert next(one for one in said if one.startswith("box")).startswith("box, about 240,000 multiplications; ")
    best = {re.search(r"; rmse so far (\S*) \(spend 1\); ", one)[1] for one in said[1:]}
    assert best == {"1.4"}, "of Laplace noise of scale 1, whose rmse is √2, or of none less"
