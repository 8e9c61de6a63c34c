"""The account itself: exact sums, refusals, and whose ledger it is."""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.ledger import Ledger

POLICY = {"policy_fingerprint": "a" * 64, "policy_name": "clinic", "budget": Fraction(1)}


def opened(path: Path | str, **changes: Any) -> Ledger:
    return Ledger.open(path, **{**POLICY, **changes})


def charged(ledger: Ledger, spend: Fraction) -> Fraction:
    return ledger.charge(spend, purpose="test", plan_fingerprint="p").remaining


def test_ten_tenths_fill_a_budget_of_one_exactly_and_an_eleventh_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as ledger:
        left = [charged(ledger, Fraction("0.1")) for _ in range(10)]
        assert left == [Fraction(9 - k, 10) for k in range(10)]
        with pytest.raises(BudgetExceeded):
            charged(ledger, Fraction(1, 10**200))
        assert (ledger.spent(), ledger.remaining(), len(ledger.entries())) == (1, 0, 10)


def test_the_refusal_states_budget_spent_asked_and_remaining_and_spends_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as ledger:
        charged(ledger, Fraction("0.75"))
        with pytest.raises(BudgetExceeded) as refusal:
            charged(ledger, Fraction("0.5"))
        for part in (
            "budget of policy 'clinic' is 1",
            "0.75 is spent",
            "0.25 remains",
            "asks for 0.5",
            "nothing was spent",
        ):
            assert part in str(refusal.value)
        assert ledger.remaining() == Fraction(1, 4)


def test_what_was_charged_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as ledger:
        first = ledger.charge(Fraction(1, 3), purpose="counts, für €", plan_fingerprint="p1")
        second = ledger.charge(Fraction(1, 7), purpose="", plan_fingerprint="p2")
    with opened(str(tmp_path / "a.db"), policy_name="renamed") as again:
        assert again.entries() == (first, second)
        assert again.remaining() == 1 - Fraction(1, 3) - Fraction(1, 7)
    assert (first.number, second.number) == (1, 2)
    assert first.time_utc <= second.time_utc
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db"]


@pytest.mark.parametrize(
    "spend", [Fraction(0), Fraction(-1, 10), 0.1, True, "0.1", Fraction(1, 10**400), None], ids=repr
)
def test_a_spend_that_is_not_an_exact_positive_fraction_is_refused(tmp_path: Path, spend: Any) -> None:
    with opened(tmp_path / "a.db") as ledger:
        with pytest.raises(LedgerError, match="spend"):
            charged(ledger, spend)
        assert ledger.entries() == ()


def test_spends_whose_sum_needs_too_many_digits_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as ledger:
        charged(ledger, Fraction(1, 10**200 + 1))
        with pytest.raises(LedgerError, match="300 digits"):
            charged(ledger, Fraction(1, 10**200 + 3))
        assert len(ledger.entries()) == 1


@pytest.mark.parametrize("text", ["\ud800", 5, "a\0b"])
def test_a_purpose_that_cannot_be_stored_is_refused(tmp_path: Path, text: Any) -> None:
    with opened(tmp_path / "a.db") as ledger:
        with pytest.raises(LedgerError, match="purpose"):
            ledger.charge(Fraction(1, 2), purpose=text, plan_fingerprint="p")
        assert ledger.spent() == 0


def test_the_ledger_of_another_policy_is_refused(tmp_path: Path) -> None:
    opened(tmp_path / "a.db").close()
    with pytest.raises(LedgerError, match=r"kept for policy 'clinic' \(aaaaaaaaaaaa.*this is policy 'census' \(bbbb"):
        opened(tmp_path / "a.db", policy_fingerprint="b" * 64, policy_name="census")


def test_another_budget_is_refused(tmp_path: Path) -> None:
    opened(tmp_path / "a.db").close()
    with pytest.raises(LedgerError, match=r"its budget is 1, and the policy's is 2\.5"):
        opened(tmp_path / "a.db", budget=Fraction(5, 2))


