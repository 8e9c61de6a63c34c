"""Estimates from the command line: tried out on a public table before the data, and of a ledger's entry afterwards."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.errors import LedgerError, WrongArgument

POLICY = {
    "policy": "few",
    "universe": {"attributes": {"a": {"values": ["x", "y"]}, "b": {"values": ["u", "v", "w"]}}},
    "rules": [{"change": ["a", "b"], "epsilon": 1}],
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "policy.json").write_text(json.dumps(POLICY), encoding="utf-8")
    (tmp_path / "queries.yaml").write_text("queries:\n  - marginal: [a, b]\n", encoding="utf-8")
    (tmp_path / "rows.csv").write_text("a,b\n" + "x,u\n" * 7 + "y,u\n" * 3, encoding="utf-8")
    return tmp_path


def run(folder: Path, *words: str, code: int = 0) -> str:
    ends = (".yaml", ".json", ".csv", ".db")
    result = CliRunner().invoke(app, [str(folder / word) if word.endswith(ends) else word for word in words])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


@pytest.mark.long
def test_a_plan_is_tried_out_on_a_public_table(files: Path) -> None:
    asked = ("plan", "policy.json", "queries.yaml", "--spend", "1/2", "--public-table", "rows.csv")
    said = " ".join(run(files, *asked).split())
    assert "tried out on the public table of 10 records, with 8 draws of noise" in said
    found = json.loads(run(files, *asked, "--format", "json"))["simulated_estimate"]
    assert found["in_words"] in said and found["spend"] == "1/2"
    assert 0 < found["estimate_total_rmse"] < found["released_total_rmse"]
    refused = run(files, *asked[:3], "queries.yaml", *asked[3:], code=1)
    assert "--public-table is about one plan" in refused


@pytest.mark.long
def test_an_entry_of_a_ledger_is_estimated_with_its_plan(files: Path) -> None:
    run(files, "plan", "policy.json", "queries.yaml", "--output", "plan.json")
    released = ("release", "plan.json", "rows.csv", "--ledger", "a.db", "--spend", "1/4")
    first = json.loads(run(files, *released, "--estimate", "auto", "--format", "json"))
    shown = ("ledger", "show", "a.db", "--entry", "1", "--plan", "plan.json", "--estimate", "auto")
    again = json.loads(run(files, *shown, "--format", "json"))
    assert again["entry"] == 1 and again["repeated"] and again["estimate"] == first["estimate"]
    assert again["answers"] == first["answers"]
    text = run(files, *shown)
    assert "no data was read and no budget spent" in text and "estimate" in text
    rows = list(csv.DictReader(run(files, *shown, "--format", "csv").splitlines()))
    assert [float(row["estimate"]) for row in rows] == [one["value"] for one in first["estimate"]["answers"]]
    assert len(json.loads(run(files, "ledger", "show", "a.db", "--format", "json"))["entries"]) == 1


@pytest.mark.long
def test_an_estimate_of_another_plan_or_without_one_is_refused(files: Path) -> None:
    run(files, "plan", "policy.json", "queries.yaml", "--output", "plan.json")
    (files / "other.yaml").write_text("queries:\n  - marginal: [a]\n", encoding="utf-8")
    run(files, "plan", "policy.json", "other.yaml", "--output", "other.json")
    run(files, "release", "plan.json", "rows.csv", "--ledger", "a.db", "--spend", "1/4")
    shown = ("ledger", "show", "a.db", "--entry", "1", "--estimate", "auto")
    assert "give --entry, --estimate and" in " ".join(run(files, *shown, code=1).split())
    assert "entry 1 is of another plan" in run(files, *shown, "--plan", "other.json", code=1)
    said = " ".join(run(files, "ledger", "show", "a.db", "--level", ".9", code=1).split())
    assert "intervals of the level that was asked for at the release: --level goes with" in said
    shown = ("plan", "plan.json", "other.json", "--diff", "--public-table", "rows.csv")
    assert "leave out --public-table" in run(files, *shown, code=1)


@pytest.mark.long
def test_an_entry_of_another_policy_names_the_two_policies(files: Path) -> None:
    run(files, "plan", "policy.json", "queries.yaml", "--output", "plan.json")
    run(files, "release", "plan.json", "rows.csv", "--ledger", "a.db", "--spend", "1/4")
    its = dx.load_policy(files / "policy.json")
    (files / "policy.json").write_text(
        json.dumps({**POLICY, "rules": [{"change": ["a", "b"], "epsilon": 2}]}), encoding="utf-8"
    )
    run(files, "plan", "policy.json", "queries.yaml", "--output", "other.json")
    other = dx.load_plan(files / "other.json")
    with pytest.raises(LedgerError, match="of another policy") as refused:
        other.release_again(files / "a.db", 1)
    assert its.fingerprint in str(refused.value) and other.policy.fingerprint in str(refused.value)
    with pytest.raises(WrongArgument, match="'ledger' is of type"):
        other.release_again(None, 1)
