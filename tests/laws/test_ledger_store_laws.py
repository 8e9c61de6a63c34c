"""What every store of ledgers does alike; none is forgotten, and the server's is a real one."""

from __future__ import annotations

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.answers import INSIDE_BYTES
from dxgeom.ledger.chronicle import Chronicle
from dxgeom.ledger.entry import Account
from dxgeom.ledger.history import migrate_ledger, read_answer, read_ledger, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.ledger.postgres_store import PostgresLedger
from dxgeom.ledger.sqlite_store import SqliteFile
from dxgeom.ledger.stores import STORES, store_at
from dxgeom.ledger.tables import ENTRIES
from dxgeom.metrics.metric import DataSet
from dxgeom.privacy.measures import CONCENTRATED

MEMORY = ":memory:"
STORED = {
    SqliteFile: lambda request: str(request.getfixturevalue("tmp_path") / "a.db"),
    PostgresLedger: lambda request: _new_place(request.getfixturevalue("postgres")),
}
"""The stores that keep a ledger, and a place for a new one."""

SERVICES = {PostgresLedger: [pytest.mark.service("postgres")]}
EVERY = [pytest.param(store, marks=SERVICES.get(store, []), id=store.__name__) for store in STORED]
TEXTS = ["", "für € \x01\n,'\"\\", "'; DROP SCHEMA dxgeom_ledger; --", "$body$ %s {} ' \u2028 \U0001f600"]


def _new_place(server: Any) -> str:
    return server.new_ledger()


@pytest.fixture(params=EVERY)
def place(request: pytest.FixtureRequest) -> str:
    return STORED[request.param](request)


@pytest.fixture(params=[MEMORY, *EVERY])
def anywhere(request: pytest.FixtureRequest) -> str:
    return MEMORY if request.param == MEMORY else STORED[request.param](request)


def opened(place: str, fingerprint: str = "f", **changes: Any) -> Ledger:
    stated = {"policy_fingerprint": fingerprint, "policy_name": "n", "budget": Fraction(1), **changes}
    return Ledger.open(place, **stated)


def charged(ledger: Ledger, spend: Fraction | str, **more: Any) -> Fraction:
    return ledger.charge(Fraction(spend), purpose="test", plan_fingerprint="p", **more).remaining


def test_no_store_is_forgotten() -> None:
    assert {make for begins, make in STORES if begins != MEMORY} == {*STORED}


def test_tenths_fill_a_budget_of_one_exactly_and_the_least_more_is_refused(anywhere: str) -> None:
    with opened(anywhere) as ledger:
        assert [charged(ledger, "1/10") for _ in range(10)] == [Fraction(9 - k, 10) for k in range(10)]
        with pytest.raises(BudgetExceeded, match="1 is spent, 0 remains"):
            charged(ledger, Fraction(1, 10**200))
        assert (ledger.spent(), ledger.remaining(), len(ledger.entries())) == (1, 0, 10)


