"""Tables in a file of SQLite by their address: read only, of one state, strictly, and by the same reading as a file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dxgeom.engines.fitting import fit_of, require_fit
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.opening import opened
from dxgeom.errors import DataError
from dxgeom.policy.policy import Policy


def policy(**reading: object) -> Policy:
    attributes = {"sex": ["F", "M"], "age": {"range": [0, 110], "step": 10, "whole": True}}
    stated = {"reading": reading} if reading else {}
    rules = [{"change": ["sex", "age"], "epsilon": 1}]
    return Policy.from_dict({"policy": "p", **stated, "universe": {"attributes": attributes}, "rules": rules})


@pytest.fixture
def base(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "a b.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE visits (id INTEGER PRIMARY KEY, sex TEXT NOT NULL, age INTEGER, note TEXT)")
        rows = [("F", 31, "x"), ("F", 35, "y"), ("M", 70, "z")]
        connection.executemany("INSERT INTO visits (sex, age, note) VALUES (?, ?, ?)", rows)
        yield connection


def address(folder: Path, what: str = "visits") -> str:
    return f"sqlite:///{folder}/a b.db#{what}"


def counted(table: str, wanted: Policy) -> dict[tuple[str, ...], int]:
    counts = histogram_of_table(table, wanted.universe).counts
    return {tuple(wanted.universe.record(int(k)).values()): int(counts[k]) for k in counts.nonzero()[0]}


@pytest.mark.parametrize("what", ["visits", "SELECT sex, age FROM visits", "SELECT%20sex,%20age FROM visits;", "seen"])
def test_a_table_a_view_and_a_query_are_counted(base, tmp_path, what):
    base.execute("CREATE VIEW seen AS SELECT * FROM visits")
    assert counted(address(tmp_path, what), policy()) == {("F", "30"): 2, ("M", "70"): 1}


def test_the_address_may_be_relative(base, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sum(counted("sqlite:///a b.db#visits", policy()).values()) == 3


def test_what_a_policy_says_of_cells_and_of_rows_holds(base, tmp_path):
    base.execute("INSERT INTO visits (sex, age, note) VALUES (' f ', 32, 'Total')")
    reading = policy(trim=True, case="fold", ignore={"note": ["z"]})
    assert counted(address(tmp_path), reading) == {("F", "30"): 3}


def test_the_check_and_the_refusal_before_a_plan_see_its_rows(base, tmp_path):
    assert fit_of(address(tmp_path), policy().universe).refused == 0
    base.execute("INSERT INTO visits (sex, age) VALUES ('X', 32)")
    assert fit_of(address(tmp_path), policy().universe).refused == 1
    with pytest.raises(DataError, match=r"1 of 4 rows do not fit the policy: sex 1\n.*sqlite:///.*#visits"):
        require_fit(address(tmp_path), "p.yaml", policy().universe)


def test_nothing_is_written_there(base, tmp_path):
    before = (tmp_path / "a b.db").read_bytes()
    counted(address(tmp_path), policy())
    with pytest.raises(DataError):
        counted(address(tmp_path, "SELECT 1; DROP TABLE visits"), policy())
    assert (tmp_path / "a b.db").read_bytes() == before and {one.name for one in tmp_path.iterdir()} == {"a b.db"}


def test_two_readings_of_a_table_that_is_open_are_of_one_state(base, tmp_path):
    base.execute("PRAGMA journal_mode = WAL")
    with opened(address(tmp_path), ("sex",)) as source:
        before = source.fetched(source.rows)
        base.execute("DELETE FROM visits")
        assert len(before) == 3 and source.fetched(source.rows) == before


@pytest.mark.parametrize(
    "what, found",
    [
        ("sqlite:///{0}/a b.db", "is its URL, then #"),
        ("sqlite:///{0}/no.db#visits", "no.db' does not exist; a table in SQLite is named like sqlite:///"),
        ("sqlite:///{0}/a b.db#none", "'a b.db' has no table 'none'"),
        ("sqlite:///{0}/text.db#visits", "the table 'visits' cannot be read: file is not a database"),
        ("sqlite:///{0}/a b.db#SELECT sex FROM visits", "has no column named 'age'"),
        ("sqlite:///{0}/a b.db#SELECT weight FROM visits", "cannot be read: no such column: weight"),
        ("sqlite:///{0}/a b.db#SELECT FROM", "the result of the query cannot be read"),
        ("mysql://host/base#visits", "is an address elsewhere, and tables are files here"),
    ],
)
def test_an_address_that_names_no_table_is_refused_in_words(base, tmp_path, what, found):
    (tmp_path / "text.db").write_text("a,b\n" * 100, "utf-8")
    with pytest.raises(DataError, match=found):
        counted(what.format(tmp_path), policy())


def test_a_cell_that_is_not_of_its_columns_type_is_refused_and_not_shown(base, tmp_path):
    base.execute("INSERT INTO visits (sex, age) VALUES ('F', 'CANARY')")
    with pytest.raises(DataError, match="a cell of column 'age' is not of its type, int64, as SQLite allows") as error:
        counted(address(tmp_path), policy())
    assert "CANARY" not in str(error.value) and error.value.__cause__ is None
    as_text = "SELECT sex, CAST(age AS TEXT) AS age FROM visits WHERE age != 'CANARY'"
    assert counted(address(tmp_path, as_text), policy(trim=True)) == {("F", "30"): 2, ("M", "70"): 1}


def test_bytes_that_are_no_text_are_refused_and_not_shown(base, tmp_path):
    base.execute("INSERT INTO visits (sex, age) VALUES (CAST(X'43414E415259FF' AS TEXT), 1)")
    with pytest.raises(DataError, match="not text in UTF-8") as error:
        counted(address(tmp_path), policy())
    assert "CANARY" not in str(error.value)
