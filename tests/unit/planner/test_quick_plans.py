"""A quick plan looks at what is found at once, and loses little by it."""

from __future__ import annotations

from statistics import median

import pytest
from reference.project import ROOT

import dxgeom as dx
from dxgeom.planner.comparing.quick_search import SOUGHT

AT_MOST = 1.2
MEDIAN_AT_MOST = 1.1
SMALL = ("clinic", "poll")
EXAMPLES = tuple(sorted(path.parent.name for path in (ROOT / "policies").glob("*/queries.yaml")))


def asked(example: str):
    policy = dx.load_policy(ROOT / "policies" / example / "policy.yaml")
    return policy.compile(), dx.load_queries(ROOT / "policies" / example / "queries.yaml", policy)


def within(example: str) -> float:
    metric, queries = asked(example)
    full, quick = dx.plan(metric, queries, thorough=True), dx.plan(metric, queries)
    return full.objective.loss(quick.mechanism.variances()) / full.loss


@pytest.mark.parametrize("example", SMALL)
def test_a_quick_plan_of_a_small_example_loses_little(example):
    assert within(example) <= AT_MOST


@pytest.mark.long
@pytest.mark.parametrize("example", sorted({*EXAMPLES} - {*SMALL}))
def test_a_quick_plan_of_an_example_loses_little(example):
    assert within(example) <= AT_MOST


@pytest.mark.long
def test_the_plan_of_half_of_the_examples_loses_next_to_nothing():
    assert median(map(within, EXAMPLES)) <= MEDIAN_AT_MOST


def test_no_other_shape_is_sought_where_the_hull_was_built():
    plan = dx.plan(*asked("adult"))
    told = {one.name: one for one in plan.candidates}
    assert told["hull"].predicted_mse is not None
    assert all(told[name].predicted_mse is None for name in SOUGHT)
    assert "seeks no other shape" in told["rotated-laplace"].reason
    assert told["box"].reason.endswith("than a quick plan may")


def test_a_shape_is_sought_where_there_is_no_hull():
    plan = dx.plan(*asked("admissions"))
    told = {one.name: one for one in plan.candidates}
    assert told["hull"].predicted_mse is None
    assert told["block-hulls"].predicted_mse is not None
    assert plan.comparison.search == "quick"
