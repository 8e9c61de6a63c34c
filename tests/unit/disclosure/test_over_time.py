"""What a ledger's releases told of rows in several periods: beside all streams there are, and beside a solver."""

from __future__ import annotations

import itertools
import json
import math
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.disclosure.all_releases import disclosed_loss
from dxgeom.errors import UnsupportedCombination
from dxgeom.ledger.ledger import Ledger

UP = 1 + 1e-3
"""Figures are rounded up to four digits."""
DAYS = 8
STREAM = [0, 1, 0, 2, 1, 0, 0, 1]
NOBODY = [0] * DAYS


def policy(days: int = DAYS, privacy: str = "concentrated", *more: dict[str, Any], ends: bool = False) -> dx.Policy:
    last = date(2025, 1, 1) + timedelta(days - 1)
    time = {
        "column": "day",
        "from": "2025-01-01",
        "to": str(last),
        "every": "day",
        **({} if ends else {"before": False, "after": False}),
    }
    stated = {"policy": "p", "privacy": privacy, "universe": {"attributes": {"of": ["a", "b"]}}, "time": time}
    rules = [{"presence": True, "epsilon": 1}, {"change": "of", "epsilon": 1}]
    return dx.Policy.from_dict({**stated, "rules": [*rules, *more], "budget": 9})


def planned(asked: dx.Policy, mechanism: str = "toeplitz-gaussian") -> Any:
    return dx.plan(
        asked.compile(), dx.queries_from_dict({"queries": [{"total": "so far"}]}, asked), mechanism=mechanism
    )


def charged(path: Path, asked: dx.Policy, *spends: tuple[Fraction, str]) -> str:
    for spend, fingerprint in spends:
        with Ledger.open(
            path,
            policy_fingerprint=asked.fingerprint,
            policy_name=asked.name,
            budget=Fraction(100),
            data_set=asked.data_set,
            privacy_measure=asked.privacy,
        ) as ledger:
            ledger.charge(spend, purpose="", plan_fingerprint=fingerprint)
    return str(path)


def told(path: str, asked: dx.Policy, *plans: Any) -> Any:
    known = {plan.fingerprint: plan.over_time for plan in plans}
    return disclosed_loss(dx.ledger.read_ledger(path), asked, over_time=known).over_time


@pytest.mark.long
def test_what_a_policy_promises_is_told_without_plans(tmp_path: Path) -> None:
    """A row of one day is at 1; of all eight at 8, of which each spend tells its part."""
    asked = policy(DAYS, "pure")
    path = charged(tmp_path / "l.db", asked, (Fraction(1, 4), "p"), (Fraction(1, 2), "q"))
    found = told(path, asked)
    assert (found.every, found.most, found.by_noise, found.releases) == ("day", DAYS, 0, 2)
    assert dict(found.spans) == {1: pytest.approx(0.75, rel=UP - 1), 7: pytest.approx(5.25), 8: pytest.approx(6)}
    assert found.of_streams(STREAM, NOBODY) == pytest.approx(0.75 * 5)
    assert found.of_streams(STREAM, STREAM) == 0
    text = CliRunner().invoke(app, ["ledger", "told", path, "--policy", str(written(asked, tmp_path))]).output
    assert "in any 7 days in a row: 5.25" in text and "a life, all 8 days: 6" in text


def test_windows_of_rules_are_what_is_promised_of_several_days(tmp_path: Path) -> None:
    asked = policy(DAYS, "pure", {"any": "life", "epsilon": 3})
    found = told(charged(tmp_path / "l.db", asked, (Fraction(1), "p")), asked)
    assert dict(found.spans)[DAYS] == pytest.approx(3, rel=1e-3)
    assert found.of_streams([1] * DAYS, NOBODY) == pytest.approx(3, rel=1e-3)
    assert found.of_streams([2] * DAYS, NOBODY) == pytest.approx(6, rel=1e-3)