@pytest.mark.parametrize("budget", [Fraction(0), Fraction(-1), 1.0])
def test_a_budget_that_is_not_an_exact_positive_fraction_is_refused(tmp_path: Path, budget: Any) -> None:
    with pytest.raises(LedgerError, match="budget"):
        opened(tmp_path / "a.db", budget=budget)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_ledger_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "a.db", ":memory:"):
        ledger = opened(place)
        ledger.close()
        with pytest.raises(LedgerError, match="closed"):
            charged(ledger, Fraction(1, 2))


def test_a_ledger_in_memory_keeps_the_budget_and_forgets_at_the_end() -> None:
    with opened(":memory:") as ledger:
        charged(ledger, Fraction(3, 4))
        with pytest.raises(BudgetExceeded):
            charged(ledger, Fraction(1, 2))
    with opened(":memory:") as another:
        assert another.spent() == 0


def test_a_ledger_in_memory_that_nobody_closes_ends_with_its_last_use(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def kept_too(*words: Any, **options: Any) -> sqlite3.Connection:
        kept.append(connect(*words, **options))
        return kept[-1]

    monkeypatch.setattr(sqlite3, "connect", kept_too)
    ledger = opened(":memory:")
    charged(ledger, Fraction(1, 2))
    (connection,) = kept
    assert connection.execute("SELECT count(*) FROM entries").fetchone() == (1,)
    del ledger
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


@pytest.mark.parametrize("place", [":memory:x", ":memory: ", ":memory:.db", Path(":memory:ledger.db")])
def test_a_mistyped_memory_is_refused_and_not_forgotten(place: str | Path) -> None:
    with pytest.raises(LedgerError, match="only ':memory:' is a ledger in memory"):
        opened(place)


@pytest.mark.parametrize("place", ["a.db", ":memory:"])
def test_threads_that_share_a_ledger_spend_exactly_the_budget(tmp_path: Path, place: str) -> None:
    with opened(place if place == ":memory:" else tmp_path / place) as ledger:
        start = threading.Barrier(8)

        def spend_much(_: int) -> int:
            start.wait()
            successes = 0
            for _ in range(5):
                try:
                    charged(ledger, Fraction(1, 20))
                    successes += 1
                except BudgetExceeded:
                    pass
            return successes

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(spend_much, range(8))) == 20
        assert ledger.remaining() == 0


FORKED = """
import os, sys
from fractions import Fraction
from dxgeom.errors import LedgerError
from dxgeom.ledger.ledger import Ledger
with Ledger.open(sys.argv[1], policy_fingerprint="a" * 64, policy_name="clinic", budget=Fraction(1)) as ledger:
    if (child := os.fork()) == 0:
        try:
            print("child", ledger.charge(Fraction(1, 2), purpose="test", plan_fingerprint="p").remaining, flush=True)
        except LedgerError:
            print("child refused", flush=True)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    print("parent", ledger.remaining())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    ("place", "expected"), [(":memory:", "child refused\nparent 1\n"), ("a.db", "child 1/2\nparent 1/2\n")]
)
def test_after_a_fork_a_file_is_shared_and_a_memory_refused(tmp_path: Path, place: str, expected: str) -> None:
    """In a process of its own: this one may have threads by now, which a fork would leave behind."""
    command = [sys.executable, "-c", FORKED, place]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert shown == expected


@given(
    st.lists(st.fractions(min_value=Fraction(1, 1000), max_value=2, max_denominator=1000), max_size=12),
    st.fractions(min_value=Fraction(1, 100), max_value=3, max_denominator=100),
)
@settings(max_examples=60, deadline=None)
def test_no_sequence_of_spends_passes_the_budget(spends: list[Fraction], budget: Fraction) -> None:
    expected = Fraction(0)
    with opened(":memory:", budget=budget) as ledger:
        for spend in spends:
            if expected + spend <= budget:
                assert charged(ledger, spend) == budget - expected - spend
                expected += spend
            else:
                with pytest.raises(BudgetExceeded):
                    charged(ledger, spend)
            assert ledger.spent() == expected <= budget
