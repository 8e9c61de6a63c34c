"""The nightly job that the guide shows, run as a scheduler runs it."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from reference.project import GUIDE, POLICIES

from dxgeom.cli.terminal import Outcome
from dxgeom.ledger.history import read_ledger

TEXT = (GUIDE / "nightly-job.md").read_text(encoding="utf-8")
(SCRIPT,) = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The script, a table, and a command ``dxgeom`` that counts its runs."""
    (tmp_path / "nightly.sh").write_text(SCRIPT, encoding="utf-8")
    rows = [f"{'MF'[k % 2]},{('Yes', 'No')[k % 3 == 0]},{('above', 'below')[k % 5 == 0]} 18" for k in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["gender,native,age", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "answers").mkdir()
    command(tmp_path, f'exec "{sys.executable}" -m dxgeom "$@" --mechanism laplace')
    return tmp_path


def command(folder: Path, line: str) -> None:
    folder.joinpath("bin").mkdir(exist_ok=True)
    script = folder / "bin" / "dxgeom"
    script.write_text(f'#!/bin/sh\necho run >> "{folder}/runs"\n{line}\n', encoding="utf-8")
    script.chmod(0o755)


def run(folder: Path, night: str, spend: str = "0.4", policy: str = "policy.yaml") -> tuple[int, int, str]:
    """Exit code, how often dxgeom was started, and standard error."""
    folder.joinpath("runs").write_text("")
    clinic = POLICIES / "clinic"
    given = [clinic / policy, folder / "people.csv", clinic / "queries.yaml", folder / "privacy.db", spend]
    settings = {"NIGHT": night, "PAUSE": "0", "TRIES": "3", "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", str(folder / "nightly.sh"), *map(str, given), str(folder / "answers")],
        env={**os.environ, **settings}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, len(folder.joinpath("runs").read_text().splitlines()), done.stderr


def test_a_night_is_answered_once_however_often_the_job_is_started(job: Path) -> None:
    assert run(job, "2026-11-22") == (0, 1, "")
    answers = job / "answers" / "2026-11-22.json"
    first = json.loads(answers.read_text())
    assert stat.S_IMODE(answers.stat().st_mode) == 0o600
    assert run(job, "2026-11-22") == (0, 1, "")
    again = json.loads(answers.read_text())
    assert again.pop("repeated") is True and again == first
    assert [entry.key for entry in read_ledger(job / "privacy.db").entries] == ["nightly 2026-11-22"]


def test_the_budget_ends_and_the_scheduler_is_told(job: Path) -> None:
    assert [run(job, f"2026-11-2{day}")[0] for day in (2, 3, 4)] == [0, 0, Outcome.OVER_BUDGET]
    assert sorted(path.name for path in (job / "answers").iterdir()) == ["2026-11-22.json", "2026-11-23.json"]


def test_what_somebody_has_to_mend_is_not_tried_again(job: Path) -> None:
    code, runs, words = run(job, "2026-11-22", policy="nowhere.yaml")
    assert (code, runs) == (Outcome.REFUSED, 1)
    assert words.endswith("nightly 2026-11-22: dxgeom ended with 1 after 1 tries\n")
    assert not list((job / "answers").iterdir())


@pytest.mark.parametrize(("code", "runs"), [(2, 1), (3, 1), (4, 3), (5, 3), (6, 1), (130, 3)])
def test_only_what_waiting_mends_is_tried_again(job: Path, code: int, runs: int) -> None:
    command(job, f"exit {code}")
    assert run(job, "2026-11-22")[:2] == (code, runs)
    assert not list((job / "answers").iterdir())


def test_the_guide_lists_every_exit_code() -> None:
    listed = re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)
    assert [*map(int, listed)] == [int(outcome) for outcome in Outcome]
