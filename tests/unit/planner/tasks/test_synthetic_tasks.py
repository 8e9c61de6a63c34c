"""Synthetic records, small databases, statistics and series as tasks of a release."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dxgeom as dx
from dxgeom.engines.answer_frames import write_batches
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.mechanisms.linear.time_series import series_mechanism
from dxgeom.universe.reading.record_tables import columns_of_records

POLICY = dx.parse_policy("""
policy: p
universe:
  attributes:
    ward: {values: [north, south], missing: {epsilon: 1}}
    age: {range: [0, 20], step: 10}
    pay: {bins: [0, 1, 2.5]}
    day: {dates: [2026-01-01, 2026-01-15], step: 7}
rules: [{change: [ward, pay, day], epsilon: 1}, {change: age, epsilon: 1, per: 10}]
""")
METRIC = POLICY.compile()
COUNTS = np.random.default_rng(3).multinomial(5000, np.full(POLICY.universe.size, 1 / POLICY.universe.size))


def released(task, spend=1, records=5000, **options):
    stated = {} if records is None else {"records": records}
    asked = dx.queries_from_dict({"tasks": [task], **stated}, POLICY)
    plan = dx.plan(METRIC, asked, spend=spend)
    return plan, plan.release(COUNTS, ledger=":memory:", spend=spend, **options).answer.answers[0]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_records_that_are_written_are_read_back_as_the_same_types(tmp_path, suffix):
    counts = np.random.default_rng(1).integers(0, 4, POLICY.universe.size)
    path = tmp_path / f"records{suffix}"
    with path.open("wb") as file:
        write_batches(iter([columns_of_records(POLICY.universe, counts)]), file, suffix)
    assert np.array_equal(histogram_of_table(path, POLICY.universe).counts, counts)


def test_records_of_a_listed_universe_are_read_back(policies):
    universe = dx.load_policy(policies / "payroll" / "policy.yaml").universe
    counts = np.random.default_rng(1).integers(0, 3, universe.size)
    frame = pd.DataFrame(columns_of_records(universe, counts))
    assert np.array_equal(histogram_of_table(frame, universe).counts, counts)


def test_synthetic_records_answer_a_workload_within_their_bounds():
    plan, answer = released({"synthesize": {"workload": [{"marginals": {"ways": 1}}], "rounds": 0}})
    truth = np.array([float(one) for one in answer.queries.answers(COUNTS)])
    rounding = np.array([one.bias(5000) for one in answer.queries.each_rounding])
    assert np.all(np.abs(answer.values - truth) <= answer.bounds(1 - 1e-9) + rounding)
    assert (answer.rows, answer.counts.sum(), len(answer.records_to_pandas())) == (5000, 5000, 5000)
    assert answer.records_to_arrow().column_names == ["ward", "age", "pay", "day"]
    assert "measured all at once" in plan.statements(1)[0][0]
    told = answer.as_dict()
    assert told["answers"][0].keys() == {"name", "unit", "value", "bound", "query", "group"}
    assert (told["rows"], told["estimate"], told["bounds"]) == (5000, "weights", "proved, all at once")


def test_as_many_rows_are_made_as_are_asked_for_and_the_stored_answer_makes_them_again(tmp_path):
    task = {"name": "s", "synthesize": {"workload": [{"marginal": ["ward", "age"]}], "rounds": 1, "rows": 77}}
    plan = dx.plan(METRIC, dx.queries_from_dict({"tasks": [task]}, POLICY))
    first, again = (plan.release(COUNTS, ledger=tmp_path / "l.db", spend="1/2", id="k") for _ in range(2))
    assert again.repeated
    assert first["s"].counts.sum() == 77
    assert np.array_equal(first["s"].counts, again["s"].counts)
    assert first.as_dict()["tasks"] == again.as_dict()["tasks"]
    assert "in 1 rounds" in plan.statements("1/2")[0][0]


def test_a_small_database_has_its_rows_and_one_bound_that_was_told_before():
    plan, answer = released({"small_database": {"workload": [{"marginal": "age"}], "rows": 4}}, records=None)
    assert len(answer.records_to_pandas()) == answer.rows == 4
    assert "leave out the noise" in answer.records_to_pandas().attrs["dxgeom"]
    assert set(answer.bounds()) == {
        dx.mechanisms.selection.small_database(METRIC, answer.queries, rows=4).error_bound(5000)
    }
    assert plan.statements(1)[0][0].startswith("proved: with 1,000 records")
    few, _ = released({"small_database": {"workload": [{"marginal": "age"}], "rows": 4}})
    assert few.parts[0].half_widths().max() <= dx.mechanisms.selection.small_database(
        METRIC, answer.queries, rows=4
    ).error_bound(5000)


def test_bounds_that_prove_nothing_are_warned_of():
    _, answer = released({"synthesize": {"workload": [{"marginal": ["ward", "age"]}], "rounds": 1}}, spend="1/1000")
    assert "nothing is proved of these" in answer.warnings[0]


def test_statistics_get_noise_from_a_plan_of_their_own():
    plan, answer = released({"statistics": {"moments": "age", "degree": 3}})
    assert answer.names == ("sum of age", "sum of age·age", "sum of age·age·age")
    assert plan.parts[0].lower_bound > 0
    assert answer.half_widths()[0] >= answer.rmse[0]


def test_what_a_kind_cannot_do_is_refused_when_it_is_planned():
    with pytest.raises(dx.UnsupportedCombination, match=r"task 'synthesize 1': each of the 1 marginals"):
        released({"synthesize": {"workload": [{"marginal": "age"}], "rounds": 2}})
    with pytest.raises(dx.errors.TooLarge, match="task 'small_database 1': all databases of 40 records"):
        released({"small_database": {"workload": [{"marginal": "age"}], "rows": 40}})
    with pytest.raises(dx.UnsupportedCombination, match="task 'series 1': a series is of numbers"):
        released({"series": ["ward", "age", "pay", "day"]})
    workload = {"workload": [{"count": "age > 0"}], "estimate": "mbi"}
    with pytest.raises(dx.UnsupportedCombination, match="estimated from whole marginals"):
        released({"synthesize": workload})


@pytest.mark.needs("mbi")
@pytest.mark.long
def test_records_may_be_estimated_by_mbi():
    task = {"workload": [{"marginal": ["ward", "age"]}, {"marginal": "pay"}], "estimate": "mbi", "rounds": 0}
    _, answer = released({"synthesize": task})
    assert answer.counts.sum() == 5000
    assert answer.as_dict()["estimate"] == "mbi"


@pytest.fixture
def meters(policies):
    policy = dx.load_policy(policies / "smart-meters" / "policy.yaml")
    return policy, dx.load_queries(policies / "smart-meters" / "tasks.yaml", policy)


def test_the_readings_of_a_table_with_one_row_are_a_series(meters, tmp_path):
    policy, tasks = meters
    plan = dx.plan(policy.compile(), tasks)
    row = pd.DataFrame({"morning": [1.7], "noon": [4.9], "evening": [5.0]})
    answers = [
        plan.release(data, ledger=":memory:", spend=1, insecure_test_seed=5).answer.answers[0]
        for data in (row, [1, 4, 4])
    ]
    assert answers[0].exact_values == answers[1].exact_values
    assert list(answers[0].columns()["name"]) == ["morning", "noon", "evening"]
    with pytest.raises(dx.DataError, match="a table with one row; found 2 rows"):
        plan.release(pd.concat([row, row]), ledger=tmp_path / "l.db", spend=1)
    with pytest.raises(dx.DataError, match=r"one row$"):
        plan.release(pd.concat([row, row]), ledger=tmp_path / "l.db", spend=1, quiet_data=True)
    with pytest.raises(dx.UnsupportedCombination, match="leave them out"):
        plan.release(row, ledger=tmp_path / "l.db", spend=1, outside="drop")
    assert not (tmp_path / "l.db").exists()
    assert plan.rehearse(spend=1).rehearsal


@pytest.mark.parametrize(("readings", "level"), [(1, 0.95), (3, 0.5), (7, 0.99)])
def test_the_largest_error_of_a_series_is_within_its_bound_as_often_as_is_said(readings, level):
    mechanism = series_mechanism("s", readings, Fraction(1), Fraction(1, 1000))
    width = mechanism.joint_half_width(level) - float(mechanism.step) / 2
    missed = math.fsum(width**k * math.exp(-width) / math.factorial(k) for k in range(readings))
    assert missed == pytest.approx(1 - level, abs=1e-9)
    draws = np.random.default_rng(0).gamma(readings, size=20_000)
    assert abs(float(np.mean(draws > width)) - (1 - level)) < 5 * math.sqrt(level * (1 - level) / 20_000)


def test_statistics_count_the_records_too_where_their_number_is_private():
    private = dx.parse_policy(
        "policy: n\nuniverse: {attributes: {n: {range: [0, 20], step: 10}}}\n"
        "rules: [{change: n, epsilon: 1, per: 10}, {presence: true, epsilon: 1}]\n"
    )
    asked = dx.queries_from_dict({"tasks": [{"statistics": {"moments": "n", "where": "n >= 10"}}]}, private)
    plan = dx.plan(private.compile(), asked)
    assert plan.parts[0].queries.names[0] == "count where n >= 10"
    assert "1 of 3 answers" in plan.statements(1)[0][0]
    assert "released, too" in plan.statements(1)[0][0]
    answers = plan.release(np.array([5, 50, 60]), ledger=":memory:", spend=1).answer.answers[0]
    assert np.all(np.isfinite(answers.half_widths()))