def test_squares_add_up_exactly_where_concentrated_privacy_is_counted(anywhere: str) -> None:
    capped = DataSet("visits", budget=Fraction(6, 5))
    with opened(anywhere, privacy_measure=CONCENTRATED, data_set=capped) as ledger:
        assert charged(ledger, "3/5") == Fraction(4, 5)
        ledger.allot({"ana": Fraction(2, 5)})
        with pytest.raises(BudgetExceeded, match="squares of spends add up"):
            charged(ledger, "7/10")
        charged(ledger, "2/5", owner="ana")
        for owner, spend in (("ana", Fraction(1, 10**100)), (None, "693/1000")):
            with pytest.raises(BudgetExceeded):
                charged(ledger, spend, owner=owner)
        left = charged(ledger, "1/3")
        assert left**2 <= 1 - Fraction(9, 25) - Fraction(4, 25) - Fraction(1, 9) < (left + Fraction(1, 10**14)) ** 2
        assert ledger.entries()[-1].counted_remaining == Fraction(83, 225)
    if anywhere == MEMORY:
        return
    with opened(anywhere, "g", privacy_measure=CONCENTRATED, data_set=capped) as other:
        with pytest.raises(BudgetExceeded, match="for all policies together"):
            charged(other, "9/10")
        charged(other, "89/100")
    with pytest.raises(LedgerError, match="counts concentrated privacy from its first entry on"):
        opened(anywhere, "h", data_set=capped)
    history = verify_ledger(anywhere)
    assert [account.privacy_measure for account in history.accounts] == [CONCENTRATED, CONCENTRATED]
    assert history.entries[-1].total ** 2 >= sum(entry.spend**2 for entry in history.entries)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_what_is_written_is_read_as_it_was(place: str, text: str) -> None:
    visits = DataSet(text or "visits", text or "2026", budget=Fraction(3))
    with opened(place, data_set=visits, policy_name=text, policy=text) as ledger:
        entry = ledger.charge(Fraction(1, 3), purpose=text, plan_fingerprint=text, key=text or None, owner=text or None)
        receipt = ledger.store(entry, text)
    with opened(place, data_set=visits, policy_name=text) as again:
        assert again.entries() == (entry,)
        assert again.answer_of(1) == text.encode()
    history = verify_ledger(place, seal=(receipt.entry, receipt.seal))
    assert history.entries == (entry,) and history.documents == {1: text} and history.data_set.name == visits.name
    assert history.receipt == (1, receipt.seal)


@pytest.mark.parametrize("answer", [b"", b"\x00\xff" * 10, b"1" * (INSIDE_BYTES + 1), bytes(3 * 10**6)], ids=len)
def test_an_answer_is_stored_once_whatever_its_size(anywhere: str, answer: bytes) -> None:
    with opened(anywhere) as ledger:
        entry = ledger.charge(Fraction(1, 3), purpose="", plan_fingerprint="p", key="k", reserve=len(answer))
        assert ledger.answer_of(entry) is None
        receipt = ledger.store(entry, answer)
        for again in (answer, b"another"):
            with pytest.raises(LedgerError, match="has its answer already"):
                ledger.store(entry, again)
        found = ledger.find("k", plan_fingerprint="p", spend=Fraction(1, 3))
        assert found is not None and (found.entry, found.answer, found.seal) == (entry, answer, receipt.seal)
    if anywhere != MEMORY:
        assert read_answer(anywhere, 1) == answer


def test_a_key_is_taken_once_and_found_with_the_same_plan_and_spend_only(anywhere: str) -> None:
    with opened(anywhere) as ledger:
        charged(ledger, "1/4", key="k")
        with pytest.raises(LedgerError, match="'k' is that of entry 1; nothing was spent"):
            charged(ledger, "1/4", key="k")
        assert ledger.find("other", plan_fingerprint="p", spend=Fraction(1, 4)) is None
        for plan, spend in (("q", Fraction(1, 4)), ("p", Fraction(1, 5))):
            with pytest.raises(LedgerError, match="which had another"):
                ledger.find("k", plan_fingerprint=plan, spend=spend)
        assert ledger.spent() == Fraction(1, 4)


def test_policies_share_the_budget_of_a_data_set_and_editions_of_other_people_do_not(place: str) -> None:
    january = DataSet("visits", "2026-01", disjoint=True, budget=Fraction(3, 2))
    february = dataclasses.replace(january, edition="2026-02")
    with opened(place, data_set=january) as one, opened(place, "g", data_set=january) as two:
        charged(one, 1)
        with pytest.raises(BudgetExceeded, match="for all policies together"):
            charged(two, "2/3")
        assert charged(two, "1/2") == Fraction(1, 2)
    with opened(place, data_set=february) as ledger:
        assert ledger.remaining() == 1
        charged(ledger, "3/4")
    assert [entry.total for entry in read_ledger(place).entries] == [1, Fraction(3, 2), Fraction(3, 4)]


