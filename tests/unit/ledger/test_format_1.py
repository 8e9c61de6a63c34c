"""A ledger as it was written before there were answers and data sets goes on, and nothing is lost or gained."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.ledger import Ledger

GOLDEN = Path(__file__).parent / "files" / "format_1.ledger"
"""Four charges, written by the code that wrote format 1."""


def opened(path: Path, fingerprint: str = "a" * 64) -> Ledger:
    return Ledger.open(path, policy_fingerprint=fingerprint, policy_name="clinic", budget=Fraction(1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Path(shutil.copy(GOLDEN, tmp_path / "a.db"))


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


CHARGES = "SELECT number, spend, purpose, plan_fingerprint, time_utc FROM entries ORDER BY number"


def test_a_ledger_of_format_1_is_migrated_when_it_is_opened(path: Path) -> None:
    before, seal = rows(path, CHARGES), rows(path, "SELECT seal FROM entries WHERE number = 4")
    with opened(path) as ledger:
        assert ledger.spent() == Fraction(1, 3) + Fraction(1, 7) + Fraction(1, 10) + Fraction(1, 4)
        with pytest.raises(BudgetExceeded):
            ledger.charge(Fraction(1, 5), purpose="", plan_fingerprint="p")
        entry = ledger.charge(Fraction(1, 10), purpose="fifth", plan_fingerprint="p", reserve=100)
        ledger.store(entry, "an answer")
        assert entry.number == 5
    assert rows(path, CHARGES)[:4] == before
    assert rows(path, "SELECT continues FROM data_sets") == seal
    assert rows(path, "PRAGMA user_version") == [(5,)]
    assert [name.name for name in path.parent.iterdir()] == ["a.db"]
    with opened(path) as ledger:
        assert ledger.answer_of(5) == b"an answer"


def test_another_policy_is_refused_as_before(path: Path) -> None:
    with pytest.raises(LedgerError, match="kept for policy 'clinic'"):
        opened(path, "b" * 64)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET spend = '1/100' WHERE number = 2",
        "UPDATE entries SET purpose = 'other' WHERE number = 1",
        "UPDATE entries SET number = 7 WHERE number = 4",
        "DELETE FROM entries WHERE number = 4",
        "UPDATE account SET budget = '2'",
        "DELETE FROM account",
        "CREATE TABLE more (x)",
    ],
)
def test_an_altered_ledger_of_format_1_is_refused_and_left_as_it_is(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="altered"):
        opened(path)
    assert path.read_bytes() == before


MIGRATE = """
import os, signal, sys
from fractions import Fraction
from dxgeom.ledger.book import Book
from dxgeom.ledger.ledger import Ledger
adds = [0]
def killed(self, record, add=Book.add):
    adds[0] += 1
    if adds[0] == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, record)
Book.add = killed
Ledger.open(sys.argv[1], policy_fingerprint="a" * 64, policy_name="clinic", budget=Fraction(1))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill")
@pytest.mark.parametrize("moment", [1, 3, 6])
def test_a_migration_that_is_killed_changes_nothing(path: Path, moment: int) -> None:
    before = rows(path, CHARGES)
    ended = subprocess.run([sys.executable, "-c", MIGRATE, str(path), str(moment)], check=False, env=dict(os.environ))
    assert ended.returncode == -signal.SIGKILL
    assert rows(path, "PRAGMA user_version") == [(1,)]
    with opened(path) as ledger:
        assert len(ledger.entries()) == 4
    assert rows(path, CHARGES) == before
