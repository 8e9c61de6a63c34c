"""The nightly job that the guide shows, run as a scheduler runs it: a plan of a year, told day by day."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from reference.project import GUIDE
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.cli.terminal import Outcome
from dxgeom.ledger.history import read_ledger

pytest.importorskip("cryptography")

TEXT = (GUIDE / "nightly-job.md").read_text(encoding="utf-8")
SET_UP, SCRIPT = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
POLICY, QUERIES = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
# The guide's year is to come, and a day is released when it is over.
POLICY = POLICY.replace("2027-01-01", "2025-01-01").replace("2027-12-31", "2025-01-04")
ROWS = [f"{'pqr'[k % 3]}{k // 6},{('north', 'south')[k % 2]},2025-01-0{1 + k % 4}" for k in range(60)]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guide's commands for the year, and a table."""
    home = tmp_path_factory.mktemp("year")
    for name, text in {"policy.yaml": POLICY, "queries.yaml": QUERIES}.items():
        (home / name).write_text(text, encoding="utf-8")
    (home / "visits.csv").write_text("\n".join(["patient,ward,loaded", *ROWS]) + "\n", encoding="utf-8")
    for folder in ("answers", "books", "bin"):
        (home / folder).mkdir()
    (home / "nightly.sh").write_text(SCRIPT, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(home)
        for line in SET_UP.splitlines():
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
    return home


@pytest.fixture
def job(opened: Path, tmp_path: Path) -> Path:
    """A copy of it all, with a command ``dxgeom`` that counts its runs."""
    for one in opened.iterdir():
        subprocess.run(["cp", "-r", str(one), str(tmp_path)], check=True)
    command(tmp_path, f'exec "{sys.executable}" -m dxgeom "$@"')
    return tmp_path


def command(folder: Path, line: str) -> None:
    script = folder / "bin" / "dxgeom"
    script.write_text(f'#!/bin/sh\necho run >> "{folder}/runs"\n{line}\n', encoding="utf-8")
    script.chmod(0o755)


def run(folder: Path, days: str, table: str = "visits.csv") -> tuple[int, int, str]:
    """Exit code, how often dxgeom was started, and standard error."""
    folder.joinpath("runs").write_text("")
    given = ["year.json", table, "books/visits.db", "keys/visits.key", "answers"]
    settings = {"DAYS": days, "PAUSE": "0", "TRIES": "3", "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    with_them, words = {**os.environ, **settings}, ["sh", "nightly.sh", *given]
    done = subprocess.run(words, cwd=folder, env=with_them, capture_output=True, text=True, check=False)
    return done.returncode, len(folder.joinpath("runs").read_text().splitlines()), done.stderr


@pytest.mark.long
def test_a_day_is_answered_once_however_often_the_job_is_started(job: Path) -> None:
    assert run(job, "before 2025-01-01")[:2] == (0, 2)
    answers = job / "answers" / "2025-01-01.json"
    first = json.loads(answers.read_text())
    assert stat.S_IMODE(answers.stat().st_mode) == 0o600
    assert run(job, "2025-01-01", table="nowhere.csv")[:2] == (0, 1)
    again = json.loads(answers.read_text())
    assert again.pop("repeated") is True
    assert again == first
    [entry] = read_ledger(job / "books" / "visits.db").entries
    assert entry.spend == 1
    # Nobody is told how many people were there that day, but by the one noisy answer.
    assert {*first} & {"records", "rows", "dropped", "public"} == set()
    assert [one["name"] for one in first["answers"]] == ["loaded so far to 2025-01-01"]


@pytest.mark.long
def test_a_night_that_was_missed_comes_first(job: Path) -> None:
    code, runs, words = run(job, "2025-01-02")
    assert (code, runs) == (Outcome.NOT_UNDERSTOOD, 1)
    assert "'0001-01-01' and 1 more after it comes before it" in words
    assert run(job, "before 2025-01-01 2025-01-02")[:2] == (0, 3)
    assert sorted(path.name for path in (job / "answers").iterdir()) == [
        "2025-01-01.json",
        "2025-01-02.json",
        "before.json",
    ]


@pytest.mark.long
def test_what_somebody_has_to_mend_is_not_tried_again(job: Path) -> None:
    code, runs, words = run(job, "before", table="nowhere.csv")
    assert (code, runs) == (Outcome.REFUSED, 1)
    assert words.endswith("nightly before: dxgeom ended with 1 after 1 tries\n")
    assert not list((job / "answers").iterdir())


@pytest.mark.long
@pytest.mark.parametrize(("code", "runs"), [(2, 1), (3, 1), (4, 3), (5, 3), (6, 1), (130, 3)])
def test_only_what_waiting_mends_is_tried_again(job: Path, code: int, runs: int) -> None:
    command(job, f"exit {code}")
    assert run(job, "2025-01-01 2025-01-02")[:2] == (code, runs)
    assert not list((job / "answers").iterdir())


def test_the_guide_lists_every_exit_code() -> None:
    listed = re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)
    assert [*map(int, listed)] == [int(outcome) for outcome in Outcome]
