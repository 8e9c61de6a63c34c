"""Several policies over one data set are accounts of one ledger; what adds up with what, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.entry import Account
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.metric import UNNAMED, DataSet

HALF = Fraction(1, 2)
VISITS = DataSet("visits")


def opened(path: Path, policy: str = "a", data_set: DataSet = UNNAMED, budget: Fraction | int = 1) -> Ledger:
    return Ledger.open(path, policy_fingerprint=policy, policy_name=policy, budget=Fraction(budget), data_set=data_set)


def charge(ledger: Ledger, spend: Fraction = HALF) -> None:
    ledger.charge(spend, purpose="test", plan_fingerprint="p")


def disjoint(edition: str, budget: Fraction | None = None) -> DataSet:
    return DataSet("visits", edition, disjoint=True, budget=budget)


def test_each_policy_has_its_own_budget_and_all_entries_are_listed_together(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path, "a", VISITS) as one, opened(path, "b", VISITS, 2) as two:
        charge(one)
        charge(two, Fraction(3, 2))
        charge(one)
        with pytest.raises(BudgetExceeded, match="budget of policy 'a' is 1: 1 is spent"):
            charge(one)
        assert (one.remaining(), one.spent(), two.remaining(), two.spent()) == (0, 1, HALF, Fraction(3, 2))
        assert [(entry.account, entry.remaining, entry.total) for entry in two.entries()] == [
            (1, HALF, HALF),
            (2, HALF, 2),
            (1, 0, Fraction(5, 2)),
        ]


def test_a_policy_that_is_refused_a_charge_leaves_no_account(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path, "a", VISITS) as one, opened(path, "b", VISITS) as two:
        with pytest.raises(BudgetExceeded):
            charge(two, Fraction(2))
        charge(one)
        charge(two)
        assert [entry.account for entry in one.entries()] == [1, 2]


def test_spends_add_across_editions_unless_their_people_are_disjoint(tmp_path: Path) -> None:
    for data_sets in ((DataSet("v", "1"), DataSet("v", "2")), (DataSet("v"), DataSet("v", "2"))):
        path = tmp_path / f"{data_sets[0].edition}.db"
        with opened(path, "a", data_sets[0]) as first, opened(path, "a", data_sets[1]) as second:
            charge(first)
            charge(second)
            assert (first.remaining(), second.remaining()) == (0, 0)
            with pytest.raises(BudgetExceeded):
                charge(second)
            assert [entry.edition for entry in first.entries()] == [one.edition for one in data_sets]
    path = tmp_path / "disjoint.db"
    with opened(path, "a", disjoint("1")) as first, opened(path, "a", disjoint("2")) as second:
        charge(first, Fraction(1))
        charge(second)
        assert (first.spent(), second.spent(), second.remaining()) == (1, HALF, HALF)
        with pytest.raises(BudgetExceeded):
            charge(first)
        charge(second)
        assert [entry.total for entry in first.entries()] == [1, HALF, 1]


def test_the_data_set_has_a_budget_for_all_its_policies_together(tmp_path: Path) -> None:
    path, capped = tmp_path / "a.db", DataSet("visits", budget=Fraction(5, 4))
    with opened(path, "a", capped) as one, opened(path, "b", VISITS) as two:
        charge(one)
        charge(two)
        assert (one.remaining(), two.remaining()) == (Fraction(1, 4), Fraction(1, 4))
        with pytest.raises(BudgetExceeded, match=r"data set 'visits', for all policies together, is 1\.25: 1 is spent"):
            charge(two)
        charge(two, Fraction(1, 4))
        assert (one.remaining(), one.spent()) == (0, HALF)


def test_a_budget_of_the_data_set_can_be_stated_later_and_then_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path, "a", VISITS, 9) as one:
        charge(one, Fraction(3))
    with opened(path, "a", DataSet("visits", budget=Fraction(2)), 9) as one:
        assert one.remaining() == 0
        with pytest.raises(BudgetExceeded):
            charge(one)
    with opened(path, "a", DataSet("visits", budget=Fraction(4)), 9) as one:
        charge(one)
    with opened(path, "a", VISITS, 9) as one:
        assert one.remaining() == HALF
    with pytest.raises(LedgerError, match="budget for the data set as a whole is 4, and the policy's is 5"):
        opened(path, "a", DataSet("visits", budget=Fraction(5)), 9)


def test_where_editions_have_other_people_each_has_the_budget_of_the_data_set(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path, "a", disjoint("1", HALF)) as first, opened(path, "a", disjoint("2", HALF)) as second:
        charge(first)
        charge(second)
        with pytest.raises(BudgetExceeded, match="edition '2', for all policies together"):
            charge(second, Fraction(1, 10))


@pytest.mark.parametrize(
    ("kept", "policy", "asked", "reason"),
    [
        (VISITS, "a", DataSet("census"), "kept for data set 'visits', and this is 'census'"),
        (VISITS, "b", DataSet("census"), "kept for data set 'visits', and this is 'census'"),
        (VISITS, "b", UNNAMED, r"policy 'b' does not say which data.*write 'dataset: \{name: visits\}'"),
        (UNNAMED, "b", UNNAMED, "kept for policy 'a'"),
        (UNNAMED, "b", VISITS, "kept for policy 'a'"),
        (VISITS, "a", disjoint("1"), "same people in its editions, and the policy says otherwise"),
        (disjoint("1"), "a", DataSet("visits", "1"), "other people in each edition, and the policy says otherwise"),
        (disjoint("1"), "a", UNNAMED, "this release names none; add 'edition'"),
        (DataSet("visits", budget=HALF), "b", DataSet("visits", budget=Fraction(1)), "as a whole is 0.5"),
    ],
)
def test_who_does_not_belong_is_refused(
    tmp_path: Path, kept: DataSet, policy: str, asked: DataSet, reason: str
) -> None:
    with opened(tmp_path / "a.db", "a", kept) as ledger:
        charge(ledger)
    with pytest.raises(LedgerError, match=reason):
        opened(tmp_path / "a.db", policy, asked)


def test_a_policy_may_leave_out_the_name_of_the_data_that_its_account_is_about(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db", "a", VISITS) as ledger:
        charge(ledger)
    with opened(tmp_path / "a.db", "a", UNNAMED) as ledger:
        charge(ledger)
        assert ledger.remaining() == 0


def test_data_that_nobody_named_are_named_by_their_own_policy_and_keep_what_was_spent(tmp_path: Path) -> None:
    for named in (VISITS, DataSet("visits", "2", disjoint=True)):
        path = tmp_path / f"{named.edition}.db"
        with opened(path) as ledger:
            charge(ledger)
        with opened(path, "a", named) as ledger:
            assert ledger.remaining() == HALF
            charge(ledger)
            assert ledger.remaining() == 0
        with opened(path, "b", named) as ledger:
            assert ledger.remaining() == 1
        if named.disjoint:
            # What was spent before anybody spoke of editions may have been about anybody.
            with opened(path, "a", disjoint("3")) as ledger:
                assert ledger.remaining() == HALF


@pytest.mark.parametrize(
    "wrong",
    [
        {"edition": "1"},
        {"disjoint": True},
        {"budget": HALF},
        {"name": "v", "disjoint": True},
    ],
)
def test_what_does_not_go_together_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(LedgerError, match="add '"):
        DataSet(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [DataSet("\ud800"), DataSet("v", "\ud800"), DataSet("v", budget=Fraction(0)), DataSet("v", budget=0.5)]
)
def test_a_data_set_that_cannot_be_stored_is_refused_and_no_ledger_begun(tmp_path: Path, wrong: DataSet) -> None:
    with pytest.raises(LedgerError, match="data set's"):
        Ledger.at(tmp_path / "a.db", Account("n", "a", Fraction(1), data_set=wrong))
    assert not list(tmp_path.iterdir())
