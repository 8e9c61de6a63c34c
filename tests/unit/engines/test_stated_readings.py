"""What a policy says of tables: each key on each kind of table, messy files, and a slow twin of the order of steps."""

from __future__ import annotations

import gzip
import re
import sqlite3
import sys
import traceback
import unicodedata
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.workbooks import write_workbook

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError
from dxgeom.policy.policy import Policy
from dxgeom.universe.reading.written import NoExample, different_readings, written_moment

SEX_AND_AGE = {"sex": ["F", "M"], "age": {"range": [0, 110], "step": 1, "whole": True}}
TWO = {("F", "3"): 1, ("M", "4"): 1}


def policy(attributes: dict[str, Any], reading: dict[str, Any] | None = None, **more: Any) -> Policy:
    stated = {} if reading is None else {"reading": reading}
    rules = [{"change": list(attributes), "epsilon": 1}]
    return Policy.from_dict({"policy": "p", **stated, "universe": {"attributes": attributes}, "rules": rules, **more})


def counted(table: Any, attributes: dict[str, Any], reading: dict[str, Any] | None = None) -> dict[Any, int]:
    universe = policy(attributes, reading).universe
    counts = histogram_of_table(table, universe).counts
    return {tuple(universe.record(int(k)).values()): int(counts[k]) for k in counts.nonzero()[0]}


def as_csv(columns: dict[str, list[str]], path: Path, separator: str = ",") -> str:
    lines = [
        separator.join(columns),
        *(separator.join(f'"{c}"' for c in row) for row in zip(*columns.values(), strict=True)),
    ]
    return "\n".join(lines) + "\n"


def to_csv(columns: dict[str, list[str]], path: Path) -> Any:
    (path / "a.csv").write_text(as_csv(columns, path), encoding="utf-8")
    return path / "a.csv"


def to_gz(columns: dict[str, list[str]], path: Path) -> Any:
    (path / "a.csv.gz").write_bytes(gzip.compress(as_csv(columns, path).encode()))
    return path / "a.csv.gz"


def to_parquet(columns: dict[str, list[str]], path: Path) -> Any:
    pq.write_table(pa.table(columns), path / "a.parquet")
    return path / "a.parquet"


def to_sqlite(columns: dict[str, list[str]], path: Path) -> Any:
    with sqlite3.connect(path / "a.db") as connection:
        connection.execute(f"CREATE TABLE kept ({', '.join(f'{name} TEXT' for name in columns)})")
        places = ", ".join("?" for _ in columns)
        connection.executemany(f"INSERT INTO kept VALUES ({places})", list(zip(*columns.values(), strict=True)))
    connection.close()
    return f"sqlite:///{path / 'a.db'}#kept"


