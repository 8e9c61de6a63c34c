"""Quantiles on the command line, and error bars that hold at once."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from reference.example_policies import policy_file
from reference.json_schema import is_valid
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.plan_files.codec import release_schema


@pytest.fixture
def queries() -> Path:
    return policy_file("adult").parent / "quantiles.yaml"


def run(*arguments: object, code: int = 0) -> str:
    every = ("--all",) if arguments[0] in ("plan", "release") or arguments[1] == "show" else ()
    result = CliRunner().invoke(app, [*map(str, arguments), *every])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def people() -> Path:
    return policy_file("adult").parent / "people.csv"


def test_a_plan_of_quantiles_says_how_each_is_answered(queries: Path, tmp_path: Path) -> None:
    said = run("plan", policy_file("adult"), queries, "--spend", "1/4")
    assert "2 queries for quantiles, in one release" in said
    assert "if 30,162 records were spread evenly" in said
    assert "error     'median age': with probability 0.95 the rank of each answer is off by at most" in said
    document = json.loads(run("plan", policy_file("adult"), queries, "--format", "json"))
    assert [one["name"] for one in document["quantiles"]] == ["median age", "ages"]
    assert document["quantiles"][0]["forms"] == ["transport"]
    assert set(document["quantiles"][0]["expected_errors_if_evenly_spread"]) == {"transport", "laplace"}


def test_a_form_is_named_on_the_command_line(queries: Path) -> None:
    lines = run("plan", policy_file("adult"), queries, "--spend", "1/4", "--mechanism", "laplace").splitlines()
    told = [line.split() for line in lines if line.startswith("median age")]
    assert [(row[2], row[-1] == "chosen") for row in told] == [("transport", False), ("laplace", True)]
    assert all(float(row[4]) > 0 for row in told)


def test_a_plan_file_of_quantiles_is_released_shown_again_and_told_as_csv(queries: Path, tmp_path: Path) -> None:
    plan, ledger = tmp_path / "plan.json", tmp_path / "l.db"
    assert "digest" in run("plan", policy_file("adult"), queries, "--spend", "1/4", "--output", plan)
    told = run("release", plan, people(), "--ledger", ledger, "--format", "csv")
    rows = list(csv.DictReader(told.splitlines()))
    assert list(rows[0]) == ["query", "name", "at", "value", "rank", "of"]
    assert [row["name"] for row in rows] == ["median age", "ages at 1/4", "ages at 3/4"]
    assert rows[0]["rank"] == "15081"
    shown = run("ledger", "show", ledger, "--entry", 1)
    for row in rows:
        assert row["name"] in shown
    again = list(csv.DictReader(run("ledger", "show", ledger, "--entry", 1, "--format", "csv").splitlines()))
    assert [row["value"] for row in again] == [row["value"] for row in rows]
    assert run("plan", plan, plan, "--diff") == "the two plans are the same\n"


def test_a_release_of_quantiles_as_text_json_and_rehearsal(queries: Path, tmp_path: Path) -> None:
    words = ("release", policy_file("adult"), people(), queries, "--ledger", tmp_path / "l.db", "--spend", "1/4")
    text = run(*words)
    assert "ages at 3/4" in text
    assert "spent      0.25, remaining 0.75 of 1" in text
    document = json.loads(run(*words, "--format", "json", "--public", tmp_path / "public.json"))
    assert is_valid(document, release_schema())
    assert [one["name"] for one in document["quantiles"]] == ["median age", "ages at 1/4", "ages at 3/4"]
    assert "dropped_rows" not in json.loads((tmp_path / "public.json").read_text())
    rehearsed = run("release", policy_file("adult"), queries, "--rehearse", "--spend", "1/4")
    assert all(line.startswith("REHEARSAL") for line in rehearsed.splitlines())
    marked = run("release", policy_file("adult"), queries, "--rehearse", "--spend", "1/4", "--format", "csv")
    assert all(row["rehearsal"] == "REHEARSAL" for row in csv.DictReader(marked.splitlines()))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--mechanism", "hull"), "'mechanism' of quantiles is one of transport, laplace"),
        (("--objective", "mse"), "not 'objective': leave it out"),
        (("--error", "ages: 3"), "not 'errors': leave it out"),
        (("--consistent",), "leave out --consistent"),
        (("--joint",), "leave joint out"),
    ],
)
def test_what_is_about_counts_is_refused_before_anything_is_charged(
    queries: Path, tmp_path: Path, option: tuple[str, ...], message: str
) -> None:
    ledger = tmp_path / "l.db"
    words = ("release", policy_file("adult"), people(), queries, "--ledger", ledger, "--spend", "1/4", *option)
    assert message in run(*words, code=1)
    assert not ledger.exists()


@pytest.mark.long
def test_joint_error_bars_hold_at_once_and_say_so(tmp_path: Path) -> None:
    (tmp_path / "q.yaml").write_text(
        "queries:\n  - {mean: age, by: quarter}\n  - {name: all, count: true}\n  - count: gender == 'F'\n"
    )
    table = tmp_path / "t.csv"
    table.write_text("gender,age,quarter\n" + "F,20,docks\nM,50,old town\nX,70,new town\n" * 300)
    ledger = tmp_path / "l.db"
    words = ("release", policy_file("tenants"), table, tmp_path / "q.yaml", "--ledger", ledger, "--spend", "1/8")
    text = run(*words, "--joint")
    assert "± at 95 % at once" in text
    assert "within, at 95 % at once" in text
    alone, joint = (json.loads(run(*words, "--format", "json", *more)) for more in ((), ("--joint",)))
    assert (joint["joint"], "joint" in alone) == (True, False)

    def width(one: dict[str, list[float]]) -> float:
        return one["interval"][1] - one["interval"][0]

    assert width(joint["answers"][-1]) > width(alone["answers"][-1])
    ratio, wider = (one["ratios"][0]["level"] for one in (alone, joint))
    assert (ratio, round(wider, 12)) == (0.95, round(1 - 0.05 / 3, 12))
    rows = csv.DictReader(run(*words, "--format", "csv", "--joint").splitlines())
    assert {row["name"] for row in rows} >= {"mean age, quarter=docks", "all"}
    assert "mean age, quarter=docks" in run("ledger", "show", ledger, "--entry", 1)
