"""Seventy messy tables, of text, Parquet and SQLite: each is read as its policy says, or asked about, or refused.

No cell is shown but by check.
"""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app

ROWS = 40
CANARY = "Qzyx"
"""In the cells of who people are, and of a note that no attribute reads."""
LINES = [["id", "sex", "age", "day", "note"]] + [
    [f"{CANARY}{k:03d}", "FM"[k % 2], str(20 + k), f"2025-{1 + k % 12:02d}-15", f"{CANARY} note"] for k in range(ROWS)
]
DAYS = [date.fromisoformat(line[3]) for line in LINES[1:]]
AGES = [20 + k for k in range(ROWS)]
ATTRIBUTES = {
    "sex": ["F", "M"],
    "age": {"range": [0, 120], "step": 10, "whole": True},
    "day": {"dates": ["2025-01-01", "2025-12-31"], "step": 1},
}
ASKED = {"women": "sex == 'F'", "old": "age >= 40", "summer": "'2025-06-01' <= day < '2025-09-01'"}
RIGHT = {"women": 20, "old": 20, "summer": 9}


@dataclass(frozen=True)
class Messy:
    """``reading``, ``attributes``: what the policy says; ``right``: the answers, None where the table is refused;
    ``shows``: what check says for its reader's eyes; ``asks``: whether init in a script writes nothing, and asks."""

    content: bytes
    reading: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    right: dict[str, int] | None = field(default_factory=lambda: RIGHT)
    shows: str = ""
    asks: bool = False
    people: Any = "one row each"
    name: str = "t.csv"
    address: str = ""

    @property
    def table(self) -> str:
        """What a command calls it."""
        return self.address or self.name


def parquet(**columns: Any) -> bytes:
    """The lines as Parquet, with other columns in the place of some."""
    said = {name: [line[place] for line in LINES[1:]] for place, name in enumerate(LINES[0])}
    buffer = io.BytesIO()
    pq.write_table(pa.table({**said, **columns}), buffer)
    return buffer.getvalue()


def database(change: Callable[[int, list[str]], list[Any]] = lambda _, cells: cells, kind: str = "TEXT") -> bytes:
    """The lines as a file of SQLite, with cells changed; ``kind``: of the column age."""
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE visits (id TEXT, sex TEXT, age {kind}, day TEXT, note TEXT)")
    rows = [change(k, [*cells]) for k, cells in enumerate(LINES) if k]
    connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?, ?)", rows)
    connection.commit()
    return connection.serialize()


def text(
    change: Callable[[int, list[str]], list[str]] = lambda _, cells: cells,
    sep: str = ",",
    encoding: str = "utf-8",
    end: str = "\n",
    before: str = "",
    after: str = "",
    header: bool = True,
) -> bytes:
    """The lines with cells changed, line 0 the header."""
    lines = [sep.join(change(k, [*cells])) for k, cells in enumerate(LINES) if k or header]
    return (before + end.join(lines) + end + after).encode(encoding)


def cell(column: int, made: Callable[[int, str], str]) -> Callable[[int, list[str]], list[str]]:
    """One column's cells changed, the header not."""
    return lambda k, cells: [made(k, one) if k and place == column else one for place, one in enumerate(cells)]


def day(form: str) -> Callable[[int, list[str]], list[str]]:
    """Days as a form with y, m and d has them."""
    return cell(
        3,
        lambda _, one: (
            form.replace("y", one[2:4] if "yy" not in form else one[:4], 1)
            .replace("y", "")
            .replace("m", one[5:7])
            .replace("d", one[8:])
        ),
    )


def dates(written: Any) -> dict[str, Any]:
    return {"day": {**ATTRIBUTES["day"], "written": written}}


