"""A store is a class and a line: one that keeps rows in a list does all that a ledger asks."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger import stores
from dxgeom.ledger.answer_files import AnswerFiles
from dxgeom.ledger.chronicle import LedgerStore, Session
from dxgeom.ledger.history import read_answer, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger.tables import Record
from dxgeom.metrics.metric import DataSet

SHELF: dict[str, list[tuple[Record, bytes | None]]] = {}


class ShelfSession:
    def __init__(self, name: str) -> None:
        self._name, self._rows = name, copy.copy(SHELF[name])

    def identity(self) -> object:
        return self._name

    def check_whole(self) -> None:
        pass

    def records_from(self, position: int) -> Iterable[Record]:
        return [record for record, _ in self._rows if record.position >= position]

    def last_given(self) -> dict[str, int]:
        return {record.table.name: record.position for record, _ in self._rows}

    def content(self, entry: int) -> bytes | None:
        return next(kept for record, kept in self._rows if record.table.content and record.fields[0] == entry)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def who(self) -> str | None:
        return "the shelf's keeper"

    def append(self, record: Record, content: bytes | None = None) -> None:
        self._rows.append((record, content))

    def commit(self) -> None:
        SHELF[self._name] = self._rows


class Shelf:
    files: AnswerFiles | None = None
    begun_on_purpose = False

    def __init__(self, name: object) -> None:
        self.path: str | None = str(name)
        self.described = f"on the shelf '{name}'"

    def exists(self) -> bool:
        return self.path in SHELF

    def begin(self, records: Iterable[Record]) -> None:
        SHELF.setdefault(str(self.path), [(record, None) for record in records])

    @contextmanager
    def writing(self) -> Iterator[Session]:
        yield ShelfSession(str(self.path))

    reading = writing

    def try_to_write(self) -> None:
        pass

    def grant(self, role: str) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    made: type[LedgerStore] = Shelf
    monkeypatch.setattr(stores, "STORES", (("shelf:", made), *stores.STORES))
    yield "shelf:clinic"
    SHELF.clear()


def opened(name: str) -> Ledger:
    visits = DataSet("visits")
    return Ledger.open(name, policy_fingerprint="f", policy_name="n", budget=Fraction(1), data_set=visits)


def test_a_ledger_on_a_shelf_charges_stores_and_is_verified(shelf: str) -> None:
    with opened(shelf) as ledger:
        entry = ledger.charge(Fraction(1, 2), purpose="test", plan_fingerprint="p", key="k", reserve=10)
        receipt = ledger.store(entry, b"x" * 10**6)
        with pytest.raises(LedgerError, match="has its answer already"):
            ledger.store(entry, b"y")
        with pytest.raises(BudgetExceeded):
            ledger.charge(Fraction(3, 4), purpose="test", plan_fingerprint="p")
    with opened(shelf) as again:
        found = again.find("k", plan_fingerprint="p", spend=Fraction(1, 2))
        assert found is not None and found.answer == b"x" * 10**6
    assert read_answer(shelf, 1) == b"x" * 10**6
    assert verify_ledger(shelf, seal=(receipt.entry, receipt.seal)).entries == (entry,)


def test_the_commands_look_at_it(shelf: str) -> None:
    with opened(shelf) as ledger:
        ledger.charge(Fraction(1, 2), purpose="from the shelf", plan_fingerprint="p")
    shown = CliRunner().invoke(app, ["ledger", "show", shelf])
    assert shown.exit_code == 0 and "from the shelf" in shown.stdout


def test_what_was_altered_on_the_shelf_is_refused(shelf: str) -> None:
    with opened(shelf) as ledger:
        ledger.charge(Fraction(1, 2), purpose="test", plan_fingerprint="p")
        record, content = SHELF[shelf].pop()
        with pytest.raises(LedgerError, match="seen earlier by this process are gone"):
            ledger.charge(Fraction(1, 2), purpose="test", plan_fingerprint="p")
        fields = (*record.fields[:5], "1/4", *record.fields[6:])
        SHELF[shelf].append((Record(record.table, record.position, fields, record.seal), content))
    with pytest.raises(LedgerError, match="altered"):
        verify_ledger(shelf)
