"""A ledger's file that is brought to a real server: the same rows, seals and answers, and one budget still."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger import history
from dxgeom.ledger.answers import INSIDE_BYTES
from dxgeom.ledger.history import move_ledger, read_answer, read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger.postgres_store import PostgresLedger
from dxgeom.metrics.metric import DataSet
from dxgeom.privacy.measures import CONCENTRATED, PURE

pytestmark = pytest.mark.service("postgres")
ANSWERS = (b'{"answers": [12]}', b"1" * (INSIDE_BYTES + 1), bytes(200_000))


def opened(place: str, fingerprint: str = "f", **changes: Any) -> Ledger:
    stated = {"policy_fingerprint": fingerprint, "policy_name": "n", "budget": Fraction(1), "policy": "stated"}
    return Ledger.open(place, **{**stated, **changes})


@pytest.fixture(params=[PURE, CONCENTRATED])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, Any]]:
    """A ledger of two policies, divided, with answers in it and beside it, and a charge without an answer."""
    path = str(tmp_path / "old.db")
    terms = {"data_set": DataSet("visits", budget=Fraction(3, 2)), "privacy_measure": request.param}
    with opened(path, **terms) as ledger, opened(path, "g", **terms) as other:
        ledger.allot({"ana": Fraction(1, 2)})
        for number, answer in enumerate(ANSWERS):
            entry = ledger.charge(
                Fraction(1, 10), purpose="für €", plan_fingerprint="p", key=f"k{number}", owner="ana", reserve=1000
            )
            ledger.store(entry, answer)
        other.charge(Fraction(1, 7), purpose="lost", plan_fingerprint="q")
    return path, terms


def test_all_of_it_is_there_and_goes_on_there(postgres: Any, old: tuple[str, dict[str, Any]]) -> None:
    path, terms = old
    before, place = read_ledger(path), postgres.new_ledger()
    moved = move_ledger(path, place)
    assert (moved.entries, moved.accounts, moved.documents) == (before.entries, before.accounts, before.documents)
    assert (moved.allotments, moved.receipt, moved.answers) == (before.allotments, before.receipt, before.answers)
    assert verify_ledger(place, seal=before.receipt).entries == before.entries
    assert [read_answer(place, number + 1) for number in range(3)] == [*ANSWERS]
    with opened(place, **terms) as ledger:
        found = ledger.find("k1", plan_fingerprint="p", spend=Fraction(1, 10))
        assert found is not None and found.answer == ANSWERS[1]
        entry = ledger.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", owner="ana")
        ledger.store(entry, b"there")
        with pytest.raises(BudgetExceeded, match="allotment 'ana'"):
            ledger.charge(Fraction(1, 2), purpose="", plan_fingerprint="p", owner="ana")
    assert len(verify_ledger(place, seal=before.receipt).entries) == 5


def test_the_file_takes_no_charge_any_more_and_says_where_its_ledger_went(
    postgres: Any, old: tuple[str, dict[str, Any]]
) -> None:
    path, terms = old
    running, place = opened(path, **terms), postgres.new_ledger()
    before = read_ledger(path)
    move_ledger(path, place)
    for charge in (
        lambda: opened(path, **terms),
        lambda: Ledger.at(path, running.account),
        lambda: running.charge(Fraction(1, 100), purpose="", plan_fingerprint="p"),
        lambda: running.allot({"bob": Fraction(1, 100)}),
    ):
        with pytest.raises(LedgerError, match=rf"it was moved to '{place.replace('?', '.')}'.*nothing was spent"):
            charge()
    assert verify_ledger(path, seal=before.receipt).entries == before.entries
    assert read_answer(path, 2) == ANSWERS[1]


def test_moving_it_again_changes_nothing_and_another_ledger_is_not_overwritten(
    postgres: Any, old: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    path, terms = old
    taken, place = postgres.new_ledger(), postgres.new_ledger()
    opened(taken, **terms).close()
    with pytest.raises(LedgerError, match="another ledger is there already"):
        move_ledger(path, taken)
    assert not read_ledger(taken).entries
    with opened(path, **terms) as ledger:
        ledger.charge(Fraction(1, 100), purpose="goes on", plan_fingerprint="p")
    assert len(move_ledger(path, place).entries) == 5
    with pytest.raises(LedgerError, match="it was moved to"):
        move_ledger(path, postgres.new_ledger())


def test_a_file_that_was_altered_is_not_moved(postgres: Any, old: tuple[str, dict[str, Any]]) -> None:
    import sqlite3

    path, place = old[0], postgres.new_ledger()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER entries_stay_on_UPDATE")
        connection.execute("UPDATE entries SET purpose = 'another' WHERE number = 1")
    with pytest.raises(LedgerError, match="altered"):
        move_ledger(path, place)
    with pytest.raises(LedgerError, match="there is no such ledger"):
        read_ledger(place)


def test_an_answer_that_was_altered_stops_it_and_nothing_is_left(
    postgres: Any, old: tuple[str, dict[str, Any]]
) -> None:
    path, terms = old
    place = postgres.new_ledger()
    Path(f"{path}.answer-2.gz").write_bytes(b"something else")
    with pytest.raises(LedgerError, match="the answer of entry 2"):
        move_ledger(path, place)
    with pytest.raises(LedgerError, match="there is no such ledger"):
        read_ledger(place)
    opened(path, **terms).charge(Fraction(1, 100), purpose="goes on", plan_fingerprint="p")


def test_a_release_under_way_is_waited_for(postgres: Any, tmp_path: Path) -> None:
    path, place = str(tmp_path / "old.db"), postgres.new_ledger()
    with opened(path) as ledger:
        entry = ledger.charge(Fraction(1, 10), purpose="", plan_fingerprint="p", reserve=1000)
        with pytest.raises(LedgerError, match="the release of entry 1 is under way"):
            move_ledger(path, place)
        ledger.store(entry, b"done")
    assert len(move_ledger(path, place).answers) == 1


KILLED = """
import os, signal, sys
from dxgeom.ledger import sqlite_layout, sqlite_store
from dxgeom.ledger.history import move_ledger
from dxgeom.ledger.postgres_store import PostgresSession
def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[3] == "before":
    PostgresSession.commit = killed