TABLES: dict[str, Messy] = {
    # Separators, quotes and ends of lines.
    "as it should be": Messy(text()),
    "semicolons": Messy(text(sep=";"), {"separator": ";"}),
    "semicolons, unsaid": Messy(text(sep=";"), right=None, shows='separator: ";"'),
    "tabs": Messy(text(sep="\t"), {"separator": "tab"}),
    "bars": Messy(text(sep="|"), {"separator": "|"}),
    "sep= above": Messy(text(sep=";", before="sep=;\n"), {"separator": ";", "header": 2}),
    "Windows' ends": Messy(text(end="\r\n")),
    "old Macs' ends": Messy(text(end="\r")),
    "quoted cells": Messy(text(cell(4, lambda _, one: f'"{one}, with a comma"'))),
    "doubled marks": Messy(text(cell(4, lambda _, one: f'"{one} ""so"""'))),
    "an open mark": Messy(text(cell(4, lambda k, one: f'"{one}' if k == 10 else one)), right=None),
    "a mark that swallows rows": Messy(
        text(cell(4, lambda k, one: f'"{one}' if k == 10 else f'{one}"' if k == 20 else one)), right=None
    ),
    "line breaks, said": Messy(
        text(cell(4, lambda k, one: f'"{one}\nmore"' if k == 10 else one)), {"line_breaks": True}
    ),
    "no quotes at all": Messy(text(cell(4, lambda k, one: f'"{one}' if k == 10 else one)), {"quote": "none"}),
    "a ragged line": Messy(text(after=f"{CANARY},F\n"), right=None),
    "a longer line": Messy(text(after=f"{CANARY},F,50,2025-01-01,x,y,z\n"), right=None),
    "an empty line at the end": Messy(text(after="\n")),
    "cut off in the middle": Messy(text()[:-9]),
    "nothing but a header": Messy(b"id,sex,age,day,note\n", right=None),
    "nothing at all": Messy(b"", right=None, asks=True),
    # Encodings.
    "a byte order mark": Messy(text(encoding="utf-8-sig")),
    "utf-16": Messy(text(sep="\t", encoding="utf-16"), {"separator": "tab", "encoding": "utf-16"}),
    "latin": Messy(
        text(cell(4, lambda _, one: f"{one} Zürich"), encoding="windows-1252"), {"encoding": "windows-1252"}
    ),
    "latin, unsaid": Messy(
        text(cell(4, lambda _, one: f"{one} Zürich"), encoding="latin-1"), right=None, shows="line 2"
    ),
    "a zero byte": Messy(text(cell(4, lambda k, one: f"{one}\0" if k == 9 else one))),
    "gzip": Messy(gzip.compress(text()), name="t.csv.gz"),
    "gzip, cut off": Messy(gzip.compress(text())[:-30], name="t.csv.gz", right=None, asks=True),
    # Headers.
    "a title above": Messy(text(before=f"Report {CANARY}\n\n"), {"header": 3}),
    "no header": Messy(text(header=False), {"header": "none", "names": ["id", "sex", "age", "day", "note"]}, asks=True),
    "no header, unsaid": Messy(text(header=False), right=None, asks=True),
    "a column twice": Messy(text(lambda k, cells: [*cells[:4], cells[4] if k else "sex"]), right=None, asks=True),
    "a missing column": Messy(text(lambda _, cells: [*cells[:2], *cells[3:]]), right=None, shows="age"),
    "blanks in the header": Messy(text(lambda k, cells: cells if k else [f" {one} " for one in cells]), right=None),
    # Numbers.
    "decimal commas": Messy(text(cell(2, lambda _, one: f"{one},0"), sep=";"), {"separator": ";", "decimal": ","}),
    "thousands": Messy(
        text(cell(2, lambda _, one: f"1.0{one}"), sep=";"),
        {"separator": ";", "decimal": ",", "thousands": "."},
        {"age": {"range": [1000, 1120], "step": 10, "whole": True}},
        right={"women": 20, "old": 40, "summer": 9},
    ),
    "a unit behind": Messy(
        text(cell(2, lambda _, one: f"{one} y")),
        {},
        {"age": {**ATTRIBUTES["age"], "units": {"y": 1}}},
    ),
    "an age of 199": Messy(text(cell(2, lambda k, one: "199" if k == 3 else one)), right=None, shows="199"),
    "no number": Messy(text(cell(2, lambda k, one: f"{CANARY}" if k == 3 else one)), right=None, shows=CANARY),
    "NaN and inf": Messy(text(cell(2, lambda k, one: {3: "NaN", 4: "inf"}.get(k, one))), right=None, shows="inf"),
    # Days.
    "days with dots": Messy(text(day("d.m.yyyy")), {}, dates("31.12.2025")),
    "days with a time": Messy(text(day("d.m.yyyy 07:30")), {}, dates("31.12.2025 23:59")),
    "days, month first": Messy(text(day("m/d/yyyy")), {}, dates("12/31/2025")),
    "two-digit years": Messy(text(day("d.m.y")), {}, dates("31.12.25")),
    "days of two kinds": Messy(
        text(lambda k, cells: day("d.m.yyyy")(k, cells) if k % 3 else cells), {}, dates(["31.12.2025", "2025-12-31"])
    ),
    "days of another kind": Messy(text(day("d.m.yyyy")), right=None, shows="written"),
    "the 31st of February": Messy(text(cell(3, lambda k, one: "2025-02-31" if k == 4 else one)), right=None),
    # Words.
    "mixed cases and blanks": Messy(
        text(cell(1, lambda k, one: (one, f" {one.lower()}")[k % 3 == 0])), {"trim": True, "case": "fold"}
    ),
    "mixed cases, unsaid": Messy(text(cell(1, lambda k, one: one.lower() if k == 3 else one)), right=None),
    "other words": Messy(
        text(cell(1, lambda _, one: {"F": "weiblich", "M": "m."}[one])),
        {},
        {"sex": {"values": ["F", "M"], "words": {"weiblich": "F", "m.": "M"}}},
    ),
    "an unknown word": Messy(text(cell(1, lambda k, one: CANARY if k == 3 else one)), right=None, shows=CANARY),
    "empty cells": Messy(text(cell(1, lambda k, one: "" if k == 3 else one)), right=None),
    "words for nothing": Messy(
        text(cell(1, lambda k, one: "n/a" if k == 3 else one)),
        {"missing": ["n/a"]},
        {"sex": {"values": ["F", "M"], "missing": {"epsilon": 50}}},
        right={"women": 19, "old": 20, "summer": 9},
    ),
    "a total at the end": Messy(text(after="Total,,1580,,\n"), right=None),
    "a total, ignored": Messy(text(after="Total,,1580,,\n"), {"ignore": {"id": ["Total"]}}),
    # Parquet, whose cells have types.
    "parquet of text": Messy(parquet(), {"decimal": "."}, name="t.parquet"),
    "parquet of text, unsaid": Messy(parquet(), right=None, shows="reading: {decimal", name="t.parquet"),
    "parquet of numbers and days": Messy(
        parquet(age=[20 + k for k in range(ROWS)], day=pa.array(DAYS)),
        name="t.parquet",
    ),
    "parquet of moments with a zone, unsaid": Messy(
        parquet(age=AGES, day=pa.array([datetime(one.year, one.month, one.day, 12, tzinfo=UTC) for one in DAYS])),
        name="t.parquet",
        right=None,
    ),
    "parquet of moments with a zone": Messy(
        parquet(age=AGES, day=pa.array([datetime(one.year, one.month, one.day, 12, tzinfo=UTC) for one in DAYS])),
        {},
        {"day": {**ATTRIBUTES["day"], "zone": "Europe/Berlin"}},
        name="t.parquet",
    ),
    "parquet with halves in whole numbers": Messy(
        parquet(age=[20.5 if k == 3 else 20.0 + k for k in range(ROWS)]), name="t.parquet", right=None, shows="20.5"
    ),
    "parquet of lists": Messy(parquet(age=AGES, sex=[["F"]] * ROWS), name="t.parquet", right=None, asks=False),
    "parquet with a strange word": Messy(
        parquet(age=AGES, sex=[CANARY if k == 3 else "FM"[k % 2] for k in range(ROWS)]),
        name="t.parquet",
        right=None,
        shows=CANARY,
    ),
    "parquet that is text": Messy(text(), name="t.parquet", right=None, asks=True),
    # SQLite, whose columns hold what they please.
    "sqlite of text": Messy(database(), {"decimal": "."}, name="t.db", address="sqlite:///t.db#visits"),
    "sqlite of text, unsaid": Messy(
        database(), right=None, shows="reading: {decimal", name="t.db", address="sqlite:///t.db#visits"
    ),
    "sqlite of numbers": Messy(
        database(lambda _, cells: [*cells[:2], int(cells[2]), *cells[3:]], "INTEGER"),
        name="t.db",
        address="sqlite:///t.db#visits",
    ),
    "sqlite, words among numbers": Messy(
        database(lambda k, cells: [*cells[:2], CANARY if k == 3 else int(cells[2]), *cells[3:]], "INTEGER"),
        name="t.db",
        address="sqlite:///t.db#visits",
        right=None,
    ),
    "sqlite, no such table": Messy(database(), name="t.db", address="sqlite:///t.db#others", right=None, asks=True),
    # People.
    "rows of one person": Messy(
        text(cell(0, lambda k, _: f"{CANARY}{k % 20}")), people={"column": "id", "count": "single"}, right=None
    ),
    "leading zeros": Messy(
        text(cell(0, lambda k, _: "00123" if k % 2 else "123")),
        people={"column": "id", "count": "once"},
        right={"women": 1, "old": 1, "summer": 0},
    ),
}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*words: object) -> Any:
    result = CliRunner().invoke(app, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def policy_of(messy: Messy) -> dict[str, Any]:
    return {
        "policy": "messy",
        **({"reading": messy.reading} if messy.reading else {}),
        "people": messy.people,
        "universe": {"attributes": {**ATTRIBUTES, **messy.attributes}},
        "rules": [
            {"change": "sex", "epsilon": 60},
            {"change": ["age", "day"], "epsilon": 60},
        ],
        "budget": 9,
    }


def hides(*texts: str) -> bool:
    return not any(word in one for one in texts for word in (CANARY, "weiblich", "'199'", "02-31", "n/a"))


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_as_it_is_said_or_refused_and_shown_to_its_reader_only(name):
    messy = TABLES[name]
    Path(messy.name).write_bytes(messy.content)
    Path("policy.yaml").write_text(json.dumps(policy_of(messy)))
    asked = [{"name": name, "count": condition} for name, condition in ASKED.items()]
    Path("queries.yaml").write_text(json.dumps({"queries": asked}))
    page = run("check", "policy.yaml", "--table", messy.table)
    assert page.exit_code == (messy.right is None), page.output
    assert messy.shows in page.output
    quiet = run("check", "policy.yaml", "--table", messy.table, "--quiet-data")
    assert (quiet.exit_code, hides(quiet.output)) == (page.exit_code, True), quiet.output
    release = run(
        "release",
        "policy.yaml",
        messy.table,
        "queries.yaml",
        "--ledger",
        "l.db",
        "--spend",
        1,
        "--format",
        "json",
        "--mechanism",
        "laplace",
    )
    assert hides(release.output), release.output
    if messy.right is None:
        assert release.exit_code == 1 and "error" in release.output, release.output
        return
    assert release.exit_code == 0, release.output
    found = {one["name"]: one["value"] for one in json.loads(release.stdout)["answers"]}
    assert {name: round(value) for name, value in found.items()} == messy.right


@pytest.mark.parametrize("name", TABLES)
def test_a_draft_of_it_asks_what_rows_do_not_settle_and_holds_no_cell(name):
    messy = TABLES[name]
    Path(messy.name).write_bytes(messy.content)
    result = run("init", messy.table)
    files = [path for path in Path().iterdir() if path.name != messy.name]
    assert hides(result.output, *(path.read_text("utf-8") for path in files)), result.output
    assert (result.exit_code == 0) is bool(files)
    assert (not files) is messy.asks, result.output
