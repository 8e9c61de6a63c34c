"""Messy tables of further kinds: each is read as its policy says, or asked about, or refused."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from reference.messy_tables import (
    AGES,
    ATTRIBUTES,
    CANARY,
    DAYS,
    RIGHT,
    ROWS,
    Messy,
    cell,
    dates,
    is_drafted_or_asked_about,
    is_read_or_refused,
    parquet,
    text,
)

WORDS = {"F": ["vrai", "wahr", "true"], "M": ["faux", "falsch", "false"]}
NESTED = pa.array([{"years": one} for one in AGES])
TABLES: dict[str, Messy] = {
    # Ends of lines, quotes and bytes.
    "ends of two kinds": Messy(text().replace(b"\n", b"\r\n", 7), right=None, shows="line ending"),
    "ends of three kinds": Messy(text().replace(b"\n", b"\r\n", 7)[::-1].replace(b"\n", b"\r", 3)[::-1], right=None),
    "the other utf-16": Messy(
        b"\xfe\xff" + text(sep=";", encoding="utf-16-be"), {"separator": ";", "encoding": "utf-16"}
    ),
    "utf-16, unsaid": Messy(text(encoding="utf-16"), right=None, shows="UTF-16"),
    "utf-16 without its mark": Messy(text(encoding="utf-16-le"), right=None, asks=True),
    "half a sign at the end": Messy(
        text(after=f"{CANARY},F,30,2025-01-15,Z").rstrip(b"\n") + b"\xc3", right={**RIGHT, "women": 21}
    ),
    "half of utf-16": Messy(text(encoding="utf-16")[:-1], {"encoding": "utf-16"}, right=None, asks=True),
    "zero bytes in numbers": Messy(text(cell(2, lambda k, one: f"{one}\0" if k == 9 else one)), right=None),
    "zero bytes in words": Messy(text(cell(1, lambda k, one: f"{one}\0" if k == 9 else one)), right=None),
    "zero bytes in the header": Messy(text(lambda k, cells: cells if k else [f"{cells[0]}\0", *cells[1:]]), asks=True),
    "quoted line breaks, unsaid": Messy(
        text(cell(4, lambda k, one: f'"{one}\n{CANARY},F,30"' if k == 10 else one)), right=None
    ),
    "quotes in the header": Messy(text(lambda k, cells: cells if k else [f'"{one}"' for one in cells])),
    "a quote in the middle": Messy(text(cell(4, lambda k, one: f'{one} 5" tall' if k == 10 else one))),
    "apostrophes for quotes": Messy(text(lambda k, cells: [f"'{one}'" for one in cells]), {"quote": "'"}),
    "a cell of a million signs": Messy(text(cell(4, lambda k, one: one * 70_000 if k == 5 else one))),
    "gzip of nothing": Messy(gzip.compress(b""), name="t.csv.gz", right=None, asks=True),
    "gzip with a foreign end": Messy(gzip.compress(text()) + b"foreign", name="t.csv.gz", right=None, asks=True),
    # Headers.
    "a header on the third row": Messy(text(before=f"{CANARY};report\nmade,today\n"), {"header": 3}),
    "headers that differ in case": Messy(text(lambda k, cells: [*cells[:4], cells[4] if k else "SEX"])),
    "an empty header": Messy(text(lambda k, cells: [*cells[:4], cells[4] if k else ""]), asks=True),
    "a header again among rows": Messy(
        text(lambda k, cells: ["id", "sex", "age", "day", "note"] if k == 20 else cells), right=None, asks=True
    ),
    "units below the header": Messy(
        text(lambda k, cells: ["-", "-", "years", "date", "-"] if k == 1 else cells), right=None
    ),
    "one column": Messy(text(lambda k, cells: cells[:1]), right=None, asks=True),
    "ten thousand columns": Messy(text(lambda k, cells: [*cells, *(f"c{n}" if not k else "1" for n in range(10_000))])),
    "a separator at the end of each line": Messy(text(lambda k, cells: [*cells, ""])),
    # Numbers.
    "per cent signs": Messy(
        text(cell(2, lambda _, one: f"{one}%")), {}, {"age": {**ATTRIBUTES["age"], "units": {"%": 1}}}
    ),
    "per cent signs, unsaid": Messy(text(cell(2, lambda _, one: f"{one} %")), right=None),
    "currency signs": Messy(
        text(cell(2, lambda _, one: f"€ {one}")), {}, {"age": {**ATTRIBUTES["age"], "units": {"€": 1}}}
    ),
    "narrow blanks between thousands": Messy(
        text(cell(2, lambda _, one: f"1\u202f0{one}")),
        {"thousands": "\u202f"},
        {"age": {"range": [1000, 1120], "step": 10, "whole": True}},
        right={"women": 20, "old": 40, "summer": 9},
    ),
    "thousands, unsaid": Messy(text(cell(2, lambda _, one: f'"1,0{one}"')), right=None),
    "minus signs of typographers": Messy(text(cell(2, lambda k, one: "\u22125" if k == 5 else one)), right=None),
    "parentheses for minus": Messy(text(cell(2, lambda k, one: "(5)" if k == 5 else one)), right=None),
    "powers of ten": Messy(text(cell(2, lambda k, one: f"{one[0]}.{one[1]}e1"))),
    "ages as decimals": Messy(text(cell(2, lambda _, one: f"{one}.0"))),
    "digits of Arabic": Messy(text(cell(2, lambda k, one: "٣٠" if k == 5 else one)), right=None),
    "infinite ages": Messy(text(cell(2, lambda k, one: "1e400" if k == 5 else one)), right=None),
    # Days.
    "day numbers of a workbook": Messy(text(cell(3, lambda _, one: "45672")), right=None),
    "moments of two zones": Messy(
        text(cell(3, lambda k, one: f"{one}T12:00:00{'+02:00' if k % 2 else 'Z'}")),
        {},
        {"day": {**ATTRIBUTES["day"], "zone": "Europe/Berlin", "written": "2025-12-31T23:59:58+01:00"}},
    ),
    "moments of two zones, unsaid": Messy(
        text(cell(3, lambda k, one: f"{one}T12:00:00{'+02:00' if k % 2 else 'Z'}")), right=None
    ),
    "days in words of German": Messy(text(cell(3, lambda _, one: "15. März 2025")), right=None),
    "a day of the year 0": Messy(text(cell(3, lambda k, one: "0000-00-00" if k == 5 else one)), right=None),
    "days of one digit": Messy(
        text(cell(3, lambda _, one: f"{int(one[8:])}.{int(one[5:7])}.{one[:4]}")), {}, dates("31.12.2025")
    ),
    # Words.
    "yes and no in three languages": Messy(
        text(cell(1, lambda k, one: WORDS[one][k % 3])),
        {},
        {"sex": {"values": ["F", "M"], "words": {each: key for key, some in WORDS.items() for each in some}}},
    ),
    "yes and no in three languages, unsaid": Messy(text(cell(1, lambda k, one: WORDS[one][k % 3])), right=None),
    "blanks that do not break": Messy(text(cell(1, lambda _, one: f"\u00a0{one}\u202f")), {"trim": True}),
    "wide letters": Messy(text(cell(1, lambda k, one: "\uff26" if k == 2 else one)), {"trim": True}, right=None),
    "letters of no width": Messy(
        text(cell(1, lambda k, one: f"{one}\u200b" if k == 2 else one)), {"trim": True}, right=None
    ),
    # People.
    "ids as decimals": Messy(
        text(cell(0, lambda k, _: "1.0" if k % 2 else "1")),
        people={"column": "id", "count": "once"},
        right=None,  # a number such as 1.0 names nobody: it is not the name 1
    ),
    "ids that are empty": Messy(
        text(cell(0, lambda k, one: "" if k == 3 else one)), people={"column": "id", "count": "once"}, right=None
    ),
    # Parquet.
    "parquet of nothing": Messy(
        parquet(**{name: pa.array([], pa.string()) for name in ("id", "sex", "age", "day", "note")}),
        name="t.parquet",
        right=None,
    ),
    "parquet of a struct": Messy(parquet(age=NESTED), name="t.parquet", right=None),
    "parquet of decimals": Messy(
        parquet(age=pa.array([Decimal(one) for one in AGES], pa.decimal128(9, 2)), day=pa.array(DAYS)), name="t.parquet"
    ),
    "parquet of a dictionary": Messy(
        parquet(
            sex=pa.array(["FM"[(k + 1) % 2] for k in range(ROWS)]).dictionary_encode(), age=AGES, day=pa.array(DAYS)
        ),
        name="t.parquet",
        right={"women": 20, "old": 20, "summer": 9},
    ),
    "parquet of truth": Messy(
        parquet(sex=[k % 2 == 0 for k in range(ROWS)], age=AGES, day=pa.array(DAYS)), name="t.parquet", right=None
    ),
    "parquet, cut off": Messy(parquet(age=AGES)[:-40], name="t.parquet", right=None, asks=True),
    "parquet of times of a day": Messy(
        parquet(age=AGES, day=pa.array(list(range(ROWS)), pa.time32("s"))), name="t.parquet", right=None
    ),
    "parquet of floats that are no numbers": Messy(
        parquet(age=[float("nan") if k == 3 else 20.0 + k for k in range(ROWS)], day=pa.array(DAYS)),
        name="t.parquet",
        right=None,
    ),
}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_as_it_is_said_or_refused_and_shown_to_its_reader_only(name):
    Path(TABLES[name].name).write_bytes(TABLES[name].content)
    is_read_or_refused(TABLES[name])


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_a_draft_of_it_asks_what_rows_do_not_settle_and_holds_no_cell(name):
    Path(TABLES[name].name).write_bytes(TABLES[name].content)
    is_drafted_or_asked_about(TABLES[name])
