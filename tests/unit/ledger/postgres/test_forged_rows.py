"""The server itself refuses what a reader of the ledger would refuse, whoever inserts it and however."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from services.ledger_rows import book_of, connected, insert, judged_alike, schema_of

from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger import answers
from dxgeom.ledger.book import Book
from dxgeom.ledger.history import read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger.tables import (
    ACCOUNTS,
    ALLOTMENTS,
    ANSWERS,
    DATA_SETS,
    ENTRIES,
    POLICIES,
    Record,
    Table,
    digest_of,
    seal_of,
)
from dxgeom.metrics.metric import DataSet

pytestmark = pytest.mark.service("postgres")

CLERK = "clerk"
"""A role with SELECT and INSERT on all tables: more than releases need."""


def opened(place: str, fingerprint: str = "f", **changes: Any) -> Ledger:
    stated = {"policy_fingerprint": fingerprint, "policy_name": "n", "budget": Fraction(1), **changes}
    return Ledger.open(place, data_set=DataSet("visits", budget=Fraction(3, 2)), policy="stated", **stated)


@pytest.fixture
def place(postgres: Any) -> str:
    """A divided ledger with two charges, one of them answered."""
    place = postgres.new_ledger()
    with opened(place) as ledger:
        ledger.open_account()
        ledger.store(ledger.charge(Fraction(1, 3), purpose="", plan_fingerprint="p", key="k"), "answer")
        ledger.allot({"ana": Fraction(1, 4)})
        ledger.charge(Fraction(1, 8), purpose="", plan_fingerprint="p", owner="ana")
    schema = schema_of(place)
    postgres.execute(f"DO $$ BEGIN CREATE ROLE {CLERK} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    postgres.execute(f"GRANT USAGE ON SCHEMA {schema} TO {CLERK}")
    postgres.execute(f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {CLERK}")
    postgres.execute(f"REVOKE INSERT ON {schema}.head FROM {CLERK}")
    return place


RIGHT: dict[Table, tuple[Any, ...]] = {
    DATA_SETS: (2, "LEDGER", "visits", "shared", "3/2", None),
    ACCOUNTS: (2, "m", "g", "1/2", "pure"),
    POLICIES: (2, "a policy"),
    ENTRIES: (3, 1, None, None, None, "1/8", "5/12", "7/12", "", "p", "2026-01-01T00:00:00+00:00", 0, "c", CLERK),
    ANSWERS: (2, "inside", 3, "DIGEST", "SECRET"),
    ALLOTMENTS: (2, 1, "bob", "1/3"),
}
"""A row of each table that may come next."""

WRONG: dict[Table, dict[str, tuple[Any, ...]]] = {
    DATA_SETS: {
        "number": (1, 3, 0),
        "ledger": ("", "another"),
        "name": (None, "others"),
        "people": ("disjoint", "both"),
        "budget": (None, "2", "6/4", "1e3"),
    },
    ACCOUNTS: {
        "number": (1, 3),
        "policy_fingerprint": ("f",),
        "budget": ("0", "-1", "2/4", "1/1", "1 ", "+1", "01"),
        "currency": ("concentrated", "approximate", ""),
    },
    POLICIES: {"account": (1, 3, 0)},
    ENTRIES: {
        "number": (1, 2, 4, -1),
        "account": (0, 2, -1),
        "owner": ("bob", ""),
        "key": ("k",),
        "spend": ("1/4", "2/16", "0", "-1/8", "1/8\n", "0.125", "1/0", "", "1/" + "9" * 301, "١/8"),
        "remaining": ("1/2", "5/13", "10/24", "0", ""),
        "total": ("1/2", "14/24", ""),
        "reserved": (-1,),
        "commitment": (None,),
        "charged_by": (None, "another", "postgres", ""),
    },
    ANSWERS: {
        "entry": (1, 3, 0),
        "place": ("beside", ""),
        "bytes": (2, 4, -3),
        "digest": ("", "0" * 64),
        "secret": (None, "", "0" * 64),
    },
    ALLOTMENTS: {
        "number": (1, 3),
        "account": (0, 2),
        "owner": ("",),
        "amount": ("1/2", "3/4", "1", "-1/3", "2/6", "00"),
    },
}
"""What must not stand in that row instead, where the rest is as it should be, and sealed as it is."""

FORGERIES = [
    pytest.param(table, name, field, id=f"{table.name}-{name}-{field!r}"[:60])
    for table, columns in WRONG.items()
    for name, fields in columns.items()
    for field in fields
]


def next_row(place: str, table: Table, /, **changes: Any) -> tuple[Record, bytes | None]:
    book, content = book_of(place), None
    fields = dict(zip((column.name for column in table.columns), RIGHT[table], strict=True))
    if table is DATA_SETS:
        fields["ledger"] = book.ledger
    if table is ANSWERS:
        content = b"yes"
        fields["digest"] = digest_of(book.entries[1].seal, content)
        fields["secret"] = answers._SECRETS[book.entries[1].commitment or ""]
    return book.next_record(table, *(fields | changes).values()), content


@pytest.mark.parametrize("table", RIGHT, ids=lambda table: table.name)
def test_a_row_that_may_come_next_is_taken_from_whoever_may_insert(postgres: Any, place: str, table: Table) -> None:
    with connected(postgres, CLERK) as connection:
        if table is POLICIES:
            insert(connection, place, *next_row(place, ACCOUNTS))
        insert(connection, place, *next_row(place, table))
    verify_ledger(place)


@pytest.mark.parametrize(("table", "name", "field"), FORGERIES)
def test_a_forged_row_is_refused_though_it_is_sealed(
    postgres: Any, place: str, table: Table, name: str, field: Any
) -> None:
    import psycopg

    record, content = next_row(place, table, **{name: field})
    with connected(postgres, CLERK) as connection, pytest.raises(psycopg.Error):
        insert(connection, place, record, content)
    assert verify_ledger(place).receipt == read_ledger(place).receipt
    book = book_of(place)
    # Which bytes are the answer, and who is connected, no row says.
    if name != "charged_by" and (table is not ANSWERS or name in ("entry", "secret")):
        with pytest.raises(LedgerError):
            book.add(record)


SQUARES: list[tuple[Table, tuple[Any, ...], bool]] = [
    (ENTRIES, (3, 1, None, None, None, "1/8", "247/288", "41/288", "", "p", "t", 0, "c", None), True),
    (ENTRIES, (3, 1, None, None, None, "1/8", "5/12", "7/12", "", "p", "t", 0, "c", None), False),
    (ENTRIES, (3, 1, None, None, None, "91/100", "16259/360000", "343741/360000", "", "p", "t", 0, "c", None), False),
    (ENTRIES, (3, 1, None, "ana", None, "1/4", "467/576", "109/576", "", "p", "t", 0, "c", None), False),
    (ALLOTMENTS, (2, 1, "bob", "9/10"), True),
    (ALLOTMENTS, (2, 1, "bob", "91/100"), False),
    (ALLOTMENTS, (2, 1, "ana", "1/9"), False),
    (ACCOUNTS, (2, "m", "g", "1/2", "concentrated"), True),
    (ACCOUNTS, (2, "m", "g", "1/2", "pure"), False),
]
"""Rows that may come next, or may not, where the same was charged and allotted as in ``place``, but squares add up."""


@pytest.mark.parametrize(("table", "fields", "right"), SQUARES)
def test_the_server_adds_up_squares_of_concentrated_privacy(
    postgres: Any, table: Table, fields: tuple[Any, ...], right: bool
) -> None:
    import psycopg

    place = postgres.new_ledger()
    with opened(place, privacy_measure="concentrated") as ledger:
        ledger.charge(Fraction(1, 3), purpose="", plan_fingerprint="p")
        ledger.allot({"ana": Fraction(1, 4)})
        ledger.charge(Fraction(1, 8), purpose="", plan_fingerprint="p", owner="ana")
    book = book_of(place)
    record = book.next_record(table, *fields)
    with connected(postgres, "postgres") as connection:
        if right:
            insert(connection, place, record)
        else:
            with pytest.raises(psycopg.Error):
                insert(connection, place, record)
            with pytest.raises(LedgerError):
                book.add(record)
    verify_ledger(place)


@pytest.mark.parametrize("shift", [-1, 1, 100])
def test_a_row_out_of_place_or_with_another_seal_is_refused(postgres: Any, place: str, shift: int) -> None:
    import psycopg

    book = book_of(place)
    position, fields = book.position + 1, RIGHT[ENTRIES]
    for forged in (
        Record(ENTRIES, position + shift, fields, seal_of(ENTRIES, book.seal, position + shift, fields)),
        Record(ENTRIES, position, fields, seal_of(ENTRIES, book.seals[shift % 3], position, fields)),
        Record(ENTRIES, position, fields, seal_of(ACCOUNTS, book.seal, position, fields)),
        Record(ENTRIES, position, fields, ""),
        Record(ENTRIES, position, fields, book.seal),
    ):
        with connected(postgres, CLERK) as connection, pytest.raises(psycopg.Error, match=r"does not follow|duplicate"):
            insert(connection, place, forged)


@pytest.mark.parametrize("user", [CLERK, "postgres"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {s}.entries SET purpose = 'another'",
        "UPDATE {s}.entries SET purpose = 'another' WHERE false",
        "DELETE FROM {s}.entries",
        "DELETE FROM {s}.answers WHERE entry = 1",
        "TRUNCATE {s}.allotments",
        "TRUNCATE {s}.entries, {s}.answers, {s}.head CASCADE",
        "DELETE FROM {s}.head",
        "INSERT INTO {s}.head SELECT * FROM {s}.head",
        "INSERT INTO {s}.entries SELECT * FROM {s}.entries ON CONFLICT (position) DO UPDATE SET purpose = ''",
        "MERGE INTO {s}.policies p USING {s}.policies q ON true WHEN MATCHED THEN UPDATE SET document = ''",
        "SET session_replication_role = replica; DELETE FROM {s}.entries",
    ],
)
def test_nothing_that_was_written_can_be_changed(postgres: Any, place: str, user: str, statement: str) -> None:
    import psycopg

    before = read_ledger(place)
    with connected(postgres, user) as connection, pytest.raises(psycopg.Error):
        connection.execute(statement.format(s=schema_of(place)))
    assert read_ledger(place) == before


def test_rows_that_claim_one_place_are_refused_in_every_way_of_inserting_them(postgres: Any, place: str) -> None:
    import psycopg

    book, schema = book_of(place), schema_of(place)
    one, other = (book.next_record(ENTRIES, *RIGHT[ENTRIES][:8], text, *RIGHT[ENTRIES][9:]) for text in ("a", "b"))
    answer, content = next_row(place, ANSWERS)
    names = ", ".join(column.name for column in ENTRIES.columns)

    def row(record: Record) -> str:
        fields = ["NULL" if field is None else f"'{field}'" for field in record.fields]
        return f"({record.position}, {', '.join(fields)}, '{record.seal}')"

    into = f"INSERT INTO {schema}.entries (position, {names}, seal) VALUES"
    answered = f"INSERT INTO {schema}.answers (position, entry, place, bytes, digest, secret, content, seal) VALUES"
    held = f"({answer.position}, 2, 'inside', 3, '{answer.fields[3]}', '{answer.fields[4]}', 'yes', '{answer.seal}')"
    assert content == b"yes"
    for statement in (
        f"{into} {row(one)}, {row(other)}",
        f"{into} {row(one)}, {row(one)} ON CONFLICT DO NOTHING",
        f"WITH first AS ({into} {row(one)} RETURNING 1) {answered} {held}",
    ):
        with connected(postgres, CLERK) as connection, pytest.raises(psycopg.Error):
            connection.execute(statement)
    with connected(postgres, CLERK) as connection:
        # What is not inserted leaves no trace, and what is, is one row.
        connection.execute(f"{into} {row(one)} ON CONFLICT DO NOTHING")
    assert [entry.purpose for entry in verify_ledger(place).entries] == ["", "", "a"]


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_transaction_that_sees_an_older_ledger_cannot_write(postgres: Any, place: str, level: str) -> None:
    import psycopg

    record, _ = next_row(place, ENTRIES)
    with connected(postgres, CLERK) as connection:
        connection.execute(f"BEGIN ISOLATION LEVEL {level}")
        connection.execute(f"SELECT count(*) FROM {schema_of(place)}.entries")
        with opened(place) as ledger:
            ledger.charge(Fraction(1, 9), purpose="", plan_fingerprint="p")
        with pytest.raises(psycopg.Error, match="isolation level"):
            insert(connection, place, record)
    verify_ledger(place)


def test_names_of_ones_own_deceive_no_function_of_the_ledger(postgres: Any, place: str) -> None:
    """Everything that the ledger's functions call is made again by a stranger, earlier on the search path."""
    import psycopg

    schema = schema_of(place)
    postgres.execute(f"CREATE SCHEMA IF NOT EXISTS evil AUTHORIZATION {CLERK}")
    record, _ = next_row(place, ENTRIES, spend="1/1", remaining="100", total="1")
    with connected(postgres, CLERK) as connection:
        connection.execute("SET search_path = evil, pg_temp, pg_catalog")
        for signature, answer in (("sha256(bytea)", "'\\x00'::bytea"), ("gcd(numeric, numeric)", "1::numeric")):
            kind = answer.split("::")[1]
            connection.execute(
                f"CREATE OR REPLACE FUNCTION evil.{signature} RETURNS {kind} LANGUAGE sql AS $$SELECT {answer}$$"
            )
        connection.execute("CREATE TEMPORARY TABLE head (position bigint, seal text)")
        connection.execute("CREATE TEMPORARY TABLE entries (position bigint)")
        with pytest.raises(psycopg.Error, match=r"not a positive fraction|what remained"):
            insert(connection, place, record)
        for function in ("is_last()", "exact(text, boolean)"):
            with pytest.raises(psycopg.Error, match="permission denied for function"):
                connection.execute(f"SELECT {schema}.{function.replace('text, boolean', chr(39) * 2 + ', true')}")
        connection.execute("CREATE TABLE evil.entries (position bigint, seal text)")
        with pytest.raises(psycopg.Error, match="permission denied for function"):
            connection.execute(
                f"CREATE TRIGGER forges AFTER INSERT ON evil.entries FOR EACH ROW EXECUTE FUNCTION {schema}.is_last()"
            )
        insert(connection, place, *next_row(place, ENTRIES))
    # Whoever was let use them by mistake still cannot move the ledger's end from a table of his own.
    postgres.execute(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO {CLERK}")
    with connected(postgres, CLERK) as connection:
        connection.execute(
            f"CREATE TRIGGER forges AFTER INSERT ON evil.entries FOR EACH ROW EXECUTE FUNCTION {schema}.is_last()"
        )
        with pytest.raises(psycopg.Error, match="no table of the ledger"):
            connection.execute(f"INSERT INTO evil.entries SELECT position + 1, 'x' FROM {schema}.head")
    postgres.execute("DROP SCHEMA evil CASCADE")
    verify_ledger(place)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE {s}.entries SET spend = '1/9' WHERE number = 1",
        "UPDATE {s}.entries SET purpose = 'another' WHERE number = 2",
        "DELETE FROM {s}.entries WHERE number = 2",
        "DELETE FROM {s}.entries WHERE number = 1",
        "UPDATE {s}.answers SET content = 'b'",
        "UPDATE {s}.accounts SET budget = '100'",
        "UPDATE {s}.head SET position = position + 1",
        "UPDATE {s}.allotments SET amount = '1'",
        "UPDATE {s}.data_sets SET budget = NULL",
        "DELETE FROM {s}.allotments",
    ],
)
def test_what_a_superuser_changes_is_noticed(postgres: Any, place: str, change: str) -> None:
    schema, table = schema_of(place), change.split("{s}.")[1].split()[0]
    for statement in (
        f"ALTER TABLE {schema}.{table} DISABLE TRIGGER ALL",
        change.format(s=schema),
        f"ALTER TABLE {schema}.{table} ENABLE TRIGGER ALL",
    ):
        postgres.execute(statement)
    for name in ("a_in_turn", "b_is_next", "c_fits", "d_is_last", "e_stays"):
        if table != "head" or name == "e_stays":
            postgres.execute(f"ALTER TABLE {schema}.{table} ENABLE ALWAYS TRIGGER {name}")
    with pytest.raises(LedgerError, match=r"altered|gone"):
        verify_ledger(place)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE {s}.entries DISABLE TRIGGER e_stays",
        "ALTER TABLE {s}.entries ENABLE TRIGGER e_stays",
        "DROP TRIGGER c_fits ON {s}.entries",
        "ALTER TABLE {s}.entries SET UNLOGGED",
        "ALTER TABLE {s}.entries DROP CONSTRAINT entries_key_key",
        "ALTER TABLE {s}.entries ALTER purpose DROP NOT NULL",
        "ALTER TABLE {s}.entries ENABLE ROW LEVEL SECURITY",
        "CREATE RULE quiet AS ON INSERT TO {s}.entries DO INSTEAD NOTHING",
        "CREATE OR REPLACE FUNCTION {s}.entries_fit() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$",
        "ALTER FUNCTION {s}.is_next() SECURITY INVOKER",
        "ALTER FUNCTION {s}.is_next() RESET search_path",
        "CREATE TABLE {s}.more (a int)",
        "ALTER TABLE {s}.entries ADD COLUMN more int",
        "CREATE FUNCTION {s}.another() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ],
)
def test_a_schema_that_was_altered_is_refused(postgres: Any, place: str, change: str) -> None:
    ledger = opened(place)
    postgres.execute(change.format(s=schema_of(place)))
    with pytest.raises(LedgerError, match="were altered"):
        ledger.charge(Fraction(1, 100), purpose="", plan_fingerprint="p")
    with pytest.raises(LedgerError, match="were altered"):
        verify_ledger(place)


