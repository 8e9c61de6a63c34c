"""Real processes: racing for the budget, and being killed at any moment."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger import sqlite_layout
from dxgeom.ledger.ledger import Ledger

KILLS = int(os.environ.get("DXGEOM_KILLS", "10"))
"""How many writers are killed; ``make soak`` kills more."""
CHARGES = 400 * KILLS
WRITER = """
import sys
from fractions import Fraction
from dxgeom.errors import BudgetExceeded
from dxgeom.ledger.ledger import Ledger
path, who, budget, spend, tries = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
ledger = Ledger.open(path, policy_fingerprint="f", policy_name="n", budget=Fraction(budget))
for k in range(int(tries)):
    try:
        ledger.charge(Fraction(spend), purpose=f"{who}-{k}", plan_fingerprint="p")
    except BudgetExceeded:
        break
    print(f"{who}-{k}", flush=True)
"""


def writer(path: Path, who: str, budget: str, spend: str, tries: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), who, budget, spend, str(tries)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def wait_until_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def opened(path: Path, budget: str) -> Ledger:
    return Ledger.open(path, policy_fingerprint="f", policy_name="n", budget=Fraction(budget))


@pytest.mark.parametrize("writers", [2, 8])
def test_a_second_writer_cannot_overspend(tmp_path: Path, writers: int) -> None:
    path = tmp_path / "a.db"
    processes = [writer(path, f"w{number}", "1", "1/30", 30) for number in range(writers)]
    for process in processes:
        wait_until_ready(process)
    for process in processes:
        let_go(process)
    outcomes = [process.communicate(timeout=120) for process in processes]
    assert [errors for _, errors in outcomes] == [""] * writers
    returned = [line for lines, _ in outcomes for line in lines.split()]
    with opened(path, "1") as ledger:
        assert sorted(returned) == sorted(entry.purpose for entry in ledger.entries())
        assert len(returned) == 30
        assert ledger.remaining() == 0


def test_writers_killed_at_any_moment_lose_no_returned_charge_and_never_overspend(tmp_path: Path) -> None:
    path, chance = tmp_path / "a.db", random.Random(7)
    steady = writer(path, "steady", "1", f"1/{CHARGES}", 10**6)
    wait_until_ready(steady)
    let_go(steady)
    returned: list[str] = []
    with ThreadPoolExecutor(1) as reader:
        # What the steady writer says is read all the while: a full pipe would stop it.
        said = reader.submit(steady.communicate)
        for turn in range(KILLS):
            victim = writer(path, f"victim{turn}", "1", f"1/{CHARGES}", 10**6)
            wait_until_ready(victim)
            let_go(victim)
            time.sleep(chance.uniform(0.0, 0.25))
            victim.send_signal(signal.SIGKILL)
            lines, _ = victim.communicate(timeout=60)
            returned += [line for line in lines.splitlines(keepends=True) if line.endswith("\n")]
        steady.send_signal(signal.SIGKILL)
        lines, errors = said.result(timeout=60)
    assert errors == ""
    returned += [line for line in lines.splitlines(keepends=True) if line.endswith("\n")]
    with opened(path, "1") as ledger:
        written = {entry.purpose for entry in ledger.entries()}
        assert len(returned) > 20
        assert {line.strip() for line in returned} <= written
        assert ledger.spent() == Fraction(len(ledger.entries()), CHARGES) <= 1
        # Each killed process may have lost at most the one charge it had not yet returned from.
        assert len(written) - len(returned) <= KILLS + 1


def test_a_killed_writer_leaves_a_ledger_that_still_fills_up_exactly(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    victim = writer(path, "victim", "1", "1/200", 10**6)
    wait_until_ready(victim)
    let_go(victim)
    assert victim.stdout is not None
    victim.stdout.readline()
    victim.send_signal(signal.SIGKILL)
    victim.communicate(timeout=60)
    with opened(path, "1") as ledger:
        left = ledger.remaining()
        for _ in range(int(left * 200)):
            ledger.charge(Fraction(1, 200), purpose="rest", plan_fingerprint="p")
        with pytest.raises(BudgetExceeded):
            ledger.charge(Fraction(1, 200), purpose="over", plan_fingerprint="p")
        assert (ledger.spent(), len(ledger.entries())) == (1, 200)


def test_a_transaction_that_was_cut_off_half_way_is_undone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path, "1") as ledger:
        ledger.charge(Fraction(1, 2), purpose="kept", plan_fingerprint="p")
    # A tiny cache forces the unfinished rows onto the disk, so that a journal must undo them.
    cut_off = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN IMMEDIATE")
for number in range(2, 500):
    row = (number + 2, number, 1, None, None, None, "1/1000", "1/2", "1/2", "x" * 500, "p", "t", 0, "s", "c", None)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", cut_off, str(path)], check=False).returncode == -signal.SIGKILL
    assert path.with_name("a.db-journal").stat().st_size > 0
    with opened(path, "1") as ledger:
        assert [entry.purpose for entry in ledger.entries()] == ["kept"]


def test_a_ledger_locked_for_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_layout, "LOCK_SECONDS", 0.2)
    path = tmp_path / "a.db"
    with opened(path, "1") as ledger, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match=r"locked for longer than 0.2 seconds; try again"):
            ledger.charge(Fraction(1, 2), purpose="test", plan_fingerprint="p")
        other.execute("ROLLBACK")
        assert ledger.spent() == 0
