"""Rows of people come together person by person, or the first of each, as they do row by row in Python."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.rows_of_people import People, PeopleBatch, RefusedPeople, gathered, kept, people_in

from dxgeom.engines import embedded
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.opening import opened
from dxgeom.engines.people import columns_of
from dxgeom.engines.reading import plan_reading
from dxgeom.errors import DataError
from dxgeom.universe.attributes import OUTSIDE, CategoricalAttribute
from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute
from dxgeom.universe.universe import Universe

UNIVERSE = Universe(
    (CategoricalAttribute("w", ("x", "y")), BinnedAttribute("n", (Fraction(0), Fraction(1), Fraction(10))))
)
ONCE = People("who", "once")
Row = tuple[Any, str | None, float, Any]
rows = st.lists(
    st.tuples(
        st.one_of(st.integers(1, 6), st.none()) | st.integers(1, 6),
        *(st.sampled_from(["x", "y", "z"]), st.sampled_from([0.5, 5.0, 50.0]), st.integers(0, 40)),
    ),
    min_size=1,
)


def table_of(rows: list[Row]) -> pa.Table:
    names = ("who", "w", "n", "at")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def records_of(rows: list[Row]) -> list[int]:
    codes = [np.array([one.encode([row[k + 1]])[0] for row in rows]) for k, one in enumerate(UNIVERSE.attributes)]
    return UNIVERSE.indices_of(codes).tolist()


def everybody(table: Any, people: People = ONCE) -> list[PeopleBatch]:
    with opened(table, (*UNIVERSE.reading.columns, *columns_of(people))) as source:
        return list(people_in(plan_reading(source, UNIVERSE, None), people))


def told(batches: list[PeopleBatch]) -> list[tuple[tuple[int, int], ...]]:
    found = []
    for batch in batches:
        assert batch.starts[0] == 0 and batch.starts[-1] == len(batch.records) == len(batch.rows)
        for first, end in zip(batch.starts[:-1], batch.starts[1:], strict=True):
            found.append(tuple(zip(batch.records[first:end].tolist(), batch.rows[first:end].tolist(), strict=True)))
    return sorted(found)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_each_person_comes_once_with_all_rows(rows: list[Row]) -> None:
    try:
        wanted = gathered([row[0] for row in rows], records_of(rows))
    except RefusedPeople:
        with pytest.raises(DataError, match="every row belongs to a person, named by 'who'"):
            everybody(table_of(rows))
    else:
        assert told(everybody(table_of(rows))) == wanted


@settings(max_examples=60, deadline=None)
@given(rows, st.sampled_from([People("who", "rows", m, "at") for m in (1, 2, 5)] + [People("who", "single")]))
@pytest.mark.long
def test_rows_that_count_are_the_first_of_each_person(rows: list[Row], people: People) -> None:
    places = [row[3] for row in rows]
    try:
        chosen = kept(people, [row[0] for row in rows], places)
    except RefusedPeople:
        with pytest.raises(DataError, match=r"every row belongs to|at the same place|has a single row"):
            histogram_of_table(table_of(rows), UNIVERSE, outside="drop", people=people)
        return
    records = [record for row, record in enumerate(records_of(rows)) if row in chosen]
    inside = [record for record in records if record != OUTSIDE]
    if not inside:
        with pytest.raises(DataError, match=r"none of the rows"):
            histogram_of_table(table_of(rows), UNIVERSE, outside="drop", people=people)
        return
    found = histogram_of_table(table_of(rows), UNIVERSE, outside="drop", people=people)
    assert found.counts.tolist() == np.bincount(inside, minlength=UNIVERSE.size).tolist()
    assert found.dropped == len(records) - len(inside)


def test_people_who_span_batches_are_put_together() -> None:
    random = np.random.default_rng(7)
    who = np.concatenate([np.full(300_000, 3), random.integers(4, 40_000, 200_000), np.full(50_000, 50_000)])
    rows = pa.table({"who": who, "w": np.where(who % 2, "x", "y"), "n": random.random(len(who)) * 10})
    batches = everybody(rows)
    people = sum(len(batch.starts) - 1 for batch in batches)
    assert people == len(np.unique(who))
    assert sum(int(batch.rows.sum()) for batch in batches) == len(who)
    assert max(int(np.add.reduceat(batch.rows, batch.starts[:-1]).max()) for batch in batches) == 300_000


@pytest.mark.long
def test_people_who_do_not_fit_into_memory_together_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"who": [f"person {k % 700_000}" for k in range(10**6)], "w": ["x"] * 10**6, "n": [1.0] * 10**6})
    monkeypatch.setitem(embedded._SETTINGS, "memory_limit", "40MB")
    batches = everybody(table)
    assert sum(len(batch.starts) - 1 for batch in batches) == 700_000
    assert sum(int(batch.rows.sum()) for batch in batches) == 10**6


@pytest.mark.parametrize(
    ("who", "place", "people", "message"),
    [
        ([1.5], [1], ONCE, "column 'who' of the table must hold text or whole numbers that say whose a row is"),
        ([""], [1], ONCE, "rows of the table name nobody"),
        ([7, 7, 8, 8], [1, 2, 3, 4], People("who", "single"), "'who' of the table names somebody on more than one"),
        (
            ["b", "b", "a", "a"],
            [1, 1, 2, 2],
            People("who", "rows", 2, "at"),
            "two rows of somebody in 'who' at the same place",
        ),
        ([1, 1], [None, 2], People("who", "rows", 2, "at"), "is told by 'at', but rows of the table say none"),
        ([1], [float("nan")], People("who", "rows", 2, "at"), "is told by 'at', but rows of the table say none"),
        ([1], [True], People("who", "rows", 2, "at"), "must hold numbers, text, dates or moments"),
        ([1], [1], People("whose", "single"), "no column named 'whose' .did you mean 'who'"),
    ],
)
def test_rows_that_are_not_what_is_stated_are_refused(who: Any, place: Any, people: People, message: str) -> None:
    table = pa.table({"who": who, "w": ["x"] * len(who), "n": [1.0] * len(who), "at": place})
    with pytest.raises(DataError, match=message):
        everybody(table, people) if people is ONCE else histogram_of_table(table, UNIVERSE, people=people)


def test_no_message_tells_how_many_rows_people_have() -> None:
    table = table_of([(1, "z", 5.0, 1), (1, "x", 5.0, 2), (2, "x", 0.5, 1)])
    with pytest.raises(DataError) as caught:
        histogram_of_table(table, UNIVERSE, people=People("who", "rows", 2, "at"))
    assert str(caught.value).startswith("Some rows are outside the policy's universe (the table):\n  data row 1: w is")


def test_numbers_in_a_text_file_are_in_the_order_of_numbers(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_text("who,w,n,at\n1,x,1,10\n1,y,1,9\n2,x,1,b\n2,y,1,07\n")
    found = histogram_of_table(tmp_path / "a.csv", UNIVERSE, people=People("who", "rows", 1, "at"))
    assert found.counts.tolist() == [0, 0, 0, 2]


def test_rows_are_chosen_before_anything_is_dropped() -> None:
    table = table_of([(1, "z", 5.0, 1), (1, "x", 5.0, 2), (2, "x", 0.5, 1)])
    found = histogram_of_table(table, UNIVERSE, outside="drop", people=People("who", "rows", 1, "at"))
    assert (found.total, found.dropped) == (1, 1)


def test_relations_are_gathered_in_one_pass() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE SEQUENCE worked_out")
    relation = connection.sql("SELECT i % 10 AS who, 'x' AS w, nextval('worked_out') * 0 + 1 AS n FROM range(50) r(i)")
    assert sum(len(batch.starts) - 1 for batch in everybody(relation)) == 10
    assert connection.sql("SELECT nextval('worked_out')").fetchall() == [(51,)]
