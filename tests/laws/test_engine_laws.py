"""Whatever engine holds a table, its histogram is the same to the last record, and so is what is refused.

Every engine inherits the suite; those on servers run where their server does (make test-services).
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from reference.rows_of_people import People, people_in
from services.tables import HERE, SERVERS

import dxgeom as dx
from dxgeom.engines import counted_tables
from dxgeom.engines.counted_tables import Cells, table_counts, tallied_by_row, tallied_in_groups
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.likenesses import repeated_identifiers
from dxgeom.engines.opening import ENGINES, engine_of, opened
from dxgeom.engines.people import columns_of
from dxgeom.engines.reading import plan_reading
from dxgeom.errors import DataError
from dxgeom.universe.people.people import People as StatedPeople
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.whole_tables import MarginalQueries


def test_no_engine_escapes_the_suite() -> None:
    assert {engine.name for engine in ENGINES} == {"DuckDB", *SERVERS}


def universe_of(*attributes: str) -> Universe:
    listed = "".join(f"    {attribute}\n" for attribute in attributes)
    text = f"policy: p\nunconnected: allow\nuniverse:\n  attributes:\n{listed}rules: []\n"
    return dx.parse_policy(text).universe


WORDS = ["x", "X", "x ", "ä", "a\u0308", "it's", 'say "so"', "a\nb", "\\N", "NULL", "名", "", None, "x", "y,z", "1"]
EDGES = [k / 10 for k in range(-3, 35)]
NUMBERS = [
    *(float(np.nextafter(edge, to)) for edge in EDGES for to in (-9, 9)),
    *(*EDGES, 0.0, -0.0, float("nan"), None, float("inf"), -float("inf"), 5e-324, 1e300, -1e300, 0.30000000000000004),
]
WHOLE = [*range(-5, 40), None, 2**53 + 1, -(2**62), 2**63 - 1, 17, 17]
MOMENTS = [
    *(datetime.datetime(2024, 3, 30, 21) + datetime.timedelta(minutes=47 * k) for k in range(200)),
    *(datetime.datetime(1970, 1, 1), datetime.datetime(1890, 6, 1, 0, 0, 1), None),
]
DAYS = [datetime.date(2024, 2, 27) + datetime.timedelta(k) for k in range(20)]
DECIMALS = [Decimal(k) / 20 for k in range(-10, 70)] + [None, Decimal("0.30"), Decimal("99999999.99")]


def instants(moments: list[Any]) -> pa.Array:
    return pa.array(moments, pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))


TABLES: dict[str, tuple[Universe, pa.Table]] = {
    "words": (
        universe_of(
            'w: {values: [x, X, "x ", ä, "a\\u0308", "it\'s", "say \\"so\\"", "a\\nb", "\\\\N", "NULL", 名, '
            '"y,z", "1"], missing: {epsilon: 1}}'

        ),
        pa.table({"w": WORDS * 3}),
    ),
    "words that are listed nowhere": (
        universe_of("w: {values: [x, y], unlisted: other, missing: public}"),
        pa.table({"w": WORDS}),
    ),
    "decimals in a range": (
        universe_of("n: {range: [0, 3], step: 0.1, missing: {epsilon: 1}}"),
        pa.table({"n": NUMBERS}),
    ),
    "decimals in bins": (universe_of("n: {bins: [-0.1, 0, 0.3, 0.7, 3]}"), pa.table({"n": NUMBERS})),
    "clamped decimals": (
        universe_of("n: {range: [0, 3], step: 0.3, clamp: true, missing: public}"),
        pa.table({"n": NUMBERS}),
    ),
    "short floats": (universe_of("n: {range: [0, 3], step: 0.1}"), pa.table({"n": pa.array(EDGES, pa.float32())})),
    "exact decimals": (
        universe_of("n: {range: [0, 3], step: 0.05}"),
        pa.table({"n": pa.array(DECIMALS, pa.decimal128(10, 2))}),
    ),
    "long decimals": (
        universe_of("n: {range: [0, 3], step: 0.05}"),
        pa.table({"n": pa.array(DECIMALS, pa.decimal128(30, 12))}),
    ),
    "whole numbers": (universe_of("n: {range: [0, 30], step: 1}"), pa.table({"n": pa.array(WHOLE, pa.int64())})),
    "whole numbers in wide bins": (
        universe_of("n: {bins: [0, 2, 5, 5000000], missing: public}"),
        pa.table({"n": pa.array(WHOLE, pa.int64())}),
    ),
    "narrow whole numbers as words": (
        universe_of('w: ["0", "7", "11"]'),
        pa.table({"w": pa.array([0, 7, 7, 11, 12, None], pa.int16())}),
    ),
    "truth as words": (universe_of('w: ["true", "false"]'), pa.table({"w": [True, False, None, True]})),
    "days": (
        universe_of("d: {dates: [2024-02-28, 2024-03-10], step: 3}"),
        pa.table({"d": pa.array([*DAYS, None], pa.date32())}),
    ),
    "days in words": (
        universe_of("d: {dates: [2024-02-28, 2024-03-10], step: 3}"),
        pa.table({"d": [*map(str, DAYS), "2024-02-30", "29.2.2024", "", None]}),
    ),
    "days of moments": (
        universe_of("d: {dates: [2024-03-30, 2024-04-03], step: 1}"),
        pa.table({"d": pa.array(MOMENTS, pa.timestamp("us"))}),
    ),
    "hours": (
        universe_of("h: {range: [0, 23], step: 1, from: at, as: hour, missing: public}"),
        pa.table({"at": pa.array(MOMENTS, pa.timestamp("us"))}),
    ),
    "hours and days of a zone": (
        universe_of(
            "h: {range: [0, 23], step: 1, from: at, as: hour, zone: America/New_York, missing: public}",
            "d: {dates: [2024-03-29, 2024-04-08], step: 1, from: at, zone: Europe/Berlin}",
        ),
        pa.table({"at": instants(MOMENTS)}),
    ),
    "moments in words": (
        universe_of("h: {range: [0, 23], step: 1, from: at, as: hour}"),
        pa.table({"at": [*(str(one) for one in MOMENTS), "2024-13-01 00:00", "x"]}),
    ),
    "beginnings of words": (
        universe_of("w: {values: [ab, äö], from: v, prefix: 2}"), pa.table({"v": ["abc", "äöü", "b"]})
    ),
    "arithmetic": (
        universe_of("n: {range: [0, 3], step: 0.1, from: a / b, missing: public}"),
        pa.table({"a": NUMBERS, "b": [*NUMBERS[3:], *NUMBERS[:3]]}),
    ),
    "several columns": (
        universe_of(
            "w: {values: [x, X, ä], unlisted: rest, missing: public}",
            "n: {range: [0, 3], step: 0.5, missing: public}",
        ),
        pa.table({"n": NUMBERS, "more": NUMBERS, "w": [WORDS[k % 16] for k in range(len(NUMBERS))]}),
    ),
}  # fmt: skip


def digest(counts: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(counts.astype("<i8").tobytes()).hexdigest()


@cache
def histogram_of_frame(name: str) -> Any:
    """What every engine must find: the histogram of the table as it is."""
    universe, table = TABLES[name]
    return histogram_of_table(table, universe, outside="drop")


@pytest.mark.parametrize("name", TABLES)
def test_the_histogram_is_the_same_to_the_last_record(keep: Callable[[pa.Table], Any], name: str) -> None:
    universe, table = TABLES[name]
    wanted = histogram_of_frame(name)
    found = histogram_of_table(keep(table), universe, outside="drop")
    assert (digest(found.counts), found.total, found.dropped) == (digest(wanted.counts), wanted.total, wanted.dropped)


def refusal(
    table: Any, universe: Universe, read: Callable[[Any], Any] | None = None, **options: Any
) -> tuple[str, frozenset[str]]:
    """What is said, and the examples of rows, whatever the table and its rows are called."""
    with pytest.raises(DataError) as caught:
        histogram_of_table(table, universe, **options) if read is None else read(table)
    text = re.sub(r"the table '[^']*'|'/[^']*\.parquet'", "the table", str(caught.value))
    lines = [re.sub(r"  (data row \d+|a row): ", "  ", line) for line in text.splitlines()]
    return "\n".join(line for line in lines if line[:2] != "  "), frozenset(line for line in lines if line[:2] == "  ")


BAD: dict[str, tuple[Universe, pa.Table, dict[str, Any]]] = {
    "outside": (
        universe_of("w: [x, y]", "n: {range: [0, 3], step: 0.1}"),
        pa.table({"w": ["x", "z", "y", "x", None], "n": [1.0, 2.0, 16.5, float("nan"), 0.5]}), {},
    ),
    "numbers that are far": (
        universe_of("n: {range: [0, 3], step: 1}"), pa.table({"n": [1e21, -1e-7, 123456789.125, float("inf")]}), {}
    ),
    "whole numbers, days and moments": (
        universe_of("n: {range: [0, 3], step: 1}", "d: {dates: [2024-02-28, 2024-03-10], step: 1}"),
        pa.table({"n": [1, 9, 2], "d": pa.array([DAYS[0], DAYS[2], DAYS[19]], pa.date32())}), {},
    ),
    "no rows": (universe_of("w: [x, y]"), pa.table({"w": pa.array([], pa.string())}), {}),
    "nobody": (universe_of("w: [x, y]"), pa.table({"w": ["z"]}), {"outside": "drop"}),
    "no column": (universe_of("w: [x, y]"), pa.table({"W": ["x"]}), {}),
    "text for numbers": (universe_of("n: {range: [0, 3], step: 1}"), pa.table({"n": ["1"]}), {}),
    "numbers for text": (universe_of("w: [x, y]"), pa.table({"w": [1.5]}), {}),
    "truth for numbers": (universe_of("n: {range: [0, 3], step: 1}"), pa.table({"n": [True]}), {}),
    "more than 2⁶³": (
        universe_of("w: [x, y]"), pa.table({"w": ["x", "y"], "k": [2**62, 2**62]}), {"count_column": "k"}
    ),
    "counts below 0": (universe_of("w: [x, y]"), pa.table({"w": ["x", "y"], "k": [3, -2]}), {"count_column": "k"}),
    "people without a name": (
        universe_of("w: [x, y]"), pa.table({"w": ["x", "y"], "who": [3, None]}), {"people": People("who", "single")}
    ),
    "a second row": (
        universe_of("w: [x, y]"), pa.table({"w": ["x"] * 4, "who": ["é", "z", "é", "z"]}),
        {"people": People("who", "single")},
    ),
    "a tie": (
        universe_of("w: [x, y]"), pa.table({"w": ["x"] * 3, "who": [3, 3, 1], "at": [1.5, 1.5, 1.5]}),
        {"people": People("who", "rows", 2, "at")},
    ),
    "no place in the order": (
        universe_of("w: [x, y]"), pa.table({"w": ["x"] * 2, "who": [3, 3], "at": [1.5, float("nan")]}),
        {"people": People("who", "rows", 2, "at")},
    ),
}  # fmt: skip


@cache
def refusal_of_frame(name: str) -> tuple[str, frozenset[str]]:
    """What every engine must say."""
    universe, table, options = BAD[name]
    return refusal(table, universe, **options)


def tables_of(universe: Universe) -> MarginalQueries:
    """Every attribute's own table, and that of all."""
    names = [name for name, attribute in zip(universe.names, universe.attributes, strict=True) if attribute.size > 1]
    return MarginalQueries.of(universe, [*([name] for name in names), *([names] if len(names) > 1 else []), []])


