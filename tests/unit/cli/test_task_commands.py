"""Tasks on the command line: planned, kept, released, rehearsed, and shown again."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from reference.example_policies import policy_file
from reference.json_schema import is_valid
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.plan_files.codec import release_schema

POLICY = policy_file("clinic")
TASKS = POLICY.parent / "tasks.yaml"
TABLE = POLICY.parent / "patients.csv"


def run(*arguments: object, code: int = 0) -> str:
    every = ("--all",) if arguments[0] in ("plan", "release") or arguments[1] == "show" else ()
    result = CliRunner().invoke(app, [*map(str, arguments), *every])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def test_a_plan_file_of_tasks_is_released_once_and_shown_again(tmp_path: Path) -> None:
    plan, ledger = tmp_path / "plan.json", tmp_path / "l.db"
    said = run("plan", POLICY, TASKS, "--spend", "1/2", "--output", plan)
    assert "tasks, in one release" in said
    assert "error   'larger group': proved: with probability 0.95" in said
    text = run("release", plan, TABLE, "--ledger", ledger, "--id", "once")
    assert "spent      0.5, remaining 0.5 of 1" in text
    assert "larger group  (select, " in text
    shown = run("ledger", "show", ledger, "--entry", 1)
    assert "most common group  (select, " in shown
    assert "repeated   as it was" in run("release", plan, TABLE, "--ledger", ledger, "--id", "once")
    assert run("plan", plan, plan, "--diff") == "the two plans are the same\n"


def test_a_release_of_tasks_as_json_csv_and_rehearsal(tmp_path: Path) -> None:
    words = ("release", POLICY, TABLE, TASKS, "--ledger", tmp_path / "l.db", "--spend", "1/4")
    document = json.loads(run(*words, "--format", "json", "--public", tmp_path / "public.json"))
    assert is_valid(document, release_schema())
    assert [one["kind"] for one in document["tasks"]][:3] == ["queries", "select", "select"]
    assert "dropped_rows" not in json.loads((tmp_path / "public.json").read_text())
    marked = run("release", POLICY, TASKS, "--rehearse", "--spend", "1/4", "--format", "csv")
    rows = list(csv.DictReader(marked.splitlines()))
    assert all(row["rehearsal"] == "REHEARSAL" for row in rows)
    assert {row["task"] for row in rows} == {one["name"] for one in document["tasks"]}
    rehearsed = run("release", POLICY, TASKS, "--rehearse", "--spend", "1/4", "--joint")
    assert all(line.startswith("REHEARSAL") for line in rehearsed.splitlines())
    planned = json.loads(run("plan", POLICY, TASKS, "--format", "json"))
    assert [one["name"] for one in planned["expected"]["tasks"]] == [one["name"] for one in document["tasks"]]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--error", "ages: 3"), "not 'errors': write 'error' in the file"),
        (("--mechanism", "gaussian"), "task 'tables': "),
    ],
)
def test_what_is_about_one_workload_is_refused_before_anything_is_charged(
    tmp_path: Path, option: tuple[str, ...], message: str
) -> None:
    ledger = tmp_path / "l.db"
    words = ("release", POLICY, TABLE, TASKS, "--ledger", ledger, "--spend", "1/4", *option)
    assert message in run(*words, code=1)
    assert not ledger.exists()


def test_other_commands_name_what_they_are_about(tmp_path: Path) -> None:
    assert "asks for several tasks: plan it on its own" in run("plan", POLICY, TASKS, TASKS, code=1)
    assert "task" in run("report", POLICY, TASKS)


RECORDS = "records: 80\ntasks: [{name: s, synthesize: {workload: [marginals: {ways: 2}], rows: 60, rounds: 0}}]\n"


def test_synthetic_records_are_written_by_a_release_and_from_the_ledger(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(RECORDS)
    ledger = tmp_path / "l.db"
    words = ("release", POLICY, TABLE, tmp_path / "t.yaml", "--ledger", ledger, "--spend", "1/2", "--id", "k")
    assert "60 synthetic ones" in run(*words, "--output", tmp_path / "one.csv")
    run(*words, "--output", tmp_path / "two.csv")  # the stored answer, once more
    run("ledger", "show", ledger, "--entry", 1, "--output", tmp_path / "three.csv")
    run("ledger", "show", ledger, "--entry", 1, "--output", tmp_path / "four.parquet")
    texts = {(tmp_path / f"{name}.csv").read_text() for name in ("one", "two", "three")}
    assert [len(text.splitlines()) for text in texts] == [61]
    assert pq.read_table(tmp_path / "four.parquet").num_rows == 60
    assert "exists and is not overwritten" in run(*words, "--output", tmp_path / "one.csv", code=1)
    assert len(json.loads(run("ledger", "show", ledger, "--format", "json"))["entries"]) == 1
    shown = run("ledger", "show", ledger, "--entry", 1)
    assert "gender=M, native=Yes" in shown


def test_records_of_several_tasks_are_refused_before_the_charge(tmp_path: Path) -> None:
    ledger, queries, table = tmp_path / "l.db", POLICY.parent / "queries.yaml", tmp_path / "x.csv"
    words = ("release", POLICY, TABLE, TASKS, "--ledger", ledger, "--spend", "1/2", "--output", table)
    assert "'patients' and 'ten patients' make some" in run(*words, code=1)
    assert not ledger.exists()
    assert not table.exists()
    run("release", POLICY, TABLE, queries, "--ledger", ledger, "--spend", "1/2", "--output", tmp_path / "answers.csv")
    assert (tmp_path / "answers.csv").read_text().startswith('"query","name",')
    run("ledger", "show", ledger, "--entry", 1, "--output", table)
    fresh, again = (
        list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        for path in (tmp_path / "answers.csv", table)
    )
    assert [{key: row[key] for key in fresh[0]} for row in again] == fresh
    assert "--entry" in run("ledger", "show", ledger, "--output", table, code=1)


def test_families_are_listed_named_and_released(tmp_path: Path) -> None:
    queries, ledger, records = POLICY.parent / "queries.yaml", tmp_path / "l.db", tmp_path / "r.csv"
    said = run("plan", POLICY, queries, "--mechanism", "families", "--records", 80, "--spend", "1/2")
    assert "proved bounds are compared with each other alone" in said
    assert "mwem: proved of what is measured" in said
    told = json.loads(run("plan", POLICY, queries, "--mechanism", "families", "--records", 80, "--format", "json"))
    assert [one["family"] for one in told["candidates"]] == ["noise", "small-database", "mwem"]
    words = ("release", POLICY, TABLE, queries, "--mechanism", "mwem", "--ledger", ledger, "--spend", "1/2")
    assert "80 synthetic ones" in run(*words, "--output", records)
    assert len(records.read_text().splitlines()) == 81
    run("ledger", "show", ledger, "--entry", 1, "--output", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == records.read_text()
    assert "not native" in run("ledger", "show", ledger, "--entry", 1)
    kept = ("plan", POLICY, queries, "--mechanism", "mwem", "--records", 80, "--output", tmp_path / "p.json")
    assert "write a file with the task 'synthesize'" in run(*kept, code=1)
    assert "leave out --consistent" in run(*words, "--consistent", code=1)
