"""Every form in which people keep a table is read, and means the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError, MissingExtra
from dxgeom.universe.universe import Universe

POLICY = """
policy: formats
universe:
  attributes:
    paid: ["true", "false"]
    age: {range: [0, 9], step: 1, missing: {epsilon: 1}}
rules:
  - change: [paid, age]
    epsilon: 1
"""
ROWS = pd.DataFrame({"more": range(300), "paid": [k % 3 == 0 for k in range(300)], "age": [k % 10 for k in range(300)]})
ARROW = pa.Table.from_pandas(ROWS, preserve_index=False)


def universe() -> Universe:
    return dx.parse_policy(POLICY).universe


def expected() -> list[int]:
    counts = np.zeros(22, dtype=np.int64)
    for k in range(300):
        counts[(0 if k % 3 == 0 else 11) + k % 10] += 1
    return list(counts)


def folder_of_parquet(folder: Path) -> Path:
    (folder / "people" / "deep").mkdir(parents=True)
    for place, name in ((0, "a.parquet"), (100, "deep/b.parquet"), (200, "deep/c.parquet")):
        pq.write_table(ARROW.slice(place, 100), folder / "people" / name)
    (folder / "people" / "notes.txt").write_text("not a table")
    return folder / "people"


@pytest.mark.parametrize(
    "made",
    [
        lambda _: ROWS,
        lambda _: ROWS.astype({"paid": "boolean", "age": "Int64"}),
        lambda _: ROWS.convert_dtypes(dtype_backend="pyarrow"),
        lambda _: ARROW,
        lambda _: ARROW.combine_chunks().to_batches()[0],
        lambda _: pa.RecordBatchReader.from_batches(ARROW.schema, ARROW.to_batches(max_chunksize=7)),
        lambda _: pa.dataset.dataset(ARROW),
        lambda folder: pa.dataset.dataset(folder_of_parquet(folder), format="parquet", exclude_invalid_files=True),
        folder_of_parquet,
        lambda folder: folder_of_parquet(folder) / "**" / "*.parquet",
        lambda folder: str(folder_of_parquet(folder) / "**" / "[abc].parquet"),
    ],
)
def test_a_table_means_the_same_in_every_form(made: Any, tmp_path: Path) -> None:
    assert histogram_of_table(made(tmp_path), universe()).counts.tolist() == expected()


def test_nullable_columns_may_be_missing() -> None:
    rows = pd.DataFrame({"paid": [True, False], "age": pd.array([3, None], dtype="Int64")})
    assert histogram_of_table(rows, universe()).counts.tolist()[-1] == 1
    gone = rows.assign(paid=pd.array([None, True], dtype="boolean"))
    with pytest.raises(DataError, match="data row 1: paid is missing, accepted are 'true', 'false'"):
        histogram_of_table(gone, universe())


def test_rows_that_flow_by_once_are_told_when_they_are_outside() -> None:
    rows = pa.table({"paid": [True, True], "age": [3, 99]})
    for table in (rows.to_reader(), pa.dataset.dataset(rows), rows.to_batches()[0]):
        with pytest.raises(DataError, match="data row 2: age is '99'"):
            histogram_of_table(table, universe())


def test_files_of_a_folder_have_the_same_columns(tmp_path: Path) -> None:
    here = folder_of_parquet(tmp_path)
    pq.write_table(ARROW.set_column(2, "age", ARROW["age"].cast(pa.string())), here / "d.parquet")
    with pytest.raises(DataError, match=r"d.parquet' differs from '.*a.parquet': 'age' holds string, not int64"):
        histogram_of_table(here, universe())
    pq.write_table(ARROW.drop_columns(["more"]), here / "d.parquet")
    with pytest.raises(DataError, match="only one of them has 'more'"):
        histogram_of_table(here, universe())
    pq.write_table(ARROW.select(["age", "paid", "more"]), here / "d.parquet")
    with pytest.raises(DataError, match="their columns come in another order"):
        histogram_of_table(here, universe())


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    pq.write_table(ARROW, tmp_path / "a[1]*.parquet")
    pq.write_table(ARROW, tmp_path / "a1b.parquet")
    assert histogram_of_table(tmp_path / "a[1]*.parquet", universe()).total == 300


def test_a_folder_or_a_pattern_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder; name one file, or a folder of Parquet files"):
        histogram_of_table(tmp_path, universe())
    with pytest.raises(DataError, match="does not exist"):
        histogram_of_table(tmp_path / "*.parquet", universe())


@pytest.mark.parametrize("name", ["people.xlsx", "people.XLS", "people.ods"])
def test_a_workbook_is_refused_with_advice_where_nothing_reads_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(MissingExtra, match=r"is a workbook, .* install it with: pip install 'dxgeom\[excel\]'"):
        histogram_of_table(tmp_path / name, universe())
