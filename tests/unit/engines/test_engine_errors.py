"""Every table that cannot be counted says what is wrong and what to do."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxgeom.engines.histogram import histogram_of_counts, histogram_of_table
from dxgeom.errors import DataError, WrongArgument
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.numbers.numeric_attributes import RangeAttribute
from dxgeom.universe.universe import Universe

UNIVERSE = Universe(
    (
        CategoricalAttribute("native", ("Yes", "No")),
        RangeAttribute("age", Fraction(17), Fraction(90), Fraction(1)),
    )
)
FRAME = pd.DataFrame({"native": ["Yes", "No"], "age": [17, 90]})


def message(table: Any, **options: Any) -> str:
    with pytest.raises(DataError) as error:
        histogram_of_table(table, UNIVERSE, **options)
    return str(error.value)


def written(tmp_path: Path, content: str | bytes, name: str = "a.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


BAD_ROW = 523_112


def _as_csv(frame: pd.DataFrame, folder: Path) -> Any:
    frame.to_csv(folder / "big.csv", index=False)
    return folder / "big.csv"


def _as_parquet(frame: pd.DataFrame, folder: Path) -> Any:
    frame.to_parquet(folder / "big.parquet")
    return folder / "big.parquet"


@pytest.mark.parametrize("keep", [_as_csv, _as_parquet, lambda frame, _: frame], ids=["csv", "parquet", "frame"])
@pytest.mark.parametrize("options", [{}, {"count_column": "n"}], ids=["rows", "counts"])
def test_one_bad_row_in_a_million_is_named(
    tmp_path: Path, keep: Callable[[pd.DataFrame, Path], Any], options: dict[str, str]
) -> None:
    frame = pd.DataFrame({"native": "No", "age": np.arange(10**6) % 70 + 17, "n": 1})
    frame.loc[BAD_ROW - 1, "native"] = "yes"
    table = keep(frame, tmp_path)
    text = message(table, **options)
    assert text.startswith("1 of 1000000 rows is outside the policy's universe")
    line = f" (line {BAD_ROW + 1})" if isinstance(table, Path) and table.suffix == ".csv" else ""
    assert f"\n  data row {BAD_ROW}{line}: native is 'yes', the nearest value is 'Yes'\n" in text
    assert 'outside="drop"' in text
    histogram = histogram_of_table(table, UNIVERSE, outside="drop", **options)
    assert (histogram.total, histogram.dropped) == (999_999, 1)


@pytest.mark.parametrize("options", [{}, {"count_column": "n"}], ids=["rows", "counts"])
def test_one_short_row_in_a_million_is_named(tmp_path: Path, options: dict[str, str]) -> None:
    lines = ["native,age,n", *["No,20,1"] * 10**6]
    lines[900_000] = "No,20"
    path = written(tmp_path, "\n".join(lines))
    assert "line 900001: the header has 3 columns, but this row has 2; correct it" in message(path, **options)


def test_at_most_five_examples_are_shown_and_rows_that_are_right_never() -> None:
    frame = pd.DataFrame({"native": ["Yes"] * 50 + ["bad"] * 50, "age": [77] * 50 + [18] * 50})
    text = message(frame)
    assert text.startswith("50 of 100 rows are outside")
    assert text.count("data row") == 5
    assert "77" not in text


def test_every_wrong_cell_of_an_example_is_shown_shortened() -> None:
    text = message(pd.DataFrame({"native": ["x" * 1000], "age": [16.5]}))
    assert "native is 'xxx" in text
    assert "accepted are 'Yes', 'No'; age is '16.5', accepted are numbers from 17 to 90" in text
    assert len(text) < 400


def test_no_line_is_claimed_when_there_are_empty_lines(tmp_path: Path) -> None:
    text = message(written(tmp_path, "native,age,remark\n\nYes,20,\nYse,20,\n"))
    assert "\n  data row 2: native is 'Yse', the nearest value is 'Yes'\n" in text


def test_a_file_whose_every_row_is_dropped_is_refused() -> None:
    assert "none of the 2 rows" in message(FRAME.assign(age=5), outside="drop")


def test_a_missing_column_is_named_with_the_columns_found_and_the_nearest() -> None:
    text = message(FRAME.rename(columns={"native": "Native"}))
    assert text == (
        "the table has no column named 'native' (did you mean 'Native'?); the columns found are 'Native', 'age'; "
        "an attribute whose column has another name says so in the policy, from: that name"
    )


def test_a_file_with_semicolons_is_recognised(tmp_path: Path) -> None:
    text = message(written(tmp_path, "native;age\nYes;20\n"))
    assert "the columns found are 'native;age'; a .csv file separates its cells by commas" in text


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array(["Yes"]), pa.array([20]), pa.array([21])], ["native", "age", "age"])
    pq.write_table(twice, tmp_path / "a.parquet")
    for table in (
        written(tmp_path, "native,age,age\nYes,20,21\n"),
        tmp_path / "a.parquet",
        twice,
        pd.DataFrame([["Yes", 20, 21]], columns=["native", "age", "age"]),
    ):
        assert "two columns named 'age'" in message(table)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"native": [1.0, 2.0]}, "column 'native' of the table must hold text, but holds double"),
        ({"native": [True, False]}, "native is 'true', accepted are 'Yes', 'No'"),
        (
            {"native": pd.to_datetime(["2020-01-01"] * 2)},
            "column 'native' of the table must hold text, but holds timest",
        ),
        ({"native": [b"Yes", b"No"]}, "column 'native' of the table must hold text, but holds binary"),
        ({"native": ["Yes", 5]}, "column 'native' of the DataFrame mixes types"),
        ({"age": ["17", "20"]}, "column 'age' of the table must hold numbers, but holds text; convert"),
        ({"age": [True, False]}, "column 'age' of the table must hold numbers, but holds bool; convert"),
        ({"age": [17, "x"]}, "column 'age' of the DataFrame mixes types"),
    ],
)
def test_a_column_of_wrong_type_is_refused(change: dict[str, Any], expected: str) -> None:
    assert expected in message(FRAME.assign(**change))


def test_a_parquet_column_of_wrong_type_is_refused(tmp_path: Path) -> None:
    FRAME.assign(age=["17", "90"]).to_parquet(tmp_path / "a.parquet")
    assert "column 'age' of '" in message(tmp_path / "a.parquet")


@pytest.mark.parametrize("count", ["1.5", "-1", "", "x", "1e3", "nan", "9223372036854775808"])
def test_a_count_that_is_no_whole_number_is_refused(tmp_path: Path, count: str) -> None:
    path = written(tmp_path, f"native,age,n\nYes,20,3\nYes,20,{count}\n")
    text = message(path, count_column="n")
    assert "1 of 2 rows do not say one" in text
    assert f"data row 2 (line 3): the count is {repr(count) if count else 'missing'}" in text


def test_a_count_column_of_wrong_type_or_sign_is_refused() -> None:
    assert "whole numbers of records, but holds double" in message(FRAME.assign(n=[1.0, 2.0]), count_column="n")
    assert "whole numbers of records, but holds text" in message(FRAME.assign(n=["1", "2"]), count_column="n")
    assert "data row 2: the count is '-2'" in message(FRAME.assign(n=[1, -2]), count_column="n")
    assert "no column named 'm'" in message(FRAME.assign(n=1), count_column="m")
    assert "must not be one of them" in message(FRAME, count_column="age")


@pytest.mark.parametrize("given", [3, ["n"], True])
def test_a_count_column_that_is_no_name_is_refused(given: object) -> None:
    with pytest.raises(WrongArgument, match="'count_column' is of type str"):
        histogram_of_table(FRAME.assign(n=1), UNIVERSE, count_column=given)  # type: ignore[arg-type]


def test_counts_beyond_int64_are_refused_and_never_wrap_around() -> None:
    half = 2**62
    assert "at most 9223372036854775807 records" in message(FRAME.assign(n=[half, half]), count_column="n")
    fits = histogram_of_table(FRAME.assign(n=[half, half - 1]), UNIVERSE, count_column="n")
    assert fits.total == int(fits.counts.sum()) == 2**63 - 1


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    assert "is empty; it should begin with a header" in message(written(tmp_path, ""))
    assert "has no rows" in message(written(tmp_path, "native,age\n"))
    assert "has no rows" in message(FRAME.iloc[:0])
    assert "first line of" in message(written(tmp_path, "\nnative,age\nYes,20\n"))


def test_a_missing_file_a_folder_and_a_special_file_are_refused(tmp_path: Path) -> None:
    assert message(tmp_path / "no.csv").endswith(f"no.csv' does not exist in the folder {tmp_path}")
    assert "is an address elsewhere" in message("https://example.org/a.csv")
    assert message(tmp_path).endswith("is a folder; name one file, or a folder of Parquet files")
    os.mkfifo(tmp_path / "pipe.csv")
    assert message(tmp_path / "pipe.csv").endswith("is not an ordinary file")
    assert "cannot be read" in message(tmp_path / ("x" * 300 + ".csv"))
    assert "a table is a file that ends in .csv" in message(written(tmp_path, "x", "a.sas7bdat"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("native,age\nYes,20\nYes\n", "line 3: the header has 2 columns, but this row has 1"),
        ("native,age\nYes,20\nYes,20,1\n", "line 3: the header has 2 columns, but this row has 3"),
        ('native,age\nYes,20\n"Yes,20\n', 'line 3: a cell that begins with " does not end with one'),
        ("native,age\r\nYes,20\nNo,20\r\n", "mixed"),
        ("native,age\nYés,20\n".encode("latin-1"), "it looks like Latin-1 (Windows-1252); convert it"),
        (b"native,age\n" + b"Yes,20\n" * 10**5 + b"Y\xe9s,20\n", "line 100002: not text in UTF-8"),
        ("native,age\nYes,20\n".encode("utf-16"), "is not text in UTF-8"),
    ],
)
def test_a_broken_text_file_is_refused(tmp_path: Path, content: str | bytes, expected: str) -> None:
    text = message(written(tmp_path, content))
    assert expected in text
    assert "strict_mode" not in text


def test_a_broken_compressed_or_parquet_file_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"native,age\n" + os.urandom(50_000).hex().encode())
    assert "is not compressed" in message(written(tmp_path, b"no gzip", "a.csv.gz"))
    assert "'" in message(written(tmp_path, whole[:-2000], "a.csv.gz"))
    assert "is no Parquet file" in message(written(tmp_path, b"no parquet", "a.parquet"))
    pq.write_table(pa.table({"native": ["Yes"] * 10**4, "age": [20] * 10**4}), tmp_path / "b.parquet")
    content = bytearray((tmp_path / "b.parquet").read_bytes())
    content[4:60] = os.urandom(56)
    assert message(written(tmp_path, bytes(content), "b.parquet"))


@pytest.mark.parametrize("table", [[1, 2], {"native"}, None, 5, b"a.csv"])
def test_what_is_no_table_is_refused(table: Any) -> None:
    assert "a table is the path of a file, a pandas or polars DataFrame" in message(table)


def test_an_unknown_way_with_outside_rows_is_refused() -> None:
    assert "outside is 'refuse' or 'drop'" in message(FRAME, outside="ignore")


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (np.array([1.0, 2.0, 3.0]), "holds float64"),
        (np.array([1.0, np.nan, 3.0]), "holds float64"),
        (np.array([True, False, True]), "holds bool"),
        (np.array(["1", "2", "3"]), "whole numbers"),
        (np.array([1, 2, 3], dtype=object), "whole numbers"),
        (np.array([1, -2, 3]), "possible record 1 has one"),
        (np.array([1, 2]), r"one row of 3 counts; this array has shape \(2,\)"),
        (np.array([[1, 2, 3]]), r"shape \(1, 3\)"),
        (np.array([2**62, 2**62, 0]), "at most"),
        (np.array([2**64 - 1, 0, 0], dtype=np.uint64), "at most"),
        (np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]), "masked"),
        (5, "shape"),
    ],
)
def test_an_array_that_is_no_histogram_is_refused(counts: Any, expected: str) -> None:
    with pytest.raises(DataError, match=expected):
        histogram_of_counts(counts, 3)


def test_an_array_takes_no_count_column() -> None:
    assert "leave count_column out" in message(np.zeros(148, dtype=np.int64), count_column="n")
