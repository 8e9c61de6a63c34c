"""The command line as a process: exit codes, streams, and nothing but words for people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
import typer
from reference.project import POLICIES

from dxgeom.cli.options import Format, mechanism_of
from dxgeom.cli.terminal import aligned, print_json, print_lines, printable, refusals
from dxgeom.errors import NotAMetric, TooLarge
from dxgeom.planner.candidates import names
from dxgeom.planner.wish import NAMED_FAMILIES
from dxgeom.wording.numbers import brief, rounded

COMMANDS = ("check", "verify", "plan", "release")


def dxgeom(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dxgeom", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env={**os.environ, **environment}, check=False
    )


def test_help_comes_at_once_and_names_every_command() -> None:
    start = time.perf_counter()
    result = dxgeom("--help")
    # Loading NumPy, DuckDB and Numba first would take several seconds.
    assert time.perf_counter() - start < 3
    assert result.returncode == 0
    assert all(f"\n  {command} " in result.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(command: str) -> None:
    result = dxgeom(command, "--help")
    assert result.returncode == 0
    assert f"Example:\n    dxgeom {command} " in result.stdout


def test_the_version_is_shown() -> None:
    assert dxgeom("--version").stdout == "dxgeom 0.2.1\n"


@pytest.mark.parametrize(
    "arguments", [(), ("chek",), ("check",), ("check", "p.yaml", "--frmt", "json"), ("plan", "p.yaml")]
)
def test_what_is_not_understood_exits_with_2(arguments: tuple[str, ...]) -> None:
    result = dxgeom(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "nowhere.yaml"),
        ("verify", "nowhere.csv"),
        ("plan", "nowhere.yaml", "nowhere.yaml"),
        ("release", "nowhere.yaml", "nowhere.csv", "nowhere.yaml", "--ledger", "nowhere.db", "--spend", "1"),
    ],
)
def test_a_missing_file_exits_with_1_and_a_message(arguments: tuple[str, ...]) -> None:
    result = dxgeom(*arguments, "--format", "json")
    assert result.returncode == 1
    assert "nowhere" in result.stderr
    assert "Traceback" not in result.stderr
    assert "nowhere" in json.loads(result.stdout)["error"]["message"]


def test_output_into_a_file_has_no_colours_and_survives_a_narrow_alphabet() -> None:
    result = dxgeom(
        "plan",
        str(POLICIES / "clinic" / "policy.yaml"),
        str(POLICIES / "clinic" / "queries.yaml"),
        "--all",
        PYTHONIOENCODING="ascii",
    )
    assert result.returncode == 0
    assert "\x1b" not in result.stdout
    assert "\\xb1 at 95 %" in result.stdout


def test_every_mechanism_of_the_planner_can_be_asked_for() -> None:
    for name in ("auto", *names(), *NAMED_FAMILIES):
        assert mechanism_of(name) == name
    with pytest.raises(
        typer.BadParameter,
        match=r"known are auto, laplace, .*-shares, boxes-laplace, boxes-gaussian, toeplitz-gaussian, families, mwem, "
        "small-database$",
    ):
        mechanism_of("magic")


def test_an_interruption_says_so_and_exits_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as stopped, refusals(Format.text):
        raise KeyboardInterrupt
    assert stopped.value.exit_code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_bug_stays_visible() -> None:
    with pytest.raises(ZeroDivisionError), refusals(Format.json):
        _ = 1 / 0


def test_an_infinite_excess_is_still_valid_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), refusals(Format.json):
        raise NotAMetric("never", (0, 1, 2), float("inf"))
    printed = capsys.readouterr()
    assert json.loads(printed.out)["error"]["excess"] == "inf"
    assert printed.err == "error: never\n"


def test_a_message_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), refusals(Format.text):
        raise TooLarge("a \x1b[2Jname")
    print_lines(["two\x07 words"])
    printed = capsys.readouterr()
    assert printed.err == "error: a \\x1b[2Jname\n"
    assert printed.out == "two\\x07 words\n"
    assert printable("élan\nvital") == "élan\nvital"


def test_json_is_ascii_whatever_the_words(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"words": "36° N \ud800", "numbers": (1.5, float("-inf"))})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed)["numbers"] == [1.5, "-inf"]


def test_answers_are_shown_with_the_digits_that_their_error_leaves() -> None:
    assert rounded(1234567.891, 25.3) == "1,234,568"
    assert rounded(203.4567891, 0.00123) == "203.4568"
    assert rounded(-3.25, 0.5) == "-3.25"
    assert rounded(12.0, 0.0) == "12"
    assert rounded(float("inf"), 1.0) == "inf"


def test_errors_are_shown_with_four_digits() -> None:
    shown = [brief(number) for number in (15510.3, 12.50163, 0.0000673, 0.0, float("inf"))]
    assert shown == ["15,510", "12.50", "6.730e-05", "0", "inf"]


def test_columns_are_aligned_words_left_and_numbers_right() -> None:
    assert aligned(("query", "rmse"), [("a", "12.5"), ("longer", "3")]) == [
        "query   rmse",
        "a       12.5",
        "longer     3",
    ]