TABLES: dict[str, Callable[[dict[str, list[str]], Path], Any]] = {
    "csv": to_csv,
    "gz": to_gz,
    "parquet": to_parquet,
    "arrow": lambda columns, _: pa.table(columns),
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "dict": lambda columns, _: columns,
    "sqlite": to_sqlite,
}
SHORT = ("csv", "arrow", "sqlite")
"""Text, columns and a database: what the other tables are read by, too. All of them are tried where long tests run."""
MISSING = {"epsilon": 1}
KEYS: list[tuple[str, Any, dict[str, Any], list[str], list[str]]] = [
    ("trim", {"values": ["a", "b"]}, {"trim": True}, [" a", "b\t", "\u00a0a\u202f"], ["a", "b", "a"]),
    ("fold", {"values": ["Ärztin", "b"]}, {"case": "fold"}, ["ÄRZTIN", "A\u0308rztin", "B"], ["Ärztin", "Ärztin", "b"]),
    (
        "missing",
        {"values": ["a", "b"], "missing": MISSING},
        {"missing": ["NA", "-"]},
        ["NA", "-", "a"],
        ["missing"] * 2 + ["a"],
    ),
    (
        "words",
        {"values": ["F", "M"], "words": {"w": "F", "weiblich": "F"}},
        {},
        ["w", "weiblich", "M"],
        ["F", "F", "M"],
    ),
    ("decimal", {"range": [0, 9], "step": 0.5}, {"decimal": ","}, ["1,5", "2", ",5"], ["1.5", "2", "0.5"]),
    (
        "thousands",
        {"range": [0, 2000], "step": 100},
        {"decimal": ",", "thousands": "."},
        ["1.500,5", "200", "1700"],
        ["1500", "200", "1700"],
    ),
    (
        "units",
        {"range": [0, 9], "step": 0.5, "unit": "kg", "units": {"kg": 1, "g": 0.001}},
        {},
        ["1.5 kg", "1500g", "g 2500", "3"],
        ["1.5", "1.5", "2.5", "3"],
    ),
    (
        "blanks between thousands",
        {"range": [0, 2000], "step": 100},
        {"thousands": " "},
        ["1 500", "1\u00a0500", "1\u202f500"],
        ["1500"] * 3,
    ),
    (
        "marks between thousands",
        {"range": [0, 2000], "step": 100},
        {"thousands": "'"},
        ["1'500", "1’500"],
        ["1500"] * 2,
    ),
    (
        "units that are signs",
        {"range": [0, 9], "step": 0.5, "units": {"€": 1, "ct": 0.01, "₽/m²": 1}},
        {},
        ["1.5 €", "€ 2", "150ct", "3₽/m²"],
        ["1.5", "2", "1.5", "3"],
    ),
    (
        "written missing",
        {"range": [0, 9], "step": 1, "missing": {"epsilon": 1, "written": ["-1"]}},
        {},
        ["-1", "3"],
        ["missing", "3"],
    ),
    (
        "written",
        {"dates": ["2025-01-01", "2025-12-31"], "step": 1, "written": ["31.12.2025 23:59", "31 Dec 2025"]},
        {},
        ["1.2.2025 7:05", "02.02.2025 07:05", "3 FEB 2025"],
        ["2025-02-01", "2025-02-02", "2025-02-03"],
    ),
    (
        "short years",
        {"dates": ["1930-01-15", "2030-01-14"], "step": 1, "written": "31.12.25"},
        {},
        ["14.1.30", "15.01.30", "29.02.00", "31.12.68"],
        ["2030-01-14", "1930-01-15", "2000-02-29", "1968-12-31"],
    ),
    (
        "zone",
        {"range": [0, 23], "step": 1, "as": "hour", "zone": "Europe/Berlin", "written": "2025-12-31T23:59:58+01:00"},
        {},
        ["2025-07-01T12:00:00.5Z", "2025-01-01T23:30:00-0530"],
        ["14", "6"],
    ),
    (
        "month",
        {"range": [1, 12], "step": 1, "as": "month", "written": "12/31/25 11:59 PM"},
        {},
        ["2/1/25 1:00 am", "10/31/03 12:00 PM"],
        ["2", "10"],
    ),
]


@pytest.mark.parametrize(
    "kind", [*SHORT, *(pytest.param(one, marks=pytest.mark.long) for one in TABLES if one not in SHORT)]
)
@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[0])
def test_a_key_means_the_same_in_every_table(key: Any, kind: str, tmp_path: Path) -> None:
    _, attribute, reading, cells, values = key
    table = TABLES[kind]({"x": cells}, tmp_path)
    expected: dict[Any, int] = {}
    for value in values:
        expected[(value,)] = expected.get((value,), 0) + 1
    assert counted(table, {"x": attribute}, reading or None) == expected


@pytest.mark.parametrize(
    "cell", ["0x10", "1_000", "NaN", "inf", "1e400", "12.34", "1.2345", "1.23", "--5", "5-", "1 000", "١", ""]
)
def test_what_is_no_number_is_none(cell: str) -> None:
    with pytest.raises(DataError):
        counted({"x": [cell]}, {"x": {"range": [0, 2000], "step": 1}}, {"decimal": ",", "thousands": "."})


