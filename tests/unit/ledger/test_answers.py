"""Answers: room kept before the charge, stored once before they are shown, found again at no cost."""

from __future__ import annotations

import gzip
import os
import sqlite3
import stat
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dxgeom.errors import BudgetExceeded, LedgerError, WrongArgument
from dxgeom.ledger.entry import Account, Entry
from dxgeom.ledger.ledger import Ledger

PLAN = "p" * 64
SPEND = Fraction(1, 10)
LARGE = os.urandom(200_000)


def opened(path: Path | str, fingerprint: str = "f") -> Ledger:
    return Ledger.open(path, policy_fingerprint=fingerprint, policy_name="n", budget=Fraction(1))


def charged(ledger: Ledger, reserve: int = 0, key: str | None = None) -> Entry:
    return ledger.charge(SPEND, purpose="test", plan_fingerprint=PLAN, reserve=reserve, key=key)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("answer", [b"", b'{"answers": [1]}', "für \ud800 €", LARGE, b"0" * 10**6], ids=len)
@pytest.mark.parametrize("reserve", [0, 10, 10**6])
@pytest.mark.parametrize("place", ["a.db", ":memory:"])
def test_an_answer_is_stored_once_and_read_back_as_it_was(
    tmp_path: Path, answer: bytes | str, reserve: int, place: str
) -> None:
    path = place if place == ":memory:" else tmp_path / place
    expected = answer if isinstance(answer, bytes) else answer.encode("utf-8", "surrogatepass")
    with opened(path) as ledger:
        entry = charged(ledger, reserve)
        assert ledger.answer_of(entry) is None
        receipt = ledger.store(entry, answer)
        assert (receipt.entry, receipt.waiting) == (1, None)
        for second in (answer, b"another"):
            with pytest.raises(LedgerError, match=r"entry 1 .* has its answer already, and keeps it"):
                ledger.store(1, second)
        assert ledger.answer_of(1) == expected
        if place == ":memory:":
            return
    with opened(path) as again:
        assert again.answer_of(entry) == expected
    beside = len(expected) > 65_536
    assert names(tmp_path) == ["a.db", *(["a.db.answer-1.gz"] if beside else [])]
    assert receipt.file == (tmp_path / "a.db.answer-1.gz" if beside else None)


