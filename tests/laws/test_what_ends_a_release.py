"""The list of the guarantee, "Exactly these end a release", carried out: each item on every engine that can hold it.

A test reads the list, and fails when an item has no case or a case no item.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.project import ROOT

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.watching import QUIET
from dxgeom.errors import DataError
from dxgeom.metrics.components import components_of
from dxgeom.universe.universe import Universe

ONCE = "people: {column: who, count: once}\n"
SINGLE = "people: {column: who, count: single}\n"
FIRST = "people: {column: who, count: rows, at_most: 2, order: at}\n"


def policy_of(presence: bool, people: str) -> tuple[Universe, Any]:
    rules = "[{change: [w, n], epsilon: 1}" + (", {presence: true, epsilon: 1}]" if presence else "]")
    attributes = "w: [x, y], n: {range: [0, 9], step: 1}"
    policy = dx.parse_policy(f"policy: p\nuniverse: {{attributes: {{{attributes}}}}}\n{people}rules: {rules}\n")
    return policy.universe, components_of(policy.compile().metric).of if people == ONCE else None


@dataclass(frozen=True)
class Ending:
    """A table, or the content of a file of such a name, that ends a release: in all of the ``settings``, which are
    whether records may be absent and whether rows outside are dropped, and in no other."""

    table: Any = None
    files: dict[str, Any] = field(default_factory=dict)
    people: str = ""
    count_column: str | None = None
    settings: tuple[tuple[bool, str], ...] = tuple((one, two) for one in (False, True) for two in ("refuse", "drop"))


REFUSING = ((False, "refuse"), (True, "refuse"))
NOT_ABSENT = ((False, "refuse"), (False, "drop"))
SOUND = {"w": ["x", "y", "x"], "n": [1, 2, 3]}


def changed(**columns: Any) -> pa.Table:
    return pa.table({**SOUND, **columns})


def text_of(line: bytes) -> dict[str, bytes]:
    text = b"w,n,note\nx,1,\n" + line + b"\ny,2,\n"
    return {"a.csv": text, "a.csv.gz": gzip.compress(text), "a.tsv": text.replace(b",", b"\t")}


def parquet_that_is_no_text() -> bytes:
    offsets, letters = pa.array([0, 1, 2, 3], pa.int32()).buffers()[1], pa.py_buffer(b"x\xffx")
    words = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets), letters])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"w": words, "n": [1, 2, 3]}), sink)
    return sink.getvalue().to_pybytes()


WHOLE = b"w,n\nx,1\ny,2\n"
ENDINGS: dict[str, list[Ending]] = {
    "a row that does not fit": [
        Ending(changed(w=["x", "z", "x"]), settings=REFUSING), Ending(changed(n=[1, 99, 3]), settings=REFUSING),
        Ending(changed(w=["x", None, "x"]), settings=REFUSING),
    ],
    "a row whose count is no whole number": [
        Ending(changed(k=[1, -2, 3]), count_column="k", settings=(*NOT_ABSENT, (True, "refuse"))),
        Ending(changed(k=[1, None, 3]), count_column="k", settings=(*NOT_ABSENT, (True, "refuse"))),
        Ending(files={"a.csv": b"w,n,k\nx,1,1.5\ny,2,1\n"}, count_column="k", settings=(*NOT_ABSENT, (True, "refuse"))),
    ],
    "a table without rows": [
        Ending(changed().slice(0, 0), settings=NOT_ABSENT), Ending(files={"a.csv": b"w,n\n"}, settings=NOT_ABSENT),
        Ending(changed(w=["z"] * 3), settings=(*NOT_ABSENT, (True, "refuse"))),
    ],
    "a row that names nobody": [
        *(Ending(changed(who=["a", None, "b"], at=[1, 2, 3]), people=people) for people in (ONCE, SINGLE, FIRST)),
        *(Ending(changed(who=["a", "", "b"], at=[1, 2, 3]), people=people) for people in (ONCE, SINGLE, FIRST)),
        *(Ending(files={"a.csv": b"w,n,who\nx,1,7\ny,2,%s\n" % name}, people=ONCE) for name in (b"7.0", b"1e5", b"7.")),
    ],
    "a row without a place in the order": [
        Ending(changed(who=["a", "a", "b"], at=[1.5, None, 3]), people=FIRST),
        Ending(changed(who=["a", "a", "b"], at=[1.5, float("nan"), 3]), people=FIRST),
        Ending(changed(who=["a", "a", "b"], at=[1.5, 1.5, 3]), people=FIRST),
    ],
    "a second row of a person": [Ending(changed(who=["a", "a", "b"]), people=SINGLE)],
    "a text file with a short or a long row": [
        *(Ending(files=text_of(line)) for line in (b"y,2", b"y,2,3,4", b'y,2,"open', b'y,2,"a\nb"')),
        *(Ending(files=text_of(line)) for line in (b"y\r,2,", b"y,2,\xff")),
        Ending(files={"a.csv": b"w,n,note\nx,1,\ny,2," + b"long " * 600_000 + b"\n"}),
    ],
    "a file that is not what its name says": [
        Ending(files={"a.csv.gz": WHOLE, "a.parquet": WHOLE}),
        Ending(files={"a.csv.gz": gzip.compress(WHOLE)[:-9]}),
    ],
    "text in Parquet whose bytes": [Ending(files={"a.parquet": parquet_that_is_no_text()})],
    "a column of another type": [
        Ending(changed(w=[1.5, 2.5, 3.5])), Ending(changed(n=["1", "2", "3"])), Ending(changed(n=[True, False, True])),
        Ending(changed(who=[1.5, 2.5, 3.5], at=[1, 2, 3]), people=ONCE),
    ],
    "a column that is not there": [
        Ending(pa.table({"w": ["x"]})), Ending(files={"a.csv": b"w,n,n\nx,1,1\n", "b.csv": b"w\nx\n"}),
    ],
    "more than 2⁶³ − 1 records": [Ending(changed(k=[2**62, 2**62, 1]), count_column="k")],
}  # fmt: skip
ELSEWHERE = {"a table that changes or ends": "tests/laws/test_tables_that_change.py"}


def test_every_item_of_the_guarantee_has_a_case() -> None:
    text = (ROOT / "docs" / "guide" / "guarantee.md").read_text()
    listed = text.partition("these end a release:\n\n")[2].partition("\n\n")[0]
    items = [" ".join(item.split()) for item in re.split(r"^\* ", listed, flags=re.MULTILINE)[1:]]
    assert len(items) == len(ENDINGS) + len(ELSEWHERE)
    for item in items:
        assert any(item.startswith(begins) for begins in (*ENDINGS, *ELSEWHERE)), item
    assert all((ROOT / file).is_file() for file in ELSEWHERE.values())


def ends(table: Any, case: Ending, setting: tuple[bool, str]) -> bool:
    """Whether a release ends, with a word and without one."""
    universe, component_of = policy_of(setting[0], case.people)
    options = {"outside": setting[1], "count_column": case.count_column, "component_of": component_of}
    found = []
    for quiet in (False, True):
        try:
            histogram_of_table(table, universe, quiet_data=quiet, **options)
            found.append(False)
        except DataError as error:
            assert not quiet or str(error) == QUIET
            found.append(True)
    assert found[0] == found[1]
    return found[0]


SETTINGS = [(one, two) for one in (False, True) for two in ("refuse", "drop")]
TABLES = [
    (item, number) for item, cases in ENDINGS.items() for number, one in enumerate(cases) if one.table is not None
]
FILES = [(item, number) for item, cases in ENDINGS.items() for number, one in enumerate(cases) if one.files]


@pytest.mark.parametrize(("item", "number"), TABLES)
def test_what_ends_a_release_ends_it_on_every_engine(keep: Callable[[pa.Table], Any], item: str, number: int) -> None:
    case = ENDINGS[item][number]
    for table in (case.table, keep(case.table)):
        for setting in SETTINGS:
            assert ends(table, case, setting) == (setting in case.settings), setting


@pytest.mark.parametrize(("item", "number"), FILES)
def test_what_ends_a_release_from_a_file_ends_it(tmp_path: Any, item: str, number: int) -> None:
    case = ENDINGS[item][number]
    for name, content in case.files.items():
        (tmp_path / name).write_bytes(content)
        for setting in SETTINGS:
            assert ends(tmp_path / name, case, setting) == (setting in case.settings), (name, setting)


OTHER_TYPES = {
    "relation": ("INTERVAL 1 DAY", "[1, 2]", "{'a': 1}", "'x'::BLOB", "TIME '12:00'", "MAP {'a': 1}", "'1'::BIT"),
    "PostgreSQL": (
        "interval '1 day'", "'{1,2}'::int[]", "'{}'::json", "'{}'::jsonb", "1::money", "'x'::bytea", "time '12:00'",
        "point '(1,2)'", "inet '127.0.0.1'", "'[1,2]'::int4range",
    ),
    "Spark": ("INTERVAL 1 DAY", "array(1, 2)", "map('a', 1)", "struct(1)", "X'00'"),
}  # fmt: skip


@pytest.mark.parametrize("keep", ["relation"], indirect=True)
def test_types_that_no_attribute_reads_are_refused_here(keep: Any) -> None:
    import duckdb

    refuse_types([duckdb.connect().sql(f"SELECT {one} AS w, 1 AS n") for one in OTHER_TYPES["relation"]])


@pytest.mark.service("postgres")
def test_types_that_no_attribute_reads_are_refused_on_postgres(postgres: Any) -> None:
    server = postgres.url(postgres.new_database())
    refuse_types([f"{server}#SELECT {one} AS w, 1 AS n" for one in OTHER_TYPES["PostgreSQL"]])


@pytest.mark.service("spark")
def test_types_that_no_attribute_reads_are_refused_on_spark(spark: Any) -> None:
    refuse_types([spark.sql(f"SELECT {one} AS w, 1 AS n") for one in OTHER_TYPES["Spark"]])


def refuse_types(tables: list[Any]) -> None:
    for table in tables:
        with pytest.raises(DataError, match=r"column 'w' of .* (holds|must hold)"):
            histogram_of_table(table, policy_of(True, "")[0], outside="drop")
