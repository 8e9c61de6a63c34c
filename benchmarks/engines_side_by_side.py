"""One policy and one queries file on DuckDB, PostgreSQL and Spark: the same histogram, and what it takes beside a bare
GROUP BY on the same engine.

Three tables: US cities (a row stands for its residents), Adult, and pings of telephones, of which one sent 52,657 of
each 120,000 (people who count once). For each engine a process of its own, counts and bare queries by turns; after a
first turn, which loads libraries, medians of seconds, and the memory that this process needed for both, servers aside.
Releases are drawn from the same insecure bits, so that the answers of all engines must be equal, too.

Starts servers of its own on loopback; needs psycopg, pyspark, PostgreSQL and Java (make test-services says how to get
them), and says so where they are not there. Run with: python benchmarks/engines_side_by_side.py [pings [turns]]
"""

from __future__ import annotations

import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from services.postgres import PostgresServer
from services.requirements import missing
from services.spark import session_of

POLICIES = Path(__file__).parents[1] / "policies"
ENGINES = {"DuckDB": None, "PostgreSQL": "postgres", "Spark": "spark"}


@dataclass(frozen=True)
class Case:
    """``policy``: its folder; ``table``: where its rows are from, in DuckDB's SQL; ``groups``: what a bare query groups
    them by; ``counted``: what it counts."""

    policy: str
    table: str
    groups: str
    counted: str = "count(*)"
    count_column: str | None = None


SQUARES = [f"{column}{row}" for column in "abcdef" for row in (1, 2, 3, 4)]
PINGS = (
    "SELECT CASE WHEN hash(i) % 120000 < 52657 THEN 'u0' "
    "ELSE 'u' || CAST(1 + floor(200000 * pow((hash(i + 100000007) % 1000000) / 1e6, 4)) AS BIGINT) END AS user, "
    f"list_extract({SQUARES}, CAST(1 + hash(i + 200000033) % 24 AS BIGINT)) AS square, "
    "CAST(hash(i + 300000007) % 24 AS BIGINT) AS hour FROM range({rows}) t(i)"
)
PEOPLE = "SELECT * FROM read_csv('{folder}/{policy}/people.csv')"
CASES = {
    "US cities": Case("us-cities", PEOPLE, "city", "sum(residents)", "residents"),
    "Adult": Case("adult", PEOPLE, 'sex, race, "marital-status", education, floor((age - 15) / 5.0), "salary-class"'),
    "pings": Case("pings", PINGS, '"user", square, floor(hour / 6.0)'),
}
_POSTGRES = {"BIGINT": "bigint", "VARCHAR": "text", "DOUBLE": "double precision"}


def make(folder: Path, pings: int) -> None:
    """Every table as Parquet, and as CSV for PostgreSQL; the name of its file is its policy's."""
    with duckdb.connect() as connection:
        for case in CASES.values():
            rows = case.table.format(folder=POLICIES, policy=case.policy, rows=pings)
            connection.execute(f"COPY ({rows}) TO '{folder}/{case.policy}.parquet'")
            connection.execute(f"COPY ({rows}) TO '{folder}/{case.policy}.csv' (HEADER false)")


@contextmanager
def on_duckdb(folder: Path) -> Iterator[Tables]:
    def bare(sql: str) -> Any:
        return duckdb.connect(config={"memory_limit": "2GB", "temp_directory": ""}).sql(sql).to_arrow_table()

    yield lambda case: (folder / f"{case.policy}.parquet", f"'{folder}/{case.policy}.parquet'", bare)


@contextmanager
def on_postgres(folder: Path) -> Iterator[Tables]:
    import psycopg

    server = PostgresServer(max_wal_size="4GB")
    try:
        with duckdb.connect() as here, psycopg.connect(server.url(), autocommit=True) as there:
            for case in CASES.values():
                described = here.execute(f"DESCRIBE SELECT * FROM '{folder}/{case.policy}.parquet'").fetchall()
                columns = ", ".join(f'"{name}" {_POSTGRES[kind]}' for name, kind, *_ in described)
                name = case.policy.replace("-", "_")
                there.execute(f"CREATE TABLE {name} ({columns})")
                begun, file = f"COPY {name} FROM STDIN (FORMAT csv)", folder / f"{case.policy}.csv"
                with there.cursor().copy(begun) as copy, file.open("rb") as rows:
                    while chunk := rows.read(1 << 20):
                        copy.write(chunk)
                there.execute(f"VACUUM ANALYZE {name}")

        def table(case: Case) -> tuple[Any, str, Callable[[str], Any]]:
            name = case.policy.replace("-", "_")
            return f"{server.url()}#{name}", name, server.execute

        yield table
    finally:
        server.close()