def test_typed_cells_are_taken_by_their_type() -> None:
    columns = {"n": pa.array([1.5, -1.0, None]), "d": pa.array([date(2025, 1, 2), date(1900, 1, 1), None])}
    attributes = {
        "n": {"range": [0, 9], "step": 0.5, "missing": {"epsilon": 1, "written": ["-1"]}},
        "d": {
            "dates": ["2025-01-01", "2025-12-31"],
            "step": 1,
            "written": "31.12.2025",
            "missing": {"epsilon": 1, "written": ["01.01.1900"]},
        },
    }
    found = counted(pa.table(columns), attributes, {"decimal": ",", "thousands": "."})
    assert found == {("1.5", "2025-01-02"): 1, ("missing", "missing"): 2}


TEXT = "sex;age\nF;3\nM;4\n"
S, FOLDED = {"separator": ";"}, {"trim": True, "case": "fold"}
NOTES = b'sex;age;note\nF;3;"a\nb"\nM;4;c\n'
FILES: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "semicolons": ("a.csv", TEXT.encode(), S),
    "tabs": ("a.txt", TEXT.replace(";", "\t").encode(), {"separator": "tab"}),
    "bars": ("a.csv", TEXT.replace(";", "|").encode(), {"separator": "|"}),
    "a mark of byte order": ("a.csv", b"\xef\xbb\xbf" + TEXT.encode(), S),
    "titles": ("a.csv", b'Report "2025\n\nby; all; of us\n' + TEXT.encode(), {**S, "header": 4}),
    "titles before Windows ends": ("a.csv", ("a\n\n" + TEXT).replace("\n", "\r\n").encode(), {**S, "header": 3}),
    "cp1252": ("a.csv", ("ü\n" + TEXT).encode("cp1252"), {**S, "header": 2, "encoding": "windows-1252"}),
    "UTF-16": ("a.csv", TEXT.encode("utf-16"), {**S, "encoding": "utf-16"}),
    "UTF-16 the other way round": ("a.csv", b"\xfe\xff" + TEXT.encode("utf-16-be"), {**S, "encoding": "utf-16-be"}),
    "UTF-16 in gzip": ("a.csv.gz", gzip.compress(TEXT.encode("utf-16")), {**S, "encoding": "utf-16"}),
    "no header": ("a.csv", b"F;3\nM;4\n", {**S, "header": "none", "names": ["sex", "age"]}),
    "other quotes": ("a.csv", b"sex;age\n'F';3\nM;'4'\n", {**S, "quote": "'"}),
    "no quotes": ("a.csv", b'sex;age;note\nF;3;"a\nM;4;b"\n', {**S, "quote": "none"}),
    "totals": ("a.csv", b"id;sex;age\n1;F;3\n2;M;4\n summe ;;7\n", {**S, **FOLDED, "ignore": {"id": ["Summe"]}}),
    "line breaks": ("a.csv", NOTES, {**S, "line_breaks": True}),
    "decoded line breaks": ("a.csv", NOTES, {**S, "line_breaks": True, "encoding": "latin-1"}),
    "empty lines": ("a.csv", b"sex;age\nF;3\n\nM;4\n\n", {**S, "encoding": "latin-1"}),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_a_file_is_read_as_the_policy_says_it_is_written(case: str, tmp_path: Path) -> None:
    name, content, reading = FILES[case]
    (tmp_path / name).write_bytes(content)
    assert counted(tmp_path / name, SEX_AND_AGE, reading) == TWO


REFUSED: dict[str, tuple[bytes, str]] = {
    "a mark opened in one row and closed in another": (b'sex;age;note\nF;3;"a\nM;4;b"\n', "line break"),
    "an open mark": (b'sex;age;note\nF;3;"a\nM;4;b\n', "begins with"),
    "a wide line": (b"sex;age\nF;3\nM;4;5\n", "has 3"),
    "a narrow line": (b"sex;age\nF;3\nM\n", "has 1"),
    "another encoding": (b"sex;age\nF;3\n\x81;4\n", "is not text in|not text in UTF-8"),
}


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252"])
@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_not_written_so_is_refused_though_rows_are_dropped(
    case: str, encoding: str, tmp_path: Path
) -> None:
    content, message = REFUSED[case]
    (tmp_path / "a.csv").write_bytes(content)
    universe = policy(SEX_AND_AGE, {"separator": ";", "encoding": encoding}).universe
    with pytest.raises(DataError, match=message):
        histogram_of_table(tmp_path / "a.csv", universe, outside="drop")


