"""Ledgers that count concentrated privacy: squares of spends add up, exactly, and currencies do not mix."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import BudgetExceeded, LedgerError, UnsupportedCombination
from dxgeom.ledger.ledger import Ledger
from dxgeom.privacy.measures import CONCENTRATED, PURE, privacy_measure_of

POLICY = {"policy_fingerprint": "a" * 64, "policy_name": "clinic", "budget": Fraction(1)}
POLICY["privacy_measure"] = CONCENTRATED


def opened(path: Path | str, **changes: Any) -> Ledger:
    return Ledger.open(path, **{**POLICY, **changes})


def charged(ledger: Ledger, spend: str) -> Fraction:
    return ledger.charge(Fraction(spend), purpose="test", plan_fingerprint="p").remaining


def test_squares_add_up_exactly_and_what_remains_is_the_root_of_what_is_left(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as ledger:
        assert charged(ledger, "0.6") == Fraction("0.8")
        assert charged(ledger, "0.8") == 0
        with pytest.raises(BudgetExceeded, match="squares of spends add up"):
            charged(ledger, "1e-100")
        assert (ledger.spent(), ledger.remaining()) == (1, 0)
    with opened(tmp_path / "a.db") as again:
        assert [entry.counted_remaining for entry in again.entries()] == [Fraction("0.64"), 0]
    (account,) = dx.ledger.read_ledger(tmp_path / "a.db").accounts
    assert account.privacy_measure == CONCENTRATED


@settings(max_examples=60, deadline=None)
@given(st.lists(st.fractions(min_value=Fraction(1, 1000), max_value=1, max_denominator=1000), max_size=6))
def test_what_remains_can_be_spent_and_the_exact_rest_is_never_passed(spends: list[Fraction]) -> None:
    with opened(":memory:") as ledger:
        counted = Fraction(1)
        for spend in spends:
            if spend**2 > counted:
                with pytest.raises(BudgetExceeded):
                    charged(ledger, str(spend))
                continue
            charged(ledger, str(spend))
            counted -= spend**2
        left = ledger.remaining()
        assert left**2 <= counted <= (left * (1 + Fraction(1, 10**13))) ** 2
        assert ledger.spent() ** 2 >= 1 - counted
        if left:
            charged(ledger, str(left))
            assert sum(entry.spend**2 for entry in ledger.entries()) <= 1


def test_four_hundred_releases_of_a_twentieth_fill_a_budget_of_one() -> None:
    with opened(":memory:") as ledger:
        for _ in range(400):
            charged(ledger, "0.05")
        assert ledger.remaining() == 0
        with pytest.raises(BudgetExceeded):
            charged(ledger, "0.05")


def test_the_cap_of_a_data_set_counts_in_squares_too() -> None:
    data_set = dx.ledger.DataSet("visits", budget=Fraction(1, 2))
    with opened(":memory:", data_set=data_set) as ledger:
        charged(ledger, "0.3")
        assert ledger.remaining() == Fraction("0.4")
        with pytest.raises(BudgetExceeded, match="for all policies together"):
            charged(ledger, "0.41")
        assert charged(ledger, "0.4") > 0


def test_parts_of_an_account_add_up_in_squares_too() -> None:
    with opened(":memory:") as ledger:
        ledger.allot({"ana": Fraction("0.6"), "bob": Fraction("0.8")})
        with pytest.raises(BudgetExceeded, match="what is not allotted"):
            charged(ledger, "1e-9")
        ledger.charge(Fraction("0.36"), purpose="", plan_fingerprint="p", owner="ana")
        ledger.charge(Fraction("0.48"), purpose="", plan_fingerprint="p", owner="ana")
        with pytest.raises(BudgetExceeded, match=r"allotment 'ana' .* is 0.6: 0.6 is spent, 0 remains \(squares"):
            ledger.charge(Fraction(1, 10**9), purpose="", plan_fingerprint="p", owner="ana")
        ledger.charge(Fraction("0.48"), purpose="", plan_fingerprint="p", owner="bob")
        ana, bob = ledger.allotments()
        assert (ana.amount, ana.spent, ana.remaining) == (Fraction("0.6"), Fraction("0.6"), 0)
        assert (bob.amount, bob.spent, bob.remaining) == (Fraction("0.8"), Fraction("0.48"), Fraction("0.64"))
        with pytest.raises(LedgerError, match=r"has spent 0\.48 already"):
            ledger.allot({"bob": Fraction("0.47")})
        with pytest.raises(BudgetExceeded, match=r"at most 0\.8"):
            ledger.allot({"bob": Fraction("0.801")})
        ledger.allot({"bob": Fraction("0.48")})
        assert charged(ledger, "0.64") == 0


@pytest.mark.parametrize(("first", "second"), [(PURE, CONCENTRATED), (CONCENTRATED, PURE)])
def test_a_ledger_has_the_currency_of_its_first_account(tmp_path: Path, first: str, second: str) -> None:
    data_set = dx.ledger.DataSet("visits")
    with opened(tmp_path / "a.db", privacy_measure=first, data_set=data_set) as ledger:
        charged(ledger, "0.5")
    with pytest.raises(LedgerError, match=f"it counts {first} privacy from its first entry on"):
        opened(tmp_path / "a.db", privacy_measure=second, data_set=data_set, policy_fingerprint="b" * 64)
    with pytest.raises(LedgerError, match="privacy"):
        opened(tmp_path / "a.db", privacy_measure=second, data_set=data_set)
    with opened(tmp_path / "a.db", privacy_measure=first, data_set=data_set, policy_fingerprint="b" * 64) as ledger:
        charged(ledger, "0.5")
    assert [one.privacy_measure for one in dx.ledger.read_ledger(tmp_path / "a.db").accounts] == [first, first]


def test_an_unknown_currency_is_refused() -> None:
    with pytest.raises(UnsupportedCombination, match="'pure' or 'concentrated'"):
        opened(":memory:", privacy_measure="approximate")


@given(st.fractions(min_value=Fraction(1, 10**40), max_value=10**40))
def test_roots_are_rounded_the_way_their_names_say(counted: Fraction) -> None:
    currency = privacy_measure_of(CONCENTRATED)
    below, above = currency.spend_below(counted), currency.spend_above(counted)
    assert below**2 <= counted <= above**2
    assert above - below <= above / 10**13
    assert currency.spend_below(counted**2) == currency.spend_above(counted**2) == counted
