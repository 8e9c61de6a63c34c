"""Chances of being outside a promise are added up on a server as in files, and the server itself holds rows to it."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from services.ledger_rows import book_of, connected, insert, judged_alike, schema_of

from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.book import Book
from dxgeom.ledger.charging import charge_request, charge_rows
from dxgeom.ledger.entry import Account
from dxgeom.ledger.history import move_ledger, read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger.tables import CHANCES
from dxgeom.metrics.metric import DataSet

pytestmark = pytest.mark.service("postgres")

ALLOWED = Fraction(1, 10**9)


def account(**changes: Any) -> Account:
    own = {"policy_name": "pages", "policy_fingerprint": "a" * 64, "budget": Fraction(100), "delta": ALLOWED}
    return Account(**{**own, **changes})


def charge(ledger: Ledger, chance: Fraction | None) -> int:
    return ledger.charge(Fraction(1), purpose="test", plan_fingerprint="p", chance=chance).number


def begun(place: str, *chances: Fraction | None, **changes: Any) -> str:
    own = {"policy_name": "pages", "policy_fingerprint": "a" * 64, "budget": Fraction(100), "delta": ALLOWED}
    with Ledger.open(place, **{**own, **changes}) as ledger:
        ledger.open_account()
        for chance in chances:
            charge(ledger, chance)
    return place


def as_role(postgres: Any, place: str, role: str) -> str:
    postgres.execute(f"DO $$ BEGIN CREATE ROLE {role} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    return place.replace("postgres@", f"{role}@")


def test_chances_add_up_there_as_in_a_file(postgres: Any, tmp_path: Path) -> None:
    for place in (postgres.new_ledger(), str(tmp_path / "a.db")):
        begun(place, None, ALLOWED / 3, ALLOWED / 2)
        with Ledger.at(place, account()) as ledger:
            with pytest.raises(BudgetExceeded, match="ask with a delta of at most 1/6000000000"):
                charge(ledger, ALLOWED / 5)
            charge(ledger, ALLOWED / 6)
            with pytest.raises(BudgetExceeded, match="no further such release is possible"):
                charge(ledger, Fraction(1, 10**200))
            assert charge(ledger, None) == 5
        found = verify_ledger(place).chances
        assert [(one.entry, one.total) for one in found.values()] == [
            (2, ALLOWED / 3),
            (3, 5 * ALLOWED / 6),
            (4, ALLOWED),
        ]


def test_policies_have_their_own_and_editions_count_together(postgres: Any) -> None:
    place = postgres.new_ledger()
    begun(place, ALLOWED / 2, data_set=DataSet("visits", "2026", disjoint=True))
    later = DataSet("visits", "2027", disjoint=True)
    begun(place, ALLOWED / 2, data_set=later)
    with Ledger.at(place, account(data_set=later)) as ledger, pytest.raises(BudgetExceeded):
        charge(ledger, ALLOWED / 2)
    begun(place, ALLOWED, data_set=later, policy_fingerprint="b" * 64, policy_name="other")
    other = Ledger.at(place, account(data_set=later, delta=2 * ALLOWED))
    with other as ledger, pytest.raises(LedgerError, match="the policy says 2e-9"):
        charge(ledger, ALLOWED / 2)
    assert [one.total for one in verify_ledger(place).chances.values()] == [ALLOWED / 2, ALLOWED, ALLOWED]


def test_whoever_keeps_it_makes_the_table_and_roles_write_into_it(postgres: Any) -> None:
    place = begun(postgres.new_ledger(), None)
    early, late = (as_role(postgres, place, role) for role in ("early", "late"))
    with Ledger.at(place, account()) as ledger:
        ledger.grant("early")
        with (
            Ledger.at(early, account()) as theirs,
            pytest.raises(LedgerError, match="whoever keeps it makes the first"),
        ):
            charge(theirs, ALLOWED / 4)
        assert len(read_ledger(place).entries) == 1
        charge(ledger, ALLOWED / 4)
        ledger.grant("late")
    for role in (early, late):
        with Ledger.at(role, account()) as theirs:
            charge(theirs, ALLOWED / 4)
    assert [one.total for one in verify_ledger(early).chances.values()] == [
        ALLOWED / 4,
        ALLOWED / 2,
        3 * ALLOWED / 4,
    ]


HALF, WHOLE = str(ALLOWED / 2), str(ALLOWED)
RIGHT = {"number": 2, "entry": 2, "chance": HALF, "total": WHOLE, "allowed": WHOLE}
WRONG: dict[str, tuple[Any, ...]] = {
    "number": (1, 3, 0),
    "entry": (1, 3, 0),
    "chance": (str(ALLOWED / 4), WHOLE, "0", "-1/2000000000", "2/4000000000", "5e-10", "", "1/0"),
    "total": (HALF, str(2 * ALLOWED), "0", "2/2000000000"),
    "allowed": (HALF, str(2 * ALLOWED), "1", "1/1", "2/2000000000"),
}
"""What must not stand in the next row of the table instead, though it is sealed as it is."""


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, fields in WRONG.items() for field in fields])
def test_a_forged_chance_is_refused_though_it_is_sealed(postgres: Any, name: str, field: Any) -> None:
    import psycopg

    place = begun(postgres.new_ledger(), ALLOWED / 2, None)
    record = book_of(place).next_record(CHANCES, *(RIGHT | {name: field}).values())
    with connected(postgres) as connection, pytest.raises(psycopg.Error):
        insert(connection, place, record)
    with pytest.raises(LedgerError):
        book_of(place).add(record)
    with connected(postgres) as connection:
        insert(connection, place, book_of(place).next_record(CHANCES, *RIGHT.values()))
    assert [one.total for one in verify_ledger(place).chances.values()] == [ALLOWED / 2, ALLOWED]


def test_the_first_row_of_a_policy_allows_less_than_1_and_no_less_than_it_states(postgres: Any) -> None:
    import psycopg

    place = begun(postgres.new_ledger(), ALLOWED / 2, data_set=DataSet("visits"))
    begun(place, None, policy_fingerprint="b" * 64, policy_name="other", data_set=DataSet("visits"))
    for chance, total, allowed in (("1/2", "1/2", "1"), ("1/2", "1/2", "1/3"), (HALF, WHOLE, WHOLE)):
        record = book_of(place).next_record(CHANCES, 2, 2, chance, total, allowed)
        with connected(postgres) as connection, pytest.raises(psycopg.Error, match="add up"):
            insert(connection, place, record)
        with pytest.raises(LedgerError):
            book_of(place).add(record)


def test_nobody_says_a_chance_of_what_another_role_charged(postgres: Any) -> None:
    import psycopg

    place = begun(postgres.new_ledger(), ALLOWED / 4)
    ana, _ = (as_role(postgres, place, role) for role in ("ana", "bob"))
    with Ledger.at(place, account()) as ledger:
        ledger.grant("ana")
        ledger.grant("bob")
    with Ledger.at(ana, account()) as hers:
        charge(hers, None)
    record = book_of(place).next_record(CHANCES, 2, 2, HALF, str(3 * ALLOWED / 4), WHOLE)
    with connected(postgres, "bob") as connection, pytest.raises(psycopg.Error, match="another role charged"):
        insert(connection, place, record)
    with connected(postgres, "ana") as connection:
        insert(connection, place, record)
    verify_ledger(place)


def test_the_server_takes_what_a_reader_takes_and_nothing_else(postgres: Any) -> None:
    """Random rows of chances, most of them nearly right, sealed as they are, behind charges of two policies."""

    chance, place = random.Random(5), postgres.new_ledger()
    visits = DataSet("visits")
    owners = [
        account(delta=Fraction(3, 4), data_set=visits),
        account(delta=Fraction(1, 2), data_set=visits, policy_fingerprint="b" * 64),
    ]
    for owner in owners:
        begun(place, Fraction(1, 50), delta=owner.delta, policy_fingerprint=owner.policy_fingerprint, data_set=visits)
    taken, book = 0, book_of(place)
    with connected(postgres) as connection:
        for _ in range(60):
            at = chance.randrange(2)
            wanted = charge_request(Fraction(1, 100), "", "p", None, None, 0)
            ((table, fields),) = charge_rows(book, owners[at], wanted, datetime.now(UTC), "postgres")
            record = book.next_record(table, *fields)
            insert(connection, place, record)
            book.add(record)
            for row in _random_rows(chance, book, at + 1, owners[at].delta or Fraction(0)):
                book, accepted = judged_alike(connection, place, book, book.next_record(CHANCES, *row))
                taken += accepted
    assert 15 < taken < 60
    verify_ledger(place)


def _random_rows(chance: random.Random, book: Book, account: int, allowed: Fraction) -> list[tuple[Any, ...]]:
    rows = []
    for _ in range(2):
        part = Fraction(chance.randint(1, 6), chance.choice([70, 120, 400]))
        total = book.chances.spent(account) + part
        number, entry = len(book.chances.by_entry) + 1, len(book.entries)
        match chance.randrange(8):
            case 0:
                total += Fraction(1, 1000)
            case 1:
                entry -= 1
            case 2:
                number += 1
            case 3:
                allowed = allowed / 2
        rows.append((number, entry, str(part), str(total), str(allowed)))
    return rows


def test_a_file_that_counts_chances_is_moved_and_goes_on_there(postgres: Any, tmp_path: Path) -> None:
    file = begun(str(tmp_path / "a.db"), ALLOWED / 2, None)
    before, place = read_ledger(file), postgres.new_ledger()
    role = as_role(postgres, place, "analyst")
    moved = move_ledger(file, place, grant=["analyst"])
    assert (moved.chances, moved.receipt) == (before.chances, before.receipt)
    with Ledger.at(role, account()) as ledger:
        charge(ledger, ALLOWED / 2)
        with pytest.raises(BudgetExceeded):
            charge(ledger, ALLOWED / 2)
    assert len(verify_ledger(place, seal=before.receipt).chances) == 2
    with pytest.raises(LedgerError, match="was moved"):
        Ledger.at(file, account())


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE {s}.chances SET chance = '1/4000000000' WHERE number = 1",
        "UPDATE {s}.chances SET allowed = '1/2'",
        "DELETE FROM {s}.chances WHERE number = 2",
        "DELETE FROM {s}.chances",
    ],
)
def test_what_a_superuser_changes_is_noticed_and_others_change_nothing(postgres: Any, change: str) -> None:
    import psycopg

    place = begun(postgres.new_ledger(), ALLOWED / 2, ALLOWED / 4)
    schema = schema_of(place)
    with pytest.raises(psycopg.Error, match="append-only"):
        postgres.execute(change.format(s=schema))
    verify_ledger(place)
    postgres.execute(f"ALTER TABLE {schema}.chances DISABLE TRIGGER ALL")
    postgres.execute(change.format(s=schema))
    with pytest.raises(LedgerError, match="were altered"):
        verify_ledger(place)
    postgres.execute(f"ALTER TABLE {schema}.chances ENABLE TRIGGER ALL")
    for name in ("a_in_turn", "b_is_next", "c_fits", "d_is_last", "e_stays"):
        postgres.execute(f"ALTER TABLE {schema}.chances ENABLE ALWAYS TRIGGER {name}")
    with pytest.raises(LedgerError, match=r"altered|gone"):
        verify_ledger(place)
