"""The chain of seals: written again by SQL and hashlib alone, and broken by every change of every field."""

from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dxgeom.errors import LedgerError, WrongArgument
from dxgeom.ledger.chronicle import _VERIFIED
from dxgeom.ledger.history import read_answer, read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger.tables import TABLES
from dxgeom.metrics.metric import DataSet

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "ledger.md"
VISITS = DataSet("visits, für alle", "2026\n", budget=Fraction(3))


def opened(path: Path, policy: str = "f", document: str | None = None) -> Ledger:
    return Ledger.open(
        path, policy_fingerprint=policy, policy_name="n", budget=Fraction(1), data_set=VISITS, policy=document
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every table has rows, every column a value somewhere."""
    path = tmp_path_factory.mktemp("seals") / "a.db"
    with opened(path, document='{"policy": "n"}') as one, opened(path, "g") as two:
        first = one.charge(Fraction(1, 3), purpose="ü\x01\n,'\"\\", plan_fingerprint="p", key="k", owner="o", reserve=9)
        two.charge(Fraction(1, 7), purpose="", plan_fingerprint="p" * 10_000)
        one.store(first, "the answer")
        one.allot({"o": Fraction(1, 100)})
        one.store(two.charge(Fraction(1, 7), purpose="", plan_fingerprint="q"), b"\x00\xff")
    return path


@pytest.fixture
def path(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(written, tmp_path / "a.db"))


def test_the_guides_sql_writes_the_bytes_that_each_seal_is_the_sha256_of(path: Path) -> None:
    blocks = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(blocks[0]).fetchall()
    assert [position for position, *_ in rows] == list(range(1, 11))
    for _, seal, sealed in rows:
        assert hashlib.sha256(sealed).hexdigest() == seal


def test_the_guides_sql_reads_ledgers_that_an_older_version_began(tmp_path: Path) -> None:
    path = Path(shutil.copy(Path(__file__).parent / "files" / "format_2.ledger", tmp_path / "a.db"))
    data, name = DataSet("visits", "2026-01", budget=Fraction(3, 2)), "clinic"
    with Ledger.open(path, policy_fingerprint="a" * 64, policy_name=name, budget=Fraction(1), data_set=data) as ledger:
        ledger.store(ledger.charge(Fraction(1, 7), purpose="", plan_fingerprint="q"), b"new")
    blocks = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(blocks[0]).fetchall()
    assert [hashlib.sha256(sealed).hexdigest() for _, _, sealed in rows] == [seal for _, seal, _ in rows]
    assert {sealed[3:18] for _, _, sealed in rows} == {b"dxgeom ledger 2", b"dxgeom ledger 3"}


def test_the_seals_are_those_of_the_rows_as_sql_has_them(path: Path) -> None:
    found = []
    with closing(sqlite3.connect(path)) as connection:
        for table in TABLES:
            fields = ", ".join(column.name for column in table.columns)
            rows = connection.execute(f"SELECT position, seal, '{table.name}', {fields} FROM {table.name}").fetchall()
            assert rows
            found += rows
    previous = ""
    for place, (position, seal, *fields) in enumerate(sorted(found), 1):
        version = 3 if fields[0] in ("entries", "answers") else 2
        parts = [f"dxgeom ledger {version}", previous, position, *fields]
        texts = [None if part is None else str(part).encode() for part in parts]
        sealed = b"".join(b"-," if text is None else b"%d:%b," % (len(text), text) for text in texts)
        assert (position, hashlib.sha256(sealed).hexdigest()) == (place, seal)
        previous = seal


def test_sql_writes_the_bytes_of_an_answers_digest(path: Path) -> None:
    query = """SELECT digest, CAST('15:dxgeom answer 2,' || '64:' || entries.seal || ','
        || length(content) || ':' AS BLOB), content
        FROM answers JOIN entries ON entries.number = answers.entry"""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(query).fetchall()
    assert len(rows) == 2
    for digest, head, content in rows:
        assert hashlib.sha256(head + content + b",").hexdigest() == digest


def altered(path: Path, table: str, statement: str) -> None:
    _VERIFIED.clear()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", (table,)
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)


FIELDS = [
    (table.name, column, kind)
    for table in TABLES
    for column, kind in [
        ("position", int),
        ("seal", str),
        *((column.name, column.kind) for column in table.columns),
        *([("content", bytes)] if table.content else []),
    ]
]


@pytest.mark.parametrize(("table", "column", "kind"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
def test_every_field_that_is_changed_is_noticed(path: Path, table: str, column: str, kind: type) -> None:
    changed = {int: f"{column} + 100", str: f"coalesce({column}, '') || 'x'", bytes: "x'00'"}[kind]
    last = f"(SELECT max(position) FROM {table})"
    altered(path, table, f"UPDATE {table} SET {column} = {changed} WHERE position = {last}")
    with pytest.raises(LedgerError, match="altered"):
        verify_ledger(path)
    if column != "content":
        with pytest.raises(LedgerError, match="altered"):
            opened(path)


@pytest.mark.parametrize("table", [table.name for table in TABLES])
def test_every_row_that_is_gone_is_noticed(path: Path, table: str) -> None:
    altered(path, table, f"DELETE FROM {table} WHERE position = (SELECT max(position) FROM {table})")
    with pytest.raises(LedgerError, match="altered"):
        opened(path)


def test_a_tail_that_is_cut_off_with_what_sqlite_remembers_shows_beside_a_printed_seal(path: Path) -> None:
    receipt = read_ledger(path).receipt
    assert receipt is not None
    altered(path, "answers", "DELETE FROM answers WHERE entry = 3")
    altered(path, "answers", "UPDATE sqlite_sequence SET seq = 7 WHERE name = 'answers'")
    assert verify_ledger(path).answers.keys() == {1}
    with pytest.raises(LedgerError, match="another seal than was printed, or the answer that the seal covers is gone"):
        verify_ledger(path, seal=receipt)


def test_an_older_copy_and_a_forged_tail_show_beside_a_printed_seal(written: Path, tmp_path: Path) -> None:
    path, old = Path(shutil.copy(written, tmp_path / "a.db")), Path(shutil.copy(written, tmp_path / "old.db"))
    with opened(path) as ledger:
        receipt = ledger.store(ledger.charge(Fraction(1, 7), purpose="honest", plan_fingerprint="p"), b"1")
    seal = receipt.entry, receipt.seal
    assert verify_ledger(path, seal=seal).receipt == seal
    with pytest.raises(LedgerError, match=r"ends with entry 3, and entry 4 was released once: it is an older copy"):
        verify_ledger(old, seal=seal)
    # The forger writes as dxgeom does: the chain fits itself, and only the printed seal tells.
    with opened(old) as forged:
        forged.store(forged.charge(Fraction(1, 700), purpose="forged", plan_fingerprint="p"), b"1")
    assert len(verify_ledger(old).entries) == 4
    with pytest.raises(LedgerError, match="entry 4 has another seal than was printed"):
        verify_ledger(old, seal=seal)


def test_the_seal_of_a_charge_and_that_of_its_answer_both_prove_it(path: Path) -> None:
    with opened(path) as ledger:
        entry = ledger.charge(Fraction(1, 7), purpose="", plan_fingerprint="p")
        receipt = ledger.store(entry, b"1")
        ledger.charge(Fraction(1, 7), purpose="", plan_fingerprint="p")
    for seal in (entry.seal, receipt.seal):
        verify_ledger(path, seal=(entry.number, seal))
    with pytest.raises(LedgerError, match="another seal"):
        verify_ledger(path, seal=(3, entry.seal))


def test_ledgers_that_were_begun_alike_have_different_seals(tmp_path: Path) -> None:
    seals = set()
    for name in ("a.db", "b.db"):
        with opened(tmp_path / name) as ledger:
            seals.add(ledger.charge(Fraction(1, 2), purpose="", plan_fingerprint="p").seal)
    assert len(seals) == 2


def test_rows_that_sql_appends_are_noticed_by_an_open_ledger(path: Path) -> None:
    with opened(path) as ledger:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(
                "INSERT INTO entries VALUES (10, 4, 1, '', '', '', '1/100', '1/2', '1/2', '', '', '', 0, 'x', 'c', '')"
            )
        with pytest.raises(LedgerError, match="altered: row 10 of its table 'entries' does not match its seal"):
            ledger.charge(Fraction(1, 7), purpose="", plan_fingerprint="p")


def test_a_field_that_is_changed_while_a_ledger_is_open_is_noticed_at_the_next_charge(path: Path) -> None:
    with opened(path) as ledger:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            trigger = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'entries_stay_on_UPDATE'")
            (sql,) = trigger.fetchone()
            connection.execute("DROP TRIGGER entries_stay_on_UPDATE")
            connection.execute("UPDATE entries SET spend = '1/4' WHERE number = 1")
            connection.execute(sql)
        with pytest.raises(LedgerError, match="altered"):
            ledger.charge(Fraction(1, 7), purpose="", plan_fingerprint="p")


@pytest.mark.parametrize("seal", [5, (1,), (1, "a", "b"), ("1", "a"), (True, "a"), (1, None), [1, "a"]], ids=str)
def test_what_is_no_printed_seal_is_told(written: Path, seal: object) -> None:
    with pytest.raises(WrongArgument, match="'seal' is an entry's number and the seal"):
        verify_ledger(written, seal=seal)  # type: ignore[arg-type]


@pytest.mark.parametrize("entry", ["1", 1.5, None, True])
def test_what_is_no_number_of_an_entry_is_told(written: Path, entry: object) -> None:
    with pytest.raises(WrongArgument, match="'entry' is of type int"):
        read_answer(written, entry)  # type: ignore[arg-type]


def test_keys_and_answers_of_a_wrong_kind_are_told(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as ledger:
        entry = ledger.charge(Fraction(1), purpose="", plan_fingerprint="p")
        with pytest.raises(WrongArgument, match="'answer' is of type bytes or str"):
            ledger.store(entry, 5)  # type: ignore[arg-type]
        with pytest.raises(WrongArgument, match="'key' is of type str"):
            ledger.find(["k"], plan_fingerprint="p", spend=Fraction(1))  # type: ignore[arg-type]
        assert ledger.store(entry, "still open").entry == 1