else:
    sqlite_store.SqliteSession.retire = killed
move_ledger(sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_on_either_side_of_the_commit_it_is_one_ledger_and_the_same_again_ends_it(
    postgres: Any, old: tuple[str, dict[str, Any]], when: str
) -> None:
    path, place = old[0], postgres.new_ledger()
    ended = subprocess.run([sys.executable, "-c", KILLED, path, place, when], check=False, env={**os.environ})
    assert ended.returncode == -signal.SIGKILL
    before = read_ledger(path)
    assert move_ledger(path, place).entries == before.entries
    with pytest.raises(LedgerError, match="it was moved to"):
        opened(path, **old[1])


def test_a_role_that_there_is_not_does_not_leave_two_ledgers(postgres: Any, old: tuple[str, dict[str, Any]]) -> None:
    path, terms = old
    place = postgres.new_ledger()
    with pytest.raises(LedgerError):
        move_ledger(path, place, grant=["nobody_of_this_name"])
    with pytest.raises(LedgerError, match="it was moved to"):
        opened(path, **terms)
    assert len(move_ledger(path, place).entries) == 4


def test_a_server_that_takes_no_ledger_leaves_the_file_as_it_was(
    postgres: Any, old: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, terms = old
    with monkeypatch.context() as patch:
        patch.setattr(PostgresLedger, "begin", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            move_ledger(path, postgres.new_ledger())
    opened(path, **terms).charge(Fraction(1, 100), purpose="goes on", plan_fingerprint="p")


def test_what_the_server_took_in_between_is_not_lost_when_it_is_ended(
    postgres: Any, old: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has the ledger, the move was cut short, and somebody releases on the server, not on the file."""
    path, terms = old
    place = postgres.new_ledger()
    with monkeypatch.context() as patch:
        patch.setattr(history, "_require_same", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            move_ledger(path, place)
    with pytest.raises(LedgerError, match="it was moved to"):
        opened(path, **terms)
    with opened(place, **terms) as ledger:
        ledger.charge(Fraction(1, 100), purpose="there", plan_fingerprint="p")
    assert len(move_ledger(path, place).entries) == 5


def test_only_a_file_moves_and_only_to_a_server(postgres: Any, tmp_path: Path) -> None:
    path, place = str(tmp_path / "a.db"), postgres.new_ledger()
    opened(path).close()
    for source, target in ((path, str(tmp_path / "b.db")), (place, postgres.new_ledger()), (":memory:", place)):
        with pytest.raises(LedgerError, match="from a file to a server"):
            move_ledger(source, target)
    with pytest.raises(LedgerError, match="there is no such ledger"):
        move_ledger(tmp_path / "nowhere.db", place)
    assert history.__doc__


def test_the_command_moves_it_and_grants_it(postgres: Any, old: tuple[str, dict[str, Any]]) -> None:
    path, place = old[0], postgres.new_ledger()
    role = f"mover_{os.getpid()}_{abs(hash(place)) % 10**6}"
    postgres.execute(f"CREATE ROLE {role} LOGIN")
    result = CliRunner().invoke(app, ["ledger", "move", path, place, "--grant", role, "--format", "json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["entries"], document["answers"], document["moved_from"]) == (4, 3, path)
    theirs = place.replace("postgres@", f"{role}@")
    assert CliRunner().invoke(app, ["ledger", "verify", theirs, "--seal", document["last_seal"]]).exit_code == 0
    again = CliRunner().invoke(app, ["ledger", "move", path, postgres.new_ledger()])
    assert again.exit_code == 1 and "it was moved to" in again.stderr
