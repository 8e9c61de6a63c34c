"""Releases about people with many rows: what they answer, what they never tell, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference.project import POLICIES

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.metrics.components import components_of
from dxgeom.universe.people.people import ONE_ROW, SHARES

TEXT = """policy: rooms
universe: {attributes: {room: [a, b, c, d], hour: {range: [0, 3], step: 1}}}
people: PEOPLE
rules:
  - {change: room, epsilon: 0.4}
  - {change: hour, epsilon: 0.2, per: 1}
MORE"""
QUERIES = """queries:
  - {name: in a, count: room == 'a'}
  - {name: late, count: hour >= 2}
  - {name: hours, sum: hour}
"""
ONCE, ROWS, SINGLE = (
    "{column: who, count: once}",
    "{column: who, count: rows, at_most: 2, order: at}",
    ("{column: who, count: single}"),
)
PRESENCE = "  - {presence: true, epsilon: 0.5}\n"


def policy_of(people: str | None, more: str = "") -> dx.Policy:
    text = TEXT.replace("people: PEOPLE\n", "" if people is None else f"people: {people}\n")
    return dx.parse_policy(text.replace("MORE", more))


def plan_of(people: str | None, more: str = "", queries: str = QUERIES, **options: Any) -> dx.Plan:
    policy = policy_of(people, more)
    return dx.plan(policy.compile(), dx.parse_queries(queries, policy), **options)


def table_of(rows: Sequence[tuple[Any, Any, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["who", "room", "hour"])
    return frame.assign(at=np.arange(len(frame)))


def people_of(seed: int, people: int = 40) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    rows = [
        (f"p{who}", "abcd"[generator.integers(4)], int(generator.integers(4)))
        for who in range(people)
        for _ in range(int(generator.integers(1, 30)))
    ]
    return table_of(rows)


def truth(table: pd.DataFrame) -> list[float]:
    """The mean of each person's rows, added up over people."""
    numbers = table.assign(a=table.room == "a", late=table.hour >= 2).groupby("who")[["a", "late", "hour"]].mean()
    return [float(number) for number in numbers.sum()]


def counts_of(policy: dx.Policy, table: Any, **reading: Any) -> tuple[np.ndarray, int, int]:
    components = components_of(policy.compile().metric).of
    found = histogram_of_table(table, policy.universe, component_of=components, **reading)
    return found.counts, found.total, found.dropped


def test_each_person_counts_once_and_bars_are_those_of_one_row_each():
    plan, table = plan_of(ONCE), people_of(1)
    release = plan.release(table, ledger=":memory:", spend="1", insecure_test_seed=3)
    assert (release.records, release.dropped) == (40, 0)
    widths = plan.half_widths(0.999, records=40)
    assert np.all(np.abs(release.values - truth(table)) <= widths)
    plain = plan_of(None)
    assert np.all(plan.half_widths(0.95) <= plain.half_widths(0.95))
    assert plan.rmse() == pytest.approx(plain.rmse(), rel=1e-3)


def test_no_part_of_a_share_is_left_bare():
    """Noise rounded on whole steps would leave every answer's fraction to be read; here it is random."""
    plan, table = plan_of(ONCE), table_of([("p", "a", 1), ("p", "b", 0), ("p", "b", 0)])
    steps = plan.mechanism.sensitivity.queries.steps
    seen: list[set[Fraction]] = [set(), set(), set()]
    for seed in range(20):
        release = plan.release(table, ledger=":memory:", spend="1", insecure_test_seed=seed)
        for found, value, step in zip(seen, release.exact_values, steps, strict=True):
            assert (value / step * SHARES).denominator == 1
            found.add(value / step % 1)
    assert all(len(found) == 20 for found in seen)


def test_how_many_rows_people_have_is_in_no_release(tmp_path: Path):
    """With every row twice, and rows in another order, everything that is told is the same, byte for byte."""
    plan, table = plan_of(ONCE), people_of(2)
    twice = pd.concat([table, table]).sample(frac=1, random_state=0)
    told = [
        plan.release(one, ledger=str(tmp_path / f"{k}.db"), spend="1/2", insecure_test_seed=5).as_dict()
        for k, one in enumerate((table, twice))
    ]
    for document in told:
        for late in ("time", "ledger"):
            document.pop(late)
    assert told[0] == told[1]
    assert told[0]["records"] == 40
    assert told[0]["records_are"] == "people"
    assert told[0]["people"] == plan.metric.people.sentence


