"""The guide to engines runs, each part where its server is there, and all of them count alike."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from reference.project import GUIDE
from services.tables import PostgresTables, as_spark

import dxgeom as dx

HERE, POSTGRES, SPARK = re.findall(r"^```python\n(.*?)^```", (GUIDE / "engines.md").read_text(), re.M | re.S)


@pytest.fixture
def names(tmp_path: Path, policies: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is known after the first part."""
    (tmp_path / "policies").symlink_to(policies)
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    exec(compile(HERE, "engines.md", "exec"), known)
    return known


def people(policies: Path) -> pa.Table:
    return pa.csv.read_csv(policies / "adult" / "people.csv")


def test_a_file_is_read(names: dict[str, Any]) -> None:
    assert isinstance(names["release"], dx.Release)


@pytest.mark.service("postgres")
def test_a_table_in_postgres_is_read(names: dict[str, Any], postgres: Any, policies: Path, tmp_path: Path) -> None:
    tables = PostgresTables(postgres)
    address = tables.keep(people(policies), tmp_path)
    before = names["release"].records
    exec(compile(POSTGRES.replace("postgresql://analyst@server/database#people", address), "engines.md", "exec"), names)
    assert names["release"].records == before


@pytest.mark.service("spark")
def test_a_table_of_spark_is_read(names: dict[str, Any], spark: Any, policies: Path, tmp_path: Path) -> None:
    as_spark(spark, people(policies), tmp_path).createOrReplaceTempView("people")
    before = names["release"].records
    exec(compile(SPARK, "engines.md", "exec"), {**names, "session": spark})
    assert names["release"].records == before
    spark.catalog.dropTempView("people")
    assert not [one.name for one in spark.catalog.listTables() if one.name.startswith("dxgeom_")]
