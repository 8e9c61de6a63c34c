"""A cell is the same on every engine: none ends a release that does not on another, and all count it alike.

One table of cells, ``reference/nasty_cells.py``, times one of engines, times the settings in which one person's cell
must not decide whether there is a release. What ends a release is listed in the guarantee, and each item has a case.
"""

from __future__ import annotations

import csv
import itertools
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.nasty_cells import NASTY, Nasty
from services.tables import SERVERS, PostgresTables, of_sqlite

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.watching import QUIET
from dxgeom.errors import DataError
from dxgeom.metrics.components import components_of
from dxgeom.universe.universe import Universe

_NUMBERS = itertools.count(1)
PEOPLE = ("1", "2", "3", "4")
FEW = [(True, "drop", None, False)]
"""Of all settings, what is tried where nothing long runs, and there on one engine."""
SETTINGS = [
    *itertools.product([False, True], ["refuse", "drop"], [None, "once"], [False]),
    (True, "drop", "rows", False),
    (True, "drop", None, True),
    (False, "refuse", None, True),
]
"""Whether records may be absent, what becomes of rows outside, how people count, whether refusals are mute."""
ENGINES = ["text", "Parquet", "frame", "relation", "SQLite"]


def csv_of(case: Nasty, folder: Path, *_: Any) -> Any:
    path = folder / f"{next(_NUMBERS)}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([["who", "at", "c"], *zip(PEOPLE, PEOPLE, [*case.sound, case.text], strict=True)])
    return path


def arrow_of(case: Nasty, *_: Any) -> Any:
    sound = pa.array(case.sound)
    if pa.types.is_timestamp(case.kind) and case.kind.tz is not None:
        sound = pa.array([one.removesuffix("+00:00") for one in case.sound]).cast(pa.timestamp("us"))
    cells = pa.chunked_array([sound.cast(case.kind), case.arrow]).combine_chunks()
    return pa.table({"who": PEOPLE, "at": [1, 2, 3, 4], "c": cells})


def parquet_of(case: Nasty, folder: Path, *_: Any) -> Any:
    path = folder / f"{next(_NUMBERS)}.parquet"
    pq.write_table(arrow_of(case), path)
    return path


def relation_of(case: Nasty, folder: Path, *_: Any) -> Any:
    return duckdb.connect().sql(f"SELECT * FROM '{parquet_of(case, folder)}'")


def sqlite_of(case: Nasty, folder: Path, *_: Any) -> Any:
    file, kind = folder / f"{next(_NUMBERS)}.db", case.postgres_type.replace("timestamptz", "timestamp")
    floats, cell = pa.types.is_floating(case.kind), case.sqlite if case.sqlite != "" else None
    sound = [float(one) if floats else one for one in case.sound]
    connection = sqlite3.connect(file)
    connection.execute(f"CREATE TABLE kept (who text, at integer, c {kind})")
    connection.executemany("INSERT INTO kept VALUES (?, ?, ?)", zip(PEOPLE, PEOPLE, [*sound, cell], strict=True))
    connection.commit()
    connection.close()
    return of_sqlite(file, "kept")


def postgres_of(case: Nasty, folder: Path, postgres: Any) -> Any:
    tables, name = PostgresTables(postgres), f"nasty{next(_NUMBERS)}"
    tables.execute(f"CREATE TABLE {name} (who text, at int, c {case.postgres_type})")
    cells = [*(f"'{one}'" for one in case.sound), case.postgres]
    rows = ", ".join(f"('{who}', {who}, {cell})" for who, cell in zip(PEOPLE, cells, strict=True))
    tables.execute(f"INSERT INTO {name} VALUES {rows}".replace("%", "%%"))
    return tables.url(name)


