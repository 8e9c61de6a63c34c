"""``dxgeom release`` where something is in the way: nothing that was paid for is lost."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from reference.project import POLICIES
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.ledger.history import read_answer, read_ledger
from dxgeom.planner.answers.linear_answers import LinearAnswers

POLICY, QUERIES = str(POLICIES / "clinic" / "policy.yaml"), str(POLICIES / "clinic" / "queries.yaml")
ROWS = [f"{'MF'[k % 2]},{('Yes', 'No')[k % 3 == 0]},{('above', 'below')[k % 5 == 0]} 18" for k in range(60)]


@pytest.fixture
def asked(tmp_path: Path) -> list[str]:
    """A release whose ledger has a name that a shell must quote."""
    (tmp_path / "people.csv").write_text("\n".join(["gender,native,age", *ROWS]) + "\n", encoding="utf-8")
    ledger = ["--ledger", str(tmp_path / "our ledger.db"), "--spend", "0.2", "--mechanism", "laplace"]
    return ["release", POLICY, str(tmp_path / "people.csv"), QUERIES, *ledger]


def stored(folder: Path, entry: int = 1) -> dict[str, object]:
    answer = read_answer(folder / "our ledger.db", entry)
    assert answer is not None
    return json.loads(answer)  # type: ignore[no-any-return]


def invoke(*words: str):
    return CliRunner().invoke(app, list(words))


def test_a_release_prints_its_entry_and_seal_and_can_be_asked_for_again(tmp_path: Path, asked: list[str]) -> None:
    first, again = (json.loads(invoke(*asked, "--id", "monday", "--format", "json").stdout) for _ in range(2))
    assert again.pop("repeated") is True
    assert again == first
    assert first["ledger"]["entry"] == 1
    seal = f"1:{first['ledger']['seal']}"
    text = invoke(*asked, "--id", "monday", "--all").stdout
    assert f"our ledger.db, entry 1\nseal       {seal}\nrepeated   as it was at {first['time']}" in text
    assert invoke("ledger", "verify", str(tmp_path / "our ledger.db"), "--seal", seal).exit_code == 0
    other = invoke(*asked[:-1], "hull", "--id", "monday")
    assert other.exit_code == 1
    assert "another plan" in other.stderr
    assert len(read_ledger(tmp_path / "our ledger.db").entries) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_full_disk_costs_nothing(tmp_path: Path, asked: list[str], form: str) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "dxgeom", *asked, "--format", form]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 5
    (line,) = result.stderr.splitlines()
    again = f"dxgeom ledger show '{tmp_path / 'our ledger.db'}' --entry 1"
    assert (
        line
        == f"error: the release could not be shown: No space left on device; the answers are safe in entry 1: {again}"
    )
    shown = subprocess.run(again.replace("dxgeom", f"{sys.executable} -m dxgeom", 1), shell=True, capture_output=True)
    assert shown.returncode == 0
    assert b"male" in shown.stdout
    assert stored(tmp_path)["spent"] == "1/5"


def test_a_closed_pipe_costs_nothing(tmp_path: Path, asked: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "dxgeom", *asked]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert result.returncode == 5
    assert "Broken pipe; the answers are safe in entry 1" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert len(stored(tmp_path)["answers"]) == 3  # type: ignore[arg-type]


def test_when_nobody_listens_at_all_it_still_ends_with_5(tmp_path: Path, asked: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "dxgeom", *asked]
    assert subprocess.run(command, stdout=writing, stderr=writing, check=False).returncode == 5
    os.close(writing)
    assert stored(tmp_path)["spent"] == "1/5"


ON_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(sys.stdout.fileno(), termios.TIOCSCTTY, 0)
from dxgeom.planner.releases import answer_once
whole = answer_once.buy
def slowly(*arguments):
    # The terminal is closed while the answer is being bought.
    os.write(3, b"buying")
    os.read(4, 1)
    return whole(*arguments)
answer_once.buy = slowly
from dxgeom.cli.main import run
sys.argv = ["dxgeom", *sys.argv[1:]]
run()
"""


@pytest.mark.skipif(os.name != "posix", reason="needs terminals")
def test_a_lost_terminal_costs_nothing(tmp_path: Path, asked: list[str]) -> None:
    ours, theirs = pty.openpty()
    (told, tell), (hear, say) = os.pipe(), os.pipe()
    # The shell puts the pipes where the script looks for them.
    command = ["bash", "-c", f'exec "$0" "$@" 3>&{tell} 4<&{hear}', sys.executable, "-c", ON_A_TERMINAL, *asked]
    with subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.PIPE, text=True, start_new_session=True, pass_fds=(tell, hear)
    ) as process:
        os.close(theirs)
        os.close(tell)  # a script that ends before it tells anything ends this test, too
        assert os.read(told, 6) == b"buying"
        os.close(ours)
        os.write(say, b"x")
        assert process.stderr is not None
        words = process.stderr.read()
    for end in (told, hear, say):
        os.close(end)
    assert (process.returncode, "the answers are safe in entry 1" in words) == (5, True), words
    assert stored(tmp_path)["spent"] == "1/5"