@pytest.mark.parametrize("file", ["anna,17\nbo,18\n", "anna;17\nbo;18\n", "anna,anna\nbo,18\n"])
def test_a_line_that_names_no_column_of_the_policy_is_not_shown(file: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(file)
    with pytest.raises(DataError, match="header: none") as refused:
        counted(tmp_path / "a.csv", SEX_AND_AGE)
    assert "anna" not in str(refused.value)


@pytest.mark.parametrize("cell", ["1 500\u00a0000", "1'500 000", "1\u2009500", "15 00"])
def test_one_sign_stands_between_thousands(cell: str) -> None:
    with pytest.raises(DataError, match="outside"):
        counted({"x": [cell]}, {"x": {"range": [0, 2000000], "step": 100000}}, {"thousands": " "})


def test_line_breaks_are_warned_of() -> None:
    (warning,) = policy(SEX_AND_AGE, {"line_breaks": True}).warnings
    assert "swallows the rows" in warning and not policy(SEX_AND_AGE, {"separator": ";"}).warnings
    assert warning in policy(SEX_AND_AGE, {"line_breaks": True}).review().doubts


def test_people_are_trimmed_and_never_folded_or_numbers() -> None:
    rows = {"id": ["00123", " 123", "123 ", "Ab", "aB", "9007199254740992", "9007199254740993"], "sex": ["F"] * 7}
    said = {"column": "id", "count": "once"}
    stated = policy({"sex": ["F", "M"]}, {"trim": True, "case": "fold", "missing": ["123"]}, people=said)
    found = histogram_of_table(rows, stated.universe, component_of=lambda places: places * 0)
    assert found.total == 6


def twin(cell: str, trim: bool, fold: bool, gone: list[str], words: dict[str, str], values: list[str]) -> str | None:
    """The order of steps in Python's own terms: the value, "" where it is missing, None where there is none."""

    def compared(text: str) -> str:
        text = text.strip(" \t\u00a0\u2007\u202f\ufeff") if trim else text
        text = unicodedata.normalize("NFC", text) if trim or fold else text
        return text.lower() if fold else text

    made = compared(cell)
    if not made or made in map(compared, gone):
        return ""
    return {**{compared(key): read for key, read in words.items()}, **{compared(v): v for v in values}}.get(made)


CELLS = st.lists(st.text("aAbBéE\u0301 \t\u00a0-", max_size=4), min_size=1, max_size=30)


@settings(max_examples=25)
@given(CELLS, st.booleans(), st.booleans())
def test_the_steps_come_in_their_order(cells: list[str], trim: bool, fold: bool) -> None:
    gone, words, values = ["-", "bb"], {"ab": "é"}, ["a", "é", "aa"]
    keys = {"trim": True} if trim else {}
    reading = {**keys, **({"case": "fold"} if fold else {}), "missing": gone}
    attribute = {"values": values, "words": words, "unlisted": "other", "missing": MISSING}
    expected: dict[Any, int] = {}
    for cell in cells:
        read = twin(cell, trim, fold, gone, words, values)
        value = "missing" if read == "" else "other" if read is None else read
        expected[(value,)] = expected.get((value,), 0) + 1
    assert counted({"x": cells}, {"x": attribute}, reading) == expected


NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)(?:,[0-9]*)?|,[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")


@settings(max_examples=25)
@given(st.lists(st.text("0123,.+-e ", min_size=1, max_size=7), min_size=1, max_size=30))
def test_numbers_are_those_of_the_grammar(cells: list[str]) -> None:
    attribute = {"bins": [-1e9, -1, 0, 1, 100, 1000, 1e9], "clamp": True, "missing": MISSING}
    good = [cell for cell in cells if NUMBER.fullmatch(cell)]
    universe = policy({"x": attribute}, {"decimal": ",", "thousands": "."}).universe
    table = {"x": [*cells, "0"]}
    found = histogram_of_table(table, universe, outside="drop")
    assert (found.total, found.dropped) == (len(good) + 1, len(cells) - len(good))
    exact = [float(cell.replace(".", "").replace(",", ".")) for cell in [*good, "0"]]
    alike = histogram_of_table({"x": exact}, universe)
    assert found.counts.tolist() == alike.counts.tolist()


EXAMPLES = [
    "31.12.2025 23:59", "12/31/2025 11:59 PM", "2025-12-31T23:59:58", "31 Dec 2025", "20251231", "31122025",
    "Wed, 31 December 2025", "2025/12/31 23:59:58", "31-12-2025 23.59", "2025-12-31 23:59:58.123", "December 31, 2025",
]  # fmt: skip


@settings(max_examples=25)
@given(
    st.sampled_from(EXAMPLES),
    st.lists(st.datetimes(datetime(1950, 1, 1), datetime(2049, 12, 31)), min_size=1, max_size=9),
)
def test_a_day_that_is_written_as_the_example_is_read_back(example: str, moments: list[datetime]) -> None:
    way = written_moment(example)
    attribute = {"dates": ["1950-01-01", "2049-12-31"], "step": 1, "written": example}
    found = counted({"x": [way.write(moment).upper() for moment in moments]}, {"x": attribute})
    expected: dict[Any, int] = {}
    for moment in moments:
        expected[(moment.date().isoformat(),)] = expected.get((moment.date().isoformat(),), 0) + 1
    assert found == expected
    assert all(way.read(way.write(moment)).date() == moment.date() for moment in moments)


@pytest.mark.parametrize(
    "cell", ["2025-03-01", "31.2.2025", "1.13.2025", "1.2.25", " 1.2.2025", "1.2.2025 7:05", "1.2.20255"]
)
def test_a_day_that_is_not_written_as_the_example_is_refused(cell: str) -> None:
    with pytest.raises(DataError):
        counted({"x": [cell]}, {"x": {"dates": ["2025-01-01", "2025-12-31"], "step": 1, "written": "31.12.2025"}})


@pytest.mark.parametrize("pair", [("31/12/2025", "12/31/2025"), ("31.12.25", "25.12.31"), ("20251231", "31122025")])
def test_two_examples_that_read_a_cell_differently_are_refused(pair: tuple[str, str]) -> None:
    found = different_readings(tuple(map(written_moment, pair)))
    assert found is not None
    assert different_readings(tuple(map(written_moment, (pair[0], "2025-12-31 23:59")))) is None


@pytest.mark.parametrize(
    "example", ["1.2.2025", "31. Dezember 2025", "31.12.", "2025-12-31 11:59", "31.12.2025 59", "31.12.2025 31"]
)
def test_what_is_no_way_to_write_the_last_minute_is_no_example(example: str) -> None:
    with pytest.raises(NoExample):
        written_moment(example)


def test_a_workbook_of_mixed_cells_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        ["a title", "", ""],
        ["sex", "w", "day"],
        ["f ", 80.5, datetime(2025, 3, 1, 12, 30)],
        ["M", "70,5", "02.03.2025 13:00"],
        ["", "", ""],
    ]
    sheet = SimpleNamespace(to_python=lambda skip_empty_area: rows)
    book = SimpleNamespace(sheet_names=["A", "B"], get_sheet_by_name=lambda name: {"A": sheet}[name])
    fake = SimpleNamespace(CalamineWorkbook=SimpleNamespace(from_path=lambda path: book), CalamineError=OSError)
    monkeypatch.setitem(sys.modules, "python_calamine", fake)
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    attributes = {
        "sex": ["F", "M"],
        "w": {"range": [0, 200], "step": 0.5},
        "day": {"dates": ["2025-01-01", "2025-12-31"], "step": 1, "written": "31.12.2025 23:59"},
    }
    reading = {"header": 2, "sheet": "A", "decimal": ",", "trim": True, "case": "fold"}
    found = counted(tmp_path / "a.xlsx", attributes, reading)
    assert found == {("F", "80.5", "2025-03-01"): 1, ("M", "70.5", "2025-03-02"): 1}
    with pytest.raises(DataError, match="has the sheets 'A', 'B'; the policy says which one"):
        counted(tmp_path / "a.xlsx", attributes, {"header": 2})


