"""Real processes that release: killed at any moment, racing for the budget, and on disks that are full.

The plan is made once; what is killed are forked copies, so that every kill falls into a release and not into imports.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import dxgeom as dx
from dxgeom.ledger.history import read_answer, read_ledger, verify_ledger

KILLS = int(os.environ.get("DXGEOM_KILLS", "40"))
"""How many releases are killed; ``make soak`` kills more."""

PLAN = """
import os, random, resource, signal, sys, time, warnings
import dxgeom as dx
# From Python 3.12 on: the threads here are those of BLAS and of Arrow's allocator, which both prepare for copies.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
plan = dx.plan(dx.verify_metric([[0, 1], [1, 0]]), dx.LinearQueries.from_matrix(["a", "both"], [[1, 0], [1, 1]]))
path, times = sys.argv[1], int(sys.argv[2])

def forked(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(0)
    return child

def release(key, spend):
    released = plan.release([30, 12], ledger=path, spend=spend, id=key)
    # One write: it is seen whole, or not at all.
    told = f"{released.receipt.entry} {released.receipt.seal} {released.exact_values[0]} {released.repeated}\\n"
    os.write(1, told.encode())
"""

KILLED = (
    PLAN
    + """
chance, spend = random.Random(11), f"1/{2 * times}"
# What is loaded late is loaded now, and how long a release takes here is known.
for number in range(5):
    began = time.perf_counter()
    plan.release([30, 12], ledger=path + ".first", spend="1/10", id=str(number))
    took = time.perf_counter() - began
os.unlink(path + ".first")
hear, tell = os.pipe()
for turn in range(times):
    def work():
        for number in range(10**6):
            try:
                release(f"{turn}-{number}", spend)
            except dx.BudgetExceeded:
                os.write(tell, b".")
                time.sleep(60)
            os.write(tell, b".")
    child = forked(work)
    if turn % 2:
        # Half of the kills come after a release was shown, however slow the machine.
        os.read(hear, 4096)
    time.sleep(chance.uniform(0.0, 4 * took))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.set_blocking(hear, False)
    try:
        os.read(hear, 65536)
    except BlockingIOError:
        pass
    os.set_blocking(hear, True)
"""
)

RACING = (
    PLAN
    + """
def work(who):
    for number in range(200):
        try:
            release(f"{who}-{number}", f"1/{times}")
        except dx.BudgetExceeded:
            os.write(1, b"refused\\n")

children = [forked(lambda: work(who)) for who in "ab"]
for child in children:
    os.waitpid(child, 0)
"""
)

NO_MORE_ROOM = (
    PLAN
    + """
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
whole = AdditiveMechanism.draw

def without_room(*arguments):
    # From here on no file may have more bytes than this: SQLite's journal cannot be written.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    return whole(*arguments)

AdditiveMechanism.draw = without_room
released = plan.release([30, 12], ledger=path, spend="1/10", id="monday")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(released.exact_values[0])
print(released.receipt.waiting)
"""
)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be copied")


def run(script: str, *words: object) -> list[str]:
    command = [sys.executable, "-c", script, *map(str, words)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    return result.stdout.splitlines()


def first_answer(path: Path, entry: int) -> str | None:
    answer = read_answer(path, entry)
    return None if answer is None else str(json.loads(answer)["kept"][0])


def test_whatever_was_shown_was_charged_and_stored_before(
    tmp_path: Path, record_property: pytest.RecordProperty, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shown without a charge 0, shown without being stored 0, overspent 0; and what was lost is counted."""
    path = tmp_path / "a.db"
    shown = [line.split() for line in run(KILLED, path, KILLS)]
    assert len(shown) >= KILLS / 4
    with dx.Ledger.at(path, account()) as ledger:
        entries = {entry.number: entry for entry in ledger.entries()}
        answers = {number: ledger.answer_of(number) for number in entries}
        assert ledger.spent() == Fraction(len(entries), 2 * KILLS) <= 1
    for number, _, value, repeated in shown:
        answer = answers[int(number)]
        assert answer is not None
        assert (json.loads(answer)["kept"][0], repeated) == (value, "False")
    for number, seal, _, _ in shown[:: max(1, len(shown) // 5)]:
        verify_ledger(path, seal=(int(number), seal))
    unanswered = sum(answer is None for answer in answers.values())
    assert len(entries) - len(shown) <= KILLS
    assert unanswered <= KILLS
    record_property("charged without an answer", unanswered)
    with capsys.disabled():
        if "DXGEOM_KILLS" in os.environ:
            print(f"\n{KILLS} kills, {len(entries)} charged, {len(shown)} shown, {unanswered} without an answer")


def account():
    plan = dx.plan(dx.verify_metric([[0, 1], [1, 0]]), dx.LinearQueries.from_matrix(["a"], [[1, 0]]))
    return plan.mechanism.account


def test_two_processes_with_two_hundred_releases_each_and_budget_for_a_hundred(tmp_path: Path) -> None:
    lines = run(RACING, tmp_path / "a.db", 100)
    assert lines.count("refused") == 300
    shown = sorted(int(line.split()[0]) for line in lines if line != "refused")
    assert shown == list(range(1, 101))
    history = read_ledger(tmp_path / "a.db")
    assert (len(history.entries), len(history.answers), history.entries[-1].remaining) == (100, 100, 0)


def test_on_a_disk_that_fills_up_after_the_charge_the_answer_is_stored_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    value, waiting = run(NO_MORE_ROOM, path, 1)
    assert "disk" in waiting
    assert first_answer(path, 1) == value
    # It is booked by whoever opens the ledger next.
    with dx.Ledger.at(path, account()):
        pass
    assert first_answer(path, 1) == value
    assert [one.name for one in tmp_path.iterdir()] == ["a.db"]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="the superuser may write everywhere")
def test_in_a_folder_that_cannot_be_written_nothing_is_charged(tmp_path: Path) -> None:
    plan = dx.plan(dx.verify_metric([[0, 1], [1, 0]]), dx.LinearQueries.from_matrix(["a"], [[1, 0]]))
    plan.release([30, 12], ledger=tmp_path / "a.db", spend="1/10")
    tmp_path.chmod(0o500)
    try:
        for place in ("a.db", "b.db"):
            with pytest.raises(dx.errors.LedgerError):
                plan.release([30, 12], ledger=tmp_path / place, spend="1/10")
    finally:
        tmp_path.chmod(0o700)
    assert len(read_ledger(tmp_path / "a.db").entries) == 1
