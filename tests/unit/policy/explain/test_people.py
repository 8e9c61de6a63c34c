"""Two people by their rows: a cheapest plan, exact; and what a policy says of people."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.json_schema import is_valid
from reference.people import POLICY, earth_mover, fractions_of
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.errors import DataError
from dxgeom.plan_files.codec import release_schema
from dxgeom.policy.explain.two_people import least_transport
from dxgeom.policy.policy import parse_policy
from dxgeom.report.showing import document_for
from dxgeom.universe.people.people import PUBLIC_NUMBER, SHARES, ShareCounter

ONCE = parse_policy(POLICY.replace("COUNT", "once"))
ROWS = parse_policy(POLICY.replace("COUNT", "rows, at_most: 2, order: at"))
SINGLE = parse_policy(POLICY.replace("COUNT", "single"))
NONE = parse_policy(POLICY.replace("people: {column: who, count: COUNT}\n", ""))
PRESENCE = parse_policy(POLICY.replace("COUNT", "once") + "  - {presence: true, epsilon: 0.7}\n")
APART = parse_policy(
    "policy: halves\nuniverse: {attributes: {half: [l, r], room: [a, b, c]}}\npeople: {column: who, count: once}\n"
    "rules: [{change: room, epsilon: 1}]\nunconnected: allow\n"
)
rows = st.lists(st.integers(0, 3), min_size=1, max_size=7)


def distance(i: int, j: int) -> float:
    return float(ONCE.metric.distance(i, j))


@settings(max_examples=60, deadline=None)
@given(rows, rows)
def test_the_distance_of_two_people_is_the_earth_movers(first, second):
    found = ONCE.explain_people(first, second)
    assert isinstance(found.distance, Fraction)
    assert float(found.distance) == pytest.approx(earth_mover(*(fractions_of(r, 4) for r in (first, second)), distance))
    assert sum(move.cost for move in found.moves) == found.distance
    assert sum(move.part for move in found.moves) == 1
    assert found.distance == ONCE.explain_people(second, first).distance


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_plan_is_optimal_and_carries_all(data):
    size = st.integers(0, 6)
    supply = data.draw(st.lists(size, min_size=1, max_size=4))
    demand = data.draw(st.lists(size, min_size=1, max_size=4))
    total = sum(supply)
    demand[0] += max(total - sum(demand), 0)
    supply[0] += max(sum(demand) - total, 0)
    costs = [[data.draw(st.sampled_from([0, 1, 2, 5, None])) for _ in demand] for _ in supply]
    exact = [[None if cost is None else Fraction(cost) for cost in row] for row in costs]
    plan = least_transport(supply, demand, exact)
    best = _best(tuple(supply), tuple(demand), costs)
    if plan is None:
        assert best is None
        return
    sent, arrived = Counter[int](), Counter[int]()
    for one in plan:
        sent[one.start] += one.amount
        arrived[one.end] += one.amount
    assert [sent[i] for i in range(len(supply))] == supply
    assert [arrived[j] for j in range(len(demand))] == demand
    assert sum(one.amount * exact[one.start][one.end] for one in plan) == best


def _best(supply, demand, costs):
    from scipy.optimize import linprog

    pairs = list(itertools.product(range(len(supply)), range(len(demand))))
    sums = [[i == k for i, _ in pairs] for k in range(len(supply))] + [
        [j == k for _, j in pairs] for k in range(len(demand))
    ]
    bounds = [(0, 0 if costs[i][j] is None else None) for i, j in pairs]
    found = linprog(
        [costs[i][j] or 0 for i, j in pairs], A_eq=np.array(sums, float), b_eq=[*supply, *demand], bounds=bounds
    )
    return round(found.fun) if found.status == 0 else None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.lists(st.integers(0, 3), min_size=1, max_size=60))
def test_rounding_to_shares_moves_people_by_no_more_than_stated(first, second):
    """W(rounded) ≤ W + (k + k')·diameter/L, with few shares so that rounding shows."""
    shares, rounded = 30, []
    for person in (first, second):
        counter = ShareCounter(4, lambda records: np.zeros(records.shape, dtype=np.int64), shares)
        record, counts = np.unique(person, return_counts=True)
        counter.add(np.zeros(len(record), dtype=np.int64), record, counts)
        rounded.append([Fraction(int(share), shares) for share in counter.histogram(None)])
    exact = earth_mover(*(fractions_of(person, 4) for person in (first, second)), distance)
    diameter = max(distance(i, j) for i in range(4) for j in range(4))
    more = (len(set(first)) + len(set(second))) * diameter / shares
    assert earth_mover(*rounded, distance) <= exact + more + 1e-9


def test_people_in_unequal_fractions_of_a_group_are_infinitely_far():
    left, right = {"half": "l", "room": "a"}, {"half": "r", "room": "a"}
    other = {"half": "l", "room": "b"}
    assert APART.explain_people([left, right], [other, right]).distance == Fraction(1, 2)
    found = APART.explain_people([left, right], [left, left, right])
    assert found.distance == float("inf")
    assert "may be told apart" in found.lines()[-1]
    assert found.as_dict()["distance"] == "inf"
    assert any("infinitely far apart" in line for line in APART.review().lines())


def test_a_person_without_rows_is_absent():
    assert PRESENCE.explain_people([], [0, 1]).distance == Fraction(7, 10)
    assert PRESENCE.explain_people(["absent", 0], [0]).distance == Fraction(7, 20)
    with pytest.raises(DataError, match="at least one row"):
        ONCE.explain_people([], [0])


def test_rows_are_compared_place_by_place_each_for_its_part():
    far = [NONE.explain(0, 2).distance, NONE.explain(1, 3).distance]
    assert ROWS.explain_people([0, 1, 1], [2, 3, 0]).distance == sum(far) / 2
    with pytest.raises(DataError, match="equally many"):
        ROWS.explain_people([0], [1, 2])


@pytest.mark.parametrize("policy", [SINGLE, NONE])
def test_a_person_with_one_row_is_a_record(policy):
    assert policy.explain_people([0], [3]).distance == policy.explain(0, 3).distance
    with pytest.raises(DataError, match="exactly one row"):
        policy.explain_people([0, 1], [3])


def test_the_metric_of_a_row_is_a_part_of_that_of_people():
    whole, row = ROWS.metric, ROWS.compile()
    assert np.all(
        row.distance(np.arange(4)[:, None], np.arange(4)) * 2 <= whole.distance(np.arange(4)[:, None], np.arange(4))
    )
    assert float(row.distance(0, 3)) == pytest.approx(float(whole.distance(0, 3)) / 2)
    assert ROWS.explain(0, 3).distance == NONE.explain(0, 3).distance
    fingerprints = {policy.compile().fingerprint for policy in (ONCE, ROWS, SINGLE, NONE)}
    assert len(fingerprints) == 4


@pytest.mark.parametrize("policy", [ONCE, ROWS, SINGLE, PRESENCE])
def test_a_policy_is_written_as_it_was_read(policy):
    again = parse_policy(policy.to_yaml())
    assert again.universe.reading.people == policy.universe.reading.people
    assert again.fingerprint == policy.fingerprint


def test_check_says_who_a_neighbour_is():
    said = {name: policy.review().as_dict() for name, policy in (("once", ONCE), ("rows", ROWS), ("none", NONE))}
    assert "one person's rows are replaced by any others" in said["once"]["neighbours"]
    assert f"{SHARES:,}" in " ".join(said["once"]["people"])
    assert "in all their rows" in said["rows"]["neighbours"]
    assert said["none"]["assumed"].startswith("Assumed: every person has exactly one record")
    assert "people" not in said["none"]


def test_the_command_explains_two_people_and_looks_at_a_table(tmp_path):
    file, table = tmp_path / "p.yaml", tmp_path / "t.csv"
    file.write_text(POLICY.replace("COUNT", "once"), encoding="utf-8")
    words = ["explain", str(file), "2 * room=a; room=b;", '[{"room": "c"}]', "--format", "json"]
    told = json.loads(CliRunner().invoke(app, words).stdout)
    assert told["rows"] == [3, 1]
    assert Fraction(told["distance_exact"]) == ONCE.explain_people([0, 0, 1], [2]).distance
    assert "of the weight" in CliRunner().invoke(app, words[:4]).stdout
    file.write_text(POLICY.replace("people: {column: who, count: COUNT}\n", ""), encoding="utf-8")
    table.write_text("patient_id,room\n1,a\n1,b\n", encoding="utf-8")
    seen = CliRunner().invoke(app, ["check", str(file), "--table", str(table)]).stdout
    assert "patient_id repeats; each row is taken for another person" in " ".join(seen.split())
    table.write_text("patient_id,room\n1,a\n2,b\n", encoding="utf-8")
    assert "repeats" not in CliRunner().invoke(app, ["check", str(file), "--table", str(table)]).stdout


@pytest.mark.parametrize("presence", [False, True])
def test_where_the_number_of_people_is_public_a_filter_is_an_answer(tmp_path, presence):
    file, queries, table = tmp_path / "p.yaml", tmp_path / "q.yaml", tmp_path / "t.csv"
    rule = "  - {presence: true, epsilon: 0.7}\n" if presence else ""
    file.write_text(POLICY.replace("COUNT", "once") + rule, encoding="utf-8")
    queries.write_text("queries:\n- {name: in a, count: room == 'a'}\n", encoding="utf-8")
    table.write_text("who,room\n1,a\n2,b\n", encoding="utf-8")
    command = ["release", str(file), str(table), str(queries), "--spend", "0.25", "--ledger", str(tmp_path / "l.db")]
    released = CliRunner().invoke(app, command)
    assert ("told exactly, of a filtered table too" in " ".join(released.stdout.split())) == (not presence)
    released = CliRunner().invoke(app, [*command, "--all"])
    assert (PUBLIC_NUMBER in released.stdout) == (not presence), released.output
    said = [PUBLIC_NUMBER] if not presence else []
    checked = " ".join(CliRunner().invoke(app, ["check", str(file), "--table", str(table)]).stdout.split())
    assert checked.count(PUBLIC_NUMBER) == len(said)
    in_json = [["check", file], ["check", file, "--table", table], ["plan", file, queries], command]
    for words in in_json:
        told = json.loads(CliRunner().invoke(app, [*map(str, words), "--format", "json"]).stdout)
        assert [told[key] for key in told if key == "public"] == said, words
    assert is_valid(told, release_schema())
    policy = dx.load_policy(file)
    release = dx.plan(policy.compile(), dx.load_queries(queries, policy)).release(table, ledger=":memory:", spend=1)
    assert release.public_dict().get("public") == (None if presence else PUBLIC_NUMBER)
    displayed = " ".join("\n".join(document_for(release).lines()).split())
    assert (PUBLIC_NUMBER in displayed) == (not presence), displayed
