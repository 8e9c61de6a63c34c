"""What a charge costs on a PostgreSQL server, beside a bare insert of the same row there, and with eight processes.

Starts a server of its own on loopback; needs psycopg and PostgreSQL (make test-services says how to get them), and says
so where they are not there. Each action is a connection, a transaction and a commit that waits for the disk;
a bare insert is made on a connection that stays open, too. Run with: python benchmarks/server_ledger.py [charges]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from services.postgres import PostgresServer
from services.requirements import missing

from dxgeom.ledger.ledger import Ledger

SPEND = Fraction(1, 10**6)
WORDS = {"purpose": "what a charge costs", "plan_fingerprint": "p" * 64}
PROCESSES = 8
COLUMNS = "spend, remaining, total, purpose, plan, time, seal"
INSERT = f"INSERT INTO bare ({COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s)"
ROW = (str(SPEND), "999999/1000000", str(SPEND), *WORDS.values(), "2026-01-01T00:00:00.000000+00:00", "s" * 64)


def opened(place: str) -> Ledger:
    return Ledger.open(place, policy_fingerprint="f" * 64, policy_name="benchmark", budget=Fraction(1))


def milliseconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def one_after_the_other(server: PostgresServer, place: str, count: int) -> None:
    import psycopg

    def anew() -> None:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(INSERT, ROW)

    with psycopg.connect(server.url(), autocommit=True) as held, opened(place) as ledger:
        actions = (lambda: held.execute(INSERT, ROW), anew, lambda: ledger.charge(SPEND, **WORDS))
        for action in actions:
            action()
        # In turns, so that all meet the same disk.
        times = [[milliseconds(action) for action in actions] for _ in range(count)]
        kept, new, charge = (median(column) for column in zip(*times, strict=True))
        print(f"a bare insert {kept:.2f} ms, on a connection of its own {new:.2f} ms; a charge {charge:.2f} ms")


def charges(place: str, count: int) -> int:
    with opened(place) as ledger:
        for _ in range(count):
            ledger.charge(SPEND, **WORDS)
    return count


def together(place: str, count: int) -> None:
    with ProcessPoolExecutor(PROCESSES) as pool:
        list(pool.map(charges, [place] * PROCESSES, [1] * PROCESSES))
        started = time.perf_counter()
        done = sum(pool.map(charges, [place] * PROCESSES, [count // PROCESSES] * PROCESSES))
        seconds = time.perf_counter() - started
    print(f"{PROCESSES} processes: {done} charges in {seconds:.2f} s, {done / seconds:.0f} a second")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    if (reason := missing("postgres")) is not None:
        print(reason)
        return
    server = PostgresServer()
    try:
        place = server.new_ledger()
        opened(place).close()
        server.execute(f"CREATE TABLE bare (number serial PRIMARY KEY, {COLUMNS.replace(',', ' text,')} text)")
        one_after_the_other(server, place, count)
        together(place, 2 * count)
        with opened(place) as ledger:
            print(f"after {len(ledger.entries())} entries:")
        one_after_the_other(server, place, count)
    finally:
        server.close()


if __name__ == "__main__":
    main()
