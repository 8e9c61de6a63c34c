"""``dxgeom ledger``: entries and past answers, at no cost; and whether a ledger is still what was written."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.metric import DataSet

ANSWER = {
    "answers": [
        {"name": "men", "value": 12.25, "exact": "49/4", "rmse": 1.5, "bias": 0.0, "interval": [9.0, 15.0]},
        {"name": "=women, all", "value": -3.0, "exact": "-3", "rmse": 1.5, "bias": 0.0, "interval": [-6.0, 0.0]},
    ],
    "level": 0.95,
}
GOLDEN = Path(__file__).parents[1] / "ledger" / "files" / "format_1.ledger"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    visits = DataSet("visits", "2026", budget=Fraction(3))
    with (
        Ledger.open(path, policy_fingerprint="f", policy_name="clinic", budget=Fraction(1), data_set=visits) as one,
        Ledger.open(path, policy_fingerprint="g", policy_name="census", budget=Fraction(2), data_set=visits) as two,
    ):
        first = one.charge(Fraction("0.25"), purpose="weekly\ncounts\x1b[2J", plan_fingerprint="p", key="monday")
        one.store(first, json.dumps(ANSWER))
        two.charge(Fraction("0.5"), purpose="lost", plan_fingerprint="q", reserve=10)
        two.store(two.charge(Fraction("0.5"), purpose="bytes", plan_fingerprint="q", reserve=10), b"\xff\x00")
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["ledger", *map(str, words)])


def test_show_lists_what_is_left_and_every_entry_of_all_policies(path: Path) -> None:
    shown = run("show", path, "--all")
    assert shown.exit_code == 0
    for part in (
        "of data set 'visits'; budget for all policies together 3",
        "clinic       1   0.25       0.75",
        "census       2      1          1",
        "clinic, edition 2026  weekly counts",
        "(key monday)",
        "charged, not answered",
        "last seal  3:",
    ):
        assert part in shown.stdout
    assert "\x1b" not in shown.stdout


def test_show_as_json_and_csv_has_the_same_entries(path: Path) -> None:
    document = json.loads(run("show", path, "--format", "json").stdout)
    rows = list(csv.DictReader(io.StringIO(run("show", path, "--format", "csv").stdout)))
    assert [entry["state"] for entry in document["entries"]] == ["answered", "charged, not answered", "answered"]
    assert [row["state"] for row in rows] == [entry["state"] for entry in document["entries"]]
    assert document["data_set"] == {"name": "visits", "people": "shared", "budget": "3"}
    assert [(one["policy"], one["spent"], one["remaining"]) for one in document["accounts"]] == [
        ("clinic", "1/4", "3/4"),
        ("census", "1", "1"),
    ]
    assert rows[0]["purpose"] == "weekly\ncounts\x1b[2J"
    assert document["last_seal"].startswith("3:")


def test_show_prints_the_answer_of_an_entry_again(path: Path) -> None:
    text = run("show", path, "--entry", 1, "--all").stdout
    for part in ("spent      0.25, remaining then 0.75", "key        monday", "seal       1:", "=women, all"):
        assert part in text
    assert json.loads(run("show", path, "--entry", 1, "--format", "json").stdout)["answer"] == ANSWER
    rows = list(csv.DictReader(io.StringIO(run("show", path, "--entry", 1, "--format", "csv").stdout)))
    assert [(row["name"], row["exact"], row["low"]) for row in rows] == [
        ("men", "49/4", "9.0"),
        ("=women, all", "-3", "-6.0"),
    ]


def test_show_says_that_a_charge_has_no_answer_and_shows_bytes_as_they_are(path: Path) -> None:
    assert "charged, not answered" in run("show", path, "--entry", 2).stdout
    assert json.loads(run("show", path, "--entry", 2, "--format", "json").stdout)["answer"] is None
    assert json.loads(run("show", path, "--entry", 3, "--format", "json").stdout)["answer"] == {"base64": "/wA="}
    refused = run("show", path, "--entry", 2, "--format", "csv")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "charged, not answered" in refused.stderr
    assert "has entries 1 to 3; found 4" in run("show", path, "--entry", 4).stderr


def test_verify_compares_with_a_printed_seal(path: Path) -> None:
    document = json.loads(run("verify", path, "--format", "json").stdout)
    assert (document["verdict"], document["entries"], document["answers"], document["unanswered"]) == ("holds", 3, 2, 1)
    seal = document["last_seal"]
    assert f"agrees with {seal}" in run("verify", path, "--seal", seal).stdout
    older = shutil.copy(path, path.with_name("older.db"))
    with Ledger.open(path, policy_fingerprint="f", policy_name="clinic", budget=Fraction(1)) as ledger:
        entry = ledger.charge(Fraction("0.25"), purpose="", plan_fingerprint="p")
    refused = run("verify", older, "--seal", f"4:{entry.seal}", "--format", "json")
    assert refused.exit_code == 1
    assert "it is an older copy" in json.loads(refused.stdout)["error"]["message"]
    assert run("verify", path, "--seal", f"3:{entry.seal}").exit_code == 1


@pytest.mark.parametrize("seal", ["", "1", "0:" + "a" * 64, "1:" + "a" * 63, "1:" + "A" * 64, "1 :" + "a" * 64])
def test_a_seal_that_is_none_is_not_understood(path: Path, seal: str) -> None:
    result = run("verify", path, "--seal", seal)
    assert result.exit_code == 2
    assert "64 hexadecimal digits" in result.stderr


def test_a_ledger_of_format_1_is_migrated_when_asked_and_not_by_looking(tmp_path: Path) -> None:
    path = Path(shutil.copy(GOLDEN, tmp_path / "a.db"))
    before = path.read_bytes()
    for words in (("show", path), ("verify", path)):
        refused = run(*words)
        assert refused.exit_code == 1
        assert "dxgeom ledger migrate a.db" in refused.stderr
    assert path.read_bytes() == before
    assert json.loads(run("migrate", path, "--format", "json").stdout) == {
        "ledger": str(path),
        "format": 3,
        "entries": 4,
    }
    assert "347/420" in run("show", path).stdout
    assert "answer not kept here" in run("show", path).stdout
    assert run("migrate", path).exit_code == 0


@pytest.mark.parametrize("command", ["show", "verify", "migrate"])
def test_what_is_no_ledger_is_refused_and_nothing_begun(tmp_path: Path, command: str) -> None:
    (tmp_path / "text.db").write_text("no ledger " * 100)
    for name, reason in (("nowhere.db", "no such ledger"), ("text.db", "not a ledger"), (".", "folder")):
        result = run(command, tmp_path / name)
        assert (result.exit_code, result.stdout) == (1, "")
        assert reason in result.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["text.db"]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs users")
def test_looking_needs_no_right_to_write(path: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = Path(shutil.copy(path, folder / "a.db"))
        copy.chmod(0o444)
        folder.chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            assert run("show", copy).exit_code == 0
            assert run("show", copy, "--entry", 1).exit_code == 0
            assert run("verify", copy).exit_code == 0
        finally:
            os.seteuid(user)
        folder.chmod(0o755)
