"""Real processes that charge, store and show: killed at any moment, racing, and on disks that are full."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dxgeom.errors import LedgerError
from dxgeom.ledger.history import read_answer, read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger

KILLS = int(os.environ.get("DXGEOM_KILLS", "10"))
"""How many releases are killed; ``make soak`` kills more."""

RELEASES = """
import os, sys
from fractions import Fraction
from dxgeom.errors import BudgetExceeded
from dxgeom.ledger.ledger import Ledger
path, who, spend, tries, size = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
ledger = Ledger.open(path, policy_fingerprint="f", policy_name="n", budget=Fraction(1))
for k in range(int(tries)):
    try:
        entry = ledger.charge(Fraction(spend), purpose="", plan_fingerprint="p", key=f"{who}-{k}", reserve=int(size))
    except BudgetExceeded:
        break
    ledger.store(entry, f"answer to {who}-{k}".ljust(int(size)))
    print(f"{who}-{k}", flush=True)
"""

KILLED_AFTER = """
import os, signal
calls = 0
def watched(call):
    def after(*args, **more):
        global calls
        done = call(*args, **more)
        calls += 1
        if calls == {}:
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    return after
for name in "open fchmod fdopen posix_fallocate ftruncate fsync link unlink".split():
    setattr(os, name, watched(getattr(os, name)))
""" + RELEASES.replace("{", "{{").replace("}", "}}")
"""The same, killed after so many calls of the system."""

BEGIN = """
import sys
from fractions import Fraction
from dxgeom.ledger.ledger import Ledger
print("ready", flush=True)
sys.stdin.readline()
for k in range(1000):
    Ledger.open(f"{sys.argv[1]}/{k}.db", policy_fingerprint="f", policy_name="n", budget=Fraction(1)).close()
"""


def opened(path: Path) -> Ledger:
    return Ledger.open(path, policy_fingerprint="f", policy_name="n", budget=Fraction(1))


def started(code: str, *words: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill")
@pytest.mark.parametrize("size", [100, 80_000], ids=["small", "large"])
def test_what_was_shown_was_charged_and_stored_however_the_process_ends(tmp_path: Path, size: int) -> None:
    """Shown without a charge 0, shown without being stored 0, overspent 0; only those hit in between lack an answer."""
    path, chance = tmp_path / "a.db", random.Random(size)
    shown: list[str] = []
    for turn in range(KILLS):
        victim = started(RELEASES, path, f"v{turn}", f"1/{400 * KILLS}", 10**6, size)
        let_go(victim)
        time.sleep(chance.uniform(0.05, 0.4))
        victim.send_signal(signal.SIGKILL)
        lines, errors = victim.communicate(timeout=60)
        assert errors == ""
        shown += [line.strip() for line in lines.splitlines(keepends=True) if line.endswith("\n")]
    with opened(path) as ledger:
        entries = {entry.key: entry for entry in ledger.entries()}
        assert set(shown) <= set(entries)
        for key in shown:
            assert ledger.answer_of(entries[key]) == f"answer to {key}".ljust(size).encode()
        assert ledger.spent() == Fraction(len(entries), 400 * KILLS) <= 1
        unanswered = [entry for entry in entries.values() if ledger.answer_of(entry) is None]
        assert len(unanswered) <= KILLS
        assert len(entries) - len(shown) <= KILLS
    history = verify_ledger(path)
    assert not history.waiting
    kept = {f"a.db.answer-{number}.gz" for number, answer in history.answers.items() if answer.beside}
    assert {one.name for one in tmp_path.iterdir()} == {"a.db", *kept}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill")
@pytest.mark.parametrize("size", [100, 80_000], ids=["small", "large"])
def test_killed_after_any_call_of_the_system_a_release_leaves_no_file_that_the_next_does_not_know(
    tmp_path: Path, size: int
) -> None:
    """Every place in which a charge, its room, its answer can be cut off; the next to open tidies up."""
    for turn in range(1, 100):
        path = tmp_path / str(turn) / "a.db"
        path.parent.mkdir()
        opened(path).close()
        victim = started(KILLED_AFTER.format(turn), path, "v", "1/4", 1, size)
        let_go(victim)
        lines, errors = victim.communicate(timeout=60)
        assert errors == ""
        with opened(path) as ledger:
            answers = [ledger.answer_of(entry) for entry in ledger.entries()]
        assert len(answers) <= 1 and answers in ([], [None], [b"answer to v-0".ljust(size)])
        beside = {"a.db.answer-1.gz"} if size > 2**16 and answers not in ([], [None]) else set()
        assert {one.name for one in path.parent.iterdir()} == {"a.db", *beside}, turn
        if lines:
            break
    assert victim.returncode == 0 and turn > 7


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill")
def test_a_process_killed_while_it_begins_ledgers_leaves_nothing_behind(tmp_path: Path) -> None:
    chance = random.Random(3)
    for turn in range(KILLS):
        folder = tmp_path / str(turn)
        folder.mkdir()
        victim = started(BEGIN, folder)
        let_go(victim)
        time.sleep(chance.uniform(0.02, 0.2))
        victim.send_signal(signal.SIGKILL)
        victim.communicate(timeout=60)
        drafts = {one.name.split(".db.")[0].lstrip(".") for one in folder.glob(".*.new*")}
        for name in drafts | {one.stem for one in folder.glob("*.db")}:
            with opened(folder / f"{name}.db") as ledger:
                assert ledger.entries() == ()
        assert all(one.suffix == ".db" for one in folder.iterdir())


def test_two_processes_with_two_hundred_releases_each_and_budget_for_a_hundred(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    processes = [started(RELEASES, path, f"w{number}", "1/100", 200, 50) for number in range(2)]
    for process in processes:
        let_go(process)
    outcomes = [process.communicate(timeout=300) for process in processes]
    assert [errors for _, errors in outcomes] == ["", ""]
    shown = [line for lines, _ in outcomes for line in lines.split()]
    history = read_ledger(path)
    assert len(shown) == len(history.entries) == len(history.answers) == 100
    assert sorted(shown) == sorted(str(entry.key) for entry in history.entries)
    assert history.entries[-1].remaining == 0


@pytest.mark.parametrize("racers", [4])
def test_of_racing_releases_with_one_key_one_is_charged(tmp_path: Path, racers: int) -> None:
    code = RELEASES.replace("{who}-{k}", "same").replace("print(", "print(who, ", 2).replace('who, "ready"', '"ready"')
    processes = [started(code, tmp_path / "a.db", f"w{number}", "1/100", 1, 50) for number in range(racers)]
    for process in processes:
        let_go(process)
    outcomes = [process.communicate(timeout=120) for process in processes]
    assert sum(lines != "" for lines, _ in outcomes) == 1
    assert sum("the key 'same' is that of entry 1" in errors for _, errors in outcomes) == racers - 1
    assert len(read_ledger(tmp_path / "a.db").entries) == 1


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A megabyte of disk of its own."""
    folder = Path(tempfile.mkdtemp())
    mount = shutil.which("mount")
    if mount is None or os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only the superuser can mount a small disk")
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


