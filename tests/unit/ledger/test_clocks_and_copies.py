"""What a ledger holds to when clocks jump, backups are put back, copies are used, and processes divide it at once."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dxgeom.errors import LedgerError
from dxgeom.ledger import sqlite_store
from dxgeom.ledger.chronicle import _VERIFIED
from dxgeom.ledger.history import migrate_ledger, read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.metric import DataSet

FORMAT_1 = Path(__file__).parent / "files" / "format_1.ledger"


def opened(path: Path, fingerprint: str = "f", **more: Any) -> Ledger:
    return Ledger.open(path, policy_fingerprint=fingerprint, policy_name="n", budget=Fraction(1), **more)


def charged(ledger: Ledger, spend: str = "1/10", **more: Any) -> Any:
    return ledger.charge(Fraction(spend), purpose="", plan_fingerprint="p", **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


def test_clocks_that_jump_change_no_sum_and_no_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    years = iter([2026, 1971, 9999, 1, 2026])

    class Jumping(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(next(years), 1, 1, tzinfo=UTC)

    with opened(path) as ledger:
        charged(ledger)
        monkeypatch.setattr(sqlite_store, "datetime", Jumping)
        entries = [charged(ledger, key=f"{number}") for number in range(5)]
        ledger.store(entries[3], b"answer")
    history = verify_ledger(path)
    assert [entry.time_utc[:4] for entry in history.entries[1:]] == ["2026", "1971", "9999", "0001", "2026"]
    assert history.entries[-1].remaining == Fraction(4, 10) and [one.number for one in history.entries] == [
        *range(1, 7)
    ]


@pytest.mark.parametrize("days", [-40_000, 2, 40_000])
def test_the_room_of_a_process_that_runs_stays_whatever_the_clock_says(
    path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    now = time.time
    with opened(path) as ledger:
        entry = charged(ledger, reserve=100_000)
        monkeypatch.setattr(time, "time", lambda: now() + days * 86_400.0)
        opened(path).close()
        assert (path.parent / "a.db.answer-1.gz").stat().st_size >= 100_000
        ledger.store(entry, b"answer")
    assert [one.name for one in path.parent.iterdir()] == ["a.db"]


def test_a_backup_that_is_put_back_takes_no_answer_of_what_it_lacks(path: Path) -> None:
    with opened(path) as ledger:
        charged(ledger)
        backup = shutil.copy(path, path.with_name("backup.db"))
        entry = charged(ledger, key="monday")
        shutil.copy(backup, path)
        # Paid for, and shown with what is to be done: it waits beside the ledger for the file to come back.
        assert "entries seen earlier by this process are gone" in (ledger.store(entry, b"answer").waiting or "")
        _VERIFIED.clear()
        with opened(path) as other:
            again = charged(other, "1/5", key="monday")
        assert (again.number, again.commitment) != (entry.number, entry.commitment)
    _VERIFIED.clear()
    # The same number, the same key: the answer still goes to no other charge than its own.
    with opened(path) as ledger:
        with pytest.raises(LedgerError, match="entry 2 is not of the ledger"):
            ledger.store(entry, b"answer")
        assert ledger.answer_of(2) is None
        ledger.store(again, b"its own")
    with pytest.raises(LedgerError, match="entry 2 has another seal"):
        verify_ledger(path, seal=(entry.number, entry.seal))


def test_a_backup_that_is_put_back_shows_by_large_answers_beside_it(path: Path) -> None:
    with opened(path) as ledger:
        backup = shutil.copy(path, path.with_name("backup.db"))
        ledger.store(charged(ledger), bytes(range(256)) * 1000)
    shutil.copy(backup, path)
    _VERIFIED.clear()
    with opened(path) as ledger, pytest.raises(LedgerError, match=r"'a\.db\.answer-1\.gz' is in the way"):
        charged(ledger, reserve=1000)


def test_two_copies_are_two_budgets_that_only_their_seals_tell(path: Path) -> None:
    """What cannot be detected: each copy is whole in itself. Said in the guide."""
    opened(path).close()
    copy = Path(shutil.copy(path, path.with_name("copy.db")))
    seals = []
    for place in (path, copy):
        _VERIFIED.clear()
        with opened(place) as ledger:
            seals.append(charged(ledger, "1").seal)
        verify_ledger(place, seal=(1, seals[-1]))
    assert seals[0] != seals[1]
    with pytest.raises(LedgerError, match="entry 1 has another seal"):
        verify_ledger(copy, seal=(1, seals[0]))


def test_a_key_is_that_of_its_plan_spend_policy_and_edition_and_of_nothing_else(path: Path) -> None:
    january = DataSet("visits", "2026-01")
    with opened(path, data_set=january) as ledger:
        entry = charged(ledger, key="monday")
        ledger.store(entry, b"answer")
    for fingerprint, edition, plan, spend, what in (
        ("f", "2026-01", "q", "1/10", "plan"),
        ("f", "2026-01", "p", "1/5", "spend"),
        ("f", "2026-02", "p", "1/10", "edition of the data"),
        ("g", "2026-01", "p", "1/10", "policy"),
    ):
        with opened(path, fingerprint, data_set=DataSet("visits", edition)) as ledger:
            with pytest.raises(LedgerError, match=f"'monday' is that of entry 1.*another {what}.*nothing was spent"):
                ledger.find("monday", plan_fingerprint=plan, spend=Fraction(spend))
            with pytest.raises(LedgerError, match="'monday' is that of entry 1; nothing was spent"):
                charged(ledger, key="monday")
    with pytest.raises(LedgerError, match="kept for data set 'visits', and this is 'other visits'"):
        opened(path, data_set=DataSet("other visits", "2026-01"))
    assert len(verify_ledger(path).entries) == 1


DIVIDES = """
import random, sys
from fractions import Fraction
from dxgeom.errors import LedgerError
from dxgeom.ledger.ledger import Ledger
path, seed = sys.argv[1:]
chance = random.Random(int(seed))
ledger = Ledger.open(path, policy_fingerprint="f", policy_name="n", budget=Fraction(1))
for turn in range(15):
    owner = chance.choice(["ana", "bob"])
    try:
        if chance.random() < 0.4:
            ledger.allot({owner: Fraction(chance.randint(0, 12), 20)})
        else:
            whose = chance.choice([owner, None])
            entry = ledger.charge(Fraction(chance.randint(1, 4), 40), purpose="", plan_fingerprint="p", owner=whose)
            ledger.store(entry, f"{seed}-{turn}")
    except LedgerError:
        pass
"""


def test_processes_that_divide_and_charge_at_once_never_pass_an_allotment(path: Path) -> None:
    opened(path).close()
    running = [
        subprocess.Popen([sys.executable, "-c", DIVIDES, path, str(seed)], stderr=subprocess.PIPE) for seed in range(4)
    ]
    assert [one.communicate(timeout=300)[1] for one in running] == [b""] * 4
    # Every row was checked against the allotments of its moment, once more.
    history = verify_ledger(path)
    assert sum(entry.spend for entry in history.entries) <= 1 and len(history.answers) == len(history.entries) > 4
    assert all(one.spent <= one.amount for one in history.allotments)


def test_a_ledger_is_migrated_once_by_however_many_come_at_once(path: Path) -> None:
    shutil.copy(FORMAT_1, path)
    command = [sys.executable, "-m", "dxgeom", "ledger", "migrate", str(path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    assert [one.communicate(timeout=300)[1] for one in running] == [b""] * 4
    assert len(read_ledger(path).entries) == 4 == len(migrate_ledger(path).entries)
