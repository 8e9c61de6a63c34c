"""Answers about the nearest places say so, and counts that go value by value say which values stand for more."""

from __future__ import annotations

import pytest
from reference.project import POLICIES

import dxgeom as dx

PLACES = """
policy: trips
universe:
  attributes:
    stop:
      points: stops.csv
      key: stop
      x: east
      "y": north
      unit: km
      nearest: {x: x, y: y, at_most: 3 km}
    means: [walk, bus]
    age: {range: [0, 21], step: 5}
    rooms: {range: [1, 3], step: 1, whole: true}
    pay: {bins: [0, 10, 25]}
    day: {dates: [2024-01-01, 2024-01-18], step: 7}
rules:
  - {change: [stop, means, age, rooms, pay, day], epsilon: 1}
"""


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "stops.csv").write_text("stop,east,north,height\na,0,0,10\nb,4,0,30\nc,9,0,80\n")
    (tmp_path / "policy.yaml").write_text(PLACES.replace("y: y", '"y": y'))
    return dx.load_policy(tmp_path / "policy.yaml")


def told(policy, query):
    plan = dx.plan(policy.compile(), dx.parse_queries(f"queries:\n  - {query}\n", policy), mechanism="laplace")
    return plan, [one["bias"].get("placed", []) for one in plan.as_dict()["queries"]]


@pytest.mark.parametrize(
    ("query", "asks"),
    [
        ("sum: height", True),
        ("{count: true, by: stop}", True),
        ("count: east > 3 and means == 'bus'", True),
        ("marginal: [means, stop]", True),
        ("{sum: age, where: height < 50}", True),
        ("count: means == 'bus'", False),
        ("{sum: age, where: rooms == 2}", False),
    ],
)
def test_what_nearest_rounds_away_is_told_wherever_an_answer_depends_on_it(policy, query, asks):
    plan, each = told(policy, query)
    lines = [line for line in plan.bars("1").in_words() if "nearest of 'stop', at most 3 km" in line]
    assert len(lines) == int(asks)
    assert all(one == (["stop"] if asks else []) for one in each)
    assert ("nearest of 'stop'" in "\n".join(plan.lines())) == asks


def test_a_release_and_a_plan_file_tell_it_too(policy, tmp_path):
    plan, _ = told(policy, "sum: height")
    release = plan.rehearse(spend="1/2", records=20)
    assert release.as_dict()["answers"][0]["bias"]["placed"] == ["stop"]
    assert any("nearest of 'stop', at most 3 km" in line for line in plan.bars("1/2").in_words())
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert "nearest of 'stop', at most 3 km" in "\n".join(dx.load_plan(tmp_path / "plan.json").plan.lines())


@pytest.mark.parametrize(
    ("query", "stepped"),
    [
        ("prefixes: age", ["age"]),
        ("{prefixes: age, at: [5, 10]}", []),
        ("ranges: age", ["age"]),
        ("{ranges: age, at: [5, 15]}", []),
        ("marginal: [means, age]", ["age"]),
        ("marginals: [[age], [day]]", ["age", "day"]),
        ("marginals: {ways: 1, of: [age, means]}", ["age"]),
        ("{count: true, by: age}", ["age"]),
        ("prefixes: day", ["day"]),
        ("{prefixes: day, at: [2024-01-08]}", []),
        ("prefixes: rooms", []),
        ("marginal: pay", []),
        ("{marginal: means, where: age == 5}", ["age"]),
    ],
)
def test_counts_value_by_value_say_which_values_stand_for_more(policy, query, stepped):
    queries = dx.parse_queries(f"queries:\n  - {query}\n", policy)
    assert {one.stepped for one in queries.each_rounding} == {tuple(stepped)}


def test_the_examples_of_nearest_places_tell_it():
    for name, far in (("admissions", "10 km"), ("bike-sharing", "100 m")):
        policy = dx.load_policy(POLICIES / name / "policy.yaml")
        plan = dx.plan(policy.compile(), dx.load_queries(POLICIES / name / "queries.yaml", policy), mechanism="laplace")
        assert any(f"at most {far} from where it is" in line for line in plan.lines())
