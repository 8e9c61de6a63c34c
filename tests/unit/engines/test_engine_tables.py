"""The same rows give the same histogram, whatever holds them."""

from __future__ import annotations

import gzip
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxgeom.engines import embedded
from dxgeom.engines.histogram import histogram_of_counts, histogram_of_table
from dxgeom.errors import DataError
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute, RangeAttribute
from dxgeom.universe.places import PointsAttribute
from dxgeom.universe.universe import Universe

WORDS = ("Yes", "No", 'it\'s, "odd"', " é\t")
UNIVERSE = Universe(
    (
        CategoricalAttribute("native", WORDS),
        RangeAttribute("age", Fraction(17), Fraction(90), Fraction(1)),
        BinnedAttribute("pay", (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(1))),
    )
)

Row = tuple[str, int, float]
ROWS = st.lists(
    st.tuples(st.sampled_from(WORDS), st.integers(17, 90), st.floats(0, 1).map(lambda pay: round(pay, 4))), min_size=1
)


def frame_of(rows: list[Row]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["native", "age", "pay"])


def expected(rows: list[Row]) -> list[int]:
    """One row after the other, from the definition."""

    def cell(pay: float) -> int:
        return 0 if Fraction(str(pay)) < Fraction(1, 10) else 1 if pay < 0.5 else 2

    counts = Counter((WORDS.index(native) * 74 + age - 17) * 3 + cell(pay) for native, age, pay in rows)
    return [counts[index] for index in range(UNIVERSE.size)]


@given(ROWS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_kind_of_table_gives_the_histogram_of_its_definition(tmp_path: Path, rows: list[Row]) -> None:
    frame = frame_of(rows)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "a.csv.gz", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    tables: list[Any] = [tmp_path / f"a.{ending}" for ending in ("csv", "tsv", "csv.gz", "parquet")]
    tables += [str(tmp_path / "a.csv"), frame, pa.Table.from_pandas(frame), frame.astype({"native": "category"})]
    tables += [frame[["pay", "native", "age"]].assign(further=1), frame.astype({"age": float}), frame.astype(object)]
    for table in tables:
        histogram = histogram_of_table(table, UNIVERSE)
        assert histogram.counts.tolist() == expected(rows)
        assert (histogram.total, histogram.dropped) == (len(rows), 0)
        assert histogram_of_table(histogram.counts, UNIVERSE).counts.tolist() == expected(rows)


@given(st.lists(st.tuples(ROWS.map(lambda rows: rows[0]), st.integers(0, 2**40)), min_size=1))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_count_column_stands_for_as_many_rows(tmp_path: Path, counted: list[tuple[Row, int]]) -> None:
    rows = [row for row, _ in counted]
    frame = frame_of(rows).assign(n=[count for _, count in counted])
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    truth = np.zeros(UNIVERSE.size, dtype=object)
    for row, count in counted:
        truth[expected([row]).index(1)] += count
    for table in (tmp_path / "a.csv", tmp_path / "a.parquet", frame, frame.astype({"n": "uint64"})):
        histogram = histogram_of_table(table, UNIVERSE, count_column="n")
        assert histogram.counts.tolist() == truth.tolist()
        assert histogram.total == sum(count for _, count in counted)


@given(st.lists(st.tuples(st.sampled_from([*WORDS, "nein", "", None]), st.one_of(st.none(), st.integers(0, 120)))))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_dropped_and_counted_rows_add_up(tmp_path: Path, rows: list[tuple[str | None, int | None]]) -> None:
    inside = [row for row in rows if row[0] in WORDS and row[1] is not None and 17 <= row[1] <= 90]
    universe = Universe(UNIVERSE.attributes[:2])
    table = pa.table(
        {"native": pa.array([a for a, _ in rows], pa.string()), "age": pa.array([b for _, b in rows], pa.int64())}
    )
    table.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    for source in (table, tmp_path / "a.csv"):
        if not inside:
            with pytest.raises(DataError, match=r"has no rows|none of the"):
                histogram_of_table(source, universe, outside="drop")
            continue
        histogram = histogram_of_table(source, universe, outside="drop")
        assert (histogram.total, histogram.dropped) == (len(inside), len(rows) - len(inside))
        assert histogram.counts.sum() == len(inside)


def test_missing_cells_of_every_kind_are_outside() -> None:
    good = {"native": "Yes", "age": 20.0, "pay": 0.5}
    for name, value in [("native", None), ("native", ""), ("age", math.nan), ("pay", None), ("age", math.inf)]:
        frame = pd.DataFrame([good, {**good, name: value}])
        histogram = histogram_of_table(frame, UNIVERSE, outside="drop")
        assert (histogram.total, histogram.dropped) == (1, 1)
        with pytest.raises(DataError, match=rf"1 of 2 rows is outside .*\n  data row 2: {name} is"):
            histogram_of_table(frame, UNIVERSE)


def test_a_column_without_any_value_is_outside_and_not_of_wrong_type() -> None:
    frame = pd.DataFrame({"native": ["Yes"], "age": [None], "pay": [0.5]})
    with pytest.raises(DataError, match="age is missing, accepted are numbers from 17 to 90"):
        histogram_of_table(frame, UNIVERSE)


def test_keys_that_look_like_numbers_are_text_letter_for_letter(tmp_path: Path) -> None:
    places = PointsAttribute("city", ("4049979", "007", "1e3"), "plane", np.zeros((3, 2)), "km")
    (tmp_path / "a.csv").write_text("city\n4049979\n007\n007\n1e3\n")
    assert histogram_of_table(tmp_path / "a.csv", Universe((places,))).counts.tolist() == [1, 2, 1]
    for kind in (np.int64, np.uint8, np.int32):
        table = pd.DataFrame({"city": np.array([7, 7], dtype=kind)})
        with pytest.raises(DataError, match=r"2 of 2 rows are outside"):
            histogram_of_table(table, Universe((places,)))
    whole = pd.DataFrame({"city": np.array([4049979, 4049979])})
    assert histogram_of_table(whole, Universe((places,))).counts.tolist() == [2, 0, 0]


def test_words_of_a_late_row_do_not_change_how_earlier_rows_are_read(tmp_path: Path) -> None:
    universe = Universe((CategoricalAttribute("code", ("01", "1", "x")),))
    (tmp_path / "a.csv").write_text("code\n" + "01\n" * 300_000 + "x\n1\n")
    assert histogram_of_table(tmp_path / "a.csv", universe).counts.tolist() == [300_000, 1, 1]


def test_columns_that_differ_only_in_case_are_told_apart(tmp_path: Path) -> None:
    universe = Universe((CategoricalAttribute("A", ("x", "y")),))
    table = pa.table({"a": ["y"], "A": ["x"], "b": [None]})
    pq.write_table(table, tmp_path / "a.parquet")
    table.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    for source in (table, table.to_pandas(), tmp_path / "a.parquet", tmp_path / "a.csv"):
        assert histogram_of_table(source, universe).counts.tolist() == [1, 0]


def test_decimals_and_narrow_types_are_numbers() -> None:
    universe = Universe(UNIVERSE.attributes[2:])
    exact = pa.array(["0.1", "0.5"]).cast(pa.decimal128(4, 2))
    narrow = pa.array([0.25, 0.5], pa.float32())
    whole = pa.array([0, 1], pa.uint8())
    assert histogram_of_table(pa.table({"pay": exact}), universe).counts.tolist() == [0, 1, 1]
    assert histogram_of_table(pa.table({"pay": narrow}), universe).counts.tolist() == [0, 1, 1]
    assert histogram_of_table(pa.table({"pay": whole}), universe).counts.tolist() == [1, 0, 1]


class OtherFrame:
    """Any table that offers Arrow's stream interface, as polars does."""

    def __init__(self, table: pa.Table) -> None:
        self.columns = table.schema.names
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def test_a_table_with_the_arrow_stream_interface_is_read() -> None:
    rows: list[Row] = [("Yes", 17, 0.1), ("No", 90, 1.0)]
    frame = OtherFrame(pa.Table.from_pandas(frame_of(rows)))
    assert histogram_of_table(frame, UNIVERSE).counts.tolist() == expected(rows)


def test_file_names_are_taken_literally(tmp_path: Path) -> None:
    universe = Universe((CategoricalAttribute("a", ("x", "y")),))
    (tmp_path / "part1.csv").write_text("a\ny\n")
    for name in ("part[1].csv", "part*.csv", "part?.csv", "it's.csv", "ü ;--.csv", "{a,b}.CSV"):
        (tmp_path / name).write_text("a\nx\n")
        assert histogram_of_table(tmp_path / name, universe).counts.tolist() == [1, 0]
    (tmp_path / "a=y").mkdir()
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "a=y" / "f.parquet")
    assert histogram_of_table(tmp_path / "a=y" / "f.parquet", universe).counts.tolist() == [1, 0]


