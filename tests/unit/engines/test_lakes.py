"""Folders of Delta and Iceberg are read as their log says, with the rows that were deleted left out, or refused."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError, MissingExtra
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.universe import Universe

WORDS = Universe((CategoricalAttribute("w", ("x", "y")),))
TABLE = pa.table({"more": [1, 2, 3, 4], "w": ["x", "y", "y", "y"]})


@pytest.mark.parametrize(
    ("library", "log"), [("deltalake", "_delta_log/0.json"), ("pyiceberg", "metadata/00001-a.metadata.json")]
)
def test_without_their_reader_such_folders_are_refused(library: str, log: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(library) is not None:
        pytest.skip(f"{library} is installed")
    pq.write_table(TABLE, tmp_path / "a.parquet")
    (tmp_path / log).parent.mkdir()
    (tmp_path / log).write_text("{}")
    with pytest.raises(MissingExtra, match=rf"by {library}, which is not installed; .*dxgeom\[(delta|iceberg)\]"):
        histogram_of_table(tmp_path, WORDS)


def test_metadata_without_a_number_do_not_say_which_is_the_newest(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "newest.metadata.json").write_text("{}")
    with pytest.raises(DataError, match="has no number of its state"):
        histogram_of_table(tmp_path, WORDS)


@pytest.mark.needs("deltalake")
@pytest.mark.parametrize("made", [str, Path, "table"])
def test_a_delta_table_is_read_without_deleted_rows(made: Any, tmp_path: Path) -> None:
    import deltalake

    deltalake.write_deltalake(str(tmp_path / "t"), TABLE)
    deltalake.DeltaTable(str(tmp_path / "t")).delete("more = 4")
    table = deltalake.DeltaTable(str(tmp_path / "t")) if made == "table" else made(tmp_path / "t")
    assert histogram_of_table(table, WORDS).counts.tolist() == [1, 2]


@pytest.mark.needs("pyiceberg")
@pytest.mark.parametrize("as_folder", [True, False])
def test_an_iceberg_table_is_read_as_it_is_now(as_folder: bool, tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", schema=TABLE.schema)
    table.append(TABLE)
    table.delete("more = 4")
    found = histogram_of_table(next(tmp_path.glob("n*/t")) if as_folder else table, WORDS)
    assert found.counts.tolist() == [1, 2]
    catalog.close()
