"""Answers belong to their charge: only the process that charged stores them, whoever else may write."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dxgeom.errors import LedgerError
from dxgeom.ledger import answers
from dxgeom.ledger.answer_files import AnswerFiles, Written
from dxgeom.ledger.book import Book
from dxgeom.ledger.chronicle import Chronicle
from dxgeom.ledger.history import migrate_ledger, read_answer, read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger.stores import store_at
from dxgeom.ledger.tables import ANSWERS, ENTRIES, commitment_of, digest_of
from dxgeom.metrics.metric import DataSet

FILES = Path(__file__).parent / "files"
LARGE = os.urandom(100_000)
FORGES = """
import sys
from fractions import Fraction
from dxgeom.ledger.ledger import Ledger
path, how, size = sys.argv[1:]
ledger = Ledger.open(path, policy_fingerprint="f", policy_name="n", budget=Fraction(1))
ledger.store(1 if how == "number" else ledger.entries()[0], b"forged".ljust(int(size)))
"""


def opened(path: Path | str, fingerprint: str = "f", **more: Any) -> Ledger:
    return Ledger.open(path, policy_fingerprint=fingerprint, policy_name="n", budget=Fraction(1), **more)


def charged(ledger: Ledger, reserve: int = 0) -> Any:
    return ledger.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", key="monday", reserve=reserve)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.mark.parametrize("size", [6, 100_000])
@pytest.mark.parametrize("how", ["number", "entry"])
def test_another_process_answers_no_charge_and_the_one_that_charged_still_does(path: Path, how: str, size: int) -> None:
    with opened(path) as ledger:
        entry = charged(ledger, reserve=200_000)
        forged = subprocess.run(
            [sys.executable, "-c", FORGES, path, how, str(size)], check=False, capture_output=True, text=True
        )
        assert "takes its answer from the process that charged it only" in forged.stderr
        found = ledger.find("monday", plan_fingerprint="p", spend=Fraction(1, 10))
        assert found is not None and found.answer is None
        ledger.store(entry, LARGE[:size])
    assert read_answer(path, 1) == LARGE[:size]
    verify_ledger(path)


@pytest.mark.parametrize("secret", [None, "", "0" * 64, "COMMITMENT"])
def test_a_row_that_answers_without_the_secret_is_refused_though_it_is_sealed(path: Path, secret: str | None) -> None:
    with opened(path) as ledger:
        entry = charged(ledger)
    forged, store = b"forged", store_at(path)
    said = entry.commitment if secret == "COMMITMENT" else secret
    fields = (1, "inside", len(forged), digest_of(entry.seal, forged), said)
    with pytest.raises(LedgerError, match="without what its charge committed to"), Chronicle(store).writing() as page:
        page.append(ANSWERS, fields)
    # Whoever writes below the program, too, is refused by every reader.
    with store.writing() as session:
        book = Book("read")
        for record in session.records_from(0):
            book.add(record)
        session.append(book.next_record(ANSWERS, *fields), forged)
        session.commit()
    for look in (verify_ledger, read_ledger, opened):
        with pytest.raises(LedgerError, match="without what its charge committed to"):
            look(path)


def test_an_answer_that_a_stranger_lays_beside_the_ledger_is_none(path: Path) -> None:
    with opened(path) as ledger:
        entry = charged(ledger)
        for secret in (None, "0" * 64):
            AnswerFiles(path).path_of(1).unlink(missing_ok=True)
            AnswerFiles(path).write(1, entry.seal, Written(b"forged", secret))
            with opened(path) as other:
                assert other.answer_of(1) is None and not read_ledger(path).waiting
        for answer in (LARGE, b"another"):
            if answer == LARGE:
                assert ledger.store(entry, answer).entry == 1
    assert read_answer(path, 1) == LARGE


def test_a_charge_whose_process_is_gone_stays_without_an_answer(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as ledger:
        entry = charged(ledger)
        monkeypatch.setattr(answers, "_SECRETS", {})
        with pytest.raises(LedgerError, match="takes its answer from the process that charged it only"):
            ledger.store(entry, b"late")
        assert ledger.answer_of(1) is None and ledger.spent() == Fraction(1, 10)


def test_a_secret_is_nowhere_until_the_answer_is_stored_and_never_shown(path: Path) -> None:
    with opened(path) as ledger:
        entry = charged(ledger, reserve=1000)
        secret = answers._SECRETS[entry.commitment]
        said = f"14:dxgeom right 3,{len(secret)}:{secret},"
        assert entry.commitment == hashlib.sha256(said.encode()).hexdigest() == commitment_of(secret)
        assert len(bytes.fromhex(secret)) == 32
        for file in path.parent.iterdir():
            assert secret.encode() not in file.read_bytes()
        assert secret not in repr(entry) + repr(ledger.entries())
        ledger.store(entry, b"answer")
        assert entry.commitment not in answers._SECRETS
    assert secret.encode() in path.read_bytes()


def test_no_two_charges_commit_to_the_same(path: Path) -> None:
    with opened(path) as ledger:
        made = [ledger.charge(Fraction(1, 100), purpose="", plan_fingerprint="p") for _ in range(5)]
    assert len({entry.commitment for entry in made}) == 5


@pytest.fixture(params=["format_2", "format_2_divided"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """As the code before this wrote it."""
    return Path(shutil.copy(FILES / f"{request.param}.ledger", tmp_path / "old.db"))


VISITS = {"data_set": DataSet("visits", "2026-01", budget=Fraction(3, 2)), "policy_name": "clinic"}


def go_on(path: Path) -> Ledger:
    return Ledger.open(path, policy_fingerprint="a" * 64, budget=Fraction(1), **VISITS)  # type: ignore[arg-type]


def test_an_older_ledger_is_read_as_it_was_and_looking_does_not_change_it(old: Path) -> None:
    before = old.read_bytes()
    history = verify_ledger(old)
    assert [entry.commitment for entry in history.entries] == [None, None]
    assert read_answer(old, 1) == b"the first answer"
    with go_on(old) as ledger:
        found = ledger.find("monday", plan_fingerprint="p", spend=Fraction(1, 3))
        assert found is not None and found.answer == b"the first answer"
    assert old.read_bytes() == before


def test_an_older_ledger_goes_on_and_its_seals_hold(old: Path) -> None:
    before = read_ledger(old)
    assert before.receipt is not None
    with go_on(old) as ledger:
        entry = ledger.charge(Fraction(1, 100), purpose="new", plan_fingerprint="p")
        ledger.store(entry, b"new")
    after = verify_ledger(old, seal=before.receipt)
    assert after.entries[:2] == before.entries and after.entries[2].commitment is not None
    assert read_answer(old, 3) == b"new"
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (5,)


def test_an_older_ledger_is_brought_up_to_date_by_itself_too(old: Path) -> None:
    before = read_ledger(old)
    assert migrate_ledger(old) == before == verify_ledger(old)
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (5,)


def test_an_entry_after_one_that_commits_commits_too(path: Path) -> None:
    with opened(path) as ledger:
        charged(ledger)
    store = store_at(path)
    with store.writing() as session:
        book = Book("read")
        for record in session.records_from(0):
            book.add(record)
        row = (2, 1, None, None, None, "1/10", "4/5", "1/5", "", "p", "t", 0)
        with pytest.raises(LedgerError, match="commits to no secret"):
            book.add(book.next_record(ENTRIES, *row))