def test_an_interruption_after_the_charge_says_what_was_charged(tmp_path: Path, asked: list[str]) -> None:
    script = """
import os, signal, sys
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
AdditiveMechanism.draw = lambda *_: os.kill(os.getpid(), signal.SIGINT)
from dxgeom.cli.main import run
sys.argv = ["dxgeom", *sys.argv[1:]]
run()
"""
    result = subprocess.run([sys.executable, "-c", script, *asked], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (130, "")
    assert "interrupted; entry 1 of the ledger" in result.stderr
    assert "charged but not answered" in result.stderr


def test_an_error_while_showing_says_where_the_answers_are(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("dxgeom.report.answers.brief", broken)
    result = invoke(*asked, "--all")
    assert isinstance(result.exception, RuntimeError)
    assert "the answers are safe in entry 1: dxgeom ledger show" in result.stderr
    assert stored(tmp_path)["spent"] == "1/5"


def test_a_release_is_written_to_new_files_for_the_curator_and_for_the_public(tmp_path: Path, asked: list[str]) -> None:
    Path(asked[2]).write_text("\n".join(["gender,native,age", *ROWS, "X,Yes,above 18"]) + "\n", encoding="utf-8")
    out, public = tmp_path / "out.json", tmp_path / "public.json"
    words = (
        "--drop-outside",
        "--output",
        str(out),
        "--public",
        str(public),
        "--purpose",
        "secret",
        "--level",
        "0.9",
        "--all",
    )
    result = invoke(*asked, *words)
    assert result.exit_code == 0, result.stderr
    assert "left out as outside the universe: 1" in result.stdout
    curators, publics = json.loads(out.read_text()), json.loads(public.read_text())
    assert (curators["dropped_rows"], curators["level"], curators["ledger"]["file"]) == (
        1,
        0.9,
        str(tmp_path / "our ledger.db"),
    )
    assert publics["answers"] == curators["answers"]
    assert set(curators) - set(publics) == {"dropped_rows", "time"}
    assert set(publics["ledger"]) == {"entry", "seal"}
    assert not [word for word in ("secret", str(tmp_path), "our ledger") if word in public.read_text()]
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@pytest.mark.parametrize("option", ["--output", "--public"])
@pytest.mark.parametrize("wrong", ["people.csv", "nowhere/out.json", "twice.json"])
def test_a_file_that_cannot_be_written_is_found_before_the_charge(
    tmp_path: Path, asked: list[str], option: str, wrong: str
) -> None:
    other = "--public" if option == "--output" else "--output"
    target = str(tmp_path / wrong)
    result = invoke(*asked, option, target, *([other, target] if wrong == "twice.json" else []))
    assert result.exit_code == 1
    assert Path(wrong).name in result.stderr
    assert not (tmp_path / "our ledger.db").exists()
    assert not (tmp_path / "twice.json").exists()


def test_a_file_is_not_left_behind_by_a_refusal(tmp_path: Path, asked: list[str]) -> None:
    result = invoke(*asked[:5], str(tmp_path / "our ledger.db"), "--spend", "2", "--output", str(tmp_path / "out.json"))
    assert result.exit_code == 3
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_rehearsal_needs_no_data_and_no_ledger_and_says_so_on_every_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("release", POLICY, QUERIES, "--rehearse", "--spend", "0.2", "--mechanism", "laplace")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert len(lines) > 6
    assert all(line.startswith("REHEARSAL") for line in lines)
    assert lines[0].endswith("1,000 people, made up") and max(map(len, lines)) <= 80
    assert "Nothing was spent: a release" in result.stdout
    assert not list(tmp_path.iterdir())


def test_a_rehearsal_as_json_is_marked_in_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--rehearse", "--spend", "0.2", "--records", "70", "--output", "out.json", "--public", "public.json")
    # DATA may be named, and is not opened.
    result = invoke("release", POLICY, "nowhere.csv", QUERIES, *options, "--mechanism", "laplace", "--format", "json")
    assert result.exit_code == 0
    documents = [json.loads(text) for text in (result.stdout, *(Path(name).read_text() for name in options[6::2]))]
    for document in documents:
        assert (document["rehearsal"], document["records"]) == (True, 70)
        assert "ledger" not in document
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "public.json"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rehearse", "--spend", "2"], "budget"),
        (["--rehearse", "--spend", "0.1", "--id", "monday"], "leave it out"),
        (["--spend", "0.1"], "only a rehearsal goes without"),
        (["--rehearse"], "say how much of the budget"),
    ],
)
def test_a_rehearsal_refuses_what_a_release_would(words: list[str], said: str) -> None:
    result = invoke("release", POLICY, QUERIES, *words)
    assert result.exit_code in (1, 2, 3)
    assert said in result.stderr
    assert result.stdout == ""


def test_the_bars_are_tried_before_the_charge(
    tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no solver")

    monkeypatch.setattr(LinearAnswers, "as_dicts", broken)
    assert isinstance(invoke(*asked).exception, ValueError)
    assert not (tmp_path / "our ledger.db").exists()
