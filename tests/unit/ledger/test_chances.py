"""The second column of a ledger: chances of being outside a promise add up exactly, and are charged before any draw."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.entry import Account
from dxgeom.ledger.history import read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.metric import DataSet
from dxgeom.universe.columns import chance_in_words

ALLOWED = Fraction(1, 10**9)


def account(**changes: Any) -> Account:
    own = {"policy_name": "pages", "policy_fingerprint": "a" * 64, "budget": Fraction(100), "delta": ALLOWED}
    return Account(**{**own, **changes})


def charge(ledger: Ledger, chance: Fraction | None, spend: Fraction = Fraction(1)) -> int:
    return ledger.charge(spend, purpose="test", plan_fingerprint="p", chance=chance).number


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_chances_add_up_and_the_last_part_can_be_used(tmp_path: Path) -> None:
    with Ledger.at(tmp_path / "a.db", account()) as ledger:
        for _ in range(3):
            charge(ledger, ALLOWED / 3)
        with pytest.raises(
            BudgetExceeded, match=r"1e-9 is spent, 0 remains, .* asks for .*nothing was spent"
        ) as refusal:
            charge(ledger, Fraction(1, 10**200))
        assert "no further such release is possible" in str(refusal.value)
        assert charge(ledger, None) == 4  # a release that keeps its promise always is none of these
        assert ledger.spent() == 4
    found = verify_ledger(tmp_path / "a.db")
    assert {number: (one.chance, one.total, one.allowed) for number, one in found.chances.items()} == {
        number: (ALLOWED / 3, number * ALLOWED / 3, ALLOWED) for number in (1, 2, 3)
    }


@pytest.mark.long
@settings(max_examples=6, deadline=None)
@given(st.lists(st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(1, 2)), min_size=1, max_size=6))
def test_sums_are_exact_and_never_above_what_is_allowed(chances: list[Fraction]) -> None:
    spent = Fraction(0)
    with Ledger.at(":memory:", account(delta=Fraction(3, 4))) as ledger:
        for chance in chances:
            if spent + chance <= Fraction(3, 4):
                charge(ledger, chance)
                spent += chance
            else:
                with pytest.raises(BudgetExceeded):
                    charge(ledger, chance)
        with ledger._book() as book:
            assert book.chances.spent(1) == spent


def test_a_refused_chance_spends_nothing_and_begins_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Ledger.at(path, account()) as ledger:
        with pytest.raises(BudgetExceeded, match="delta"):
            charge(ledger, 2 * ALLOWED)
        assert not path.exists()
        charge(ledger, ALLOWED / 2)
        with pytest.raises(BudgetExceeded, match="ask with a delta of at most 5e-10"):
            charge(ledger, ALLOWED)
        assert (len(ledger.entries()), ledger.spent()) == (1, 1)
    with Ledger.at(tmp_path / "b.db", account(delta=None)) as ledger:
        with pytest.raises(LedgerError, match="states no 'delta'"):
            charge(ledger, ALLOWED)
        for wrong in (Fraction(1), Fraction(0), 0.5):
            with pytest.raises(LedgerError):
                charge(ledger, wrong)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="below 1"):
        Ledger.at(tmp_path / "b.db", account(delta=Fraction(1)))


def test_only_files_with_a_chance_have_the_column(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Ledger.at(path, account()) as ledger:
        charge(ledger, None)
        assert version_of(path) == 5
        charge(ledger, ALLOWED)
        assert version_of(path) == 9
        charge(ledger, None)
    assert [*verify_ledger(path).chances] == [2]
    # Old rows read as they were, and another process counts on.
    with Ledger.at(path, account()) as again, pytest.raises(BudgetExceeded):
        charge(again, Fraction(1, 10**12))


def test_each_policy_has_its_own_chances_and_all_editions_count_together(tmp_path: Path) -> None:
    path, edition = tmp_path / "a.db", DataSet("visits", "2026", disjoint=True)
    with Ledger.at(path, account(data_set=edition)) as ledger:
        charge(ledger, ALLOWED / 2)
    with Ledger.at(path, account(data_set=DataSet("visits", "2027", disjoint=True))) as ledger:
        charge(ledger, ALLOWED / 2)
        with pytest.raises(BudgetExceeded):
            charge(ledger, ALLOWED / 2)
    with Ledger.at(path, account(data_set=edition, policy_fingerprint="b" * 64, policy_name="other")) as ledger:
        charge(ledger, ALLOWED)
    assert [one.total for one in verify_ledger(path).chances.values()] == [ALLOWED / 2, ALLOWED, ALLOWED]


def test_what_is_allowed_stays_as_it_was(tmp_path: Path) -> None:
    with Ledger.at(tmp_path / "a.db", account()) as ledger:
        charge(ledger, ALLOWED / 2)
    again = Ledger.at(tmp_path / "a.db", account(delta=Fraction(1, 2)))
    with again as ledger, pytest.raises(LedgerError, match=r"chances of 1e-9, and the policy says 0\.5"):
        charge(ledger, ALLOWED / 2)


def _without_triggers(path: Path, statement: str) -> None:
    """A row altered as whoever owns the file can, its triggers put back."""
    with closing(sqlite3.connect(path)) as connection:
        kept = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in kept:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, sql in kept:
            connection.execute(sql)
        connection.commit()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE chances SET chance = '1/3000000000' WHERE number = 1",
        "UPDATE chances SET allowed = '1/2'",
        "UPDATE chances SET total = '1/2000000000' WHERE number = 2",
        "UPDATE chances SET entry = 3 WHERE number = 1",
        "DELETE FROM chances WHERE number = 2",
        "DELETE FROM chances",
    ],
)
def test_altered_chances_are_found(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "a.db"
    with Ledger.at(path, account()) as ledger:
        charge(ledger, ALLOWED / 2)
        charge(ledger, ALLOWED / 4)
    verify_ledger(path)
    _without_triggers(path, statement)
    with pytest.raises(LedgerError):
        read_ledger(path)


def test_a_row_of_chances_stands_behind_its_entry_alone(tmp_path: Path) -> None:
    """Rightly sealed rows that no charge writes are refused by whoever reads them."""
    from dxgeom.ledger.book import Book
    from dxgeom.ledger.charging import charge_request, charge_rows, new_book
    from dxgeom.ledger.tables import CHANCES

    def begun() -> Book:
        book, _ = new_book(account())
        wanted = charge_request(Fraction(1), "test", "p", None, None, 0, ALLOWED / 2)
        for table, fields in charge_rows(book, account(), wanted, datetime.now(UTC), ""):
            book.add(book.next_record(table, *fields))
        return book

    half, whole = str(ALLOWED / 2), str(ALLOWED)
    for fields in (
        (2, 1, half, whole, whole),  # of an entry that has one, or apart from it
        (2, 2, half, whole, whole),  # of none
    ):
        book = begun()
        with pytest.raises(LedgerError, match="apart from it"):
            book.add(book.next_record(CHANCES, *fields))
    for fields in (
        (2, 2, whole, whole, whole),  # sums that are wrong
        (2, 2, whole, str(3 * ALLOWED / 2), whole),  # more than is allowed
        (2, 2, half, whole, str(2 * ALLOWED)),  # more allowed than before
    ):
        book = begun()
        plain = charge_request(Fraction(1), "test", "p", None, None, 0)
        for table, own in charge_rows(book, account(), plain, datetime.now(UTC), ""):
            book.add(book.next_record(table, *own))
        with pytest.raises(LedgerError, match="altered"):
            book.add(book.next_record(CHANCES, *fields))


@pytest.mark.long
def test_the_ledger_is_shown_with_its_chances(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Ledger.at(path, account()) as ledger:
        charge(ledger, None)
        charge(ledger, ALLOWED / 4)

    def shown(*words: str) -> str:
        result = CliRunner().invoke(app, ["ledger", "show", str(path), *words])
        assert result.exit_code == 0, result.output
        return result.output

    sentence = "Odds of policy 'pages' hold except with chance 2.5e-10, of 1e-9 that its 'delta' allows."
    for words in ((), ("--all",)):
        assert sentence in " ".join(shown(*words).split())
    document = json.loads(shown("--format", "json"))
    assert document["accounts"][0]["delta"] == {"spent": "1/4000000000", "allowed": "1/1000000000"}
    assert [entry.get("delta") for entry in document["entries"]] == [None, "1/4000000000"]
    assert "hold except with chance 2.5e-10" in shown("--entry", "2")


@pytest.mark.parametrize(
    ("chance", "said"),
    [
        (ALLOWED, "1e-9"),
        (3 * ALLOWED / 8, "3.75e-10"),
        (Fraction(1, 2), "0.5"),
        (Fraction(1, 3), "1/3"),
        (Fraction(0), "0"),
    ],
)
def test_chances_are_written_as_people_write_them(chance: Fraction, said: str) -> None:
    assert chance_in_words(chance) == said