def test_byte_order_marks_and_windows_line_endings_are_read(tmp_path: Path) -> None:
    universe = Universe((CategoricalAttribute("a", ("x", "y")),))
    (tmp_path / "a.csv").write_bytes("\ufeffa,b\r\nx,1\r\ny,2\r\nx,3".encode())
    assert histogram_of_table(tmp_path / "a.csv", universe).counts.tolist() == [2, 1]


def test_a_table_too_varied_to_group_in_memory_is_counted_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 1_500_000
    table = pa.table({"x": np.arange(n), "w": pa.array([f"word {k % 7}" for k in range(n)])})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=100_000)
    edges = (Fraction(0), Fraction(10), Fraction(n))
    universe = Universe((BinnedAttribute("x", edges), CategoricalAttribute("w", tuple(f"word {k}" for k in range(7)))))
    monkeypatch.setitem(embedded._SETTINGS, "memory_limit", "60MB")
    counts = histogram_of_table(tmp_path / "a.parquet", universe).counts
    assert counts[:7].tolist() == [2, 2, 2, 1, 1, 1, 1]
    assert counts.sum() == n


def test_nothing_is_left_on_disk_and_nothing_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with gzip.open(tmp_path / "a.csv.gz", "wt") as stream:
        stream.write("native,age,pay\nYes,17,0.1\n" + "bad,1,1\n" * 10)
    histogram = histogram_of_table("a.csv.gz", UNIVERSE, outside="drop")
    assert "counts" not in repr(histogram)
    assert repr(histogram) == "Histogram(total=1, dropped=10)"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv.gz"]
    assert capfd.readouterr() == ("", "")


def test_a_histogram_cannot_be_changed() -> None:
    given_counts = np.array([1, 2, 3])
    histogram = histogram_of_counts(given_counts, 3)
    given_counts[0] = 100
    assert (histogram.counts.tolist(), histogram.total) == ([1, 2, 3], 6)
    with pytest.raises(ValueError, match="read-only"):
        histogram.counts[0] = 5
