"""Tasks in a queries file: what they ask, and what is told of their mistakes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from reference.json_schema import is_valid

import dxgeom as dx
from dxgeom.queries.schema import queries_schema
from dxgeom.queries.tasks.grammar import TASK_KINDS
from dxgeom.universe.tasks import QueriesTask, SelectTask, Tasks

POLICY = dx.parse_policy("""
policy: p
universe:
  attributes:
    ward: [north, south]
    ill: {values: [flu, HIV, none], missing: {epsilon: 1}}
    pay: {range: [0, 20], step: 10}
rules: [{change: [ward, ill], epsilon: 1}, {change: pay, epsilon: 1, per: 10}]
""")


def asked(*tasks) -> Tasks:
    found = dx.queries_from_dict({"tasks": list(tasks)}, POLICY)
    assert isinstance(found, Tasks)
    return found


def test_tasks_have_names_and_shares_of_one_spend():
    found = asked(
        {"queries": [{"count": True}], "name": "all", "share": "1/3"}, {"select": {"best": "ward"}, "share": "2/3"}
    )
    assert found.names == ("all", "select 2")
    assert found.shares == (Fraction(1, 3), Fraction(2, 3))
    assert [type(part.asked) for part in found.parts] == [QueriesTask, SelectTask]
    assert asked({"queries": [{"count": True}]}, {"select": {"best": "ward"}}).shares == (Fraction(1, 2),) * 2


def test_values_are_scored_by_what_a_query_by_groups_would_answer():
    task = asked({"select": {"best": "ill", "by": {"sum": "pay"}, "where": "ward == 'north'"}}).parts[0].asked
    (query,) = ({"sum": "pay", "where": "ward == 'north'", "by": "ill"},)
    same = dx.queries_from_dict({"queries": [query]}, POLICY)
    assert task.candidates.fingerprint == same.fingerprint
    assert task.each_label == ("flu", "HIV", "none", "missing")
    pairs = asked({"select": {"best": ["ward", "ill"]}}).parts[0].asked
    assert pairs.each_label[0] == "ward=north, ill=flu"
    assert pairs.law == "permute-and-flip"


def test_candidates_may_be_queries_of_any_kind_that_adds_up():
    of = asked({"select": {"best": [{"count": "pay > 0", "name": "paid"}, {"marginal": "ward"}]}}).parts[0].asked
    assert of.each_label == ("paid", "ward=north", "ward=south")


MISTAKES = [
    ({}, "DX230", "a task asks for one of"),
    ({"select": {"best": "ward"}, "queries": [{"count": True}]}, "DX230", "found select and queries"),
    ("select", "DX230", "found 'select'"),
    ({"selct": {"best": "ward"}}, "DX230", "did you mean 'select'?"),
    ({"select": "ward"}, "DX108", "is a mapping with 'best' and"),
    ({"select": {}}, "DX107", "the key 'best' is missing"),
    ({"select": {"best": "wards"}}, "DX201", "did you mean 'ward'?"),
    ({"select": {"best": "ward", "by": "mean"}}, "DX233", "a value is scored by 'count'"),
    ({"select": {"best": "ward", "by": {"sum": "ill"}}}, "DX201", "only numbers can be added up"),
    ({"select": {"best": "ward", "law": "best"}}, "DX232", "a selection's law is one of"),
    ({"select": {"best": "ward", "shares": 1}}, "DX105", "the key 'shares' is not known here"),
    ({"select": {"best": [{"count": True}], "by": "count"}}, "DX233", "these candidates are queries"),
    ({"select": {"best": [{"median": "pay"}]}}, "DX233", "quantiles are no sums"),
    ({"select": {"best": [{"mean": "pay", "where": "ward == 'north'"}]}}, "DX233", "is a ratio of two"),
    ({"select": {"best": [{"count": True, "importance": 2}]}}, "DX233", "'importance' is heeded by noise"),
    ({"select": {"best": [{"count": True}, {"sum": "pay"}]}}, "DX233", "measured alike, found records and pay"),
    ({"select": {"best": []}}, "DX108", ""),
    ({"queries": "count"}, "DX108", "'queries' is a list with at least one query"),
    ({"queries": [{"count": "ward == 'west'"}]}, "DX202", "has no value"),
    ({"queries": [{"count": True}], "share": 0}, "DX231", "a share lies between 0 and 1"),
    ({"queries": [{"count": True}], "share": "1/2"}, "DX231", "sum to 1/2, not to 1"),
    ({"queries": [{"count": True}], "spend": 1}, "DX105", "the key 'spend' is not known here"),
]


@pytest.mark.parametrize(("task", "code", "said"), MISTAKES)
def test_every_mistake_is_told_with_its_code_and_place(task, code, said):
    with pytest.raises(dx.QueryError) as caught:
        asked(task)
    first = caught.value.diagnostics[0]
    assert first.code == code
    assert first.path.startswith("tasks")
    assert said in str(caught.value)


def test_all_mistakes_of_all_tasks_are_told_at_once():
    with pytest.raises(dx.QueryError) as caught:
        asked({"select": {"best": "wards"}}, {"queries": [{"count": "x"}]}, {"share": 2, "select": {"best": "ward"}})
    assert [one.path.split(".")[0] for one in caught.value.diagnostics] == ["tasks[0]", "tasks[1]", "tasks[2]"]


def test_queries_and_tasks_do_not_share_a_file_and_tasks_no_name():
    with pytest.raises(dx.QueryError, match="DX234"):
        dx.queries_from_dict({"queries": [{"count": True}], "tasks": [{"select": {"best": "ward"}}]}, POLICY)
    with pytest.raises(dx.QueryError, match="DX235"):
        asked({"select": {"best": "ward"}, "name": "one"}, {"select": {"best": "ill"}, "name": "one"})
    with pytest.raises(dx.QueryError, match="some tasks state their share"):
        asked({"select": {"best": "ward"}, "share": "1/2"}, {"select": {"best": "ill"}})


def test_the_schema_knows_every_kind():
    forms = queries_schema()["properties"]["tasks"]["items"]["anyOf"]
    assert [form["title"] for form in forms] == [kind.word for kind in TASK_KINDS]
    task = {"select": {"best": "ward", "by": {"sum": "pay"}, "law": "exponential"}, "share": "1/2", "name": "s"}
    assert is_valid({"tasks": [task]}, queries_schema())
    for wrong in ({"select": {"by": "count"}}, {"select": {"best": "ward", "law": "x"}}, {"queries": [{"cont": "x"}]}):
        assert not is_valid({"tasks": [wrong]}, queries_schema())
