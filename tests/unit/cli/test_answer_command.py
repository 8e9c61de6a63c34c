"""``dxgeom answer``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reference.project import POLICIES
from typer.testing import CliRunner

from dxgeom.cli.main import app

POLICY = str(POLICIES / "vaccinations" / "policy.yaml")


@pytest.fixture
def task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.yaml").write_text("answer: staircase\nof: day\n")
    return "task.yaml"


def run(*arguments, **more):
    return CliRunner().invoke(app, ["answer", POLICY, *arguments], **more)


def test_a_rehearsal_says_so_in_every_line_and_keeps_nothing(task, tmp_path):
    result = run(task, "--rehearse", "--spend", "0.5")
    assert result.exit_code == 0
    assert all(line.startswith("REHEARSAL  ") for line in result.stdout.splitlines())
    assert "off by at most" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["task.yaml"]


def test_an_answer_is_charged_stored_and_shown_again_at_no_cost(task):
    first = run(task, "2024-01-16", "--spend", "0.25", "--ledger", "a.db", "--id", "x", "--format", "json")
    assert first.exit_code == 0
    written = json.loads(first.stdout)
    assert (written["spent"], written["remaining"], written["mechanism"]) == ("1/4", "3/4", "staircase")
    again = run(
        *(task, "-", "--spend", "0.25", "--ledger", "a.db", "--id", "x", "--output", "kept.json"),
        input="2024-01-16\n",
    )
    assert again.exit_code == 0
    assert written["answer"]["told"] in again.stdout
    assert "nothing was spent again" in again.stdout
    assert json.loads(Path("kept.json").read_text())["answer"] == written["answer"]


def test_whole_records_are_told_like_those_to_explain(task):
    result = run("optimal", "day=2024-01-16,dose=first", "--spend", "0.25", "--ledger", "a.db")
    assert result.exit_code == 0
    assert "answer     day=" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("2024-01-16", "--spend", "2", "--ledger", "a.db"), 3, "asks for 2"),
        (("2034-01-16", "--spend", "1", "--ledger", "a.db"), 1, "no value"),
        (("2024-01-16", "--spend", "1"), 2, "only a rehearsal goes without"),
        (("--spend", "1", "--ledger", "a.db"), 2, "only a rehearsal goes without"),
        (("2024-01-16", "--ledger", "a.db"), 2, "--spend"),
        (("2024-01-16", "--rehearse", "--spend", "1"), 2, "makes up its secret"),
    ],
)
def test_refusals_have_the_exit_codes_of_releases(task, arguments, code, said):
    result = run(task, *arguments)
    assert result.exit_code == code
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_a_slip_in_the_word_is_understood(task):
    result = run("starcase", "2024-01-16", "--spend", "1", "--ledger", "a.db")
    assert result.exit_code == 1
    assert "did you mean 'staircase'" in result.stderr