def test_a_large_answer_is_an_ordinary_compressed_file_of_its_owner(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with opened(tmp_path / "a.db") as ledger:
            ledger.store(charged(ledger, reserve=10**6), LARGE)
    finally:
        os.umask(before)
    file = tmp_path / "a.db.answer-1.gz"
    assert gzip.decompress(file.read_bytes()) == LARGE
    for path in (tmp_path / "a.db", file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_new_ledger_can_be_used_by_its_owner_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        opened(tmp_path / "a.db").close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o600


def test_room_is_on_the_disk_before_the_charge_and_gone_after_the_answer(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as ledger:
        entry = charged(ledger, reserve=500_000)
        room = (tmp_path / "a.db.answer-1.gz").stat()
        assert room.st_size >= 500_000 and room.st_blocks * 512 >= 500_000
        assert stat.S_IMODE(room.st_mode) == 0o600
        ledger.store(entry, b"short")
        assert names(tmp_path) == ["a.db"]


@pytest.mark.parametrize("answer", [b"", b"x" * 65_536, os.urandom(65_536), os.urandom(300_000)], ids=len)
def test_the_room_is_enough_for_the_largest_answer(tmp_path: Path, answer: bytes) -> None:
    """Also for what cannot be compressed."""
    with opened(tmp_path / "a.db") as ledger:
        entry = charged(ledger, reserve=len(answer))
        file = tmp_path / "a.db.answer-1.gz"
        room = file.stat().st_size if answer else 10**3
        with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("dxgeom.ledger.sqlite_layout.LOCK_SECONDS", 0.1)
                assert "locked" in (ledger.store(entry, answer).waiting or "")
        assert file.stat().st_size <= room


def test_an_answer_that_the_ledger_cannot_take_now_waits_beside_it_and_is_booked_later(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path) as ledger:
        small, large = charged(ledger, 100, key="small"), charged(ledger, 10**6)
        path.chmod(0o444)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("dxgeom.ledger.sqlite_layout.LOCK_SECONDS", 0.1)
                for entry, answer in ((small, b"small answer"), (large, LARGE)):
                    receipt = ledger.store(entry, answer)
                    assert receipt.file == tmp_path / f"a.db.answer-{entry.number}.gz"
                    assert receipt.seal == entry.seal
                    with pytest.raises(LedgerError, match="has its answer already"):
                        ledger.store(entry, b"another")
                    assert ledger.answer_of(entry) == answer
                found = ledger.find("small", plan_fingerprint=PLAN, spend=SPEND)
                assert found is not None and found.answer == b"small answer"
        path.chmod(0o600)
    with opened(path) as again:
        assert again.answer_of(1) == b"small answer"
        assert again.answer_of(2) == LARGE
    assert names(tmp_path) == ["a.db", "a.db.answer-2.gz"]


def test_a_key_finds_the_release_and_its_answer(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as ledger:
        assert ledger.find("monday", plan_fingerprint=PLAN, spend=SPEND) is None
        entry = charged(ledger, key="monday")
        pending = ledger.find("monday", plan_fingerprint=PLAN, spend=SPEND)
        assert pending is not None and (pending.entry, pending.answer) == (entry, None)
        ledger.store(entry, b"the answer")
    with opened(tmp_path / "a.db") as ledger:
        found = ledger.find("monday", plan_fingerprint=PLAN, spend=SPEND)
        assert found is not None and (found.entry, found.answer) == (entry, b"the answer")
        with pytest.raises(LedgerError, match=r"the key 'monday' is that of entry 1.*another plan.*key of its own"):
            ledger.find("monday", plan_fingerprint="q", spend=SPEND)
        with pytest.raises(LedgerError, match="another spend"):
            ledger.find("monday", plan_fingerprint=PLAN, spend=SPEND * 2)
        with pytest.raises(LedgerError, match=r"the key 'monday' is that of entry 1; nothing was spent"):
            charged(ledger, key="monday")
        assert ledger.spent() == SPEND


def test_a_ledger_that_is_not_there_has_no_keys_and_is_not_begun_by_asking(tmp_path: Path) -> None:
    with Ledger.at(tmp_path / "a.db", Account("n", "f", Fraction(1))) as ledger:
        assert ledger.find("monday", plan_fingerprint=PLAN, spend=SPEND) is None
        with pytest.raises(BudgetExceeded):
            ledger.charge(Fraction(2), purpose="", plan_fingerprint=PLAN, reserve=1000)
        assert names(tmp_path) == []
        charged(ledger, reserve=1000)
    assert names(tmp_path) == ["a.db", "a.db.answer-1.gz"]


@pytest.mark.parametrize("reserve", [-1, True, 1.5, 2**41, None])
def test_room_that_makes_no_sense_is_refused(tmp_path: Path, reserve: object) -> None:
    with opened(tmp_path / "a.db") as ledger:
        with pytest.raises(LedgerError, match="number of bytes"):
            ledger.charge(SPEND, purpose="", plan_fingerprint=PLAN, reserve=reserve)  # type: ignore[arg-type]
        with pytest.raises(LedgerError, match="key is empty"):
            charged(ledger, key="")


def test_an_entry_of_another_ledger_gets_no_answer_here(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as one, opened(tmp_path / "b.db") as other:
        entry = charged(one)
        charged(other)
        for strange in (b"strange", LARGE):
            with pytest.raises(LedgerError, match="entry 1 is not of the ledger"):
                other.store(entry, strange)
        assert other.answer_of(1) is None
        for missing in (0, 2):
            with pytest.raises(LedgerError, match="has entries 1 to 1"):
                other.answer_of(missing)
        for wrong in (True, "1"):
            with pytest.raises(WrongArgument, match="the number of an entry"):
                other.answer_of(wrong)  # type: ignore[arg-type]


def test_an_answer_that_was_altered_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path) as ledger:
        ledger.store(charged(ledger), b"12")
        ledger.store(charged(ledger), LARGE)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        trigger = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'answers_stay_on_UPDATE'").fetchone()
        connection.execute("DROP TRIGGER answers_stay_on_UPDATE")
        connection.execute("UPDATE answers SET content = x'3133' WHERE entry = 1")
        connection.execute(trigger[0])
    (tmp_path / "a.db.answer-2.gz").write_bytes(gzip.compress(b"forged"))
    with opened(path) as ledger:
        with pytest.raises(LedgerError, match="altered: the answer of entry 1 is not the one that was stored"):
            ledger.answer_of(1)
        with pytest.raises(LedgerError, match=r"not, or not whole, in 'a\.db\.answer-2\.gz'"):
            ledger.answer_of(2)


def test_files_of_a_ledger_that_had_the_same_name_are_left_alone(tmp_path: Path) -> None:
    path, file = tmp_path / "a.db", tmp_path / "a.db.answer-1.gz"
    with opened(path) as ledger:
        ledger.store(charged(ledger), LARGE)
    path.unlink()
    os.utime(file, (0, 0))
    with opened(path) as ledger:
        with pytest.raises(LedgerError, match=r"'a\.db\.answer-1\.gz' is in the way"):
            charged(ledger, reserve=100)
        entry = charged(ledger)
        assert ledger.answer_of(entry) is None
        receipt = ledger.store(entry, LARGE[:100_000])
        assert (receipt.file, receipt.waiting) == (None, None)
        assert ledger.answer_of(entry) == LARGE[:100_000]
        assert ledger.store(charged(ledger), b"small").file is None
    opened(path).close()
    assert gzip.decompress(file.read_bytes()) == LARGE
    assert names(tmp_path) == ["a.db", "a.db.answer-1.gz"]
