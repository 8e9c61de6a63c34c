"""dxgeom init and dxgeom examples."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from dxgeom.cli import init
from dxgeom.cli.main import app


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("name,sex,age\nann,F,3\n")


def test_what_is_said_makes_files_that_report_takes(in_a_folder):
    result = run("init", "t.csv", "--person", "name", "--values", "sex=F,M", "--range", "age=0:110")
    assert result.stdout.endswith(
        "written: policy.yaml, policy-queries.yaml (3 answers, 46 possible records)\n"
        "next:    dxgeom check policy.yaml --table t.csv\n"
    ), result.output
    assert run("check", "policy.yaml").exit_code == 0
    assert run("plan", "policy.yaml", "policy-queries.yaml").exit_code == 0
    assert "ann" not in Path("policy.yaml").read_text()


def test_what_is_left_to_fill_in_is_told(in_a_folder):
    result = json.loads(run("init", "t.csv", "--public-values", "sex", "-o", "mine.yaml", "--format", "json").stdout)
    assert result["missing"] == []
    assert result["left_out"] == ["name (names or remarks)"]
    assert result["queries"] == "mine-queries.yaml"
    checked = run("check", "mine.yaml")
    assert checked.exit_code == 1
    assert "1 place to fill in: line 6" in checked.output


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (["none.csv"], "does not exist", 1),
        (["t.csv", "--leave-out", "nam"], "did you mean 'name'", 1),
        (["t.csv", "--values", "sex"], "such as sex=F,M", 2),
        (["t.csv", "--range", "age=9:3"], "a range goes from", 1),
        (["t.csv", "--public-values", "sec"], "sec", 1),
    ],
)
def test_what_cannot_be_done_writes_nothing(in_a_folder, tmp_path, words, said, code):
    result = run("init", *words)
    assert result.exit_code == code, result.output
    assert said in " ".join(result.output.split())
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv"}


def test_examples_are_listed_and_written(in_a_folder, tmp_path):
    assert "us-cities" in run("examples").stdout
    assert "next: dxgeom check clinic/policy.yaml" in run("examples", "clinic").stdout
    assert (tmp_path / "clinic" / "patients.csv").is_file()
    assert run("examples", "clinic").exit_code == 1
    assert run("examples", "clinics").exit_code == 1
    assert json.loads(run("examples", "--format", "json").stdout)["examples"]["clinic"].startswith("Native status")


def test_a_notebook_is_asked_nothing_and_a_terminal_is(in_a_folder, monkeypatch):
    """A kernel hands over a terminal to which nobody types."""
    asked = []
    monkeypatch.setattr("dxgeom.cli.init.sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("dxgeom.cli.init.typer.prompt", lambda words, **_: asked.append(words) or "")
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    init.init(Path("t.csv"), Path("one.yaml"), left_out=["name"])
    assert asked == []
    monkeypatch.delenv("JPY_PARENT_PID")
    init.init(Path("t.csv"), Path("two.yaml"), left_out=["name"])
    assert len(asked) > 0