def test_data_that_nobody_named_are_named_later_and_keep_what_was_spent(place: str) -> None:
    with opened(place) as ledger:
        charged(ledger, "1/4")
    with opened(place, data_set=DataSet("visits", "2026-01", disjoint=True)) as ledger:
        assert charged(ledger, "1/4") == Fraction(1, 2)
    with opened(place, data_set=DataSet("visits", "2026-02", disjoint=True)) as ledger:
        assert charged(ledger, "1/4") == Fraction(1, 2)
    with pytest.raises(LedgerError, match="counts data set 'visits' as having other people in each edition"):
        opened(place, "g", data_set=DataSet("visits"))


def test_each_owner_spends_at_most_his_allotment_and_all_at_most_the_whole(anywhere: str) -> None:
    with opened(anywhere) as ledger:
        charged(ledger, "1/10", owner="ana")  # before the division this is nobody's
        assert [one.owner for one in ledger.allot({"ana": Fraction(1, 2), "bob": Fraction(3, 10)})] == ["ana", "bob"]
        charged(ledger, "1/2", owner="ana")
        for owner, spend, said in (
            ("ana", "1/1000", "allotment 'ana'.*0 remains"),
            ("bob", "4/10", r"allotment 'bob' of policy 'n' is 0\.3"),
            (None, "2/10", r"what is not allotted.* 0\.1 remains"),
        ):
            with pytest.raises(BudgetExceeded, match=said):
                charged(ledger, spend, owner=owner)
        with pytest.raises(LedgerError, match=r"has no allotment 'cyd'.*'ana', 'bob'"):
            charged(ledger, "1/1000", owner="cyd")
        charged(ledger, "3/10", owner="bob")
        assert charged(ledger, "1/10") == 0


def test_an_allotment_is_changed_within_what_was_spent_and_what_there_is(anywhere: str) -> None:
    with opened(anywhere) as ledger:
        ledger.allot({"ana": Fraction(1, 2), "bob": Fraction(1, 2)})
        charged(ledger, "1/4", owner="ana")
        for parts, said in (
            ({"ana": Fraction(1, 5)}, "has spent 0.25 already"),
            ({"bob": Fraction(3, 4)}, "give it at most 0.5"),
            ({"ana": Fraction(1, 4), "bob": Fraction(4, 5)}, "give it at most 0.75"),
        ):
            with pytest.raises(LedgerError, match=said):
                ledger.allot(parts)
            assert [one.amount for one in ledger.allotments()] == [Fraction(1, 2)] * 2
        ledger.allot({"bob": Fraction(3, 4), "ana": Fraction(1, 4)})
        ledger.allot({"bob": Fraction(0)})
        assert {one.owner: (one.amount, one.remaining) for one in ledger.allotments()} == {
            "ana": (Fraction(1, 4), 0),
            "bob": (0, 0),
        }
        assert charged(ledger, "3/4") == 0


@pytest.mark.parametrize(
    "wrong", [{}, {"": Fraction(1, 2)}, {"a": 0.5}, {"a": False}, {"a": Fraction(-1)}, {3: 1}, None]
)
def test_a_division_that_says_nothing_exact_is_refused(anywhere: str, wrong: Any) -> None:
    with opened(anywhere) as ledger:
        with pytest.raises((LedgerError, TypeError)):
            ledger.allot(wrong)
        assert ledger.allotments() == ()


def test_allotments_hold_in_each_edition_that_has_other_people(place: str) -> None:
    for edition in ("2026-01", "2026-02"):
        with opened(place, data_set=DataSet("visits", edition, disjoint=True)) as ledger:
            if not ledger.allotments():
                ledger.allot({"ana": Fraction(1, 2)})
            charged(ledger, "1/2", owner="ana")
            charged(ledger, "1/4")
            with pytest.raises(LedgerError, match=r"has spent 0\.5 already"):
                ledger.allot({"ana": Fraction(2, 5)})
            with pytest.raises(BudgetExceeded):
                ledger.allot({"bob": Fraction(2, 5)})
    assert [(one.edition, one.remaining) for one in verify_ledger(place).allotments] == [("2026-01", 0), ("2026-02", 0)]


