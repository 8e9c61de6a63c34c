"""A policy that means the same as one with an account has no budget of its own; further accounts are announced."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.errors import BudgetExceeded, LedgerError
from dxgeom.ledger.history import read_ledger, verify_ledger
from dxgeom.policy.policy import Policy

RULES: list[dict[str, Any]] = [{"change": "sex", "epsilon": 1}, {"change": "city", "epsilon": 2}]
IDLE: dict[str, Any] = {"between": "everything", "epsilon": 100}
DATA = [{"sex": "f", "city": "a"}] * 5 + [{"sex": "m", "city": "b"}] * 4


def policy(rules: list[dict[str, Any]] = RULES, budget: Any = "none", own: int = 1) -> Policy:
    attributes = {"sex": ["f", "m"], "city": ["a", "b", "c"]}
    dataset = {"name": "visits"} if budget is None else {"name": "visits", "budget": budget}
    stated = {"policy": "p", "universe": {"attributes": attributes}, "rules": rules, "dataset": dataset}
    return Policy.from_dict({**stated, "budget": own})


def released(place: Path, one: Policy, spend: str, **more: Any) -> Any:
    plan = dx.plan(one.compile(), dx.queries_from_dict({"queries": [{"count": "sex == 'f'"}]}, one))
    table = place.parent / "table.csv"
    table.write_text("sex,city\n" + "".join(f"{row['sex']},{row['city']}\n" for row in DATA))
    return plan.release(table, ledger=place, spend=Fraction(spend), **more)


def test_an_idle_rule_opens_no_fresh_budget(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    assert released(place, policy(), "0.6").remaining == Fraction("0.4")
    changed = policy([*RULES[::-1], IDLE])
    assert changed.fingerprint != policy().fingerprint
    with pytest.raises(BudgetExceeded, match="remains"):
        released(place, changed, "0.6")
    assert released(place, changed, "0.4").remaining == 0
    assert len(verify_ledger(place).accounts) == 1 and not read_ledger(place).together


def test_the_same_meaning_with_another_budget_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    released(place, policy(), "0.6")
    with pytest.raises(LedgerError, match="its budget is 1, and the policy's is 5"):
        released(place, policy([*RULES, IDLE], own=5), "0.1")
    assert len(read_ledger(place).accounts) == 1


def test_an_account_that_is_there_by_its_fingerprint_stays_its_own(tmp_path: Path) -> None:
    """As older versions opened two for one meaning."""
    place = tmp_path / "a.db"
    one, other = policy(), policy([*RULES, IDLE])
    for each in (one, other):
        stated = {"policy_fingerprint": each.fingerprint, "policy_name": "p", "data_set": each.data_set}
        with dx.Ledger.open(place, budget=Fraction(1), policy=each.stated(), **stated) as ledger:
            ledger.open_account()
    released(place, other, "0.75")
    assert released(place, one, "0.75").remaining == Fraction("0.25")
    assert [entry.account for entry in read_ledger(place).entries] == [2, 1]


def test_a_second_account_on_the_same_data_is_announced_everywhere(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    assert "accounts" not in released(place, policy(), "0.5").receipt.warning
    second = released(place, policy([RULES[0], {"change": "city", "epsilon": 3}]), "0.25", id="again")
    said = (
        "2 accounts for the same data, each policy its own; together they have spent 0.75, and may spend 2, which noth"
    )
    assert said in second.receipt.warning and said in second.as_dict()["ledger"]["warning"]
    again = released(place, policy([RULES[0], {"change": "city", "epsilon": 3}]), "0.25", id="again")
    assert again.repeated and again.receipt.warning == second.receipt.warning
    shown = CliRunner().invoke(app, ["ledger", "show", str(place), "--all"])
    assert f"together   this ledger has {said[:13]}" in shown.stdout and "0.75" in shown.stdout
    document = json.loads(CliRunner().invoke(app, ["ledger", "show", str(place), "--format", "json"]).stdout)
    assert document["together"] == [{"accounts": 2, "budgets": "2", "spent": "3/4"}]
    assert said in CliRunner().invoke(app, ["ledger", "show", str(place), "--entry", "2", "--all"]).stdout


def test_the_data_sets_own_budget_is_what_several_accounts_may_spend(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    released(place, policy(budget=1), "0.5")
    second = policy([RULES[0], {"change": "city", "epsilon": 3}], budget=1)
    assert "may spend 1, as the data set's own budget has it" in released(place, second, "0.25").receipt.warning
    with pytest.raises(BudgetExceeded, match="for all policies together"):
        released(place, second, "0.5")


@pytest.mark.parametrize(("budget", "warned"), [(None, True), ("none", False), (2, False)])
def test_a_named_data_set_says_what_may_be_spent_on_it_or_is_warned_of(budget: Any, warned: bool) -> None:
    one = policy(budget=budget)
    assert bool(one.warnings) is warned
    assert any("has no budget of its own" in said for said in one.review().warnings) is warned
    assert one.fingerprint == policy(budget="none").fingerprint
    assert one.data_set.budget == (2 if budget == 2 else None)
    assert Policy.from_stated(one.stated() or "").warnings == one.warnings


def test_the_warning_is_on_standard_error_where_a_command_plans_or_charges(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    for budget, warned in ((None, True), ("none", False)):
        path.write_text(policy(budget=budget).to_yaml())
        done = CliRunner().invoke(app, ["ledger", "init", str(tmp_path / f"{budget}.db"), "--policy", str(path)])
        assert done.exit_code == 0, done.output
        assert ("warning: " in done.stderr and "'budget: none'" in done.stderr) is warned
