"""Very many boxes from the command line: policy, queries, plan file, ledger, counts in a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app


@pytest.fixture
def files(tmp_path: Path) -> Path:
    attributes = {f"q{k}": {"values": ["x", "y"]} for k in range(40)}
    attributes["minute"] = {"range": [0, 1439], "step": 1}
    rules = [*({"change": f"q{k}", "epsilon": 1} for k in range(40)), {"change": "minute", "epsilon": "0.01", "per": 1}]
    policy = {"policy": "visits", "privacy": "concentrated", "universe": {"attributes": attributes}, "rules": rules}
    (tmp_path / "policy.yaml").write_text(json.dumps(policy), encoding="utf-8")
    every = "queries:\n  - prefixes: minute\n  - {ranges: minute, at: [480, 960], where: q0 == 'x'}\n"
    (tmp_path / "queries.yaml").write_text(every, encoding="utf-8")
    (tmp_path / "few.yaml").write_text("queries:\n  - {count: minute < 480, error: 150}\n  - count: true\n", "utf-8")
    generator = np.random.default_rng(0)
    rows = {f"q{k}": [("x", "y")[j] for j in generator.integers(0, 2, 300)] for k in range(40)}
    pd.DataFrame({**rows, "minute": generator.integers(0, 1440, 300)}).to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path


def run(folder: Path, *words: str, code: int = 0) -> str:
    ends = (".yaml", ".json", ".csv", ".db", ".parquet", ".html")
    every = ["--all"] if words[0] in ("plan", "release") or words[1] == "show" else []
    named = [str(folder / word) if word.endswith(ends) else word for word in words]
    result = CliRunner().invoke(app, named + every)
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def test_boxes_are_planned_kept_and_released_from_files(files: Path) -> None:
    planned = run(files, "plan", "policy.yaml", "queries.yaml", "--output", "plan.json", "--spend", "1/2")
    assert "1,446 boxes: boxes-gaussian" in planned and "boxes with the largest errors" in planned
    said = ("release", "plan.json", "rows.csv", "--ledger", "a.db", "--id", "x")
    shown = run(files, *said, "--output", "counts.parquet")
    assert "of which the first 100 are here" in shown
    counts = pd.read_parquet(files / "counts.parquet")
    assert counts["name"].iloc[479] == "minute 0 to 479" and len(counts) == 1446
    rows = list(csv.DictReader(run(files, *said, "--format", "csv").splitlines()))
    assert [float(row["value"]) for row in rows] == pytest.approx(counts["value"].tolist())
    document = json.loads(run(files, *said, "--format", "json"))
    assert document["repeated"] and document["boxes"][479]["name"] == "minute 0 to 479"
    assert document["boxes"][479]["value"] == counts["value"].iloc[479]


def test_expected_errors_rehearsals_and_refusals(files: Path) -> None:
    told = json.loads(run(files, "plan", "policy.yaml", "few.yaml", "--format", "json"))
    assert told["objective"] == "max"
    assert told["expected"]["boxes"][0]["rmse"] <= 150
    assert told["least_spend"] == told["expected"]["spend"]
    assert "REHEARSAL  minute 0 to 479" in run(files, "release", "policy.yaml", "few.yaml", "--rehearse")
    for option, message in (("--consistent", "agree as they are made"), ("--joint", "leave joint out")):
        assert message in run(files, "release", "policy.yaml", "few.yaml", "--rehearse", option, code=1)
    assert "needs their weights laid out" in run(
        files, "plan", "policy.yaml", "few.yaml", "--mechanism", "hull", code=1
    )