@pytest.mark.parametrize("most", [0, counted_tables.MOST_GROUPINGS], ids=["row by row", "grouped"])
@pytest.mark.parametrize("name", TABLES)
def test_whole_tables_are_what_the_histogram_adds_up_to(
    keep: Callable[[pa.Table], Any], name: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_tables, "MOST_GROUPINGS", most)
    universe, table = TABLES[name]
    histogram = histogram_of_frame(name)
    counts = histogram.counts.reshape(universe.shape)
    kept, queries = keep(table), tables_of(universe)
    found = table_counts(kept, queries, outside="drop")
    for one, cells in zip(queries.attribute_sets, found.cells, strict=True):
        axes = [queries.columns[place].axis for place in one]
        whole = counts.sum(axis=tuple(axis for axis in range(counts.ndim) if axis not in axes))
        assert np.array_equal(cells, whole.ravel())
    assert (found.total, found.dropped) == (histogram.total, histogram.dropped)


def test_whole_tables_of_sound_rows_are_grouped_where_rows_are(keep: Callable[[pa.Table], Any]) -> None:
    universe = universe_of("w: [x, y]", "n: {range: [0, 3], step: 0.1}", "u: [a, b]")
    random = np.random.default_rng(8)
    columns = {"w": random.choice(["x", "y"], 3000), "n": random.random(3000) * 3, "u": random.choice(["a", "b"], 3000)}
    kept = keep(pa.table(columns))
    queries = MarginalQueries.of(universe, [["w", "n"], ["n"], []])
    with opened(kept, universe.reading.columns) as source:
        reader = plan_reading(source, universe, None)
        found, by_row = tallied_in_groups(reader, queries), tallied_by_row(reader, Cells(queries), None)
        flows_by = source.anew is not None and source.there is None
    assert (found is None) == flows_by
    if found is not None:
        assert np.array_equal(found.counts, by_row.counts)
        assert (found.total, found.rows, found.outside_rows) == (by_row.total, by_row.rows, 0)


