"""A table that changes while it is read is refused, or read as it was when reading began; never as no table ever was.

Every engine inherits the suite. Of what ends in the middle nothing is charged.
"""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from services.tables import PostgresTables, as_parquet, as_sqlite

import dxgeom as dx
from dxgeom.engines import cells
from dxgeom.engines.counted_tables import table_counts
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError
from dxgeom.universe.workloads.whole_tables import MarginalQueries

POLICY = dx.parse_policy(
    "policy: p\nuniverse: {attributes: {w: [x, y, z], u: [a, b]}}\nrules: [{change: [w, u], epsilon: 1}]\n"
)
TABLE = pa.table({"w": ["x", "y", "z", "x"] * 50, "u": ["a", "b", "b", "b"] * 50})
OTHER = pa.table({"w": ["x", "x", "x", "x"] * 50, "u": ["b", "b", "b", "b"] * 50})
CHANGED = "was changed while it was read"


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Has something done when the first rows are looked at, with all later passes still to come."""

    def then(change: Callable[[], Any]) -> None:
        waiting, plain = [change], cells.BatchEncoder.codes

        def codes(self: Any, *arguments: Any) -> Any:
            if waiting:
                waiting.pop()()
            return plain(self, *arguments)

        monkeypatch.setattr(cells.BatchEncoder, "codes", codes)

    return then


def whole_tables(table: Any) -> list[list[int]]:
    """Two passes, or one row by row."""
    queries = MarginalQueries.of(POLICY.universe, [["w"], ["u"]])
    return [cells.tolist() for cells in table_counts(table, queries).cells]


def histogram(table: Any) -> list[int]:
    return histogram_of_table(table, POLICY.universe).counts.tolist()


READINGS = {"histogram": histogram, "whole tables": whole_tables}


def written(path: Path, table: pa.Table) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        text = table.to_pandas().to_csv(index=False, sep="\t" if ".tsv" in path.name else ",").encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x,a\n")


def replaced(path: Path) -> None:
    written(path.with_name(f"new_{path.name}"), OTHER).replace(path)


def overwritten(path: Path) -> None:
    before = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], Any]] = {
    "appended": appended,
    "truncated": lambda path: os.truncate(path, path.stat().st_size // 2),
    "replaced": replaced,
    "removed": lambda path: path.unlink(),
    "overwritten with its old time": overwritten,
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.csv.gz", "a.parquet"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, meanwhile, name, change, reading):
    path = written(tmp_path / name, TABLE)
    meanwhile(lambda: CHANGES[change](path))
    with pytest.raises(DataError, match=CHANGED):
        READINGS[reading](path)


@pytest.mark.parametrize("held", ["folder", "pattern", "dataset"])
@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_files_that_are_one_table_stay_as_they_are(tmp_path, meanwhile, change, held):
    paths = [written(tmp_path / f"{k}.parquet", TABLE) for k in range(3)]
    table = {"folder": tmp_path, "pattern": tmp_path / "*.parquet", "dataset": ds.dataset(paths)}[held]
    meanwhile(lambda: CHANGES[change](paths[-1]))
    with pytest.raises(DataError, match=CHANGED):
        histogram(table)


def test_a_folder_that_gets_another_file_is_refused(tmp_path, meanwhile):
    written(tmp_path / "a.parquet", TABLE)
    meanwhile(lambda: written(tmp_path / "b.parquet", TABLE))
    with pytest.raises(DataError, match=CHANGED):
        histogram(tmp_path)


def test_nothing_is_charged_for_a_table_that_changed_and_a_quiet_refusal_says_nothing(tmp_path, meanwhile):
    path = written(tmp_path / "a.csv", TABLE)
    plan = dx.plan(POLICY.compile(), dx.parse_queries("queries: [{count: w == 'x'}]", POLICY))
    for quiet in (False, True):
        meanwhile(lambda: appended(path))
        with pytest.raises(DataError) as caught:
            plan.release(path, ledger=tmp_path / "ledger.db", spend="1/2", quiet_data=quiet)
        assert (CHANGED in str(caught.value)) != quiet
    assert not (tmp_path / "ledger.db").exists()


@pytest.mark.parametrize("reading", READINGS)
def test_every_engine_reads_one_state_or_refuses(keep, meanwhile, request, reading):
    engine = request.node.callspec.params["keep"]
    kept, wanted = keep(TABLE), READINGS[reading](TABLE)
    folder = request.getfixturevalue("tmp_path")

    def change() -> None:
        if engine == "PostgreSQL":
            changed_on_postgres(kept)
        elif engine == "SQLite":
            kept.get_backend().con.execute(f"UPDATE {kept.get_name()} SET w = 'x', u = 'b'")
        else:
            for path in folder.glob("*.parquet"):
                replaced(path)

    meanwhile(change)
    try:
        assert READINGS[reading](kept) == wanted
    except DataError as error:
        assert engine in ("parquet", "Spark")
        assert CHANGED in str(error)


def changed_on_postgres(url: str) -> None:
    import psycopg

    server, _, name = url.partition("#")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"UPDATE {name} SET w = 'x', u = 'b'")
        connection.execute(f"INSERT INTO {name} SELECT * FROM {name}")


@pytest.mark.service("postgres")
@pytest.mark.parametrize("reading", READINGS)
def test_a_session_of_ibis_on_postgres_sees_one_state_too(postgres, tmp_path, meanwhile, reading):
    import ibis

    url = PostgresTables(postgres).keep(TABLE, tmp_path)
    server, _, name = url.partition("#")
    table = ibis.connect(server).table(name)
    meanwhile(lambda: changed_on_postgres(url))
    assert READINGS[reading](table) == READINGS[reading](TABLE)
    assert READINGS[reading](table) != READINGS[reading](TABLE)  # the next reading sees what is there now
    table.get_backend().disconnect()


@pytest.mark.service("postgres")
def test_a_query_whose_connection_ends_in_the_middle_is_refused(postgres, tmp_path, meanwhile):
    url = PostgresTables(postgres).keep(TABLE, tmp_path)
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dxgeom'"
    meanwhile(lambda: postgres.execute(ends))
    with pytest.raises(DataError):
        whole_tables(url)


@pytest.mark.service("spark")
def test_a_job_that_fails_in_the_middle_is_refused(spark):
    table = spark.range(1000).selectExpr("if(id < 999, 'x', raise_error('no more'))  AS w", "'a' AS u")
    for reading in READINGS.values():
        with pytest.raises(DataError):
            reading(table)


def test_a_relation_of_duckdb_is_read_in_one_state(meanwhile):
    connection = duckdb.connect()
    connection.register("given", TABLE)
    connection.execute("CREATE TABLE kept AS SELECT * FROM given")
    for reading in READINGS.values():
        before = connection.sql("SELECT count(*) FROM kept").fetchall()[0][0]
        wanted = reading(connection.sql("SELECT * FROM kept").to_arrow_table())
        meanwhile(lambda: connection.cursor().execute("INSERT INTO kept SELECT * FROM kept"))
        assert reading(connection.sql("SELECT * FROM kept")) == wanted
        assert connection.sql("SELECT count(*) FROM kept").fetchall()[0][0] == 2 * before


def test_rows_of_sqlite_that_another_connection_changes_are_of_one_state(tmp_path, meanwhile):
    import sqlite3

    kept = as_sqlite(TABLE, tmp_path)
    (file,) = tmp_path.glob("*.db")

    def change() -> None:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute(f"DELETE FROM {kept.get_name()} WHERE w = 'x'")
        other.close()

    meanwhile(change)
    assert whole_tables(kept) == whole_tables(TABLE)


def batches_then(*error: BaseException) -> pa.RecordBatchReader:
    def batches() -> Any:
        yield from TABLE.to_batches(20)
        yield from TABLE.to_batches(20)[:1]
        for one in error:
            raise one

    return pa.RecordBatchReader.from_batches(TABLE.schema, batches())


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("error", [OSError("gone"), ValueError("gone"), RuntimeError("gone"), pa.ArrowInvalid("gone")])
def test_a_reader_that_fails_in_the_middle_is_refused(error, reading):
    with pytest.raises(DataError, match="gone"):
        READINGS[reading](batches_then(error))


@pytest.mark.parametrize("end", [10, 300, 1000])
def test_a_stream_that_is_cut_off_within_a_message_is_refused(end):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, TABLE.schema) as stream:
        stream.write_table(TABLE, max_chunksize=20)
    with pytest.raises((DataError, pa.ArrowInvalid, OSError)):
        histogram(pa.ipc.open_stream(sink.getvalue()[:-end]))


@pytest.mark.parametrize("part", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("name", ["a.csv.gz", "a.parquet"])
def test_a_file_that_is_cut_off_is_refused(tmp_path, name, part):
    path = written(tmp_path / name, TABLE)
    os.truncate(path, int(path.stat().st_size * part))
    with pytest.raises(DataError):
        histogram(path)


def test_compressed_text_whose_sum_is_wrong_is_refused(tmp_path):
    path = written(tmp_path / "a.csv.gz", TABLE)
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"damaged|cannot be read"):
        histogram(path)


def test_relations_of_files_that_are_cut_off_are_refused(tmp_path):
    path = as_parquet(TABLE, tmp_path)
    relation = duckdb.connect().sql(f"SELECT * FROM '{path}'")
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(DataError):
        histogram(relation)
