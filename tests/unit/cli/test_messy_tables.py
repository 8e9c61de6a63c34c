"""Eighty messy tables of all formats: each is read as its policy says, or asked about, or refused.

No cell is shown but by check.
"""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from reference.messy_tables import (
    AGES,
    ATTRIBUTES,
    CANARY,
    DAYS,
    ROWS,
    Messy,
    cell,
    database,
    dates,
    day,
    is_drafted_or_asked_about,
    is_read_or_refused,
    parquet,
    text,
    workbook,
)

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


def typed(k: int, cells: list[str]) -> list[object]:
    return [*cells[:2], AGES[k - 1], DAYS[k - 1], cells[4]] if k else [*cells]


def but(row: int, column: int, found: object):
    """Typed cells, but for one."""
    return lambda k, cells: [found if (k, c) == (row, column) else one for c, one in enumerate(typed(k, cells))]


# Workbooks, whose cells have a type each.
WORKBOOKS: dict[str, Messy] = {
    "typed": Messy(workbook(typed)),
    "text": Messy(workbook(), {"decimal": "."}),
    "text, unsaid": Messy(workbook(), right=None, shows="reading: {decimal"),
    "titles above": Messy(workbook(typed, before=[[f"Report {CANARY}"], []]), {"header": 3}),
    "titles above, unsaid": Messy(workbook(typed, before=[[f"Report {CANARY}"], []]), right=None),
    "several sheets": Messy(workbook(typed, others={"notes": [[CANARY]]}), {"sheet": "visits"}, asks=True),
    "several sheets, unsaid": Messy(workbook(typed, others={"notes": [[CANARY]]}), right=None, asks=True),
    "a sheet that is not there": Messy(workbook(typed), {"sheet": "visit"}, right=None, shows="visits"),
    "a number as text": Messy(workbook(but(3, 2, "22")), {"decimal": "."}),
    "halves in whole numbers": Messy(workbook(but(3, 2, 20.5)), right=None, shows="20.5"),
    "an empty cell": Messy(workbook(but(3, 2, None)), right=None),
    "a strange word": Messy(workbook(but(3, 1, CANARY)), right=None, shows=CANARY),
    "a moment among days": Messy(
        workbook(but(6, 3, datetime(2025, 6, 15, 7, 30))),
    ),
    "a day as text, of another kind": Messy(workbook(but(6, 3, "15.06.2025")), {}, dates(["31.12.2025", "2025-12-31"])),
    "a total at the end": Messy(
        workbook(lambda k, cells: typed(k, cells) if k < ROWS else ["Total", None, 1580, None, None]), right=None
    ),
    "no workbook at all": Messy(text(), right=None, asks=True),
}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_as_it_is_said_or_refused_and_shown_to_its_reader_only(name):
    Path(TABLES[name].name).write_bytes(TABLES[name].content)
    is_read_or_refused(TABLES[name])


@pytest.mark.parametrize("name", TABLES)
def test_a_draft_of_it_asks_what_rows_do_not_settle_and_holds_no_cell(name):
    Path(TABLES[name].name).write_bytes(TABLES[name].content)
    is_drafted_or_asked_about(TABLES[name])


@pytest.mark.needs("python_calamine")
@pytest.mark.parametrize("name", WORKBOOKS)
def test_a_workbook_is_read_as_it_is_said_or_refused_and_its_draft_holds_no_cell(name):
    Path("t.xlsx").write_bytes(WORKBOOKS[name].content)
    messy = replace(WORKBOOKS[name], name="t.xlsx")
    is_drafted_or_asked_about(messy)
    is_read_or_refused(messy)
