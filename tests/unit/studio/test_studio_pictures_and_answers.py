"""Who is near whom, and how exact answers are, as the studio says it: figures are those of the metric and the plan."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from reference.project import POLICIES

from dxgeom.errors import UnsupportedCombination
from dxgeom.studio.answers import _up
from dxgeom.studio.session import Studio
from dxgeom.wording.numbers import at_most


def studio_of(name, queries=False):
    folder = POLICIES / name
    return Studio(folder / "policy.yaml", folder / "queries.yaml" if queries else None)


def near(studio, attribute="", first=0, second=-1):
    return studio.ask("near", {"attribute": attribute, "first": first, "second": second})


@pytest.fixture(scope="module")
def planned():
    studio = studio_of("clinic", queries=True)
    studio.ask("plan", {"share": "1"})
    return studio


@pytest.mark.parametrize(
    ("name", "attribute", "kind"),
    [
        ("clinic", "age", "graph"),
        ("hospital-stays", "diagnosis", "graph"),
        ("adult", "age", "line"),
        ("payroll", "", "graph"),
    ],
)
def test_colours_and_odds_are_those_of_the_compiled_metric(name, attribute, kind):
    studio = studio_of(name)
    policy = studio.draft.policy
    found = near(studio, attribute, 1)
    assert found["kind"] == kind and found["first"] == 1
    nodes, step = found["nodes"], 1
    for one in reversed(policy.universe.attributes if policy.universe.listed is None else ()):
        if one.name == found["attribute"]:
            break
        step *= one.size
    for k, node in enumerate(nodes):
        assert node["odds"] == f"odds {at_most(float(policy.metric.distance(step, k * step)) * float(policy.budget))}"
        assert -1 <= node["x"] <= 1 and -1 <= node["y"] <= 1


def test_a_line_is_as_long_as_the_policy_has_it():
    found = near(studio_of("adult"), "age")
    metric = studio_of("adult").draft.policy.metric
    away = np.array([float(metric.distance(0, 2 * k)) for k in range(len(found["nodes"]))])
    places = np.array([node["x"] for node in found["nodes"]])
    assert np.allclose((places + 1) / 2, away / away.max(), atol=1e-3)


def test_edges_of_the_secret_graph_are_the_files_and_the_way_goes_along_them():
    studio = studio_of("hospital-stays")
    found = near(studio, "diagnosis", 2, 9)
    (bound,) = [rule.alone("diagnosis") for rule in studio.draft.policy.rules if rule.alone("diagnosis")]
    edges = set(map(tuple, found["edges"]))
    assert edges == set(bound.pairs)
    way = found["way"]
    assert (way[0], way[-1]) == (2, 9)
    assert all((min(pair), max(pair)) in edges for pair in pairwise(way))


@pytest.mark.long
def test_what_is_not_there_is_another(planned):
    found = near(planned, "no such attribute", 99, -5)
    assert found["attribute"] == "gender" and (found["first"], found["second"]) == (0, 1)


@pytest.mark.long
def test_rows_are_those_of_the_plan_and_the_least_exact_comes_first(planned):
    found = planned.ask("answers", {"share": "0.5"})
    widths = planned.answers._made[1].half_widths(0.95, Fraction(1, 2))
    shown = [float(row["said"].removeprefix("± ").replace(",", "")) for row in found["rows"]]
    assert shown == sorted(shown, reverse=True)
    assert all(one >= width for one, width in zip(shown, sorted(widths, reverse=True), strict=True))
    assert not found["stale"] and "Spending 0.5" in found["words"]


@pytest.mark.long
@pytest.mark.parametrize("wanted", [20, 60, 300, 5000])
def test_what_a_smaller_error_costs_is_enough_and_hardly_too_much(planned, wanted):
    made = planned.answers._made[1]
    name = made.queries.names[0]
    found = planned.ask("price", {"name": name, "wanted": wanted})
    cost = Fraction(found["words"].split(" of the budget")[0].removeprefix("It costs ").split(",")[0])
    assert made.half_widths(0.95, cost)[0] <= wanted
    assert made.half_widths(0.95, cost * Fraction(95, 100))[0] > wanted
    assert (found["share"] is None) == (cost > 1)


@pytest.mark.long
def test_a_policy_that_has_moved_leaves_the_plan_behind_until_somebody_plans_again():
    studio = studio_of("clinic", queries=True)
    studio.ask("plan", {"share": "1"})
    studio.ask("move", {"revision": 0, "lever": "rules/0/epsilon", "value": "0.5"})
    assert studio.ask("answers", {"share": "1"})["stale"]
    assert not studio.ask("plan", {"share": "1"})["stale"]


@pytest.mark.long
def test_made_up_people_are_answered_and_nothing_is_written(planned):
    before = sorted(path.name for path in planned.path.parent.iterdir())
    answers = [planned.ask("try", {"share": "1"})["html"] for _ in range(2)]
    assert all("not native" in one and "bars" in one for one in answers) and answers[0] != answers[1]
    assert sorted(path.name for path in planned.path.parent.iterdir()) == before


@pytest.mark.long
@pytest.mark.parametrize("share", ["0", "1.01", "-1", "x", "1/0", "nan"])
def test_a_share_is_of_the_whole(planned, share):
    with pytest.raises(UnsupportedCombination, match="share of the budget"):
        planned.ask("answers", {"share": share})


@pytest.mark.long
@pytest.mark.parametrize("asked", [{"name": "none", "wanted": 1}, {"name": "native", "wanted": True}, {"wanted": 0}])
def test_a_price_is_of_an_answer(planned, asked):
    with pytest.raises(UnsupportedCombination):
        planned.ask("price", asked)


def test_without_questions_or_a_plan_it_says_so():
    studio = studio_of("clinic")
    with pytest.raises(UnsupportedCombination, match=r"queries\.yaml"):
        studio.ask("plan", {"share": "1"})
    assert not studio.ask("answers", {"share": "1"})["planned"]
    with pytest.raises(UnsupportedCombination, match="nothing is planned"):
        studio.ask("try", {"share": "1"})


def test_rounding_up_keeps_three_digits():
    for number in (Fraction("0.0012341"), Fraction(1), Fraction(98765), Fraction(1, 3)):
        up = _up(number)
        assert number <= up <= number * Fraction(101, 100) and math.log10(up) == pytest.approx(
            math.log10(number), abs=0.01
        )
