"""Doors of the process: an exit code says the same whatever standard input, output and error are."""

from __future__ import annotations

import io
import json
import os
import shutil
from pathlib import Path

import pytest
from reference.processes import BROKEN, CLOSED, WAYS_IN, WAYS_OUT, clinic, ended, spent
from reference.project import POLICIES

from dxgeom.cli.terminal import Door, begun_file
from dxgeom.errors import DataError

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")

POLICY = str(POLICIES / "clinic" / "policy.yaml")
AGES = "policy: ages\nuniverse: {attributes: {age: {range: [0, 100], step: 1}}}\nrules: [{change: age, epsilon: 1}]\n"
NO_TRACE = ("Traceback", "Exception ignored")
RUN = "\nfrom dxgeom.cli.main import run\nrun()\n"


def answering(folder: Path) -> list[str]:
    """The words of an answer about the secret on standard input."""
    (folder / "ages.yaml").write_text(AGES)
    return ["answer", str(folder / "ages.yaml"), "staircase", "-", "--ledger", str(folder / "p.db"), "--spend", "0.5"]


def test_a_closed_output_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    result = ended(*clinic(tmp_path), "--output", str(tmp_path / "out.json"), way_out="absent")
    assert (result.code, spent(tmp_path)) == (1, (0, 0))
    assert result.errors.startswith("error: standard output is closed")
    assert len(result.errors.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_full_output_ends_with_5_and_the_same_again_shows_what_is_stored(tmp_path: Path) -> None:
    words = [*clinic(tmp_path), "--id", "monday", "--format", "json"]
    first = ended(*words, "--output", str(tmp_path / "out.json"), way_out="full", way_of_errors="lost")
    assert (first.code, spent(tmp_path)) == (5, (1, 1))
    again = ended(*words)
    assert (again.code, spent(tmp_path)) == (0, (1, 1))
    assert json.loads(again.output)["answers"] == json.loads((tmp_path / "out.json").read_text())["answers"]


def test_a_closed_stream_of_errors_changes_nothing(tmp_path: Path) -> None:
    result = ended(*clinic(tmp_path), "--format", "csv", way_in="absent", way_of_errors="absent")
    assert (result.code, spent(tmp_path)) == (0, (1, 1))
    assert len(result.output.splitlines()) == 4


def test_a_secret_that_standard_input_does_not_have_is_refused_before_the_charge(tmp_path: Path) -> None:
    result = ended(*answering(tmp_path), way_in="absent")
    assert (result.code, spent(tmp_path)) == (1, (0, 0))
    assert "standard input has no line" in result.errors


NOT_SHOWN = "error: not all could be shown: No space left on device; nothing was spent, and what was written stays\n"


def test_what_only_reads_never_ends_as_if_it_had_charged() -> None:
    result = ended("check", POLICY, way_out="full")
    assert (result.code, result.errors) == (1, NOT_SHOWN)
    assert ended("nonsense", way_out="full", way_of_errors="full").code == 2


def test_what_divides_an_account_says_that_it_did_where_it_cannot_show_it(tmp_path: Path) -> None:
    ledger = str(tmp_path / "p.db")
    assert ended("ledger", "init", ledger, "--policy", POLICY).code == 0
    result = ended("ledger", "allot", ledger, "ana=1/4", "--policy", POLICY, way_out="full")
    assert (result.code, result.errors) == (1, NOT_SHOWN)
    assert "allotment ana" in ended("ledger", "show", ledger, "--all").output


UNANSWERED = """
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
def broken(*_):
    raise MemoryError("no memory")
AdditiveMechanism.draw = broken
"""
MISTAKEN = """
from dxgeom.report import short_release
def broken(*_):
    raise RuntimeError("a mistake")
short_release.answer_and_bar = broken
"""


def test_a_charge_without_an_answer_ends_with_6_although_nobody_reads_it(tmp_path: Path) -> None:
    result = ended(*clinic(tmp_path), "--format", "json", script=UNANSWERED + RUN, way_out="nobody")
    assert (result.code, spent(tmp_path)) == (6, (1, 0))


def test_a_mistake_of_ours_while_showing_ends_with_5_too(tmp_path: Path) -> None:
    result = ended(*clinic(tmp_path), script=MISTAKEN + RUN)
    assert (result.code, spent(tmp_path)) == (5, (1, 1))
    assert "RuntimeError: a mistake" in result.errors
    assert "the answers are safe in entry 1" in result.errors


def test_a_file_on_a_full_disk_is_told_in_a_sentence_and_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.json"
    target_begun = os.open(target, os.O_WRONLY | os.O_CREAT)
    os.close(target_begun)
    full = os.open("/dev/full", os.O_WRONLY)
    with monkeypatch.context() as patch:
        patch.setattr("dxgeom.cli.terminal.check_new", lambda _: None)
        patch.setattr(os, "open", lambda *_: full)
        with pytest.raises(DataError, match="cannot be written: No space left"), begun_file(target) as write:
            assert write is not None
            write("x" * 100_000)
    assert not target.exists()


class Narrow(io.RawIOBase):
    """Takes three letters, then nothing: as a pipe that nobody reads, or one that does not wait."""

    def __init__(self, then: OSError | None) -> None:
        self.taken, self.then = b"", then

    def writable(self) -> bool:
        return True

    def write(self, content: object) -> int | None:
        if self.taken:
            if self.then is not None:
                raise self.then
            return None
        self.taken = bytes(content)[:3]  # type: ignore[call-overload]
        return len(self.taken)


@pytest.mark.parametrize("then", [BrokenPipeError(32, "Broken pipe"), OSError(28, "No space left on device"), None])
def test_a_door_never_fails_and_knows_what_it_did_not_take(then: OSError | None) -> None:
    narrow = Narrow(then)
    door = Door(narrow)
    stream = io.TextIOWrapper(io.BufferedWriter(door), encoding="utf-8")
    stream.write("abc")
    stream.flush()
    assert door.failure is None
    for _ in range(3):
        stream.write("def")
        stream.flush()
    assert narrow.taken == b"abc"
    assert isinstance(door.failure, BlockingIOError if then is None else type(then))
    stream.close()


# The whole matrix, of what charges and of what reads.


def code_of_charging(way_out: str, way_in: str = "open") -> int:
    """Out of the table of exit codes: what is known before the charge is refused, what is not is in the ledger."""
    return 1 if way_out in CLOSED or way_in != "open" else 5 if way_out in BROKEN else 0


def check_charging(folder: Path, words: list[str], code: int, **ways: str) -> None:
    target = folder / "out.json"
    result = ended(*words, **ways)  # type: ignore[arg-type]
    charged = (0, 0) if code == 1 else (1, 1)
    assert (result.code, spent(folder)) == (code, charged), (ways, words, result)
    assert not [word for word in NO_TRACE if word in result.errors], (ways, words, result)
    if "--output" in words:
        assert target.exists() == (code != 1)
        assert code == 1 or json.loads(target.read_text())
    if ways["way_of_errors"] == "open" and code == 5:
        assert "the answers are safe in entry 1" in result.errors
    for kept in (target, *folder.glob("p.db*")):
        if kept.is_dir():  # the plan that is kept beside a ledger
            shutil.rmtree(kept)
        else:
            kept.unlink(missing_ok=True)


@pytest.mark.long
@pytest.mark.parametrize("way_out", WAYS_OUT)
@pytest.mark.parametrize("form", ["text", "json", "csv"])
@pytest.mark.parametrize("written", [False, True])
def test_every_way_of_a_release(tmp_path: Path, way_out: str, form: str, written: bool) -> None:
    words = [*clinic(tmp_path), "--format", form, *(["--output", str(tmp_path / "out.json")] if written else [])]
    ways_in = list(WAYS_IN)
    for place, way_of_errors in enumerate(WAYS_OUT):
        ways = {"way_in": ways_in[place % len(ways_in)], "way_out": way_out, "way_of_errors": way_of_errors}
        check_charging(tmp_path, words, code_of_charging(way_out), **ways)


@pytest.mark.long
@pytest.mark.parametrize("way_out", WAYS_OUT)
@pytest.mark.parametrize("way_in", WAYS_IN)
def test_every_way_of_an_answer_about_one_secret(tmp_path: Path, way_out: str, way_in: str) -> None:
    output = ["--output", str(tmp_path / "out.json")]
    for form, written, way_of_errors in (("text", [], "open"), ("json", output, "absent"), ("json", [], "lost")):
        ways = {"said": "5\n", "way_in": way_in, "way_out": way_out, "way_of_errors": way_of_errors}
        words = [*answering(tmp_path), "--format", form, *written]
        check_charging(tmp_path, words, code_of_charging(way_out, way_in), **ways)


READERS = {
    "--help": 0,
    "--version": 0,
    "nonsense": 2,
    "schema": 0,
    f"check {POLICY}": 0,
    "check /dev/stdin": 1,
    f"plan {POLICY} {POLICIES / 'clinic' / 'queries.yaml'} --quick --format json": 0,
    f"release {POLICY} {POLICIES / 'clinic' / 'queries.yaml'} --rehearse --spend 0.2 --mechanism laplace": 0,
    f"release {POLICY} {POLICIES / 'clinic' / 'queries.yaml'} --rehearse --spend 2 --format json": 3,
    f"report {POLICY}": 0,
    "ledger show nowhere.db": 1,
}
"""What charges nothing, and its exit code where all can be shown."""


@pytest.mark.long
@pytest.mark.parametrize("words", READERS)
@pytest.mark.parametrize("way_out", WAYS_OUT)
def test_every_way_of_what_only_reads(words: str, way_out: str) -> None:
    for way_of_errors in ("open", "absent", "lost"):
        result = ended(*words.split(), way_in="absent", way_out=way_out, way_of_errors=way_of_errors)
        code = 1 if way_out in CLOSED else READERS[words] or int(way_out != "open")
        assert result.code == code, (words, way_out, way_of_errors, result)
        assert not [word for word in NO_TRACE if word in result.errors]
