"""Whole tables of counts over a hundred attributes from the command line: policy, queries, plan file, ledger, cells."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app

SIZES = (2, 3, 4, 5) * 10


@pytest.fixture
def files(tmp_path: Path) -> Path:
    attributes = {f"q{k}": {"values": [f"v{j}" for j in range(size)]} for k, size in enumerate(SIZES)}
    rules = [{"change": name, "epsilon": 1} for name in attributes]
    policy = {"policy": "wide", "privacy": "concentrated", "universe": {"attributes": attributes}, "rules": rules}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy), encoding="utf-8")
    (tmp_path / "queries.yaml").write_text("queries:\n  - marginals: {ways: 2}\n  - count: true\n", encoding="utf-8")
    (tmp_path / "few.yaml").write_text("queries:\n  - {marginal: [q0, q1], error: 3}\n", encoding="utf-8")
    generator = np.random.default_rng(0)
    rows = {f"q{k}": [f"v{j}" for j in generator.integers(0, size, 300)] for k, size in enumerate(SIZES)}
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path


def run(folder: Path, *words: str, code: int = 0) -> str:
    named = [
        str(folder / word) if word.endswith((".yaml", ".json", ".csv", ".db", ".parquet")) else word for word in words
    ]
    every = ["--all"] if words[0] in ("check", "plan", "release") or words[1] == "show" else []
    result = CliRunner().invoke(app, named + every)
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def test_a_wide_policy_is_checked_planned_kept_and_released_from_files(files: Path) -> None:
    assert "40 attributes" in run(files, "check", "policy.yaml") or "wide" in run(files, "check", "policy.yaml")
    planned = run(files, "plan", "policy.yaml", "queries.yaml", "--output", "plan.json", "--spend", "1/2")
    assert "781 tables" in planned
    assert "the 30 tables with the largest errors" in planned
    shown = run(files, "release", "plan.json", "rows.csv", "--ledger", "a.db", "--id", "x", "--output", "cells.parquet")
    assert "300 records" in shown and "--format csv" in shown
    cells = pd.read_parquet(files / "cells.parquet")
    one = cells[(cells["table"] == "q0, q3")]
    assert one[["column 1", "value 1", "column 2", "value 2"]].iloc[6].tolist() == ["q0", "v1", "q3", "v1"]
    assert one["count"].sum() == pytest.approx(300)
    again = run(files, "release", "plan.json", "rows.csv", "--ledger", "a.db", "--id", "x", "--format", "csv")
    rows = list(csv.DictReader(again.splitlines()))
    assert len(rows) == len(cells)
    assert [float(row["count"]) for row in rows] == cells["count"].tolist()
    document = json.loads(
        run(files, "release", "plan.json", "rows.csv", "--ledger", "a.db", "--id", "x", "--format", "json")
    )
    assert document["repeated"]
    assert document["tables"][2]["table"] == ["q0", "q3"]
    kept = np.array(document["tables"][2]["cells"]) / int(document["tables"][2]["divisor"])
    assert kept.tolist() == one["count"].tolist()


def test_a_rehearsal_and_json_say_what_to_expect(files: Path) -> None:
    assert "REHEARSAL  q0, q1" in run(files, "release", "policy.yaml", "few.yaml", "--rehearse")
    told = json.loads(run(files, "plan", "policy.yaml", "few.yaml", "--format", "json"))
    assert told["expected"]["tables"][0]["rmse"] <= 3
    assert told["least_spend"] == told["expected"]["spend"]
    told = json.loads(run(files, "plan", "policy.yaml", "queries.yaml", "--error", "q0, q1: 2", "--format", "json"))
    assert told["expected"]["tables"][0]["rmse"] <= 2
    for option, message in (("--consistent", "agree as they are made"), ("--joint", "leave joint out")):
        assert message in run(files, "release", "policy.yaml", "few.yaml", "--rehearse", option, code=1)
    assert "needs a count of every possible record" in run(
        files, "plan", "policy.yaml", "few.yaml", "--mechanism", "hull", code=1
    )


@pytest.mark.long
def test_estimates_of_tables_are_shown_beside_them_and_in_files(files: Path) -> None:
    (files / "two.yaml").write_text("queries:\n  - marginal: [q0, q1]\n  - marginal: [q1, q2]\n", encoding="utf-8")
    asked = ("release", "policy.yaml", "two.yaml", "--rehearse", "--spend", "1/4", "--records", "300")
    shown = run(files, *asked, "--estimate", "auto", "--output", "cells.csv")
    assert "no cell is negative" in shown and "each table sums to 300" in shown
    cells = pd.read_csv(files / "cells.csv")
    assert cells["estimate"].min() >= 0 and cells["estimate_low"].min() >= 0 and cells["estimate_high"].max() <= 300
    assert cells.groupby("table")["estimate"].sum().tolist() == pytest.approx([300, 300])
    document = json.loads(run(files, *asked, "--estimate", "integers", "--format", "json"))
    assert sum(document["estimate"]["tables"][0]["cells"]) == 300
    assert "agree as they are made" in run(files, *asked, "--estimate", "consistent", code=1)
