"""Tables on servers: their addresses, what is refused, and that nothing is left behind."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest
from services.spark import SparkCluster
from services.tables import PostgresTables, as_parquet, as_spark
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError, MissingExtra
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.universe import Universe

WORDS = Universe((CategoricalAttribute("w", ("x", "y")),))
TABLE = pa.table({"w": ["x", "y", "y"]})


@pytest.mark.parametrize("address", ["postgresql://server/database", "spark://server:7077#", "postgres://a#%20"])
def test_an_address_names_a_table(address: str) -> None:
    with pytest.raises(DataError, match="a table on a server is its URL, then # and the table or a query, such as"):
        histogram_of_table(address, WORDS, quiet_data=True)


@pytest.mark.parametrize(("library", "address"), [("psycopg", "postgresql://s/d#t"), ("pyspark", "spark://s:1#t")])
def test_an_engine_without_its_library_says_how_to_get_it(library: str, address: str) -> None:
    if importlib.util.find_spec(library) is not None:
        pytest.skip(f"{library} is installed")
    with pytest.raises(MissingExtra, match=r"pip install 'dxgeom\[(postgres|spark)\]'"):
        histogram_of_table(address, WORDS)


def test_an_ibis_table_of_an_unknown_backend_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    table = ibis.memtable(TABLE)
    monkeypatch.setattr("dxgeom.engines.frames.backend_of", lambda _: "mysql")
    with pytest.raises(DataError, match=r"from DuckDB, PostgreSQL, Spark and SQLite.* is on mysql: hand it over as"):
        histogram_of_table(table, WORDS)


@pytest.mark.service("postgres")
def test_a_server_that_does_not_answer_is_told_in_any_case_without_the_password() -> None:
    for address in ("postgresql://me:SECRET@127.0.0.1:1/d#t", "postgresql://me:SECRET@[127.0.0.1:1/d#t"):
        with pytest.raises(DataError, match="PostgreSQL server") as caught:
            histogram_of_table(address, WORDS, quiet_data=True)
        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None


PATIENTS = pa.table(
    {"patient_id": [1, 2, 2, None], "user": ["a", "b", "c", None], "email": [None, None, "e", "e"], "w": ["x"] * 4}
)


@pytest.mark.service("postgres")
def test_check_and_release_warn_of_people_in_tables_on_postgres(postgres: Any, tmp_path: Path) -> None:
    tables = PostgresTables(postgres)
    address = tables.keep(PATIENTS, tmp_path)
    text = "policy: p\nuniverse: {attributes: {w: [x, y]}}\nrules: [{change: w, epsilon: 1}]\n"
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    told = CliRunner().invoke(app, ["check", str(tmp_path / "p.yaml"), "--table", address])
    assert told.exit_code == 0, told.output
    assert "patient_id repeats" in " ".join(told.stdout.split())
    policy = dx.parse_policy(text)
    plan = dx.plan(policy.compile(), dx.parse_queries("queries: [{count: w == 'x'}]", policy))
    release = plan.release(address, ledger=":memory:", spend=1)
    assert release.looks_like_people == ("patient_id", "email")
    assert plan.release(address, ledger=":memory:", spend=1, quiet_data=True).looks_like_people == ()
    gone = CliRunner().invoke(app, ["check", str(tmp_path / "p.yaml"), "--table", "postgresql://127.0.0.1:1/d#t"])
    assert gone.exit_code == 4 and "cannot be reached" in gone.stderr


@pytest.mark.service("postgres")
def test_what_postgres_lacks_or_cannot_read_is_told(postgres: Any, tmp_path: Path) -> None:
    tables = PostgresTables(postgres)
    with pytest.raises(DataError, match=r"the table 'none' cannot be read: relation \"none\" does not exist"):
        histogram_of_table(tables.url("none"), WORDS)
    with pytest.raises(DataError, match="column 'w' of the result of the query holds jsonb, which is not read"):
        histogram_of_table(tables.url("SELECT '{}'::jsonb AS w"), WORDS)
    tables.execute("CREATE SEQUENCE written")
    with pytest.raises(DataError, match=r"cannot be read: cannot execute nextval\(\) in a read-only transaction"):
        histogram_of_table(tables.url("SELECT nextval('written')::text AS w"), WORDS)
    with pytest.raises(DataError, match="cannot be read: division by zero"):
        histogram_of_table(
            tables.url("SELECT CASE WHEN 1 / (i - 3) > 0 THEN 'x' END AS w FROM generate_series(1, 9) i"), WORDS
        )


@pytest.mark.service("postgres")
def test_queries_schemas_and_odd_types_of_postgres_are_read(postgres: Any, tmp_path: Path) -> None:
    tables = PostgresTables(postgres)
    address = tables.keep(TABLE, tmp_path)
    name = address.partition("#")[2]
    for what in (
        f"public.{name}",
        f"SELECT w FROM {name};",
        f"with t as (select * from {name}) select w from t",
        "%20" + name,
    ):
        assert histogram_of_table(tables.url(what), WORDS).counts.tolist() == [1, 2]
    odd = "SELECT 'x'::varchar(9) AS w UNION ALL SELECT 'y'::char(1) UNION ALL SELECT 'y'::name"
    assert histogram_of_table(tables.url(odd), WORDS).counts.tolist() == [1, 2]
    numbers = dx.parse_policy(
        "{policy: p, unconnected: allow, universe: {attributes: {n: {range: [0, 3], step: 0.1}}}, rules: []}"
    )
    for kind in ("numeric", "numeric(9, 2)", "real", "smallint"):
        found = histogram_of_table(tables.url(f"SELECT i::{kind} AS n FROM generate_series(0, 3) i"), numbers.universe)
        assert found.counts[::10].tolist() == [1, 1, 1, 1]


@pytest.mark.service("postgres")
def test_a_column_whose_collation_ignores_case_is_compared_letter_for_letter(postgres: Any) -> None:
    tables = PostgresTables(postgres)
    with pytest.raises(DataError, match="1 of 2 rows is outside"):
        query = "SELECT * FROM (VALUES ('x'), ('X')) AS t(w)"
        histogram_of_table(tables.url(query), WORDS)


@pytest.mark.service("spark")
def test_nothing_is_left_in_a_session_that_spark_came_with(spark: Any, tmp_path: Path) -> None:
    frame = as_spark(spark, TABLE, tmp_path)
    assert histogram_of_table(frame, WORDS).counts.tolist() == [1, 2]
    with pytest.raises(DataError, match="has no column named 'w'"):
        histogram_of_table(frame.withColumnRenamed("w", "W"), WORDS)
    failing = frame.selectExpr("assert_true(w = 'x', 'it was worked out') AS w")
    with pytest.raises(DataError, match="the table cannot be read"):
        histogram_of_table(failing.selectExpr("cast(w AS string) AS w"), WORDS)
    assert [one for one in spark.catalog.listTables() if one.name.startswith("dxgeom_")] == []


CLUSTER = """
import sys
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.universe import Universe

