"""DuckDB relations and Ibis tables flow by: nothing is fetched for their names, and each row is worked out once."""

from __future__ import annotations

from contextlib import closing
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxgeom.engines import embedded
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.numbers.numeric_attributes import RangeAttribute
from dxgeom.universe.universe import Universe

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
"""Ibis asks DuckDB for the columns of a view in a way that DuckDB calls outdated."""

WORDS = Universe((CategoricalAttribute("a", ("x", "y")),))
BOTH = Universe(
    (CategoricalAttribute('a "b', ("x", "y")), RangeAttribute("n.m", Fraction(0), Fraction(9), Fraction(1)))
)
ROWS = """SELECT CASE WHEN i % 3 = 0 THEN 'x' ELSE 'y' END AS "a ""b", i % 10 AS "n.m", random() AS more
    FROM range(1000) r(i)"""


def relation_of(sql: str) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().sql(sql)


def ibis_of(sql: str) -> Any:
    connection = ibis.duckdb.connect()
    connection.con.execute(f"CREATE VIEW people AS {sql}")
    return connection.table("people")


def in_memory(sql: str) -> Any:
    return ibis.memtable(relation_of(sql).to_arrow_table())


@pytest.mark.parametrize("made", [relation_of, ibis_of, in_memory])
def test_relations_count_as_the_table_they_stand_for(made: Any) -> None:
    table = relation_of(ROWS).to_arrow_table()
    assert np.array_equal(histogram_of_table(made(ROWS), BOTH).counts, histogram_of_table(table, BOTH).counts)


@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")
def test_an_ibis_table_of_another_engine_is_read() -> None:
    connection = ibis.sqlite.connect()
    with closing(connection.con):
        connection.create_table("people", ibis.memtable({"a": ["x", "y", "y"]}))
        assert histogram_of_table(connection.table("people"), WORDS).counts.tolist() == [1, 2]


@pytest.mark.parametrize("made", [relation_of, ibis_of])
def test_a_missing_column_is_told_without_working_out_the_relation(made: Any) -> None:
    with pytest.raises(DataError, match=r"has no column named 'a'; the columns found are 'b'; an attribute whose"):
        histogram_of_table(made("SELECT error('it was worked out') AS b FROM range(3)"), WORDS)


@pytest.mark.parametrize("made", [relation_of, ibis_of])
def test_a_relation_that_fails_on_the_way_is_refused(made: Any) -> None:
    with pytest.raises(DataError, match=r"the table cannot be read: .*it was worked out"):
        histogram_of_table(made("SELECT error('it was worked out') AS a FROM range(3)"), WORDS)


def test_each_row_of_a_relation_is_worked_out_once() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE SEQUENCE worked_out")
    rows = connection.sql("SELECT CASE WHEN nextval('worked_out') > 0 THEN 'x' END AS a FROM range(5000)")
    assert histogram_of_table(rows, WORDS).counts.tolist() == [5000, 0]
    assert connection.sql("SELECT nextval('worked_out')").fetchall() == [(5001,)]


def test_rows_of_a_relation_outside_the_universe_are_told_and_its_connection_is_free_again() -> None:
    connection = duckdb.connect()
    rows = connection.sql("SELECT CASE WHEN i = 70000 THEN 'z' ELSE 'x' END AS a FROM range(100000) r(i)")
    for _ in range(2):
        with pytest.raises(DataError, match="data row 70001: a is 'z', accepted are 'x', 'y'"):
            histogram_of_table(rows, WORDS)
        assert connection.sql("SELECT 1").fetchall() == [(1,)]
    assert histogram_of_table(rows, WORDS, outside="drop").counts.tolist() == [99999, 0]


def test_a_relation_too_varied_to_group_in_memory_is_counted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    universe = Universe((RangeAttribute("x", Fraction(0), Fraction(10**7), Fraction(10**6)), *WORDS.attributes))
    rows = relation_of("SELECT i AS x, CASE WHEN i % 2 = 0 THEN 'x' ELSE 'y' END AS a FROM range(1500000) r(i)")
    monkeypatch.setitem(embedded._SETTINGS, "memory_limit", "40MB")
    counts = histogram_of_table(rows, universe).counts
    assert counts.tolist() == [500_000, 500_000, 250_000, 250_000, *[0] * 18]


@pytest.mark.parametrize("index", [pa.uint32(), pa.uint8()])
def test_words_that_polars_keeps_as_categories_are_read(index: pa.DataType) -> None:
    """A Categorical comes as 32-bit codes of a view of its words, an Enum as 8-bit ones in order."""
    words = pa.array(["x", "y", "z"], pa.string_view())
    codes = [pa.array([0, 1, None, 1], index), pa.array([1, 1], index)]
    column = pa.chunked_array(
        [pa.DictionaryArray.from_arrays(part, words, ordered=index == pa.uint8()) for part in codes]
    )
    frame = pa.table({"a": column})
    assert histogram_of_table(frame, WORDS, outside="drop").counts.tolist() == [1, 4]
    with pytest.raises(DataError, match="data row 3: a is missing"):
        histogram_of_table(frame, WORDS)


def test_categories_without_a_word_are_missing() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.nulls(0))
    with pytest.raises(DataError, match="2 of 2 rows are outside"):
        histogram_of_table(pa.table({"a": column}), WORDS)


NOTHING = pa.table({"a": pa.nulls(3), "n": pa.nulls(3), "d": pa.nulls(3)})


def parquet_of_nothing(folder: Path) -> Path:
    pq.write_table(NOTHING, folder / "nothing.parquet")
    return folder / "nothing.parquet"


@pytest.mark.parametrize(
    "made",
    [
        lambda _: NOTHING,
        lambda _: duckdb.connect().sql("SELECT NULL AS a, NULL AS n, NULL AS d FROM range(3)"),
        lambda _: duckdb.connect().from_arrow(NOTHING),
        lambda _: ibis.memtable(NOTHING),
        parquet_of_nothing,
    ],
)
def test_a_column_that_never_held_a_value_is_missing_in_every_row(made: Any, tmp_path: Path) -> None:
    days = DateAttribute("d", date(2024, 1, 1), date(2024, 1, 2), 1)
    numbers = RangeAttribute("n", Fraction(0), Fraction(1), Fraction(1))
    universe = Universe((*WORDS.attributes, numbers, days))
    with pytest.raises(DataError, match=r"3 of 3 rows are outside .*\n.*a is missing.*n is missing.*d is missing"):
        histogram_of_table(made(tmp_path), universe)
