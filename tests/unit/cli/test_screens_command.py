"""Screens on the command line: as wide as COLUMNS says, in ASCII where the stream has no more, six lines of what is
wrong."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from reference.project import POLICIES
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.cli.terminal import Format, refusals
from dxgeom.errors import DataError

POLICY = str(POLICIES / "hospital-stays" / "policy.yaml")


def test_a_stream_of_ascii_gets_ascii_as_wide_as_said():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "60"}
    words = [sys.executable, "-m", "dxgeom", "check", POLICY]
    done = subprocess.run(words, env=environment, capture_output=True, check=True)
    lines = done.stdout.decode("ascii").splitlines()
    assert max(map(len, lines)) <= 60 and any(line.startswith("[!] ") for line in lines)
    assert "\\u" not in "".join(lines)


@pytest.mark.parametrize("columns", ["", "x", "7", "90", "1000"])
def test_lines_are_from_40_to_120_wide_and_80_where_nobody_says(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    shown = CliRunner().invoke(app, ["check", POLICY]).stdout
    wide = {"": 80, "x": 80, "7": 40, "90": 90, "1000": 120}[columns]
    assert max(map(len, shown.splitlines())) <= wide
    assert max(map(len, shown.splitlines())) > wide - 30


def test_what_is_wrong_takes_six_lines_and_all_of_them_when_asked_for(capsys):
    for everything, lines in ((False, 6), (True, 9), (None, 6)):
        with pytest.raises(Exception, match="1"), refusals(Format.text, everything=everything):
            raise DataError("\n".join(f"line {number}" for number in range(9)))
        said = capsys.readouterr().err.splitlines()
        assert len(said) == lines and said[0] == "error: line 0"
        assert said[-1] == {True: "line 8", False: "  and 4 more lines: --all shows every one"}.get(
            everything, "  and 4 more lines: --format json lists every one"
        )


def test_print_shows_the_screen_and_the_line_stays_a_line():
    policy = dx.load_policy(POLICY)
    assert str(policy).startswith("hospital-stays: Diagnoses are hidden") and len(str(policy).splitlines()) <= 15
    assert repr(policy).startswith("<Policy ") and "\n" not in repr(policy)
    assert policy.in_full().html() and "<table>" in policy._repr_html_()


def test_useless_answers_are_named_before_the_ledger_is_charged(tmp_path):
    queries = tmp_path / "queries.yaml"
    queries.write_text("records: 304\nqueries:\n  - {name: long, count: nights >= 8}\n", encoding="utf-8")
    words = [POLICY, str(POLICIES / "hospital-stays" / "stays.csv"), str(queries), "--ledger", str(tmp_path / "a.db")]
    done = CliRunner().invoke(app, ["release", *words, "--spend", "0.001", "--mechanism", "laplace"])
    assert done.exit_code == 0 and "advice: 'long' is of no use below a spend of " in done.stderr
    assert "▲ the answer to 'long' is useless: " in done.stdout


def test_what_does_not_fit_a_screen_is_shown_by_the_ledger_and_not_by_spending_again(tmp_path):
    queries = tmp_path / "queries.yaml"
    listed = "".join(f"  - {{name: n{k}, count: nights >= 8}}\n" for k in range(1, 15))
    queries.write_text(f"records: 4\nqueries:\n{listed}", encoding="utf-8")
    policy = dx.load_policy(POLICY)
    rows = dx.load_queries(queries, policy)
    release = dx.plan(policy.compile(), rows, mechanism="laplace").release(
        np.array([4] + [0] * (policy.universe.size - 1)), spend="0.1", ledger=str(tmp_path / "our ledger.db")
    )
    assert f"and 2 more: {release.receipt.command} --all" in " ".join(str(release).split())
