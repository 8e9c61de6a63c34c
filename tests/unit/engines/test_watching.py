"""Work on tables is watched: it says how far it is, nothing that is private, and ends when it is interrupted."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.rows_of_people import People
from services.tables import PostgresTables

import dxgeom as dx
from dxgeom.engines import watching
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.watching import Extent, Watch, plain_errors
from dxgeom.metrics.components import components_of
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.universe import Universe

WORDS = Universe((CategoricalAttribute("w", ("x", "y")),))
DisclosedLoss = list[tuple[str, float | None]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> DisclosedLoss:
    """What is said of work, from its first moment on."""
    said: DisclosedLoss = []
    monkeypatch.setattr(watching, "PATIENCE", 0.0)
    monkeypatch.setattr(watching, "_POLLED", 0.0005)
    monkeypatch.setattr(
        watching.ProgressLine, "__call__", lambda self, words, fraction=None: said.append((words, fraction))
    )
    return said


def parquet(folder: Path, rows: int = 2_000_000) -> Path:
    path, random = folder / "rows.parquet", np.random.default_rng(1)
    table = {"w": np.where(random.random(rows) < 0.5, "x", "y"), "who": random.integers(0, 50_000, rows)}
    pq.write_table(pa.table(table), path)
    return path


def watched(watch: Watch, secret: bool = False, work: Callable[[], Any] = lambda: time.sleep(0.05)) -> Any:
    with watch.telling("reading", secret=secret):
        return watch.done(work)


@pytest.mark.parametrize(
    ("fraction", "extent", "secret", "words"),
    [
        (0.434, Extent(10_000_000, 1_234_000_000), False, "43% of 10,000,000 rows, 1.2 GB"),
        (0.434, Extent(), False, "43%"),
        (0.434, Extent(10_000_000, 1_234), True, ""),
        (None, Extent(10, 999), False, "10 rows, 999 B"),
        (None, Extent(12_000, 5_600_000, estimated=True), False, "about 12,000 rows, 5.6 MB"),
        (None, Extent(12_000, 5_600_000, estimated=True), True, ""),
        (None, Extent(size=1200), False, "1.2 kB"),
    ],
)
def test_how_far_work_is(told: DisclosedLoss, fraction: float | None, extent: Extent, secret: bool, words: str) -> None:
    assert watched(Watch(lambda: fraction, lambda: None, extent), secret, lambda: time.sleep(0.05) or 7) == 7
    assert set(told) == {(words, fraction)}


def test_short_work_says_nothing_and_neither_does_any_that_nobody_asked_about(told: DisclosedLoss) -> None:
    assert Watch(lambda: 0.5, lambda: None, Extent(1)).done(lambda: time.sleep(0.05) or 7) == 7
    watching.PATIENCE = 2.0
    watched(Watch(lambda: 0.5, lambda: None, Extent(1)))
    assert told == []


def test_what_flows_by_is_counted(told: DisclosedLoss) -> None:
    watch = Watch(lambda: None, lambda: None, Extent())
    flow = watch.noting(pa.table({"n": np.arange(10_000)}).to_reader(1000))
    watched(watch, False, lambda: ([batch.num_rows for batch in flow], time.sleep(0.05)))
    assert told[-1] == ("10,000 rows, 80.0 kB have come", None)


def test_what_work_raises_is_raised_where_it_is_waited_for() -> None:
    watch = Watch(lambda: None, lambda: None, Extent())
    with pytest.raises(ZeroDivisionError):
        watch.done(lambda: 1 // 0)
    assert list(watch.each(lambda: "abc")) == ["a", "b", "c"]


def test_interrupted_work_is_ended_before_anybody_hears_of_it(told: DisclosedLoss) -> None:
    begun, ended, gone = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        ended.wait(60)
        gone.set()

    def fraction() -> float | None:
        if begun.is_set():
            raise KeyboardInterrupt
        return None

    with pytest.raises(KeyboardInterrupt):
        watched(Watch(fraction, ended.set, Extent()), False, work)
    assert gone.is_set()


def test_a_file_says_how_much_of_it_is_read(told: DisclosedLoss, tmp_path: Path) -> None:
    path = parquet(tmp_path)
    histogram_of_table(path, WORDS)
    size = path.stat().st_size / 1e6
    of = re.compile(rf"(\d+% of )?2,000,000 rows, {size:.1f} MB")
    assert told and all(of.fullmatch(words) for words, _ in told)
    histogram_of_table(duckdb.connect().sql(f"SELECT * FROM '{path}'"), WORDS)
    assert re.fullmatch(r"[\d,]+ rows, [\d.]+ [kM]B have come", told[-1][0])


@pytest.mark.parametrize("count", ["once", "rows", "single"])
def test_where_people_have_many_rows_no_more_than_a_fraction_is_shown(
    told: DisclosedLoss, tmp_path: Path, count: Any
) -> None:
    rows = parquet(tmp_path)
    if count == "single":
        pq.write_table(pa.table({"w": ["x"] * 500_000, "who": np.arange(500_000)}), rows)
    people = People("who", count, 3 if count == "rows" else None, "at" if count == "rows" else None)
    table: Any = (
        duckdb.connect().sql(f"SELECT *, row_number() OVER () AS at FROM '{rows}'") if count == "rows" else rows
    )
    metric = dx.verify_metric(np.array([[0, 1], [1, 0]]))
    histogram_of_table(table, WORDS, people=people, component_of=components_of(metric.metric).of)
    assert told and {words for words, _ in told} == {""}


def test_rows_that_may_be_absent_are_not_counted_either(told: DisclosedLoss, tmp_path: Path) -> None:
    policy = dx.parse_policy(
        "{policy: p, universe: {attributes: {w: [x, y]}}, "
        "rules: [{change: w, epsilon: 1}, {presence: true, epsilon: 1}]}"
    )
    histogram_of_table(parquet(tmp_path), policy.compile().universe)
    assert told and {words for words, _ in told} == {""}


INTERRUPTED = """
    import sys, time
    import dxgeom as dx
    policy = dx.parse_policy("{policy: p, universe: {attributes: {w: [x, y]}}, rules: [{change: w, epsilon: 1}]}")
    plan = dx.plan(policy.compile(), dx.parse_queries("queries: [{name: n, count: w == 'x'}]", policy))
    print("reading", flush=True)
    try:
        plan.release(sys.argv[1], ledger=sys.argv[2], spend=1)
    except KeyboardInterrupt:
        print(f"interrupted {time.monotonic()}", flush=True)
