"""Files that are no ledger, or no longer the one that was written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from dxgeom.errors import LedgerError
from dxgeom.ledger.chronicle import _VERIFIED
from dxgeom.ledger.ledger import Ledger


def opened(path: Path) -> Ledger:
    return Ledger.open(path, policy_fingerprint="f", policy_name="n", budget=Fraction(1))


def opened_anew(path: Path) -> Ledger:
    """As by a process that has not seen it yet."""
    _VERIFIED.clear()
    return opened(path)


def charge(ledger: Ledger) -> None:
    ledger.charge(Fraction(1, 10), purpose="test", plan_fingerprint="p")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with opened(tmp_path / "a.db") as ledger:
        for _ in range(2):
            charge(ledger)
        last = ledger.charge(Fraction(1, 10), purpose="test", plan_fingerprint="p", key="k")
        ledger.store(last, "an answer")
    return tmp_path / "a.db"


def altered(path: Path, *statements: str) -> None:
    """Alters a ledger as someone would who knows SQLite, and puts the triggers back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET spend = '1/100' WHERE number = 2",
        "UPDATE entries SET purpose = 'other' WHERE number = 1",
        "UPDATE entries SET time_utc = 'never' WHERE number = 3",
        "UPDATE entries SET spend = '2/20' WHERE number = 2",
        "UPDATE entries SET spend = '-1/10' WHERE number = 2",
        "UPDATE entries SET spend = 'nan' WHERE number = 2",
        "UPDATE entries SET spend = CAST(x'00' AS TEXT) WHERE number = 2",
        "UPDATE entries SET number = 7 WHERE number = 3",
        "DELETE FROM entries WHERE number = 1",
        "DELETE FROM entries WHERE number = 3",
        "DELETE FROM entries",
        "UPDATE accounts SET policy_name = 'm'",
        "DELETE FROM accounts",
    ],
)
def test_an_altered_ledger_is_refused_when_opened_and_when_charged(path: Path, statement: str) -> None:
    with opened(path) as ledger:
        altered(path, statement)
        with pytest.raises(LedgerError, match="altered"):
            charge(ledger)
    with pytest.raises(LedgerError, match=r"'.*a\.db' cannot be used: it was altered: .*restore it"):
        opened(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET spend = '1/100'",
        "DELETE FROM entries WHERE number = 3",
        *(
            f"INSERT {replacing} INTO entries VALUES "
            f"({place}, 1, NULL, NULL, {key}, '1/100', 'x', 'x', 'x', 'x', 'x', 0, 'x', NULL, NULL)"
            for replacing, place, key in (
                ("OR REPLACE", "4, 2", "NULL"),
                ("OR REPLACE", "7, 2", "NULL"),
                ("OR REPLACE", "7, 4", "'k'"),
                ("", "7, 9", "NULL"),
                ("", "NULL, 4", "NULL"),
            )
        ),
        "INSERT OR REPLACE INTO answers VALUES (7, 3, 'inside', 1, 'x', x'00', 'x', NULL)",
        "UPDATE answers SET content = x'00'",
        "DELETE FROM answers",
        "UPDATE accounts SET budget = '2'",
        "DELETE FROM accounts",
        "INSERT OR REPLACE INTO accounts VALUES (7, 2, 'n', 'f', '9', 'pure', 'x')",
        "UPDATE data_sets SET people = 'disjoint'",
    ],
)
def test_the_file_itself_refuses_changes(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)


def test_a_ledger_whose_triggers_were_taken_away_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER entries_stay_on_DELETE")
    with pytest.raises(LedgerError, match="triggers that protect them, were altered"):
        opened(path)


def test_an_older_copy_put_in_place_is_noticed_by_a_ledger_that_is_open(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "old.db")
    with opened(path) as ledger:
        charge(ledger)
        shutil.copy(tmp_path / "old.db", path)
        with pytest.raises(LedgerError, match="seen earlier"):
            charge(ledger)


def test_a_ledger_that_vanished_is_refused_and_not_begun_anew(path: Path) -> None:
    with opened(path) as ledger:
        path.unlink()
        with pytest.raises(LedgerError, match="cannot be opened"):
            charge(ledger)
    assert not path.exists()


def test_a_newer_layout_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 11")
    with pytest.raises(LedgerError, match="layout version 11, and this dxgeom knows versions 2 to 10"):
        opened(path)


def _text(path: Path) -> None:
    path.write_text("not a database, but long enough to look at " * 40)


def _nothing(path: Path) -> None:
    path.write_bytes(b"")


def _other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")


@pytest.mark.parametrize("make", [_text, _nothing, _other_database])
def test_a_file_that_is_no_ledger_is_refused_and_left_as_it_is(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a.db")
    before = (tmp_path / "a.db").read_bytes()
    with pytest.raises(LedgerError, match="it is not a ledger; name another file"):
        opened(tmp_path / "a.db")
    assert (tmp_path / "a.db").read_bytes() == before


def test_a_file_with_overwritten_pages_is_refused(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 : 4096 + 2048] = os.urandom(2048)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="cannot be used"):
        opened_anew(path)


def test_a_file_cut_short_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4096])
    with pytest.raises(LedgerError, match="cannot be used"):
        opened_anew(path)


def test_a_folder_a_missing_folder_and_a_special_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place, reason in (
        (tmp_path, "folder; name a file"),
        (tmp_path / "no" / "a.db", "folder does not exist"),
        (tmp_path / "pipe", "not an ordinary file"),
        (tmp_path / ("x" * 300), "too long"),
    ):
        with pytest.raises(LedgerError, match=reason):
            opened(place)


def test_names_with_special_characters_are_taken_literally(tmp_path: Path) -> None:
    for name in ("a b?mode=ro#x.db", "100%25.db", "ü'\".db"):
        with opened(tmp_path / name) as ledger:
            charge(ledger)
        assert (tmp_path / name).is_file()
    assert len(list(tmp_path.iterdir())) == 3


@contextmanager
def without_rights() -> Iterator[None]:
    """The superuser may write anywhere, so for a moment be nobody."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that anyone can look into, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_a_read_only_file_is_refused(open_folder: Path) -> None:
    opened(open_folder / "a.db").close()
    open_folder.chmod(0o777)
    (open_folder / "a.db").chmod(0o444)
    with without_rights(), pytest.raises(LedgerError, match="cannot be written; allow writing to the file"):
        opened(open_folder / "a.db")


def test_a_read_only_folder_is_refused(open_folder: Path) -> None:
    opened(open_folder / "a.db").close()
    (open_folder / "a.db").chmod(0o666)
    open_folder.chmod(0o555)
    with without_rights():
        with pytest.raises(LedgerError, match="cannot be written; allow writing to the file and its folder"):
            opened(open_folder / "a.db")
        with pytest.raises(LedgerError, match="cannot be opened for writing"):
            opened(open_folder / "new.db")
    open_folder.chmod(0o755)


def test_fields_of_a_wrong_kind_are_refused_by_the_file_itself(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER entries_stay_on_UPDATE")
        with pytest.raises(sqlite3.IntegrityError, match="cannot store BLOB"):
            connection.execute("UPDATE entries SET spend = x'00'")