def test_shares_of_dropped_rows_go_to_the_others_or_to_nobody():
    rows = [("p", "a", 0), ("p", "z", 0), ("q", "z", 0), ("r", "b", 1), ("r", "b", 1)]
    without, within = policy_of(ONCE), policy_of(ONCE, PRESENCE)
    with pytest.raises(DataError, match="Some rows are outside"):
        counts_of(without, table_of(rows))
    counts, people, dropped = counts_of(without, table_of(rows), outside="drop")
    assert (people, dropped, int(counts.sum())) == (2, 1, 2 * SHARES)
    assert counts[0] == SHARES
    counts, people, dropped = counts_of(within, table_of(rows), outside="drop")
    assert (people, dropped, int(counts.sum())) == (3, 0, SHARES + SHARES // 2)
    assert (counts[0], counts[within.universe.absent]) == (SHARES // 2, 0)


def test_under_presence_the_number_of_people_is_private():
    plan = plan_of(ONCE, PRESENCE)
    release = plan.release(people_of(3), ledger=":memory:", spend="1", insecure_test_seed=1)
    assert (release.records, release.as_dict()["dropped_people"]) == (None, None)


def test_rows_are_the_first_of_each_person_and_tell_a_part_each():
    table = table_of([("p", "a", 0), ("p", "b", 3), ("p", "b", 3), ("q", "c", 1)])
    plan, plain = plan_of(ROWS, mechanism="laplace"), plan_of(None, mechanism="laplace")
    policy = policy_of(ROWS)
    counts, total, dropped = counts_of(policy, table.sample(frac=1, random_state=1))
    assert (total, dropped) == (3, 0)
    assert {policy.universe.record(int(i))["room"] for i in np.flatnonzero(counts)} == {"a", "b", "c"}
    assert np.sqrt(plan.mechanism.ideal_variances) == pytest.approx(2 * np.sqrt(plain.mechanism.ideal_variances))
    release = plan.release(table, ledger=":memory:", spend="1")
    assert (release.records, release.as_dict()["records_are"]) == (3, "rows of people")


def test_a_place_left_empty_is_not_filled_by_a_later_row():
    table = table_of([("p", "z", 0), ("p", "a", 0), ("p", "b", 0)])
    _, total, dropped = counts_of(policy_of(ROWS), table, outside="drop")
    assert (total, dropped) == (1, 1)


def test_two_rows_of_a_single_person_are_refused_before_anything_is_spent(tmp_path: Path):
    ledger = tmp_path / "l.db"
    with pytest.raises(DataError, match="single row"):
        plan_of(SINGLE).release(people_of(4), ledger=str(ledger), spend="1")
    assert not ledger.exists()
    one = people_of(4).groupby("who").head(1)
    assert plan_of(SINGLE).release(one, ledger=":memory:", spend="1").records == 40


@pytest.mark.parametrize("people", [ONCE, ROWS, SINGLE])
def test_rows_that_name_nobody_are_refused(people):
    with pytest.raises(DataError, match="name nobody"):
        plan_of(people).release(table_of([("p", "a", 0), (None, "a", 0)]), ledger=":memory:", spend="1", outside="drop")


@pytest.mark.parametrize("people", [ONCE, ROWS, SINGLE])
def test_what_does_not_say_whose_rows_are_is_refused(people):
    plan = plan_of(people)
    with pytest.raises(UnsupportedCombination, match="does not say whose"):
        plan.release(np.ones(plan.metric.size, dtype=np.int64), ledger=":memory:", spend="1")
    with pytest.raises(DataError, match="leave count_column out"):
        plan.release(people_of(1).assign(n=1), ledger=":memory:", spend="1", count_column="n")


def test_what_would_be_no_statement_about_people_is_refused():
    release = plan_of(ONCE).release(people_of(1), ledger=":memory:", spend="1")
    assert len(release.consistent(nonnegative=True).values) == 3
    with pytest.raises(UnsupportedCombination, match="no whole numbers"):
        release.consistent(integers=True)
    metric = policy_of(ONCE).compile()
    with pytest.raises(UnsupportedCombination, match="form='transport'"):
        dx.quantiles.quantile_mechanism(metric, "hour", "1/2", form="laplace")
    table = dx.lab.optimal_table(
        metric, [Fraction(1, metric.size)] * metric.size, np.zeros((metric.size, metric.size)).tolist()
    )
    with pytest.raises(UnsupportedCombination, match="people here may have many"):
        dx.release(table, 0, ledger=":memory:")
    with pytest.raises(UnsupportedCombination, match="people here may have many"):
        dx.mechanisms.linear.series_mechanism_under(metric)


def test_every_reader_of_a_histogram_reads_people():
    policy, table = policy_of(ONCE), people_of(6, people=400)
    metric, queries = policy.compile(), dx.parse_queries("queries: [{marginal: room}]", policy)
    spend = {"ledger": ":memory:", "spend": Fraction(20), "insecure_test_seed": 2}
    rich = dx.parse_policy(TEXT.replace("PEOPLE", ONCE).replace("MORE", "budget: 100\n"))
    metric = rich.compile()
    shares = [
        float(part) for part in table.groupby("who").room.value_counts(normalize=True).unstack(fill_value=0).sum()
    ]
    learnt = dx.release(
        dx.mechanisms.synthetic.mwem(metric, dx.parse_queries("queries: [{marginal: room}]", rich)), table, **spend
    ).answer
    assert learnt.records == 400
    assert learnt.answers == pytest.approx(shares, abs=10)
    best = dx.release(dx.selection(metric, queries), table, **spend).answer
    assert shares[best] > max(shares) - 10
    median = dx.release(dx.quantiles.quantile_mechanism(metric, "hour", "1/2"), table, **spend).answer
    assert (median.labels, median.ranks) in ((("1",), None), (("2",), None))


def test_the_assumption_is_said_and_columns_that_look_like_people_are_named(tmp_path: Path, capsys: Any):
    plan = plan_of(None)
    table = people_of(7).rename(columns={"who": "user_id"})
    release = plan.release(table, ledger=":memory:", spend="1")
    assert release.as_dict()["assumed"] == ONE_ROW
    assert [warning for warning in release.warnings if "'user_id'" in warning and "count: once" in warning]
    assert plan.release(table, ledger=":memory:", spend="1", quiet_data=True).warnings == ()
    assert plan.release(table.drop_duplicates("user_id"), ledger=":memory:", spend="1").warnings == ()
    counts = np.ones(plan.metric.size, dtype=np.int64)
    assert plan.release(counts, ledger=":memory:", spend="1").warnings == ()


def test_a_rehearsal_makes_people_up():
    release = plan_of(ONCE).rehearse(spend="1", records=70)
    assert (release.records, release.rehearsal) == (70, True)


def test_a_release_that_is_asked_for_again_is_the_same(tmp_path: Path):
    plan, table = plan_of(ONCE), people_of(8)
    first, again = (plan.release(table, ledger=str(tmp_path / "l.db"), spend="1/2", id="x") for _ in range(2))
    assert again.exact_values == first.exact_values
    assert again.dropped == first.dropped == 0


def test_the_pings_of_the_purpose_are_answered_for_people_with_the_error_that_they_have():
    folder = POLICIES / "pings"
    policy = dx.load_policy(folder / "policy.yaml")
    plan = dx.plan(policy.compile(), dx.load_queries(folder / "queries.yaml", policy))
    table = pd.read_csv(folder / "pings.csv.gz")
    assert (len(table), int(table.user.value_counts().max())) == (120_000, 52_657)
    release = plan.release(folder / "pings.csv.gz", ledger=":memory:", spend="1", insecure_test_seed=9)
    assert release.records == 2000
    east = table.square.str[0].isin(list("def"))
    hours = table.hour // 6
    rows = table.assign(east=east, night=east & (hours == 0), morning=hours == 1)
    exact = rows.groupby("user")[["east", "night", "morning"]].mean().sum().to_numpy()
    assert np.all(np.abs(release.values - exact) <= release.half_widths(0.999))
    moved = table.assign(square=np.where(table.user == table.user.value_counts().idxmax(), "a1", table.square))
    again = plan.release(moved, ledger=":memory:", spend="1", insecure_test_seed=9)
    assert np.abs(again.values - release.values).max() <= 1 + 1e-9  # one person of two thousand, not 52,657 rows


def test_told_is_about_people_and_what_takes_rows_for_people_is_without_bound(tmp_path: Path):
    data = "dataset: {name: rooms}\n"
    once, rows, none = (policy_of(people, data) for people in (ONCE, ROWS, None))
    ledger = str(tmp_path / "l.db")
    for policy in (once, rows):
        plan = dx.plan(policy.compile(), dx.parse_queries(QUERIES, policy))
        plan.release(people_of(1), ledger=ledger, spend="1/4")
    told = dx.disclosure.disclosed_loss(dx.ledger.read_ledger(ledger), once, [rows])
    assert told.attributes[0].disclosed_loss == pytest.approx(0.2)
    assert "all of whose rows change" in told.people[0]
    plan = dx.plan(none.compile(), dx.parse_queries(QUERIES, none))
    plan.release(people_of(1), ledger=ledger, spend="1/4")
    told = dx.disclosure.disclosed_loss(dx.ledger.read_ledger(ledger), once, [rows, none])
    assert told.of_any == told.attributes[0].disclosed_loss == float("inf")
    assert "without bound" in json.dumps(told.as_dict()["people"])


def test_told_and_explain_speak_of_two_people_in_the_same_words(tmp_path: Path):
    policy = policy_of(ONCE, "dataset: {name: rooms}\n")
    plan_of_it = dx.plan(policy.compile(), dx.parse_queries(QUERIES, policy))
    plan_of_it.release(people_of(1), ledger=str(tmp_path / "l.db"), spend="1/4")
    (told,) = dx.disclosure.disclosed_loss(dx.ledger.read_ledger(str(tmp_path / "l.db")), policy, [policy]).people
    here, there = {"room": "a", "hour": "0"}, {"room": "b", "hour": "0"}
    explained = policy.explain_people([here, here], [here, there])
    assert "the earth mover's distance between their rows" in told and "'dxgeom explain'" in told
    assert "a cheapest way from one to the other: the earth mover's distance between their rows" in explained.lines()
    assert explained.distance == Fraction(1, 5)
    by_rows = policy_of(ROWS).explain_people([here, here], [here, there])
    assert "row by row" in by_rows.lines()


def test_people_with_rows_in_several_blocks_are_answered_in_parallel():
    policy = dx.parse_policy(
        "policy: halves\nuniverse: {attributes: {half: [l, r], room: [a, b]}}\npeople: {column: who, count: once}\n"
        "rules: [{change: room, epsilon: 1}]\nunconnected: allow\nbudget: 30\n"
    )
    metric, halves = policy.compile(), np.array([0, 0, 1, 1])
    table = pd.DataFrame({"who": ["p", "p", "p", "q"], "half": ["l", "l", "r", "r"], "room": ["a", "b", "a", "a"]})

    def counted(inner: dx.VerifiedMetric, members: np.ndarray) -> Any:
        return dx.plan(inner, dx.LinearQueries.from_matrix(["a"], np.array([[1, 0]]))).mechanism

    answer = dx.release(
        dx.mechanisms.contract.in_parallel(metric, halves, counted), table, ledger=":memory:", spend=20
    ).answer
    assert [float(one) for (one,) in answer] == pytest.approx([1 / 3, 4 / 3], abs=0.7)
    learnt = dx.mechanisms.contract.in_parallel(
        metric,
        halves,
        lambda inner, _: dx.mechanisms.synthetic.mwem(inner, dx.LinearQueries.from_matrix(["a"], np.array([[1, 0]]))),
    )
    with pytest.raises(UnsupportedCombination, match="more than one block"):
        dx.release(learnt, table, ledger=":memory:", spend=1)
    exact = dx.plan(metric, dx.parse_queries("queries: [{count: half == 'l', name: left}]", policy))
    assert exact.release(table, ledger=":memory:", spend=1).exact_values == (Fraction(2 * (SHARES // 3), SHARES),)


def test_every_kind_of_plan_and_release_says_what_bars_do_not_cover_of_people_with_many_rows():
    policy = policy_of(ONCE)
    metric = policy.compile()
    workloads = [
        dx.parse_queries("queries: [{count: hour >= 2}]", policy),
        dx.parse_queries("queries: [{median: hour}]", policy),
        dx.parse_queries("tasks: [{select: {best: room}}, {synthesize: {workload: [marginal: room]}}]", policy),
        dx.parse_queries("tasks: [{fit: {linear: hour, by: [room]}}]", policy),
        dx.universe.BoxQueries.of(policy.universe, [{"hour": (0, 2)}, {"hour": (1, 3)}]),
        dx.universe.MarginalQueries.of(policy.universe, [["room"], ["room", "hour"]]),
    ]
    for asked in workloads:
        plan = dx.plan(metric, asked)
        released = plan.release(people_of(3), ledger=":memory:", spend=1)
        for told in (plan.as_dict(), released.as_dict(), released.public_dict()):
            assert "with k different records less than k/369,008,640 of a person off" in told["people"], asked
