"""Messy tables of a PostgreSQL server: each is read as its policy says, or asked about, or refused; no cell shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from reference.messy_tables import (
    AGES,
    ATTRIBUTES,
    CANARY,
    DAYS,
    LINES,
    Messy,
    dates,
    is_drafted_or_asked_about,
    is_read_or_refused,
)
from services.tables import PostgresTables

pytestmark = [pytest.mark.service("postgres")]


def table(**columns):
    """The lines with whole numbers and days, and other columns in the place of some."""
    said = {name: [line[place] for line in LINES[1:]] for place, name in enumerate(LINES[0])}
    return pa.table({**said, "age": pa.array(AGES, pa.int32()), "day": pa.array(DAYS, pa.date32()), **columns})


def moments(**zone):
    kind = pa.timestamp("us", **({"tz": "UTC"} if zone else {}))
    return pa.array([datetime(one.year, one.month, one.day, 12, **zone) for one in DAYS], kind)


SEX = [line[1] for line in LINES[1:]]
TABLES: dict[str, tuple[Messy, pa.Table]] = {
    "typed": (Messy(b""), table()),
    "text": (Messy(b"", {"decimal": "."}), table(age=list(map(str, AGES)), day=list(map(str, DAYS)))),
    "text, unsaid": (Messy(b"", right=None, shows="reading: {decimal"), table(age=list(map(str, AGES)))),
    "text days of another kind": (
        Messy(b"", {}, dates("31.12.2025")),
        table(day=[f"{one:%d.%m.%Y}" for one in DAYS]),
    ),
    "halves in whole numbers": (
        Messy(b"", right=None, shows="20.5"),
        table(age=pa.array([20.5, *map(float, AGES[1:])])),
    ),
    "moments": (Messy(b""), table(day=moments())),
    "moments with a zone, unsaid": (Messy(b"", right=None), table(day=moments(tzinfo=UTC))),
    "moments with a zone": (
        Messy(b"", {}, {"day": {**ATTRIBUTES["day"], "zone": "Europe/Berlin"}}),
        table(day=moments(tzinfo=UTC)),
    ),
    "a strange word": (Messy(b"", right=None, shows=CANARY), table(sex=[CANARY, *SEX[1:]])),
    "nothing in a cell": (Messy(b"", right=None), table(sex=[None, *SEX[1:]])),
    "a missing column": (Messy(b"", right=None, shows="age"), table().drop(["age"])),
    "no rows": (Messy(b"", right=None), table().slice(0, 0)),
}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_as_it_is_said_or_refused_and_shown_to_its_reader_only(postgres, tmp_path, name):
    messy, content = TABLES[name]
    is_read_or_refused(replace(messy, address=PostgresTables(postgres).keep(content, tmp_path)))


@pytest.mark.parametrize("name", TABLES)
def test_a_draft_of_it_is_made_of_its_schema(postgres, tmp_path, name):
    messy, content = TABLES[name]
    is_drafted_or_asked_about(replace(messy, address=PostgresTables(postgres).keep(content, tmp_path)))


@pytest.mark.parametrize("kind, cell", [("date", "infinity"), ("date", "0044-03-15 BC"), ("numeric", "NaN")])
def test_what_only_servers_have_is_refused_and_hidden(postgres, tmp_path, kind, cell):
    server = PostgresTables(postgres)
    address = server.keep(table(), tmp_path)
    column, name = {"date": "day", "numeric": "age"}[kind], address.partition("#")[2]
    server.execute(f"ALTER TABLE {name} ALTER COLUMN {column} TYPE {kind}")
    server.execute(f"UPDATE {name} SET {column} = '{cell}' WHERE id = '{LINES[1][0]}'")
    is_read_or_refused(replace(Messy(b"", right=None), address=address))


def test_a_view_and_a_domain_are_read_as_what_they_are_made_of(postgres, tmp_path):
    server = PostgresTables(postgres)
    address = server.keep(table(), tmp_path)
    name = address.partition("#")[2]
    server.execute("CREATE DOMAIN years AS integer CHECK (VALUE >= 0)")
    server.execute(f"ALTER TABLE {name} ALTER COLUMN age TYPE years")
    server.execute(f"CREATE VIEW seen_{name} AS SELECT * FROM {name}")
    is_read_or_refused(replace(Messy(b""), address=server.url(f"seen_{name}")))
