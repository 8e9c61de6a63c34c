"""What a charge costs, beside the bare INSERT of the same row with the same settings, in a short and a long ledger.

Run: .venv/bin/python benchmarks/ledger.py [FOLDER]
FOLDER lies on the disk to measure (a temporary folder when left out); both wait for the disk equally often. In a folder
without a disk, such as /dev/shm, only the processor's work is left to compare.
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from statistics import median

from dxgeom.ledger.charging import charge_request, charge_row
from dxgeom.ledger.chronicle import Chronicle
from dxgeom.ledger.entry import Account
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger.sqlite_layout import set_up
from dxgeom.ledger.sqlite_store import SqliteFile

LENGTHS = (10, 5000)
ROUNDS = 200
SPEND = Fraction(1, 10**6)
ACCOUNT = Account("benchmark", "f" * 64, Fraction(1))
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = {"purpose": "what a charge costs", "plan_fingerprint": "p" * 64}


def filled(path: Path, length: int) -> Ledger:
    """A ledger of so many entries, written at once."""
    ledger = Ledger.open(path, policy_fingerprint="f" * 64, policy_name="benchmark", budget=Fraction(1))
    wanted = charge_request(SPEND, WORDS["purpose"], WORDS["plan_fingerprint"], None, None, 0)
    with Chronicle(SqliteFile(path)).writing() as page:
        for _ in range(length):
            page.append(*charge_row(page.book, ACCOUNT, wanted, BEGUN, ""))
        page.commit()
    return ledger


def bare(path: Path, length: int) -> Callable[[], None]:
    """An insert of the same row into a table without triggers or seals, on a connection that stays open."""
    connection = sqlite3.connect(path, isolation_level=None)
    set_up(connection)
    columns = "spend, remaining, total, purpose, plan, time, seal"
    connection.execute(f"CREATE TABLE entries (number INTEGER PRIMARY KEY, {columns})")
    row = (str(SPEND), "999999/1000000", str(SPEND), *WORDS.values(), "2026-01-01T00:00:00.000000+00:00", "s" * 64)
    connection.execute("BEGIN")
    connection.executemany(f"INSERT INTO entries ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", [row] * length)
    connection.execute("COMMIT")
    return lambda: connection.execute(f"INSERT INTO entries ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row) and None


def milliseconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="a folder on the disk to measure")
    folder = parser.parse_args().folder
    for length in LENGTHS:
        with tempfile.TemporaryDirectory(dir=folder) as name, closing(filled(Path(name) / "a.db", length)) as ledger:
            insert, charge = bare(Path(name) / "b.db", length), lambda: ledger.charge(SPEND, **WORDS)
            charge()
            # In turns, so that both meet the same disk.
            pairs = [(milliseconds(insert), milliseconds(charge)) for _ in range(ROUNDS)]
            inserts, charges = (median(times) for times in zip(*pairs, strict=True))
            print(
                f"{length:>5} entries: a bare insert {inserts:.3f} ms, a charge {charges:.3f} ms, "
                f"{charges / inserts:.2f} times"
            )


if __name__ == "__main__":
    main()