@pytest.mark.parametrize("stream", [[1] * 7, [1] * 9, [1.0] * DAYS, [-1] * DAYS])
def test_streams_that_are_none_are_refused(stream: list[Any], tmp_path: Path) -> None:
    asked = policy(DAYS, "pure")
    found = told(charged(tmp_path / "l.db", asked, (Fraction(1), "p")), asked)
    with pytest.raises(UnsupportedCombination, match="8 whole numbers"):
        found.of_streams(stream, NOBODY)


def test_policies_without_a_time_have_no_such_figures(tmp_path: Path) -> None:
    asked = dx.parse_policy("policy: p\nuniverse: {attributes: {a: [x, y]}}\nrules: [{change: a, epsilon: 1}]\n")
    assert told(charged(tmp_path / "l.db", asked, (Fraction(1), "p")), asked) is None


@pytest.mark.long
@pytest.mark.parametrize("ends", [False, True])
def test_the_noise_of_plans_tells_no_less_than_the_worst_of_all_streams(ends: bool, tmp_path: Path) -> None:
    """All 3^8 changes of one row a day, by a solver: the largest within each window is what is said of it."""
    asked = policy(ends=ends)
    plan, spends = planned(asked), (Fraction(1, 2), Fraction(3, 4))
    path = charged(tmp_path / "l.db", asked, *((one, plan.fingerprint) for one in spends))
    found, root = told(path, asked, plan), math.hypot(*map(float, spends))
    assert (found.by_noise, found.releases) == (2, 2)
    law, _ = plan.mechanism.law_of(0, 1.0)
    changes = np.array(list(itertools.product((-1, 0, 1), repeat=DAYS)))
    within = np.pad(changes, [(0, 0), (int(ends), int(ends))])
    losses = root * np.linalg.norm(
        np.linalg.solve(law.factor, np.cumsum(within, axis=1)[:, : len(law.factor)].T), axis=0
    )
    some = changes != 0
    width = np.where(some.any(1), DAYS - np.argmax(some[:, ::-1], axis=1) - np.argmax(some, axis=1), 0)
    for periods, loss in found.spans:
        worst = float(losses[width <= periods].max())
        assert worst <= loss * (1 + 1e-9)
        assert ends or loss <= worst * 1.0011
    for change, loss in list(zip(changes, losses, strict=True))[:: 3**4]:
        first, second = (np.maximum(sign * change, 0).tolist() for sign in (1, -1))
        assert found.of_streams(first, second) == pytest.approx(loss, rel=1e-9, abs=1e-12)
    # One release of which nothing but the promise is known: its part is added.
    other = told(charged(tmp_path / "l.db", asked, (Fraction(1), "unknown")), asked, plan)
    assert (other.by_noise, other.releases) == (2, 3)
    assert other.of_streams(STREAM, NOBODY) == pytest.approx(math.hypot(5, found.of_streams(STREAM, NOBODY)))


@pytest.mark.long
def test_a_year_tells_what_the_decision_says_of_a_week_a_month_and_a_life(tmp_path: Path) -> None:
    """The figures of decision 080, by the command, from the plan file."""
    asked = policy(365)
    plan = planned(asked)
    file = tmp_path / "plan.json"
    dx.save_plan(plan, file, policy=asked)
    path = charged(tmp_path / "l.db", asked, (Fraction(1), plan.fingerprint))
    words = ["ledger", "told", path, "--policy", str(written(asked, tmp_path)), "--plan", str(file), "--format", "json"]
    run = CliRunner().invoke(app, words)
    assert run.exit_code == 0, run.output
    found = json.loads(run.output)["over_time"]
    assert (found["every"], found["by_noise"], found["releases"]) == ("day", 1, 1)
    figures = {one["periods"]: one["told"] for one in found["spans"]}
    assert figures == {
        days: pytest.approx(loss, rel=4e-3) for days, loss in ((1, 1.0), (7, 6.36), (30, 24.2), (90, 63.1), (365, 162))
    }


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ["gaussian"])
def test_of_other_plans_the_promise_is_told(mechanism: str) -> None:
    assert planned(policy(), mechanism).over_time is None


def written(asked: dx.Policy, folder: Path) -> Path:
    file = folder / "policy.yaml"
    file.write_text(asked.to_yaml())
    return file