words = Universe((CategoricalAttribute("w", ("x", "y")),))
print(histogram_of_table(sys.argv[1], words).counts.tolist())
"""


@pytest.mark.service("spark")
def test_a_cluster_of_a_master_and_two_workers_counts_by_its_address(tmp_path: Path) -> None:
    """In a process of its own: one process has one session."""
    path = as_parquet(pa.table({"w": ["x", "y", "y"] * 5000}), tmp_path)
    cluster = SparkCluster()
    try:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-c", CLUSTER, f"{cluster.master}#{path}"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)
    finally:
        cluster.close()
    assert done.stdout.splitlines()[-1:] == ["[5000, 10000]"], done.stderr[-2000:]
    assert not cluster.folder.exists()


@pytest.mark.service("postgres")
def test_an_ibis_table_of_postgres_is_read_in_its_session(postgres: Any, tmp_path: Path) -> None:
    tables = PostgresTables(postgres)
    server, _, name = tables.keep(TABLE, tmp_path).partition("#")
    connection = ibis.postgres.connect(
        user="postgres", host="127.0.0.1", port=postgres.port, database=server.rpartition("/")[2]
    )
    try:
        table = connection.table(name)
        assert histogram_of_table(table, WORDS).counts.tolist() == [1, 2]
        assert histogram_of_table(table.filter(table.w == "y"), WORDS).counts.tolist() == [0, 2]
        with pytest.raises(DataError, match="a row: w is 'z'"):
            histogram_of_table(table.mutate(w=ibis.ifelse(table.w == "x", "z", "y")), WORDS)
        assert connection.con.info.transaction_status.name == "IDLE"
    finally:
        connection.disconnect()


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.service("spark")
def test_an_ibis_table_of_spark_is_read_in_its_session(spark: Any, tmp_path: Path) -> None:
    as_spark(spark, TABLE, tmp_path).createOrReplaceTempView("of_ibis")
    table = ibis.pyspark.connect(spark).table("of_ibis")
    assert histogram_of_table(table.filter(table.w == "y"), WORDS).counts.tolist() == [0, 2]
    spark.catalog.dropTempView("of_ibis")
