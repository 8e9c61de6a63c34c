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


def attributes_of(ages: int, regions: int, privacy: str = "pure"):
    age = {"range": [0, ages - 1], "step": 1, "whole": True}
    words = {"policy": "some", "universe": {"attributes": {"age": age, "region": [f"r{k}" for k in range(regions)]}}}
    rules = [{"change": "age", "epsilon": 1, "per": 7}, {"change": "region", "epsilon": 1}]
    return dx.Policy.from_dict({**words, "rules": rules, "privacy": privacy})


@pytest.mark.long
@pytest.mark.parametrize("questions", [{"ranges": "age"}, {"marginal": ["age", "region"]}])
def test_beyond_180_answers_no_shape_is_sought_beside_noise_in_parts(questions):
    policy = attributes_of(20, 10)
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"queries": [questions]}, policy))
    told = {one.name: one for one in plan.candidates}
    assert plan.mechanism.name in {"boxes-laplace", "marginal-laplace"}
    assert all("noise in parts was built" in told[name].reason for name in SOUGHT if name in told)


@pytest.mark.long
def test_noise_along_bases_stands_in_for_a_covariance_in_many_dimensions():
    policy = attributes_of(20, 12, "concentrated")
    asked = dx.queries_from_dict({"queries": [{"marginal": ["age", "region"]}]}, policy)
    quick = dx.plan(policy.compile(), asked)
    best = dx.plan(policy.compile(), asked, mechanism="gaussian")
    assert quick.mechanism.name == "kronecker-gaussian"
    assert "name 'gaussian' to have it" in {one.name: one for one in quick.candidates}["gaussian"].reason
    assert quick.loss <= best.loss * 1.05