@pytest.mark.parametrize("name", BAD)
def test_whole_tables_refuse_in_the_words_of_histograms(keep: Callable[[pa.Table], Any], name: str) -> None:
    universe, table, options = BAD[name]
    stated = options.get("people")
    if stated is not None:
        people = StatedPeople(stated.column, stated.count, stated.at_most, stated.order)
        universe = replace(universe, stated_reading=replace(universe.reading, people=people))
    more = {key: value for key, value in options.items() if key != "people"}
    said = refusal(keep(table), universe, lambda one: table_counts(one, tables_of(universe), **more))
    assert said == refusal_of_frame(name)


@pytest.mark.parametrize("name", BAD)
def test_what_is_refused_is_refused_in_the_same_words(keep: Callable[[pa.Table], Any], name: str) -> None:
    universe, table, options = BAD[name]
    assert refusal(keep(table), universe, **options) == refusal_of_frame(name)


def test_counts_up_to_the_largest_are_exact(keep: Callable[[pa.Table], Any]) -> None:
    table = pa.table({"w": ["x", "x", "y"], "k": [2**62, 2**62 - 1, 0]})
    found = histogram_of_table(keep(table), universe_of("w: [x, y]"), count_column="k")
    assert found.counts.tolist() == [2**63 - 1, 0]


