"""``dxgeom check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reference.project import POLICIES
from typer.testing import CliRunner

from dxgeom.cli.main import app

SIX_MISTAKES = """\
policy: six
universe:
  attributes:
    gender: [M, F]
    native: [Yes, No]
rules:
  - chnge: native
    epsilon: 0.1
  - change: natve
    epsilon: 0.1
  - change: gender
    epsilon: -1
  - change: [native]
    epsilon: .nan
budget: 0
colour: red
"""
MISTAKEN_LINES = [7, 9, 12, 14, 15, 16]


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "six.yaml"
    path.write_text(SIX_MISTAKES, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["clinic", "adult", "us-cities"])
def test_every_example_policy_is_fine(name: str) -> None:
    result = CliRunner().invoke(app, ["check", str(POLICIES / name / "policy.yaml"), "--all"])
    assert (result.exit_code, result.stderr) == (0, "")
    for part in (f"policy {name}:", "odds at most", "Who is a neighbour", "exactly one record", "certificate"):
        assert part in result.stdout


def test_the_json_of_a_policy_has_its_review() -> None:
    result = CliRunner().invoke(app, ["check", str(POLICIES / "clinic" / "policy.yaml"), "--format", "json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, document["policy"], document["record_types"]) == (0, "clinic", 8)
    assert [attribute["name"] for attribute in document["attributes"]] == ["gender", "native", "age"]


def test_six_mistakes_are_six_messages_with_their_places(wrong: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(wrong), "--all"])
    heads = [line for line in result.stderr.splitlines() if line.startswith(f"{wrong}:")]
    assert (result.exit_code, result.stdout) == (1, "")
    assert [int(head.removeprefix(f"{wrong}:").split(":")[0]) for head in heads] == MISTAKEN_LINES
    assert result.stderr.count("^") == 6
    assert result.stderr.splitlines()[-1] == "6 mistakes"


def test_six_mistakes_are_six_lines_on_a_screen_that_say_how_to_see_all(wrong: Path) -> None:
    lines = CliRunner().invoke(app, ["check", str(wrong)]).stderr.splitlines()
    assert len(lines) == 6 and all(line.startswith(f"{wrong}:") for line in lines[:5])
    assert lines[-1] == "6 mistakes: --all shows every one, with its line and what to do"


def test_six_mistakes_are_six_entries_of_one_json_document(wrong: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(wrong), "--format", "json"])
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["kind"]) == (1, "PolicyError")
    assert [mistake["line"] for mistake in error["mistakes"]] == MISTAKEN_LINES
    for mistake in error["mistakes"]:
        assert set(mistake) == {"file", "line", "column", "code", "message", "advice", "source"}


def test_a_missing_policy_is_a_mistake_like_others(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere.yaml"
    result = CliRunner().invoke(app, ["check", str(missing)])
    assert result.exit_code == 1
    assert str(missing) in result.stderr
    assert "cannot be opened" in result.stderr


def test_the_forms_are_told_when_asked_for() -> None:
    plain = CliRunner().invoke(app, ["check", str(POLICIES / "clinic" / "policy.yaml"), "--all"])
    told = CliRunner().invoke(app, ["check", str(POLICIES / "clinic" / "policy.yaml"), "--explain"])
    assert (told.exit_code, told.stderr) == (0, "")
    assert told.stdout.startswith(plain.stdout)
    added = told.stdout.removeprefix(plain.stdout).splitlines()
    assert added[:2] == ["", "forms"]
    assert added[3] == "  native: discrete: every two values are bounded by the same epsilon (line 17)"
    assert added[-1].startswith("  records: sum: ")


def test_the_forms_are_part_of_the_json_when_asked_for() -> None:
    arguments = ["check", str(POLICIES / "clinic" / "policy.yaml"), "--format", "json"]
    assert "forms" not in json.loads(CliRunner().invoke(app, arguments).stdout)
    forms = json.loads(CliRunner().invoke(app, [*arguments, "--explain"]).stdout)["forms"]
    assert [form["name"] for form in forms] == ["gender", "native", "age", "records"]
    assert set(forms[0]) == {"name", "form", "why", "rules", "idle"}


def test_each_of_two_mistakes_is_shown_with_what_to_do(tmp_path):
    wrong = "policy: p\nuniverse:\n  attributes:\n    Größe: {range: [140, 210], step: 5, from: Größe (cm)}\n"
    (tmp_path / "p.yaml").write_text(wrong + "rules:\n  - {change: Grösse, epsilon: 1}\n", encoding="utf-8")
    said = CliRunner().invoke(app, ["check", str(tmp_path / "p.yaml")]).stderr.splitlines()
    assert len(said) == 5 and "in backticks" in said[1] and said[3].strip() == "did you mean 'Größe'?"
