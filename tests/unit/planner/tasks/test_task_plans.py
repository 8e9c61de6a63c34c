"""Several tasks as one plan: one charge, answers by name, and what does not fit is refused before the charge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.queries.tasks.grammar import task_kinds
from dxgeom.universe.tasks.questions import AskedTask

POLICY = dx.parse_policy("""
policy: p
universe: {attributes: {ward: [north, south], ill: [flu, HIV, none]}}
rules: [{change: [ward, ill], epsilon: 1}]
""")
METRIC = POLICY.compile()
TASKS = [
    {"name": "tables", "share": "1/2", "queries": [{"marginal": "ward"}]},
    {"name": "most", "share": "1/4", "select": {"best": "ill"}},
    {"name": "numbers", "share": "1/4", "queries": [{"count": "ill == 'flu'", "name": "flu"}]},
]
COUNTS = np.array([10, 20, 3000, 40, 50, 60])


def planned(*tasks, **options):
    return dx.plan(METRIC, dx.queries_from_dict({"tasks": list(tasks)}, POLICY), **options)


def test_one_release_answers_all_tasks_and_is_charged_once(tmp_path):
    plan = planned(*TASKS)
    released = plan.release(COUNTS, ledger=tmp_path / "l.db", spend="1/2", id="once")
    assert released.spent == Fraction(1, 2)
    assert [one.spend for one in dx.ledger.read_ledger(str(tmp_path / "l.db")).entries] == [Fraction(1, 2)]
    assert released.answer["most"].picked == "none"
    assert released["tables"].names == ("ward=north", "ward=south")
    assert [one.spent for one in released.answer.answers] == [Fraction(1, 4), Fraction(1, 8), Fraction(1, 8)]
    again = plan.release(COUNTS, ledger=tmp_path / "l.db", spend="1/2", id="once")
    assert again.repeated
    assert again.as_dict()["tasks"] == released.as_dict()["tasks"]
    with pytest.raises(dx.UnsupportedCombination, match="did you mean 'tables'"):
        _ = released.answer["table"]


def test_the_best_few_are_told_in_order_with_one_bound_for_all(tmp_path):
    task = {"select": {"best": [{"count": f"ill == '{one}'", "name": one} for one in ("flu", "HIV", "none")], "top": 2}}
    plan = planned(task)
    data = np.array([10, 1000, 3000, 40, 50, 60])
    released = plan.release(data, ledger=tmp_path / "l.db", spend=1, id="once")
    [one] = released.answer.answers
    assert one.picked == ("none", "HIV")
    assert one.places == (2, 1)
    told = released.as_dict()["tasks"][0]
    assert told["picked"] == ["none", "HIV"]
    assert told["shortfall"]["at_most"] == one.mechanism.shortfall(0.95, Fraction(1))
    assert plan.release(data, ledger=tmp_path / "l.db", spend=1, id="once").answer.answers[0].picked == one.picked
    assert list(released.to_pandas()["name"]) == ["none", "HIV"]
    with pytest.raises(dx.QueryError, match="'top: 4' of 3 candidates"):
        planned({"select": {"best": "ill", "top": 4}})


def test_numbers_of_all_tasks_are_those_of_each_one_after_the_other():
    released = planned(TASKS[0], {**TASKS[2], "share": "1/2"}).release(COUNTS, ledger=":memory:", spend=1)
    parts = released.answer.answers
    assert released.names == ("ward=north", "ward=south", "flu")
    assert released.exact_values == (*parts[0].exact_values, *parts[1].exact_values)
    for joined, each in (
        (released.values, [one.values for one in parts]),
        (released.rmse, [one.rmse for one in parts]),
        (released.biases, [one.biases for one in parts]),
        (released.intervals(0.9), [one.intervals(0.9) for one in parts]),
        (released.to_pandas(joint=True)["low"], [one.intervals(0.975, joint=True)[:, 0] for one in parts]),
        # All at once, each task may miss half as often.
        (released.half_widths(0.9, joint=True), [one.half_widths(0.95, joint=True) for one in parts]),
    ):
        assert np.array_equal(joined, np.concatenate(each))
    assert released.ratio("ward=north", "ward=south") == parts[0].ratio("ward=north", "ward=south")
    assert released.combination({"flu": 2}) == parts[1].combination({"flu": 2})
    with pytest.raises(dx.UnsupportedCombination, match="of one task"):
        released.ratio("flu", "ward=north")
    with pytest.raises(dx.UnsupportedCombination, match="strictly between"):
        released.half_widths(-1, joint=True)
    with pytest.raises(dx.UnsupportedCombination, match="task 'most': a selection tells which"):
        _ = planned(*TASKS).release(COUNTS, ledger=":memory:", spend=1).values


def test_each_task_has_the_noise_of_its_share():
    plan = planned(*TASKS)
    alone = dx.plan(METRIC, dx.queries_from_dict({"queries": [{"marginal": "ward"}]}, POLICY))
    released = plan.release(COUNTS, ledger=":memory:", spend=1)
    assert released["tables"].rmse == pytest.approx(alone.rmse("1/2"))
    assert plan.mechanism.shares == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    told = released.as_dict()["tasks"]
    assert [(one["name"], one["kind"], one["share"], one["spent"]) for one in told] == [
        ("tables", "queries", "1/2", "1/2"),
        ("most", "select", "1/4", "1/4"),
        ("numbers", "queries", "1/4", "1/4"),
    ]
    assert released.public_dict()["tasks"] == told


def test_answers_of_all_tasks_are_one_table_and_each_has_its_own():
    released = planned(*TASKS).release(COUNTS, ledger=":memory:", spend=1)
    frame = released.to_pandas()
    assert list(frame["task"]) == ["tables", "tables", "most", "numbers"]
    assert list(released.to_pandas("most").columns) == ["query", "name", "shortfall", "candidates", "unit"]
    assert released.to_arrow("tables").num_rows == 2


def test_a_rehearsal_reads_no_data_and_statements_come_before_any():
    plan = planned(*TASKS)
    assert plan.rehearse(spend=1).rehearsal
    said = plan.statements(1)
    assert [len(one) for one in said] == [1, 1, 1]
    assert said[1][0].startswith("proved: with probability 0.95 the score")
    assert plan.as_dict()["tasks"][1]["plan"]["law"] == "permute-and-flip"


def test_quantiles_are_a_task_and_errors_that_are_wanted_say_the_least_spend():
    policy = dx.parse_policy(
        "policy: n\nuniverse: {attributes: {n: {range: [0, 9], step: 1}}}\nrules: [{change: n, epsilon: 1, per: 1}]\n"
    )
    tasks = [{"queries": [{"median": "n"}]}, {"queries": [{"count": "n > 3", "error": 5}]}]
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"tasks": tasks}, policy), spend="1/2")
    alone = dx.plan(policy.compile(), dx.queries_from_dict({"queries": tasks[1]["queries"]}, policy))
    assert plan.least_spend == 2 * alone.least_spend
    released = plan.release(np.arange(10), ledger=":memory:", spend="1/2")
    assert released["queries 1"].released[0].name == "median n"
    assert planned(*TASKS).least_spend is None


def test_what_cannot_be_answered_is_refused_by_the_name_of_its_task():
    private = dx.parse_policy(
        "policy: n\nuniverse: {attributes: {n: {range: [0, 9], step: 1}}}\n"
        "rules: [{change: n, epsilon: 1, per: 1}, {presence: true, epsilon: 1}]\n"
    )
    asked = dx.queries_from_dict({"tasks": [{"queries": [{"count": "n > 3"}]}, {"select": {"best": "n"}}]}, private)
    with pytest.raises(dx.UnsupportedCombination, match=r"records is private|'records' out"):
        dx.plan(private.compile(), asked, records=3)
    with pytest.raises(dx.UnsupportedCombination, match="other records than the metric"):
        dx.plan(METRIC, asked)
    with pytest.raises(dx.UnsupportedCombination, match="there is no mechanism"):
        planned(*TASKS, mechanism="best")
    with pytest.raises(dx.UnsupportedCombination, match="not 'importance': write it in the file"):
        planned(*TASKS, importance=[1, 1])
    with pytest.raises(dx.BudgetExceeded):
        planned(*TASKS).release(COUNTS, ledger=":memory:", spend=2)


def test_fingerprints_change_with_what_is_asked_and_with_shares():
    found = {planned(*tasks).fingerprint for tasks in (TASKS, TASKS[::-1], [TASKS[0] | {"share": "1"}], [
        TASKS[0], TASKS[1] | {"share": "1/3"}, TASKS[2] | {"share": "1/6"}
    ], [TASKS[0] | {"name": "other"}, *TASKS[1:]])}  # fmt: skip
    assert len(found) == 5


def test_each_kind_of_task_has_its_plan():
    assert {kind.question for kind in task_kinds()} == set(AskedTask.__subclasses__())
    assert all(kind.word == kind.question.word for kind in task_kinds())


def test_one_pick_goes_by_changed_scores_where_few_records_make_that_better_and_says_so(tmp_path):
    policy = dx.parse_policy("""
policy: near
universe: {attributes: {ill: {graph: [[flu, cold, 2], [flu, none, 100], [cold, none, 100]], unit: m}}}
rules: [{change: ill, epsilon: 1, per: 100 m}]
""")
    two = [{"count": f"ill == '{one}'", "name": one} for one in ("flu", "none")]
    asked = dx.queries_from_dict({"tasks": [{"name": "most", "select": {"best": two}}]}, policy)
    plain, few = (dx.plan(policy.compile(), asked, records=records) for records in (None, 100))
    assert plain.fingerprint != few.fingerprint
    released = few.release(np.array([10, 20, 70]), ledger=":memory:", spend=1)
    assert "other scores than asked for" in " ".join(few.parts[0].statements())
    assert (
        released["most"].shortfall()
        < plain.release(np.array([10, 20, 70]), ledger=":memory:", spend=1)["most"].shortfall()
    )
    with pytest.raises(dx.DataError, match="changed for 100 records"):
        few.release(np.array([10, 20, 71]), ledger=":memory:", spend=1)
    dx.save_plan(few, tmp_path / "few.json", policy=policy, spend=1)
    assert dx.load_plan(tmp_path / "few.json").fingerprint == few.fingerprint