def test_the_server_takes_what_a_reader_takes_and_nothing_else(postgres: Any) -> None:
    """Random rows of a ledger with editions, allotments and caps, most of them nearly right, sealed as they are."""

    chance, place = random.Random(11), postgres.new_ledger()
    first = DataSet("visits", "a", disjoint=True, budget=Fraction(5, 4))
    Ledger.open(place, policy_fingerprint="f", policy_name="n", budget=Fraction(1), data_set=first).open_account()
    Ledger.open(place, policy_fingerprint="g", policy_name="n", budget=Fraction(1, 2), data_set=first).open_account()
    taken, book = 0, book_of(place)
    with connected(postgres, "postgres") as connection:
        for _ in range(300):
            table, fields = _random_row(chance, book)
            book, accepted = judged_alike(connection, place, book, book.next_record(table, *fields))
            taken += accepted
    assert 60 < taken < 250
    verify_ledger(place)


def _random_row(chance: random.Random, book: Book) -> tuple[Table, tuple[Any, ...]]:
    account, edition = chance.choice([1, 2]), chance.choice(["a", "b"])
    owner = chance.choice([None, "ana", "bob"])
    amount = Fraction(chance.randint(0, 6), chance.choice([7, 12, 40]))
    if chance.random() < 0.25:
        return ALLOTMENTS, (book.allotted + 1, account, owner or "cyd", str(amount))
    amount = amount / 6 or Fraction(1, 90)
    budget = book.accounts[account - 1].budget
    left = budget - book.spent(account, edition) - amount
    total = book.spent(0, edition) + amount
    if chance.random() < 0.1:
        left += Fraction(1, 1000)
    number = len(book.entries) + 1
    return ENTRIES, (number, account, edition, owner, None, str(amount), str(left), str(total), "", "p", "t", 0)