"""


def test_an_interrupt_while_the_database_works_in_this_very_thread_is_an_interrupt() -> None:
    """The database says that its query was interrupted, and loses what the signal raised. A signal in this process
    would now and then find the database where it waits for itself for ever."""
    with pytest.raises(KeyboardInterrupt), plain_errors("the table"):
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="something else"), plain_errors("the table"):
        raise RuntimeError("something else")


def test_a_release_that_is_interrupted_while_it_reads_leaves_nothing_behind(tmp_path: Path) -> None:
    """In a process of its own, which a signal interrupts; the query of the relation would take hours."""
    script = textwrap.dedent(INTERRUPTED).replace(
        "sys.argv[1]",
        "duckdb.sql(\"SELECT 'x' AS w FROM range(100000000) a, range(100000) b WHERE a.range + b.range >= 0\")",
    )
    running = subprocess.Popen(
        [sys.executable, "-c", "import duckdb\n" + script, "", str(tmp_path / "ledger.db")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert running.stdout is not None and running.stdout.readline() == "reading\n"
    time.sleep(1)
    sent = time.monotonic()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert out.startswith("interrupted"), err
    assert float(out.split()[1]) - sent < 20
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits is interrupted as soon as something is said of work."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "PATIENCE", 1.0)
    monkeypatch.setattr(watching.ProgressLine, "__call__", interrupted)


@pytest.mark.service("postgres")
def test_an_interrupted_query_of_postgres_is_ended_there(postgres: Any, impatient: None) -> None:
    tables, before = PostgresTables(postgres), time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        histogram_of_table(tables.url("SELECT CASE WHEN pg_sleep(100) IS NULL THEN 'x' ELSE 'y' END AS w"), WORDS)
    assert time.monotonic() - before < 60
    running = "SELECT query FROM pg_stat_activity WHERE application_name = 'dxgeom' AND state = 'active'"
    assert postgres.execute(running) == []


@pytest.mark.service("postgres")
def test_postgres_says_how_large_its_tables_seem_unless_people_have_them(postgres: Any, told: DisclosedLoss) -> None:
    tables = PostgresTables(postgres)
    tables.execute("CREATE TABLE many AS SELECT 'x' AS w, i AS who FROM generate_series(1, 200000) i")
    tables.execute("ANALYZE many")
    histogram_of_table(tables.url("many"), WORDS)
    assert told and all(words.startswith("about 200,000 rows, ") for words, _ in told)
    told.clear()
    histogram_of_table(tables.url("many"), WORDS, people=People("who", "single"))
    assert told and set(told) == {("", None)}


@pytest.mark.service("spark")
def test_interrupted_work_on_spark_is_ended_there(spark: Any, impatient: None) -> None:
    context, before = spark.sparkContext, time.monotonic()
    endless = spark.range(10**14).selectExpr("CASE WHEN id % 2 = 0 THEN 'x' ELSE 'y' END AS w")
    with pytest.raises(KeyboardInterrupt):
        histogram_of_table(endless, WORDS)
    assert time.monotonic() - before < 120
    assert list(context.statusTracker().getActiveJobsIds()) == []
    assert context.getLocalProperty("spark.jobGroup.id") is None
    assert [one for one in spark.catalog.listTables() if one.name.startswith("dxgeom_")] == []
    assert spark.range(10).count() == 10


@pytest.mark.service("spark")
def test_spark_says_how_many_of_its_tasks_are_done(spark: Any, told: DisclosedLoss) -> None:
    frame = spark.range(20_000_000, numPartitions=20).selectExpr("CASE WHEN id % 2 = 0 THEN 'x' ELSE 'y' END AS w")
    assert histogram_of_table(frame, WORDS).counts.tolist() == [10_000_000] * 2
    fractions = [fraction for _, fraction in told if fraction is not None]
    assert fractions and fractions == sorted(fractions) and fractions[-1] <= 1