@contextmanager
def on_spark(folder: Path) -> Iterator[Tables]:
    session = session_of("local[2]")

    def table(case: Case) -> tuple[Any, str, Callable[[str], Any]]:
        frame = session.read.parquet(str(folder / f"{case.policy}.parquet"))
        name = case.policy.replace("-", "_")
        frame.createOrReplaceTempView(name)
        frame.count()  # so that no first job of a session is timed
        return frame, name, lambda sql: session.sql(sql.replace('"', "`")).toArrow()

    try:
        yield table
    finally:
        session.stop()


Tables = Callable[[Case], tuple[Any, str, Callable[[str], Any]]]
OPENED = {"DuckDB": on_duckdb, "PostgreSQL": on_postgres, "Spark": on_spark}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def measure(engine: str, folder: Path, turns: int) -> None:
    """Prints a line of JSON for each table."""
    import dxgeom as dx
    from dxgeom.planner.releases.reading import read

    with OPENED[engine](folder) as opened:
        for title, case in CASES.items():
            policy = dx.load_policy(POLICIES / case.policy / "policy.yaml")
            queries = dx.load_queries(POLICIES / case.policy / "queries.yaml", policy)
            plan = dx.plan(policy.compile(), queries)
            table, name, bare = opened(case)
            sql = f"SELECT {case.groups}, {case.counted} FROM {name} GROUP BY {case.groups}"
            ours, theirs, digests, before = list[float](), list[float](), set[str](), memory("VmRSS")
            for _ in range(turns + (title == next(iter(CASES)))):
                seconds, found = timed(lambda: read(plan.mechanism, table, "refuse", case.count_column, False))  # noqa: B023
                ours.append(seconds)
                digests.add(hashlib.sha256(found.data.tobytes()).hexdigest()[:16])
                theirs.append(timed(lambda: bare(sql))[0])  # noqa: B023
            used = memory("VmHWM") - before
            release = plan.release(
                table, ledger=":memory:", spend="1/4", count_column=case.count_column, insecure_test_seed=1
            )
            told = {
                "seconds": statistics.median(ours[-turns:]),
                "bare": statistics.median(theirs[-turns:]),
                "megabytes": used,
            }
            answers = hashlib.sha256(repr(release.exact_values).encode()).hexdigest()[:16]
            print(json.dumps({"title": title, **told, "digest": sorted(digests), "answers": answers}), flush=True)


def memory(what: str) -> float:
    """Megabytes that this process has now (VmRSS), or had at most (VmHWM) since the last time that was asked."""
    status = Path("/proc/self/status").read_text()
    found = next(line for line in status.splitlines() if line.startswith(what))
    Path("/proc/self/clear_refs").write_text("5")
    return int(found.split()[1]) / 1024


def main(pings: int, turns: int) -> None:
    found: dict[str, set[tuple[str, ...]]] = {title: set() for title in CASES}
    print("| table | engine | dxgeom | bare `GROUP BY` | ratio | memory | histogram | answers |\n" + "|---" * 8 + "|")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        # In a process of its own: a child's peak memory begins with what its parent held.
        subprocess.run([sys.executable, __file__, "make", folder, str(pings)], check=True)
        for engine, service in ENGINES.items():
            if service is not None and (lacking := missing(service)):
                print(f"{engine}: {lacking}")
                continue
            command = [sys.executable, __file__, "measure", engine, folder, str(turns)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
                for line in running.stdout or ():
                    told = json.loads(line)
                    found[told["title"]].add((*told["digest"], told["answers"]))
                    print(
                        f"| {told['title']} | {engine} | {told['seconds']:.2f} s | {told['bare']:.2f} s "
                        f"| {told['seconds'] / told['bare']:.2f} | {told['megabytes']:.0f} MB "
                        f"| {', '.join(told['digest'])} | {told['answers']} |",
                        flush=True,
                    )
            if running.returncode:
                raise SystemExit(f"{engine} failed")
    if apart := [title for title, told in found.items() if len(told) > 1]:
        raise SystemExit(f"the engines differ: {', '.join(apart)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
    else:
        main(*map(int, [*sys.argv[1:3], *("10000000", "3")[len(sys.argv) - 1 :]]))