def fill(folder: Path) -> Path:
    """Until not one byte more can be written."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65_536, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    return filler


@pytest.mark.parametrize("size", [100, 60_000, 150_000])
def test_an_answer_whose_room_was_reserved_is_stored_on_a_full_disk(small_disk: Path, size: int) -> None:
    path, answer = small_disk / "a.db", os.urandom(size)
    with opened(path) as ledger:
        entry = ledger.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", key="monday", reserve=size)
        filler = fill(small_disk)
        with pytest.raises(LedgerError, match="the disk is full; make room"):
            ledger.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", reserve=size)
        receipt = ledger.store(entry, answer)
        assert receipt.waiting is not None and "disk is full" in receipt.waiting
        found = ledger.find("monday", plan_fingerprint="p", spend=Fraction(1, 10))
        assert found is not None and found.answer == answer
    assert read_answer(path, 1) == answer
    assert read_ledger(path).waiting == {1: size}
    filler.unlink()
    with opened(path) as ledger:
        assert (ledger.answer_of(1), ledger.spent()) == (answer, Fraction(1, 10))
    history = verify_ledger(path)
    assert (history.waiting, history.answers.keys()) == ({}, {1})


def test_without_room_for_the_answer_nothing_is_charged(small_disk: Path) -> None:
    with opened(small_disk / "a.db") as ledger:
        with pytest.raises(LedgerError, match="the disk is full; make room"):
            ledger.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", reserve=2 * 10**6)
        assert ledger.entries() == ()
        assert [one.name for one in small_disk.iterdir()] == ["a.db"]


TORN = """
import os, signal, sys
from fractions import Fraction
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger import answer_files
def killed(file, times=[0]):
    file.flush()
    times[0] += 1
    if times[0] == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
answer_files._to_disk = killed
ledger = Ledger.open(sys.argv[1], policy_fingerprint="f", policy_name="n", budget=Fraction(1))
entry = ledger.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", reserve=int(sys.argv[3]))
ledger.store(entry, bytes(range(256)) * 1000)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill")
@pytest.mark.parametrize("reserve", [0, 256_000])
@pytest.mark.parametrize(("moment", "answered"), [(1, False), (2, True)])
def test_an_answer_that_was_half_written_is_none(tmp_path: Path, moment: int, answered: bool, reserve: int) -> None:
    command = [sys.executable, "-c", TORN, str(tmp_path / "a.db"), str(moment), str(reserve)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    with opened(tmp_path / "a.db") as ledger:
        assert ledger.answer_of(1) == (bytes(range(256)) * 1000 if answered else None)
    kept = ["a.db.answer-1.gz"] if answered else []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.db", *kept]


LIMITED = """
import resource, sys
from fractions import Fraction
from dxgeom.ledger.ledger import Ledger
with Ledger.open(sys.argv[1], policy_fingerprint="f", policy_name="n", budget=Fraction(1)) as ledger:
    entry = ledger.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", reserve=100)
    # No file may have more bytes than this: SQLite's journal cannot be written.
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
    print(ledger.store(entry, b"an answer").waiting)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs limits on files")
def test_an_answer_is_stored_where_no_journal_can_be_written(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "a.db")]
    assert "disk" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert read_ledger(tmp_path / "a.db").waiting == {1: 9}
    with opened(tmp_path / "a.db") as ledger:
        assert ledger.answer_of(1) == b"an answer"
    assert [one.name for one in tmp_path.iterdir()] == ["a.db"]


def test_paths_that_are_no_text_and_very_long_purposes(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"led\xffger\xed\xa0\x80.db")
    purpose = "für alles " * 100_000
    with opened(path) as ledger:
        entry = ledger.charge(Fraction(1, 10), purpose=purpose, plan_fingerprint="p", reserve=10**5)
        ledger.store(entry, os.urandom(10**5))
    history = verify_ledger(path)
    assert history.entries[0].purpose == purpose
    assert len(list(tmp_path.iterdir())) == 2
