"""Exit codes: one for each way in which a command can end, the same in its JSON."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from reference.project import POLICIES
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.cli.terminal import Outcome, outcome_of
from dxgeom.errors import AlreadyCharged, DataError, LedgerBusy, LedgerUnreachable
from dxgeom.ledger import sqlite_layout
from dxgeom.ledger.history import read_ledger
from dxgeom.mechanisms.linear.additive import AdditiveMechanism

POLICY, QUERIES = str(POLICIES / "clinic" / "policy.yaml"), str(POLICIES / "clinic" / "queries.yaml")
ROWS = [f"{'MF'[k % 2]},{('Yes', 'No')[k % 3 == 0]},{('above', 'below')[k % 5 == 0]} 18" for k in range(60)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("\n".join(["gender,native,age", *ROWS]) + "\n", encoding="utf-8")
    return tmp_path


def release(folder: Path, *words: str, policy: str = POLICY, spend: str = "0.2") -> tuple[int, dict[str, Any]]:
    """The exit code, and the JSON on standard output."""
    given = [policy, str(folder / "people.csv"), QUERIES, "--ledger", str(folder / "p.db"), "--spend", spend]
    result = CliRunner().invoke(app, ["release", *given, "--mechanism", "laplace", "--format", "json", *words])
    return result.exit_code, json.loads(result.stdout or "{}")


def test_codes_never_change() -> None:
    assert {outcome.name: int(outcome) for outcome in Outcome} == {
        "FINE": 0,
        "REFUSED": 1,
        "NOT_UNDERSTOOD": 2,
        "OVER_BUDGET": 3,
        "TRY_AGAIN": 4,
        "STORED": 5,
        "UNANSWERED": 6,
        "INTERRUPTED": 130,
    }
    assert outcome_of(LedgerUnreachable("")) is outcome_of(LedgerBusy("")) is Outcome.TRY_AGAIN
    assert outcome_of(DataError("")) is Outcome.REFUSED


def test_a_release_and_its_repetition_end_with_0(folder: Path) -> None:
    assert [release(folder, "--id", "x")[0] for _ in range(2)] == [Outcome.FINE, Outcome.FINE]
    assert release(folder, "--id", "x")[1]["repeated"] is True


@pytest.mark.parametrize("wrong", ["policy", "table", "ledger"])
def test_what_is_to_be_mended_ends_with_1_and_nothing_is_spent(folder: Path, wrong: str) -> None:
    if wrong == "table":
        (folder / "people.csv").write_text("gender,native,age\nX,Yes,above 18\n")
    if wrong == "ledger":
        (folder / "p.db").write_text("no ledger at all")
    code, document = release(folder, policy="nowhere.yaml" if wrong == "policy" else POLICY)
    assert (code, document["error"]["exit_code"]) == (Outcome.REFUSED, 1)
    assert wrong == "ledger" or not (folder / "p.db").exists()


def test_an_option_that_is_none_ends_with_2(folder: Path) -> None:
    assert release(folder, "--no-such-option")[0] == Outcome.NOT_UNDERSTOOD


def test_a_budget_and_an_allotment_that_do_not_allow_it_end_with_3(folder: Path) -> None:
    code, document = release(folder, spend="1.5")
    assert (code, document["error"]["kind"], document["error"]["exit_code"]) == (3, "BudgetExceeded", 3)
    allot = ["ledger", "allot", str(folder / "p.db"), "ana=0.1", "--policy", POLICY]
    assert CliRunner().invoke(app, allot).exit_code == 0
    assert release(folder, "--allotment", "ana")[0] == Outcome.OVER_BUDGET
    assert not read_ledger(folder / "p.db").entries


def test_a_ledger_that_others_keep_locked_ends_with_4(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert release(folder)[0] == 0
    monkeypatch.setattr(sqlite_layout, "LOCK_SECONDS", 0.1)
    with closing(sqlite3.connect(folder / "p.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        code, document = release(folder)
    assert (code, document["error"]["kind"]) == (Outcome.TRY_AGAIN, "LedgerBusy")
    assert "try again" in document["error"]["message"]


def test_charged_and_not_answered_ends_with_6_then_and_whenever_it_is_asked_for_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise MemoryError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr(AdditiveMechanism, "draw", broken)
        code, document = release(folder, "--id", "x")
    error = document["error"]
    assert (code, error["kind"], error["exit_code"], error["entry"], error["stored"]) == (
        6,
        "AlreadyCharged",
        6,
        1,
        False,
    )
    code, document = release(folder, "--id", "x")
    assert (code, document["error"]["entry"]) == (Outcome.UNANSWERED, 1)
    assert [entry.spend for entry in read_ledger(folder / "p.db").entries] == [Fraction(1, 5)]


def test_what_fails_after_the_answer_was_stored_ends_with_5(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise DataError("cannot be shown")

    monkeypatch.setattr("dxgeom.cli.showing.ShownEstimate.document", broken)
    code, document = release(folder, "--id", "x")
    assert (code, document["error"]["stored"]) == (Outcome.STORED, True)
    assert "dxgeom ledger show" in document["error"]["message"]
    monkeypatch.undo()
    code, document = release(folder, "--id", "x")
    assert (code, document["repeated"]) == (Outcome.FINE, True)
    assert outcome_of(AlreadyCharged("", 1, stored=True)) is Outcome.STORED
