"""Empty cells, NULL, NaN and NaT are one and the same in every kind of table; what cannot be read is something else."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError
from dxgeom.universe.universe import Universe

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")

POLICY = """
policy: missing
universe:
  attributes:
    sex: {values: [F, M], missing: {epsilon: 1}, unlisted: other}
    age: {range: [0, 9], step: 1, missing: {epsilon: 1}}
    day: {dates: [2024-01-01, 2024-01-03], step: 1, missing: public}
rules:
  - change: [sex, age, day]
    epsilon: 1
"""
FRAME = pd.DataFrame(
    {
        "sex": ["F", None, "x", "M", ""],
        "age": [1.0, np.nan, 3.5, np.nan, 9.0],
        "day": pd.to_datetime(["2024-01-02", None, "2024-01-03", "2024-01-01", None]),
    }
)
EXPECTED = [
    {"sex": "F", "age": "1", "day": "2024-01-02"},
    {"sex": "missing", "age": "missing", "day": "missing"},
    {"sex": "other", "age": "3", "day": "2024-01-03"},
    {"sex": "M", "age": "missing", "day": "2024-01-01"},
    {"sex": "missing", "age": "9", "day": "missing"},
]


def universe(text: str = POLICY) -> Universe:
    return dx.parse_policy(text).universe


def csv_of(folder: Path, text: str) -> Path:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return folder / "t.csv"


def parquet_of(folder: Path) -> Path:
    pq.write_table(pa.Table.from_pandas(FRAME), folder / "t.parquet")
    return folder / "t.parquet"


@pytest.mark.parametrize(
    "made",
    [
        lambda _: FRAME,
        lambda _: FRAME.astype({"sex": "string", "age": "Float64"}),
        lambda _: pa.Table.from_pandas(FRAME),
        lambda _: duckdb.connect().from_arrow(pa.Table.from_pandas(FRAME)),
        lambda _: ibis.memtable(pa.Table.from_pandas(FRAME)),
        parquet_of,
        lambda folder: csv_of(folder, 'sex,age,day\nF,1,2024-01-02\n,,\nx,3.5,2024-01-03\nM,NaN,2024-01-01\n"",9,\n'),
        lambda folder: csv_of(folder, FRAME.to_csv(index=False)),
    ],
)
def test_what_is_missing_is_missing_in_every_table(made: Any, tmp_path: Path) -> None:
    here = universe()
    expected = np.zeros(here.size, dtype=np.int64)
    for record in EXPECTED:
        expected[here.index(record)] += 1
    found = histogram_of_table(made(tmp_path), here)
    assert found.counts.tolist() == expected.tolist()


def test_the_missing_record_is_found_by_its_own_name_and_by_what_python_calls_missing() -> None:
    here = universe()
    for index in range(here.size):
        assert here.index(here.record(index)) == index
    assert here.record(here.index({"sex": None, "age": np.nan, "day": pd.NaT})) == EXPECTED[1]
    assert here.record(here.index({"sex": pd.NA, "age": None, "day": ""})) == EXPECTED[1]


def test_a_cell_that_cannot_be_read_is_not_missing(tmp_path: Path) -> None:
    table = csv_of(tmp_path, "sex,age,day\nF,abc,2024-01-01\nF,1e400,\nF,1,2024-13-01\nF,-inf,\n")
    with pytest.raises(DataError) as caught:
        histogram_of_table(table, universe())
    told = str(caught.value).splitlines()
    assert told[0].startswith("4 of 4 rows are outside")
    assert told[1] == "  data row 1 (line 2): age is 'abc', accepted are numbers from 0 to 9, or an empty cell"
    assert histogram_of_table(csv_of(tmp_path, "sex,age,day\nF,2,\nF,abc,\n"), universe(), outside="drop").total == 1


def test_the_word_missing_in_a_table_is_a_word_like_others(tmp_path: Path) -> None:
    here = universe(POLICY.replace(", unlisted: other", ""))
    with pytest.raises(DataError, match="sex is 'missing', accepted are 'F', 'M', or an empty cell"):
        histogram_of_table(csv_of(tmp_path, "sex,age,day\nmissing,1,\n"), here)


def test_the_refusal_of_a_missing_cell_says_how_the_policy_may_allow_it(tmp_path: Path) -> None:
    here = universe(POLICY.replace(", missing: {epsilon: 1}", "").replace(", missing: public", ", missing: refuse"))
    with pytest.raises(DataError) as caught:
        histogram_of_table(csv_of(tmp_path, "sex,age,day\nF,,2024-01-01\n,2,2024-01-01\nF,1,2025-01-01\n"), here)
    assert str(caught.value).splitlines()[-2:] == [
        "If age may be missing, the policy says how that counts: 'missing: {epsilon: …}', or 'missing: public', beside "
        "the attribute's values.",
        "If sex may be missing, the policy says how that counts: 'missing: {epsilon: …}', or 'missing: public', beside "
        "the attribute's values.",
    ]


def test_a_point_with_one_coordinate_is_missing_and_one_in_no_region_may_be_unlisted(tmp_path: Path) -> None:
    square = [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]
    other = [[[5, 5], [6, 5], [6, 6], [5, 6], [5, 5]]]
    features = [
        {"type": "Feature", "properties": {"n": name}, "geometry": {"type": "Polygon", "coordinates": at}}
        for name, at in (("a", square), ("b", other))
    ]
    (tmp_path / "w.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    attribute = "{regions: w.geojson, key: n, longitude: x, latitude: y, missing: {epsilon: 1}, unlisted: b}"
    text = f"policy: p\nuniverse: {{attributes: {{w: {attribute}}}}}\nrules: [{{change: w, epsilon: 1}}]\n"
    here = dx.parse_policy(text, folder=tmp_path).universe
    rows = pd.DataFrame({"x": [0.5, np.nan, 3.0, 5.5], "y": [0.5, 0.5, 3.0, 5.5]})
    assert histogram_of_table(rows, here).counts.tolist() == [1, 2, 1]


def test_words_that_differ_in_their_unicode_form_only_are_told_apart_with_advice() -> None:
    here = universe(POLICY.replace("[F, M]", "[Köln, Bonn]").replace(", unlisted: other", ""))
    rows = pd.DataFrame({"sex": [unicodedata.normalize("NFD", "Köln")], "age": [1], "day": [None]})
    with pytest.raises(DataError, match="only in how Unicode writes its accents: normalise the column to NFC"):
        histogram_of_table(rows, here)


WORDS_OF_NUMBERS = "policy: p\nuniverse: {attributes: {k: {values: ['1', '2', '3'], missing: public}}}\n"
WORDS_OF_NUMBERS += "rules: [{change: k, epsilon: 1}]\n"


def test_integers_of_pandas_with_a_missing_cell_are_words_as_they_are_elsewhere(tmp_path: Path) -> None:
    here = universe(WORDS_OF_NUMBERS)
    frame = pd.DataFrame({"k": [1, 2, None, 3, 3]})
    assert frame["k"].dtype == np.float64
    pq.write_table(pa.table({"k": [1, 2, None, 3, 3]}), tmp_path / "t.parquet")
    wanted = [1, 1, 2, 1]
    for table in (frame, tmp_path / "t.parquet", csv_of(tmp_path, 'k\n1\n2\n""\n3\n3\n'), frame.astype("Int64")):
        assert histogram_of_table(table, here).counts.tolist() == wanted


@pytest.mark.parametrize(
    "cells", [[1.0, 2.0, 3.0], [1.5, np.nan], [np.inf, np.nan, 1.0], [2.0**60, np.nan], [1e300, np.nan]]
)
def test_other_floats_are_no_words(cells: list[float]) -> None:
    with pytest.raises(DataError, match="'k' of the table must hold text, but holds double"):
        histogram_of_table(pd.DataFrame({"k": cells}), universe(WORDS_OF_NUMBERS), outside="drop")


def test_integers_of_pandas_with_a_missing_cell_are_the_same_numbers_as_before() -> None:
    here = universe(POLICY.replace("missing: public", "missing: {epsilon: 1}"))
    frame = FRAME.assign(age=[1.0, np.nan, 3.0, np.nan, 9.0])
    floats = pa.Table.from_pandas(frame)
    assert histogram_of_table(frame, here).counts.tolist() == histogram_of_table(floats, here).counts.tolist()
    assert str(floats.schema.field("age").type) == "double"