def test_threads_spend_exactly_the_budget(anywhere: str) -> None:
    with opened(anywhere) as ledger:
        start = threading.Barrier(8)

        def spend_much(_: int) -> int:
            start.wait()
            taken = 0
            for _ in range(5):
                try:
                    charged(ledger, "1/20")
                except BudgetExceeded:
                    continue
                taken += 1
            return taken

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(spend_much, range(8))) == 20
        assert ledger.remaining() == 0


def test_rows_that_are_not_committed_are_undone(place: str) -> None:
    with opened(place) as ledger:
        charged(ledger, "1/4")
    chronicle = Chronicle(store_at(place))
    row = (2, 1, None, None, None, "1/4", "1/2", "1/2", "", "p", "2026-01-01T00:00:00", 0, "c", None)
    with pytest.raises(ZeroDivisionError), chronicle.writing() as page:
        page.append(ENTRIES, row)
        raise ZeroDivisionError
    assert len(verify_ledger(place).entries) == 1


def test_who_begins_it_again_finds_it_as_it_is(place: str) -> None:
    with opened(place) as ledger:
        charged(ledger, "1/4")
        store_at(place).begin([])
    with opened(place) as ledger:
        ledger.open_account()
        assert ledger.remaining() == Fraction(3, 4)
    assert len(migrate_ledger(place).entries) == 1


def test_an_account_is_opened_before_anything_is_charged(place: str) -> None:
    visits = DataSet("visits")
    for fingerprint in ("f", "g"):
        with opened(place, fingerprint, data_set=visits, policy="stated") as ledger:
            ledger.open_account()
    history = verify_ledger(place)
    assert [one.policy_fingerprint for one in history.accounts] == ["f", "g"]
    assert history.documents == {1: "stated", 2: "stated"} and history.receipt is None


def test_the_ledger_of_another_policy_or_budget_is_refused(place: str) -> None:
    opened(place).close()
    with pytest.raises(LedgerError, match="kept for policy 'n'"):
        opened(place, "g")
    with pytest.raises(LedgerError, match=r"its budget is 1, and the policy's is 2"):
        Ledger.at(place, Account("n", "f", Fraction(2)))


def test_the_commands_look_at_it(place: str) -> None:
    def said(*words: str) -> str:
        outcome = CliRunner().invoke(app, ["ledger", *words])
        assert outcome.exit_code == 0, outcome.output
        return outcome.stdout

    with opened(place) as ledger:
        ledger.allot({"ana": Fraction(1, 2)})
        entry = ledger.charge(Fraction(1, 4), purpose="weekly", plan_fingerprint="p", owner="ana")
        receipt = ledger.store(entry, '{"answers": [12]}')
    shown = said("show", place, "--all")
    assert "weekly" in shown and "n, allotment ana" in shown and "answered" in shown
    assert '"remaining": "1/4"' in said("show", place, "--format", "json")
    assert "allotment  ana" in said("show", place, "--entry", "1", "--all")
    assert "holds" in said("verify", place, "--seal", f"{receipt.entry}:{receipt.seal}")


def test_what_an_older_process_saw_may_not_be_gone(place: str, tmp_path: Path) -> None:
    seen = Chronicle(store_at(place))
    with opened(place) as ledger:
        charged(ledger, "1/4")
    with seen.reading() as (book, _):
        assert len(book.entries) == 1
    with pytest.raises(LedgerError, match="ends with entry 1, and entry 2 was released once"):
        verify_ledger(place, seal=(2, "0" * 64))