def test_a_role_that_may_select_and_insert_can_release(postgres: Any, place: str) -> None:
    as_clerk = place.replace("postgres@", f"{CLERK}@")
    with opened(as_clerk) as ledger:
        entry = ledger.charge(Fraction(1, 9), purpose="", plan_fingerprint="p")
        ledger.store(entry, "answer")
        with pytest.raises(BudgetExceeded):
            ledger.charge(Fraction(1, 2), purpose="", plan_fingerprint="p")
    verify_ledger(as_clerk)


def test_a_role_that_was_granted_releases_and_opens_and_divides_nothing(postgres: Any, place: str) -> None:
    postgres.execute("DO $$ BEGIN CREATE ROLE guest LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    postgres.execute("DO $$ BEGIN CREATE ROLE stranger; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    as_guest = place.replace("postgres@", "guest@")
    with pytest.raises(LedgerError, match="permission denied"):
        verify_ledger(as_guest)
    with opened(place) as ledger:
        ledger.grant("guest")
    with opened(as_guest) as ledger:
        ledger.store(ledger.charge(Fraction(1, 9), purpose="", plan_fingerprint="p"), "answer")
        with pytest.raises(LedgerError, match=r"permission denied.*opens accounts and divides them"):
            ledger.allot({"guest": Fraction(1, 9)})
        with pytest.raises(LedgerError, match="may not grant"):
            ledger.grant("stranger")
    with opened(as_guest, "another") as ledger, pytest.raises(LedgerError, match=r"permission denied.*opens accounts"):
        ledger.charge(Fraction(1, 9), purpose="", plan_fingerprint="p")
    assert len(verify_ledger(as_guest).entries) == 3
