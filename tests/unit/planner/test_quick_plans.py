"""A quick plan looks at what is found at once, and loses little by it."""

from __future__ import annotations

from statistics import median

import pytest
from reference.project import ROOT

import dxgeom as dx
from dxgeom.planner.comparing.comparison import SOUGHT

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
@pytest.mark.parametrize(
    ("ages", "regions", "questions"), [(40, 2, {"ranges": "age"}), (30, 12, {"marginal": ["age", "region"]})]
)
def test_what_takes_long_is_not_sought_beside_noise_in_parts_that_suits(ages, regions, questions):
    policy = attributes_of(ages, regions)
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"queries": [questions]}, policy))
    told = {one.name: one for one in plan.candidates}
    assert plan.mechanism.name in {"boxes-laplace", "marginal-laplace"}
    assert "beside noise in parts that may be as good" in told["rotated-laplace"].reason


@pytest.mark.long
def test_days_running_totals_and_weeks_of_them_are_no_cliff():
    """Noise in boxes errs ten times as much there: whatever the number of answers, other noise is looked for."""
    errors = []
    for last in ("2027-02-25", "2027-03-31", "2027-05-20"):
        policy = dx.Policy.from_dict(
            {
                "policy": "visits",
                "time": {"column": "day", "from": "2027-01-01", "to": last, "every": "day"},
                "universe": {"attributes": {"ward": ["A", "B", "C"]}},
                "rules": [
                    {"change": "ward", "epsilon": 1},
                    {"change": "day", "epsilon": 1, "per": "7 days"},
                    {"presence": True, "epsilon": 1},
                ],
            }
        )
        asked = dx.queries_from_dict({"queries": [{"every": "day"}, {"total": "so far"}, {"window": "7 days"}]}, policy)
        plan = dx.plan(policy.compile(), asked)
        assert plan.mechanism.name != "boxes-laplace"
        errors.append((plan.predicted_mse / len(asked.names)) ** 0.5)
    assert max(errors) < 1.25 * min(errors)


@pytest.mark.long
def test_noise_along_bases_stands_in_for_a_covariance_in_many_dimensions():
    policy = attributes_of(20, 12, "concentrated")
    asked = dx.queries_from_dict({"queries": [{"marginal": ["age", "region"]}]}, policy)
    quick = dx.plan(policy.compile(), asked)
    best = dx.plan(policy.compile(), asked, mechanism="gaussian")
    assert quick.mechanism.name == "kronecker-gaussian"
    assert "name 'gaussian' to have it" in {one.name: one for one in quick.candidates}["gaussian"].reason
    assert quick.loss <= best.loss * 1.05
