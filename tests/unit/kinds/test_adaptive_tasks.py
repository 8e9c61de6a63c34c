"""Tables that follow the data, as a task: its words, its plan, its answers in every form, and records of its model."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.optimize  # noqa: F401 (loaded before a test is timed)
from reference.json_schema import is_valid
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.audit.transcript_audit import audit_release
from dxgeom.cli.main import app
from dxgeom.engines.counted_tables import TableCounts
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.mechanisms.synthetic.on_histograms import AdaptiveOnHistogram, tables_of
from dxgeom.mechanisms.synthetic.synthetic import whole_counts
from dxgeom.mechanisms.synthetic.table_model import spread_evenly
from dxgeom.numeric.json_text import compact_json
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.plan_files import differences, release_schema
from dxgeom.planner.kind import Planning
from dxgeom.planner.releases.stored_form import stored_bytes
from dxgeom.planner.tasks import adaptive_answers
from dxgeom.planner.wish import Wish
from dxgeom.queries.schema import queries_schema
from dxgeom.universe.reading.record_tables import SYNTHETIC

POLICY = """policy: survey
universe:
  attributes:
    ward: {values: [north, south], missing: {epsilon: 1}}
    age: {range: [0, 20], step: 10}
    pay: {bins: [0, 1, 2.5]}