@cache
def pings() -> tuple[Universe, pa.Table]:
    """People of 1 to 700 rows."""
    random = np.random.default_rng(11)
    who = np.concatenate([np.repeat(np.arange(1, 60), random.integers(1, 30, 59)), np.full(700, 60)])
    random.shuffle(who)
    place = random.permutation(len(who)) * 0.5
    numbers = random.random(len(who)) * 3.2
    words = [["x", "X", "ä", "z", None][k] for k in random.integers(0, 5, len(who))]
    moments = np.datetime64("2024-01-01T00:00:00", "us") + random.permutation(len(who)) * np.timedelta64(977, "ms")
    universe = universe_of("w: {values: [x, X, ä], missing: public}", "n: {range: [0, 3], step: 0.1}")
    columns = {"who": who, "name": [f"p{k}" for k in who], "w": words, "n": numbers, "at": place}
    return universe, pa.table({**columns, "when": pa.array(moments, pa.timestamp("us"))})


@pytest.mark.parametrize("column", ["who", "name"])
@pytest.mark.parametrize("order", ["at", "when"])
def test_the_first_rows_of_each_person_are_the_same(keep: Callable[[pa.Table], Any], column: str, order: str) -> None:
    universe, table = pings()
    people = People(column, "rows", 3, order)
    found, wanted = (histogram_of_table(one, universe, outside="drop", people=people) for one in (keep(table), table))
    assert (digest(found.counts), found.total) == (digest(wanted.counts), wanted.total)
    assert found.total + found.dropped <= 180


def everybody(table: Any, universe: Universe, people: People) -> list[tuple[tuple[int, int], ...]]:
    found = []
    with opened(table, (*universe.reading.columns, *columns_of(people))) as source:
        for batch in people_in(plan_reading(source, universe, None), people):
            for first, end in zip(batch.starts[:-1], batch.starts[1:], strict=True):
                found.append(tuple(zip(batch.records[first:end].tolist(), batch.rows[first:end].tolist(), strict=True)))
    return sorted(found)


@pytest.mark.parametrize("column", ["who", "name"])
def test_everybody_comes_once_with_the_same_rows(keep: Callable[[pa.Table], Any], column: str) -> None:
    universe, table = pings()
    people = People(column, "once")
    assert everybody(keep(table), universe, people) == everybody(table, universe, people)
    assert len(everybody(table, universe, people)) == 60


def test_a_single_row_of_each_person_counts(keep: Callable[[pa.Table], Any]) -> None:
    universe, table = pings()
    people = People("name", "single")
    _, first = np.unique(np.asarray(table["who"]), return_index=True)
    one = table.take(pa.array(first))
    found, wanted = (histogram_of_table(each, universe, outside="drop", people=people) for each in (keep(one), one))
    assert digest(found.counts) == digest(wanted.counts)


def test_a_table_is_read_by_the_engine_whose_it_is(keep: Callable[[pa.Table], Any], request: Any) -> None:
    engine = request.node.callspec.params["keep"]
    assert engine_of(keep(pa.table({"w": ["x"]}))).name == ("DuckDB" if engine in HERE else engine)


def test_columns_that_look_like_people_are_named_wherever_they_are(keep: Callable[[pa.Table], Any]) -> None:
    rows = 4
    table = pa.table(
        {
            "user_id": [1, 2, 2, None],
            "patient": ["a", "b", "c", None],
            "Email Address": [None, None, "e", "e"],
            "account": [0.5, 0.5, 0.5, 0.5],
            "device": ["x"] * rows,
            "grid": [7] * rows,
            "w": ["x"] * rows,
        }
    )
    told = (
        "policy: p\nuniverse: {attributes: {w: [x, y], device: [x, y]}}\nrules: [{change: [w, device], epsilon: 1}]\n"
    )
    policy = dx.parse_policy(told)
    assert repeated_identifiers(keep(table), policy.universe) == ("user_id", "Email Address")
    assert repeated_identifiers(keep(table.slice(0, 2)), policy.universe) == ()
    assert repeated_identifiers(keep(table.select(["w", "grid"])), policy.universe) == ()
    spoken = dx.parse_policy(f"{told}people: {{column: user_id, count: once}}\n")
    assert repeated_identifiers(keep(table), spoken.universe) == ()