def spark_of(case: Nasty, folder: Path, spark: Any) -> Any:
    kind = spark.sql(f"SELECT {case.spark} AS c").schema["c"].dataType.simpleString()
    kind = {"void": "date"}.get(kind, kind)
    cells = [*(f"CAST('{one}' AS {kind})" for one in case.sound), f"CAST({case.spark} AS {kind})"]
    rows = (f"SELECT '{who}' AS who, {who} AS at, {cell} AS c" for who, cell in zip(PEOPLE, cells, strict=True))
    return spark.sql(" UNION ALL ".join(rows))


MAKERS: dict[str, tuple[Callable[..., Any], str]] = {
    "text": (csv_of, "text"),
    "Parquet": (parquet_of, "arrow"),
    "frame": (arrow_of, "arrow"),
    "relation": (relation_of, "arrow"),
    "SQLite": (sqlite_of, "sqlite"),
    "PostgreSQL": (postgres_of, "postgres"),
    "Spark": (spark_of, "spark"),
}


@pytest.fixture
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Nasty], Any]:
    """How an engine keeps a case; None where it has no such cell."""
    maker, written = MAKERS[request.param]
    service = request.getfixturevalue(SERVERS[request.param]) if request.param in SERVERS else None
    return lambda case: None if getattr(case, written) is None else maker(case, tmp_path, service)


@cache
def stated(attribute: str, presence: bool, count: str | None) -> tuple[Universe, Any]:
    """A policy's universe, and how people who count once are spread."""
    rules = "[{change: c, epsilon: 1}" + (", {presence: true, epsilon: 1}]" if presence else "]")
    people = {"once": "people: {column: who, count: once}\n"}
    people["rows"] = "people: {column: who, count: rows, at_most: 2, order: at}\n"
    text = f"policy: p\nunconnected: allow\nuniverse:\n  attributes:\n    {attribute}\n"
    policy = dx.parse_policy(f"{text}{people.get(count or '', '')}rules: {rules}\n")
    return policy.universe, components_of(policy.compile().metric).of if count == "once" else None


def outcome(table: Any, attribute: str, setting: tuple[Any, ...]) -> Any:
    """What is counted, or that it is refused."""
    presence, outside, count, quiet = setting
    universe, component_of = stated(attribute, presence, count)
    try:
        found = histogram_of_table(table, universe, outside=outside, quiet_data=quiet, component_of=component_of)
    except DataError as error:
        assert not quiet or str(error) == QUIET
        return "refused"
    return found.counts.tolist(), found.total, found.dropped


def plain_outcome(case: Nasty, setting: tuple[Any, ...]) -> Any:
    """What is counted of the cells as text, with the plain one in place of the nasty."""
    numbers = pa.types.is_floating(case.kind) or pa.types.is_integer(case.kind) or pa.types.is_decimal(case.kind)
    return _plain_outcome(case.attribute, (*case.sound, case.counts_as), numbers, setting)


@cache
def _plain_outcome(attribute: str, texts: tuple[str | None, ...], numbers: bool, setting: tuple[Any, ...]) -> Any:
    cells = pa.array(texts)
    table = pa.table({"who": PEOPLE, "at": [1, 2, 3, 4], "c": cells.cast(pa.float64()) if numbers else cells})
    return outcome(table, attribute, setting)


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize(
    ("made", "settings"),
    [
        pytest.param("text", FEW, id="text-few"),
        *(pytest.param(one, SETTINGS, id=f"{one}-all", marks=pytest.mark.long) for one in ENGINES),
        *(
            pytest.param(one, SETTINGS, id=f"{one}-all", marks=[pytest.mark.long, pytest.mark.service(service)])
            for one, service in SERVERS.items()
        ),
    ],
    indirect=["made"],
)
def test_a_nasty_cell_counts_as_a_plain_one_and_ends_nothing(
    made: Callable[[Nasty], Any], name: str, settings: list[tuple[Any, ...]]
) -> None:
    case = NASTY[name]
    if (table := made(case)) is None:
        return
    for setting in settings:
        found = outcome(table, case.attribute, setting)
        assert found == plain_outcome(case, setting), setting
        assert found != "refused" or setting[:2] != (True, "drop")