budget: 20
rules: [{change: [ward, pay], epsilon: 1}, {change: age, epsilon: 1, per: 10}%s]
%s"""
PRESENCE = ", {presence: true, epsilon: 1}"
TABLES = [{"marginals": [["ward", "age"], ["age", "pay"]]}]


def policy_of(privacy="concentrated", presence=""):
    return dx.parse_policy(POLICY % (presence, "privacy: concentrated\n" if privacy == "concentrated" else ""))


def tasks_of(policy, more=(), **said):
    task = {"name": "few", "adaptive": {"workload": TABLES, "rounds": 2, **said}}
    return dx.queries_from_dict({"tasks": [task, *more]}, policy)


def plan_of(policy, more=(), **said):
    return dx.plan(policy.compile(), tasks_of(policy, more, **said))


def counts_of(policy, seed=1):
    return np.random.default_rng(seed).integers(0, 9, policy.universe.record_types).astype(np.int64)


def released(policy, ledger=":memory:", **said):
    plan = plan_of(policy, **said)
    counts = np.append(counts_of(policy), 0)[: policy.universe.size]
    return plan, plan.release(counts, ledger=ledger, spend=1, id="once", insecure_test_seed=1)


def run(*words):
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exit_code == 0, (words, result.output)
    return result.stdout


def test_its_words_are_in_the_schema_and_all_mistakes_in_them_are_told_at_once():
    said = {"workload": TABLES, "bars": "0.2", "rounds": 20, "rows": 100}
    assert is_valid({"tasks": [{"adaptive": said}]}, queries_schema())
    policy = policy_of()
    wrong = [
        ({"bars": 1}, "DX232", "below 1"),
        ({"bars": "a lot"}, "DX232", "write 0.2 or 1/5"),
        ({"rounds": 0}, "DX232", "write 1 or more"),
        ({"workload": []}, "DX108", "at least one"),
        ({"workload": [{"count": "age > 0"}]}, "DX233", "each a 'marginal'"),
        ({"workload": [{"marginal": "age", "error": 3}]}, "DX233", "known afterwards only"),
        ({"workload": [{"marginal": "age"}, {"marginal": "age"}]}, "DX203", "asked for twice"),
        ({"workload": [{"marginal": "aeg"}]}, "DX201", "did you mean 'age'"),
        ({"worklood": 1}, "DX105", "did you mean"),
    ]
    for said, code, words in wrong:
        with pytest.raises(dx.QueryError, match=words) as raised:
            tasks_of(policy, **said)
        assert code in str(raised.value)
    with pytest.raises(dx.QueryError) as both:
        tasks_of(policy, workload=[{"count": "true"}, {"marginal": "age", "error": 3}])
    assert str(both.value).count("DX233") == 2


def test_a_plan_whose_last_round_took_all_is_told_apart_and_made_anew_for_its_file():
    policy = policy_of()
    (part,) = plan_of(policy).parts
    shared, before = part.kind.earlier(part.question, Planning(part.metric, Wish()))
    assert (shared.decided.ending, before.decided.ending) == (2, 1)
    assert part.kind.picked_by(shared) == f"{part.kind.picked_by(before)}, 2 rounds at the end"
    assert before.mechanism.fingerprint != part.mechanism.fingerprint
    assert part.kind.picked_by(part) == f"{part.kind.picked_by(before)}, 1 or 2 rounds at the end"


def test_its_parts_are_exact():
    (task,) = tasks_of(policy_of(), bars="1/3").parts
    assert task.question.bars == Fraction(1, 3)
    (other,) = tasks_of(policy_of(), bars="0.2").parts
    assert other.question.bars == Fraction(1, 5)
    (left_out,) = dx.queries_from_dict({"tasks": [{"adaptive": {"workload": TABLES, "rounds": 2}}]}, policy_of()).parts
    assert left_out.question.fingerprint == other.question.fingerprint != task.question.fingerprint


@pytest.mark.parametrize("presence", ["", PRESENCE])
def test_the_tables_of_a_histogram_are_those_of_its_records(presence):
    policy = policy_of(presence=presence)
    plan = plan_of(policy)
    counts = np.append(counts_of(policy), 3)[: policy.universe.size]
    found = tables_of(plan.parts[0].queries, counts)
    records = np.repeat(np.arange(policy.universe.record_types), counts[: policy.universe.record_types])
    codes = dict(zip(policy.universe.names, np.unravel_index(records, policy.universe.shape), strict=True))
    for place, table in enumerate(found.cells):
        slow = np.zeros(plan.parts[0].queries.shapes[place], dtype=np.int64)
        for one in zip(*(codes[title] for title in plan.parts[0].queries.titles(place)), strict=True):
            slow[one] += 1
        assert np.array_equal(table, slow.ravel())
    assert found.total == len(records)


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_it_draws_what_the_mechanism_on_tables_draws(privacy):
    policy = policy_of(privacy)
    mechanism = plan_of(policy).parts[0].mechanism
    assert type(mechanism) is AdaptiveOnHistogram
    counts = counts_of(policy)
    tables = tables_of(mechanism.inner.queries, counts)
    (here,) = mechanism.draws(counts, Fraction(1), 1, InsecureSeededRandomness(4))
    there = mechanism.inner.draw(TableCounts(*tables), Fraction(1), InsecureSeededRandomness(4))
    assert mechanism.encode_answer(here) == mechanism.inner.encode_answer(there)


def test_other_numbers_of_records_than_stated_are_refused_before_a_charge(tmp_path):
    policy = policy_of()
    asked = dx.queries_from_dict({"tasks": [{"adaptive": {"workload": TABLES}}], "records": 5}, policy)
    with pytest.raises(dx.errors.DxgeomError, match="written for 5 records"):
        dx.plan(policy.compile(), asked).release(counts_of(policy), ledger=tmp_path / "l.db", spend=1)


@pytest.mark.long
@pytest.mark.parametrize("bars", ["0.2", "0"])
def test_a_release_is_one_charge_and_is_shown_again_in_every_form(bars, tmp_path):
    plan, release = released(policy_of(), tmp_path / "l.db", bars=bars)
    assert len(dx.ledger.read_ledger(tmp_path / "l.db").entries) == 1
    assert is_valid(json.loads(release.to_json()), release_schema())
    again = plan.release(counts_of(policy_of(), 2), ledger=tmp_path / "l.db", spend=1, id="once")
    assert again.repeated
    assert again.as_dict()["tasks"] == release.as_dict()["tasks"]
    rows = release.to_arrow("few").to_pydict()
    assert len(rows["count"]) == release["few"].queries.count
    if bars == "0":
        assert set(rows["bar"]) == {"no bar"}
        assert "low" not in rows
        with pytest.raises(dx.UnsupportedCombination, match="no bar"):
            release["few"].half_widths()
        with pytest.raises(dx.UnsupportedCombination, match="no bar"):
            plan.parts[0].decided.least_half_widths(Fraction(1), 0.95)
    else:
        assert np.all(np.diff([rows[one] for one in ("low", "count", "high")], axis=0) > 0)
        assert min(release["few"].half_widths()) >= min(plan.parts[0].decided.least_half_widths(Fraction(1), 0.95))
    for how in ("text", "csv", "json"):
        shown = run("ledger", "show", tmp_path / "l.db", "--entry", 1, "--format", how, "--all")
        assert ("no bar" in shown) == (bars == "0")
    assert ("no bar" in release._repr_html_()) == (bars == "0")
    assert "attributes alone" in release._repr_html_()
    assert "moved the model by" in run("ledger", "show", tmp_path / "l.db", "--entry", 1)


@pytest.mark.parametrize("bars", ["0.2", "0"])
def test_there_is_room_for_the_answer_before_it_is_charged(bars):
    plan, release = released(policy_of(presence=PRESENCE), bars=bars, rounds=40)
    mechanism, part = plan.mechanism, plan.parts[0]
    blank = part.kind.blank_answers(part, Fraction(1), None).document()
    kept = compact_json({"shown": release["few"].document(), "kept": mechanism.encode_answer((release["few"].answer,))})
    assert len(kept) <= stored_bytes(blank, mechanism, Fraction(1))


def test_a_bar_that_is_stated_beforehand_is_that_of_the_fresh_measurement():
    plan, release = released(policy_of(), bars="1/2")
    least = plan.parts[0].decided.least_half_widths(Fraction(1), 0.9)
    assert least == [one.half_width(0.9) for one in release["few"].answer.fresh]
    assert f"{min(least):.2f}" in plan.statements(1, 0.9)[0][0]


def test_plans_differ_in_words(tmp_path):
    policy = policy_of()
    kept = [
        dx.save_plan(plan_of(policy, bars=bars), tmp_path / f"{bars}.json", policy=policy, spend=1)
        for bars in ("0.2", "0")
    ]
    told = differences(*kept).lines()
    assert "queries: tasks[0].adaptive.bars was 0.2 and is 0" in told
    assert dx.load_plan(tmp_path / "0.json").fingerprint == kept[1].fingerprint


@pytest.mark.long
def test_records_are_those_of_the_model_and_read_back(tmp_path, monkeypatch):
    policy = policy_of()
    plan, release = released(policy, tmp_path / "l.db", rows=1000)
    answers = release["few"]
    frame = answers.records_to_pandas()
    assert (len(frame), list(frame)) == (1000, ["ward", "age", "pay"])
    assert answers.records_to_arrow().num_rows == 1000
    assert frame.attrs == {"dxgeom": SYNTHETIC}
    assert answers.records_to_arrow().schema.metadata == {b"dxgeom": SYNTHETIC.encode()}
    model = replace(answers.question, rows=None)
    assert replace(answers, question=model).rows == round(answers.answer.model.total)
    monkeypatch.setattr(adaptive_answers, "MOST_RECORDS", 7)
    assert replace(answers, question=model).rows == 7
    for name in ("a.csv", "a.parquet"):
        run("ledger", "show", tmp_path / "l.db", "--entry", 1, "--output", tmp_path / name)
        counts = histogram_of_table(tmp_path / name, policy.universe).counts
        assert counts.sum() == 1000
        own = spread_evenly(answers.answer.model.distribution.ravel(), 1000)
        assert np.array_equal(counts, own)
    tables, worst = tables_of(answers.queries, counts), 0.0
    for table, model in zip(tables.cells, answers.answer.tables, strict=True):
        worst = max(worst, float(np.abs(table - model * 1000 / answers.answer.model.total).max()))
    assert answers.records_differ_by == pytest.approx(worst)
    assert f"1,000 synthetic ones, whose tables are within {worst:.3f}" in dict(answers.notes())["records"]
    dx.save_plan(plan, tmp_path / "p.json", policy=policy, spend=1)
    (tmp_path / "rows.csv").write_text("ward,age,pay\n" + "north,5,0.5\n" * 20)
    run(
        "release",
        tmp_path / "p.json",
        tmp_path / "rows.csv",
        "--ledger",
        tmp_path / "m.db",
        "--output",
        tmp_path / "r.parquet",
    )
    assert pq.read_table(tmp_path / "r.parquet").num_rows == 1000


def test_records_come_in_parts_of_any_number(monkeypatch):
    _, release = released(policy_of(), rows=1000)
    whole = release["few"].record_columns
    monkeypatch.setattr("dxgeom.planner.tasks.adaptive_answers.AT_ONCE", 77)
    parts = list(release["few"].record_batches)
    assert len(parts) == 13
    assert {title: [cell for part in parts for cell in part[title]] for title in whole} == whole


@pytest.mark.parametrize("seed", range(5))
def test_records_are_spread_so_that_running_totals_are_rounded(seed):
    random = np.random.default_rng(seed)
    distribution = random.dirichlet(np.full(3000, 0.05))
    records = int(random.integers(0, 400))
    counts = spread_evenly(distribution, records)
    assert counts.sum() == records
    assert counts.min() >= 0
    assert np.abs(np.cumsum(counts - records * distribution)).max() <= 0.5 + 1e-9
    assert np.abs(counts - records * distribution).max() < 1 + 1e-9
    with pytest.raises(dx.errors.TooLarge):
        spread_evenly(distribution, 2**60)


def test_thin_cells_are_not_left_out_of_records():
    """3,000 cells of two columns, 300 records: largest remainders would take the fullest cells alone."""
    random = np.random.default_rng(1)
    rows, columns = random.dirichlet(np.full(60, 1.0)), random.dirichlet(np.full(50, 1.0))
    distribution = np.outer(rows, columns)

    def off(counts):
        table = counts.reshape(60, 50)
        return np.abs(table.sum(axis=1) - 300 * rows).sum(), np.abs(table.sum(axis=0) - 300 * columns).sum()

    first, last = off(spread_evenly(distribution.ravel(), 300))
    other_first, other_last = off(whole_counts(distribution.ravel(), 300))
    assert first < other_first / 4
    assert last < 0.7 * other_last


def test_beside_other_tasks_it_has_its_share():
    policy = policy_of()
    more = [{"name": "count", "share": "1/4", "queries": [{"count": "age == 10"}]}]
    asked = dx.queries_from_dict(
        {"tasks": [{"name": "few", "share": "3/4", "adaptive": {"workload": TABLES, "rounds": 2}}, *more]}, policy
    )
    release = dx.plan(policy.compile(), asked).release(counts_of(policy), ledger=":memory:", spend=1)
    whole = release["few"].answer.transcript
    assert sum((one.measuring.get(1, 0) + one.selecting.get(1, 0) for one in whole), Fraction(0)) <= Fraction(9, 16)
    assert release["count"].half_widths()[0] > 0


def test_people_in_shares_and_unprotected_columns_are_refused_when_it_is_planned():
    free = "policy: p\nuniverse: {attributes: {a: [x, y], b: [x, y]}}\nbudget: 1\nunconnected: allow\n"
    policy = dx.parse_policy(free + "rules: [{change: a, epsilon: 1}]\n")
    asked = dx.queries_from_dict({"tasks": [{"adaptive": {"workload": [{"marginal": ["a", "b"]}]}}]}, policy)
    with pytest.raises(
        dx.UnsupportedCombination, match="task 'adaptive 1': no rule protects what is told apart of 'b'"
    ):
        dx.plan(policy.compile(), asked)


WIDE = {f"a{place:02}": [f"v{value}" for value in range(4)] for place in range(14)}


def wide(privacy="concentrated", presence=False, more=(), **said):
    """Fourteen attributes of four values: more kinds of records than are ever listed."""
    rules = [{"change": list(WIDE), "epsilon": 1}, *([{"presence": "true", "epsilon": 1}] if presence else [])]
    policy = {"policy": "wide", "universe": {"attributes": WIDE}, "budget": "20", "rules": rules}
    policy = dx.Policy.from_dict(policy | ({"privacy": "concentrated"} if privacy == "concentrated" else {}))
    pairs = {"marginals": [["a00", "a01"], ["a01", "a02"], ["a00", "a02"], ["a05", "a06"]]}
    body = {"workload": [pairs, {"marginal": ["a03", "a04"]}, {"marginals": [[one] for one in WIDE]}], **said}
    tasks = dx.queries_from_dict({"tasks": [{"name": "few", "adaptive": body}, *more]}, policy)
    return policy, tasks


def rows_of(path):
    codes = np.random.default_rng(1).integers(0, 4, 200)
    lines = [",".join(f"v{(code + place) % 4}" for place in range(14)) for code in codes.tolist()]
    path.write_text("\n".join([",".join(WIDE), *lines]) + "\n")
    return codes


@pytest.mark.long
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("presence", [False, True])
def test_a_universe_that_no_histogram_has_room_for_is_answered_in_cliques(privacy, presence, tmp_path):
    policy, tasks = wide(privacy, presence, rounds=5, rows=300)
    plan = dx.plan(policy.compile(), tasks)
    assert "leaves the model's cliques at 1,000,000 numbers or fewer, about 40" in plan.statements(8)[0][0]
    dx.save_plan(plan, tmp_path / "p.json", policy=policy, spend=8)
    codes = rows_of(tmp_path / "rows.csv")
    release = dx.load_plan(tmp_path / "p.json").release(
        tmp_path / "rows.csv", ledger=tmp_path / "l.db", spend=8, id="once", insecure_test_seed=1
    )
    few = release["few"]
    assert release.answer.answers[0].answer.model.laid_out is False
    truth = np.bincount(codes * 4 + (codes + 1) % 4, minlength=16)
    low, high = few.answer.intervals()[0]
    assert np.mean((low <= truth) & (truth <= high)) > 0.8
    first, second = audit_release(plan, tmp_path / "l.db", 1).checked
    assert "all were paid for" in first
    assert "not gone through one by one" in second
    for name in ("r.csv", "r.parquet"):
        run("ledger", "show", tmp_path / "l.db", "--entry", 1, "--output", tmp_path / name)
    written = pq.read_table(tmp_path / "r.parquet").to_pydict()
    assert list(written) == list(WIDE)
    assert len(written["a00"]) == 300
    own = few.answer.whole_tables(300)[0]
    pairs = zip(written["a00"], written["a01"], strict=True)
    assert np.array_equal(np.bincount([4 * int(a[1]) + int(b[1]) for a, b in pairs], minlength=16), own)
    loaded = dx.load_plan(tmp_path / "p.json")
    again = loaded.release(tmp_path / "rows.csv", ledger=tmp_path / "l.db", spend=8, id="once")
    assert again.repeated
    assert again["few"].records_differ_by == few.records_differ_by


def test_beside_other_tasks_such_a_universe_is_refused_and_room_is_stated_in_words():
    for more in ({"adaptive": {"workload": [{"marginal": "a01"}]}}, {"queries": [{"count": "a00 == 'v1'"}]}):
        with pytest.raises(dx.QueryError, match=r"tables of its own|every possible record"):
            wide(more=[{"name": "other", **more}])
    policy, tasks = wide(cells=60)
    assert dx.plan(policy.compile(), tasks).parts[0].decided.cells_in_cliques == 60
    assert tasks.parts[0].question.fingerprint != wide()[1].parts[0].question.fingerprint
    policy, tasks = wide(cells=55)
    with pytest.raises(dx.errors.TooLarge, match="lies between 56 and"):
        dx.plan(policy.compile(), tasks)