@pytest.mark.needs("python_calamine")
def test_a_workbook_is_read_by_the_library_for_it(tmp_path: Path) -> None:
    rows = [
        ["a title"],
        ["sex", "w", "day"],
        ["f ", 80.5, datetime(2025, 3, 1, 12, 30)],
        ["M", "70,5", "02.03.2025 13:00"],
        ["M", 70.5, date(2025, 3, 2)],
    ]
    book = write_workbook(tmp_path / "a.xlsx", {"other": [["x"], [1]], "A": rows})
    attributes = {
        "sex": ["F", "M"],
        "w": {"range": [0, 200], "step": 0.5},
        "day": {"dates": ["2025-01-01", "2025-12-31"], "step": 1, "written": "31.12.2025 23:59"},
    }
    reading = {"header": 2, "sheet": "A", "decimal": ",", "trim": True, "case": "fold"}
    assert counted(book, attributes, reading) == {("F", "80.5", "2025-03-01"): 1, ("M", "70.5", "2025-03-02"): 2}
    with pytest.raises(DataError, match="has the sheets 'other', 'A'; the policy says which one"):
        counted(book, attributes, {"header": 2})


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252"])
@pytest.mark.parametrize(
    "quote, line, found",
    [
        (
            "none",
            'Summe;M;4;"b"',
            "by 'quote: none' each separator ends a cell: correct the line, or state a separator that",
        ),
        ("'", "Summe;M;4;b", "a cell with a separator in it stands in single quotes"),
        ('"', "Summe;M;4;b", "a cell with a separator in it stands in double quotes"),
        ("none", "Summe", "correct it, or take the line out where it is no row: 'ignore' leaves out whole rows only"),
        ("'", "Summe", "correct it, or take the line out"),
    ],
)
def test_a_line_of_another_width_is_refused_by_its_number_even_where_a_word_would_be_ignored(
    tmp_path, quote, line, found, encoding
):
    (tmp_path / "a.csv").write_text(f"id;sex;age\n1;F;3\n{line}\n2;M;4\n", encoding)
    stated = {"separator": ";", "quote": quote, "encoding": encoding, "ignore": {"id": ["Summe"]}}
    columns = len(line.split(";"))
    with pytest.raises(DataError, match="line 3: the header has 3 columns, but this row has") as error:
        counted(tmp_path / "a.csv", SEX_AND_AGE, stated)
    assert f"this row has {columns}; {found}" in str(error.value) and line not in str(error.value)


