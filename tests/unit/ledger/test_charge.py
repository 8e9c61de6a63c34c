"""A new ledger is begun only for a charge that it takes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.entry import Account
from dxgeom.ledger.ledger import Ledger, ledger_of

ACCOUNT = Account("clinic", "a" * 64, Fraction(1))
WORDS = {"purpose": "counts", "plan_fingerprint": "b"}


def opened(path):
    return Ledger.open(path, policy_fingerprint="a" * 64, policy_name="clinic", budget=Fraction(1))


def charge(place, account, spend, **words):
    with ledger_of(place, account) as ledger:
        return ledger.charge(spend, **words)


def test_a_charge_begins_a_ledger_and_the_next_ones_go_on(tmp_path):
    for path in (tmp_path / "a.db", str(tmp_path / "a.db")):
        entry = charge(path, ACCOUNT, Fraction(1, 2), **WORDS)
    assert (entry.number, entry.remaining) == (2, 0)
    with pytest.raises(BudgetExceeded):
        charge(path, ACCOUNT, Fraction(1, 2), **WORDS)
    with opened(path) as ledger:
        assert [(one.purpose, one.spend) for one in ledger.entries()] == [("counts", Fraction(1, 2))] * 2


@pytest.mark.parametrize(
    ("account", "spend", "words"),
    [
        (ACCOUNT, Fraction(2), WORDS),
        (ACCOUNT, Fraction(0), WORDS),
        (ACCOUNT, 0.5, WORDS),
        (ACCOUNT, Fraction(1, 2) + Fraction(1, 10**300), WORDS),
        (ACCOUNT, Fraction(1, 2), {**WORDS, "purpose": None}),
        (ACCOUNT, Fraction(1, 2), {**WORDS, "plan_fingerprint": "\ud800"}),
        (Account("clinic", "a", Fraction(0)), Fraction(1, 2), WORDS),
        (Account("\ud800", "a", Fraction(1)), Fraction(1, 2), WORDS),
    ],
)
def test_a_refused_charge_leaves_no_ledger_behind(tmp_path, account, spend, words):
    with pytest.raises(LedgerError):
        charge(tmp_path / "a.db", account, spend, **words)
    assert not list(tmp_path.iterdir())


def test_an_open_ledger_is_charged_for_its_own_account_only():
    with opened(":memory:") as ledger:
        assert charge(ledger, ACCOUNT, Fraction(1, 4), **WORDS).remaining == Fraction(3, 4)
        for stranger in (Account("clinic", "b", Fraction(1)), Account("clinic", "a" * 64, Fraction(2))):
            with pytest.raises(LedgerError, match="another policy or budget"):
                charge(ledger, stranger, Fraction(1, 4), **WORDS)
        assert ledger.remaining() == Fraction(3, 4)


def test_a_ledger_that_is_there_and_empty_is_charged_as_it_is(tmp_path):
    with opened(tmp_path / "a.db") as ledger:
        assert ledger.entries() == ()
    with pytest.raises(BudgetExceeded):
        charge(tmp_path / "a.db", ACCOUNT, Fraction(2), **WORDS)
    assert charge(tmp_path / "a.db", ACCOUNT, Fraction(1), **WORDS).remaining == 0


def test_a_name_too_long_for_a_file_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(LedgerError, match="cannot be used"):
        charge(tmp_path / ("y" * 300), ACCOUNT, Fraction(1, 4), **WORDS)
    assert not list(tmp_path.iterdir())
