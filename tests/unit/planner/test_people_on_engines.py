"""Releases about people with many rows from every engine: the same answers from the same bits, the same refusals."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from reference.project import POLICIES
from services.spark import SparkCluster
from services.tables import PostgresTables, as_parquet, as_relation, as_spark
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.errors import DataError

PINGS = POLICIES / "pings"
POLICY = (PINGS / "policy.yaml").read_text(encoding="utf-8")
ONCE = "people: {column: user, count: once}"
COUNTED = {
    "once": ONCE,
    "rows": "people: {column: user, count: rows, at_most: 3, order: at}",
    "single": "people: {column: user, count: single}",
}


@pytest.fixture(
    params=[
        "parquet",
        pytest.param("PostgreSQL", marks=pytest.mark.service("postgres")),
        pytest.param("Spark", marks=pytest.mark.service("spark")),
    ]
)
def keep(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[pa.Table], Any]]:
    """How one of the engines keeps a table."""
    if request.param == "PostgreSQL":
        tables = PostgresTables(request.getfixturevalue("postgres"))
        yield lambda table: tables.keep(table, tmp_path)
    elif request.param == "Spark":
        session = request.getfixturevalue("spark")
        yield lambda table: as_spark(session, table, tmp_path)
    else:
        yield lambda table: as_parquet(table, tmp_path)


def pings(every: int = 1) -> pa.Table:
    table = pa.csv.read_csv(PINGS / "pings.csv.gz")
    return table.append_column("at", pa.array(np.arange(table.num_rows))).take(np.arange(0, table.num_rows, every))


def plan_of(count: str | None) -> dx.Plan:
    policy = dx.parse_policy(POLICY.replace(ONCE, COUNTED[count] if count else ""), folder=PINGS)
    return dx.plan(policy.compile(), dx.load_queries(PINGS / "queries.yaml", policy))


def policy_in(folder: Path, text: str) -> str:
    shutil.copy(PINGS / "squares.csv", folder)
    (folder / "policy.yaml").write_text(text, encoding="utf-8")
    return str(folder / "policy.yaml")


@pytest.mark.parametrize("count", list(COUNTED))
def test_every_engine_releases_the_same_about_people(keep: Any, tmp_path: Path, count: str) -> None:
    table, plan = pings(every=10), plan_of(count)
    if count == "single":
        with pytest.raises(DataError, match="the policy says that each person has a single row"):
            plan.release(keep(table), ledger=str(tmp_path / "ledger.db"), spend="1/2")
        assert not (tmp_path / "ledger.db").exists()
        first = np.unique(np.asarray(table["user"].to_pylist()), return_index=True)[1]
        table = table.take(np.sort(first))
    here = plan.release(as_relation(table, tmp_path), ledger=":memory:", spend="1/2", insecure_test_seed=5)
    there = plan.release(keep(table), ledger=":memory:", spend="1/2", insecure_test_seed=5)
    assert there.exact_values == here.exact_values
    assert (there.records, there.as_dict()["people"]) == (here.records, here.as_dict()["people"])
    if count == "once":
        assert there.records == len(set(table["user"].to_pylist()))
    again = dx.release(plan.mechanism, keep(table), ledger=":memory:", spend="1/2", insecure_test_seed=5)
    assert (again.records, again.spent) == (here.records, here.spent)


def test_the_pings_of_the_purpose_are_answered_for_people_on_every_engine(keep: Any) -> None:
    """One user sent 52,657 of 120,000; bars hold for what people are, and are those of one row each."""
    table, plan = pings(), plan_of("once")
    release = plan.release(keep(table), ledger=":memory:", spend="1", insecure_test_seed=9)
    frame = table.to_pandas()
    assert (len(frame), int(frame.user.value_counts().max()), release.records) == (120_000, 52_657, 2000)
    east, hours = frame.square.str[0].isin(list("def")), frame.hour // 6
    rows = frame.assign(east=east, night=east & (hours == 0), morning=hours == 1)
    exact = rows.groupby("user")[["east", "night", "morning"]].mean().sum().to_numpy()
    assert np.all(np.abs(release.values - exact) <= release.half_widths(0.999))
    # Those of one row each, but for noise in whole records, which is wider by its rounding.
    one_row_each = plan_of(None).half_widths(0.95, "1", 2000)
    assert np.all(release.half_widths(0.95) <= one_row_each) and np.all(release.half_widths(0.95) > 0.98 * one_row_each)


def test_without_people_the_pings_of_the_purpose_are_warned_of_by_the_identifier(tmp_path: Path) -> None:
    release = plan_of(None).release(PINGS / "pings.csv.gz", ledger=":memory:", spend="1")
    assert release.records == 120_000
    assert [said for said in release.warnings if "'user'" in said and "count: once" in said]
    policy = policy_in(tmp_path, POLICY.replace(ONCE, ""))
    checked = CliRunner().invoke(app, ["check", policy, "--table", str(PINGS / "pings.csv.gz")])
    assert "user repeats" in checked.output


def told_of(document: dict[str, Any]) -> None:
    assert document["records"] == 2000
    assert "'user'" in document["people"]
    assert "52657" not in json.dumps(document) and "120000" not in json.dumps(document)


@pytest.mark.service("postgres")
def test_the_command_releases_about_people_from_postgres(postgres: Any, tmp_path: Path) -> None:
    address = PostgresTables(postgres).keep(pings(), tmp_path)
    policy = policy_in(tmp_path, POLICY)
    words = ["release", policy, address, str(PINGS / "queries.yaml"), "--format", "json"]
    result = CliRunner().invoke(app, [*words, "--spend", "1", "--ledger", str(tmp_path / "ledger.db")])
    assert result.exit_code == 0, result.output
    told_of(json.loads(result.stdout))


@pytest.mark.service("spark")
def test_the_command_releases_about_people_from_a_cluster_of_spark(tmp_path: Path) -> None:
    """In a process of its own: one process has one session."""
    path = as_parquet(pings(), tmp_path)
    policy = policy_in(tmp_path, POLICY)
    cluster = SparkCluster()
    try:
        words = ["release", policy, f"{cluster.master}#{path}", str(PINGS / "queries.yaml")]
        words += ["--format", "json", "--spend", "1", "--ledger", str(tmp_path / "ledger.db")]
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-m", "dxgeom", *words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=400)
    finally:
        cluster.close()
    assert done.returncode == 0, done.stderr[-2000:]
    told_of(json.loads(done.stdout))
