"""Tasks in a queries file: what they ask, and what is told of their mistakes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.json_schema import is_valid

import dxgeom as dx
from dxgeom.queries.schema import queries_schema
from dxgeom.queries.tasks.grammar import task_kinds
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
    assert [type(part.question) for part in found.parts] == [QueriesTask, SelectTask]
    assert asked({"queries": [{"count": True}]}, {"select": {"best": "ward"}}).shares == (Fraction(1, 2),) * 2


def test_values_are_scored_by_what_a_query_by_groups_would_answer():
    task = asked({"select": {"best": "ill", "by": {"sum": "pay"}, "where": "ward == 'north'"}}).parts[0].question
    (query,) = ({"sum": "pay", "where": "ward == 'north'", "by": "ill"},)
    same = dx.queries_from_dict({"queries": [query]}, POLICY)
    assert task.candidates.fingerprint == same.fingerprint
    assert task.each_label == ("flu", "HIV", "none", "missing")
    pairs = asked({"select": {"best": ["ward", "ill"]}}).parts[0].question
    assert pairs.each_label[0] == "ward=north, ill=flu"
    assert pairs.law == "permute-and-flip"


def test_candidates_may_be_queries_of_any_kind_that_adds_up():
    of = asked({"select": {"best": [{"count": "pay > 0", "name": "paid"}, {"marginal": "ward"}]}}).parts[0].question
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
    ({"count_distinct": "ward"}, "DX230", "distinct: column}]'"),
    ({"distinct": "wards"}, "DX201", "did you mean 'ward'?"),
    ({"distinct": "pay"}, "DX201", "stands for several raw ones"),
    ({"distinct": {"where": "pay > 0"}}, "DX107", "the key 'of' is missing"),
    ({"distinct": {"of": "ill", "where": "ill is missing"}}, "DX202", "no possible record has a value here"),
    ({"distinct": []}, "DX108", "names one or more columns"),
    ({"keys": "wards", "spurious": "1"}, "DX201", "did you mean 'ward'?"),
    ({"keys": "ward"}, "DX233", "either 'spurious' or 'at_least'; found neither"),
    ({"keys": "ward", "spurious": "1", "at_least": 9}, "DX233", "found both"),
    ({"keys": "ward", "spurious": "0"}, "DX232", "a number above 0"),
    ({"keys": "ward", "at_least": "0.5"}, "DX232", "is a whole number from 1"),
    ({"keys": [], "spurious": "1"}, "DX108", "names one or more columns"),
    ({"keys": ["ward", "ward"], "spurious": "1"}, "DX201", "the same column twice"),
    ({"select": {"best": "ward", "law": "best"}}, "DX232", "a selection's law is one of"),
    ({"select": {"best": "ward", "shares": 1}}, "DX105", "the key 'shares' is not known here"),
    ({"select": {"best": [{"count": True}], "by": "count"}}, "DX233", "these candidates are queries"),
    ({"select": {"best": [{"median": "pay"}]}}, "DX233", "quantiles are no sums"),
    ({"select": {"best": [{"mean": "pay", "where": "ward == 'north'"}]}}, "DX233", "is a ratio of two"),
    ({"select": {"best": [{"count": True, "importance": 2}]}}, "DX233", "'importance' is heeded by noise"),
    ({"select": {"best": [{"count": True}, {"sum": "pay"}]}}, "DX233", "measured alike, found records and pay"),
    ({"select": {"best": []}}, "DX108", ""),
    ({"synthesize": {"workload": [{"count": True}], "rounds": -1}}, "DX232", "the number of rounds is a whole number"),
    ({"synthesize": {"workload": [{"count": True}], "rows": "1e99"}}, "DX232", "the number of rows"),
    ({"synthesize": {"workload": [{"count": True}], "estimate": "best"}}, "DX232", "estimated by weights or mbi"),
    ({"synthesize": {"rounds": 3}}, "DX107", "the key 'workload' is missing"),
    ({"synthesize": {"workload": [{"median": "pay"}]}}, "DX233", "quantiles are no sums"),
    ({"small_database": {"workload": [{"count": True}]}}, "DX107", "the key 'rows' is missing"),
    ({"small_database": {"workload": [{"count": True}], "rows": 0}}, "DX232", "the number of rows"),
    ({"small_database": {"workload": [{"count": True, "error": 5}], "rows": 2}}, "DX233", "'error' is heeded"),
    ({"statistics": {"degree": 2}}, "DX233", "found 0"),
    ({"statistics": {"moments": "ill"}}, "DX201", "only numbers can be added up"),
    ({"statistics": {"moments": "pay", "degree": 9}}, "DX232", "a degree is a whole number"),
    ({"statistics": {"products": "pay"}}, "DX108", "a list of lists"),
    ({"statistics": {"products": [["pay"] * 9]}}, "DX232", "at most 8 numbers"),
    ({"series": ["ward"]}, "DX233", "all readings of a record"),
    ({"series": ["wards"]}, "DX201", "did you mean 'ward'"),
    ({"series": {"ward": "ill"}}, "DX108", "a list of attributes"),
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


def test_statistics_are_sums_of_products_over_the_chosen_records():
    task = asked({"statistics": {"moments": ["pay"], "degree": 2, "where": "ward == 'north'"}}).parts[0].question
    assert task.sums.names == ("sum of pay where ward == 'north'", "sum of pay·pay where ward == 'north'")
    counts = np.zeros(POLICY.universe.size, dtype=np.int64)
    for ward, pay, number in (("north", 10, 3), ("north", 0, 5), ("south", 20, 7)):
        counts[POLICY.universe.index({"ward": ward, "ill": "flu", "pay": pay})] = number
    assert task.sums.answers(counts) == [3 * 15 + 5 * 5, 3 * 15**2 + 5 * 5**2]
    # (15 + 5)² − 15² is more than (15 − 5)² is below it; the last value, 20, is 20 only.
    assert [one.per_record for one in task.sums.each_rounding] == [5, (20 + 5) ** 2 - 20**2]


@given(st.lists(st.tuples(st.sampled_from([0, 10, 20]), st.fractions(0, "9.99")), min_size=1, max_size=4))
def test_products_of_raw_numbers_are_within_what_rounding_is_said_to_do(rows):
    task = asked({"statistics": {"products": [["pay"], ["pay", "pay"], ["pay", "pay", "pay"]]}}).parts[0].question
    middles = {0: 5, 10: 15, 20: 20}
    for power, rounding in zip((1, 2, 3), task.sums.each_rounding, strict=True):
        for value, more in rows:
            raw = min(Fraction(20), value + more)
            assert abs(raw**power - middles[value] ** power) <= rounding.per_record


def test_a_series_is_asked_alone():
    readings = {"series": ["ward", "ill", "pay"]}
    assert asked(readings).parts[0].question.attributes == ("ward", "ill", "pay")
    with pytest.raises(dx.QueryError, match="put it into a file of its own"):
        asked(readings, {"select": {"best": "ward"}})


def test_all_mistakes_of_all_tasks_are_told_at_once():
    with pytest.raises(dx.QueryError) as caught:
        asked({"select": {"best": "wards"}}, {"queries": [{"count": "x"}]}, {"share": 2, "select": {"best": "ward"}})
    assert [one.path.split(".")[0] for one in caught.value.diagnostics] == ["tasks[0]", "tasks[1]", "tasks[2]"]


def test_all_unknown_attributes_of_a_series_are_told_at_once():
    with pytest.raises(dx.QueryError) as caught:
        asked({"series": ["wards", "ill", "pays"]})
    assert [one.path for one in caught.value.diagnostics] == ["tasks[0].series[0]", "tasks[0].series[2]"]


def test_queries_and_tasks_do_not_share_a_file_and_tasks_no_name():
    with pytest.raises(dx.QueryError, match="DX234"):
        dx.queries_from_dict({"queries": [{"count": True}], "tasks": [{"select": {"best": "ward"}}]}, POLICY)
    with pytest.raises(dx.QueryError, match="DX235"):
        asked({"select": {"best": "ward"}, "name": "one"}, {"select": {"best": "ill"}, "name": "one"})
    with pytest.raises(dx.QueryError, match="some tasks state their share"):
        asked({"select": {"best": "ward"}, "share": "1/2"}, {"select": {"best": "ill"}})


def test_the_schema_knows_every_kind():
    forms = queries_schema()["properties"]["tasks"]["items"]["anyOf"]
    assert [form["title"] for form in forms] == [kind.word for kind in task_kinds()]
    task = {"select": {"best": "ward", "by": {"sum": "pay"}, "law": "exponential"}, "share": "1/2", "name": "s"}
    assert is_valid({"tasks": [task]}, queries_schema())
    for wrong in ({"select": {"by": "count"}}, {"select": {"best": "ward", "law": "x"}}, {"queries": [{"cont": "x"}]}):
        assert not is_valid({"tasks": [wrong]}, queries_schema())


def test_advice_for_numbers_of_different_values_leads_somewhere():
    """Where possible records are too many to count each, no task is advised again; keys are called by their name."""
    attributes = {f"a{k}": [str(value) for value in range(10)] for k in range(12)}
    rules = [{"change": list(attributes), "epsilon": 1}]
    wide = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})
    with pytest.raises(dx.QueryError, match=r"tasks\[0\]: DX221: tasks need a count of every possible record") as error:
        dx.queries_from_dict({"tasks": [{"name": "n", "distinct": "a1"}]}, wide)
    assert "write a task" not in str(error.value) and "about 10^12" in str(error.value)
    for of, words in (
        ([], "'distinct' names one or more"),
        (["ward", "ward"], "'distinct' names the same column twice"),
    ):
        with pytest.raises(dx.QueryError, match=words):
            asked({"name": "n", "distinct": of})
