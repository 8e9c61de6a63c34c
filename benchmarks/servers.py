"""Counting rows on PostgreSQL and Spark: dxgeom against a bare GROUP BY on the same server.

Starts servers of its own on loopback; needs psycopg, pyspark, PostgreSQL and Java (make test-services says how to get
them), and says so where they are not there. Run with: python benchmarks/servers.py [rows]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from engine import by_engine, make, universe_of
from services.postgres import PostgresServer
from services.requirements import missing
from services.spark import session_of

from dxgeom.engines.histogram import histogram_of_table

BARE = "SELECT city, native, floor(pay / 10), count(*) FROM {} GROUP BY city, native, floor(pay / 10)"


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def compare(name: str, table: Any, bare: Callable[[], Any], path: Path) -> None:
    seconds, _ = timed(bare)
    ours, histogram = timed(lambda: histogram_of_table(table, universe_of("pay")))
    if histogram.counts.tolist() != by_engine(path, "pay").tolist():
        raise SystemExit(f"{name}: the two histograms differ")
    print(f"  {name}: {ours:.1f} s, bare GROUP BY {seconds:.1f} s; time ratio {ours / seconds:.2f}")


def on_postgres(path: Path) -> None:
    server = PostgresServer()
    try:
        server.execute("CREATE TABLE people (city text, native text, age bigint, pay double precision)")
        import psycopg

        with psycopg.connect(server.url()) as connection, connection.cursor().copy("COPY people FROM STDIN") as copy:
            for batch in pq.ParquetFile(path).iter_batches():
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    copy.write_row(row)
        server.execute("VACUUM ANALYZE people")
        compare("PostgreSQL", f"{server.url()}#people", lambda: server.execute(BARE.format("people")), path)
    finally:
        server.close()


def on_spark(path: Path) -> None:
    session = session_of("local[2]")
    try:
        frame = session.read.parquet(str(path))
        frame.createOrReplaceTempView("people")
        frame.count()  # so that no first job of a session is timed
        compare("Spark", frame, lambda: session.sql(BARE.format("people")).collect(), path)
    finally:
        session.stop()


def main(rows: int) -> None:
    print(f"{rows} rows, two columns of words and one of decimals")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        make(path, rows)
        for service, work in (("postgres", on_postgres), ("spark", on_spark)):
            lacking = missing(service)
            print(f"  {service}: {lacking}") if lacking else work(path)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**6)