def test_no_letter_of_a_cell_that_is_not_utf8_is_told(tmp_path):
    (tmp_path / "a.csv").write_bytes("sex;age\nF;3\nÖ;4\n".encode("windows-1252"))
    with pytest.raises(DataError, match="the first wrong byte is in line 3") as error:
        counted(tmp_path / "a.csv", SEX_AND_AGE, {"separator": ";"})
    assert "Ö" not in str(error.value) and "xd6" not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize("line", [b"2;2;M;4", "2;Ö;4".encode("cp1252"), b'2;"M\n";4'])
@pytest.mark.parametrize("more", [{}, {"people": {"column": "id", "count": "single"}}, {"presence": True}])
def test_no_line_of_a_table_is_named_where_rows_are_secret(tmp_path, line, more):
    """What line it is says how many rows are before it, and whose row it is: 'check --table' names it."""
    (tmp_path / "a.csv").write_bytes(b"id;sex;age\n1;F;3\n" + line + b"\n3;M;4\n")
    document = {"policy": "p", "universe": {"attributes": SEX_AND_AGE}, "reading": {"separator": ";"}, "rules": []}
    document["rules"].append({"change": ["sex", "age"], "epsilon": 1})
    document["rules"] += [{"presence": True, "epsilon": 1}] if "presence" in more else []
    document |= {key: one for key, one in more.items() if key == "people"}
    with pytest.raises(DataError) as error:
        histogram_of_table(tmp_path / "a.csv", dx.Policy.from_dict(document).universe)
    named = re.search(r"\b(line|data row) \d", str(error.value)) is not None
    assert named == (not more) and ("check" in str(error.value)) == bool(more)
