"""Lives of a plan released in instalments: ended at every step, with tables that change, by processes that compete."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dxgeom as dx
from dxgeom.ledger.ledger import Ledger, ledger_of
from dxgeom.planner.instalments import telling
from dxgeom.planner.instalments.forms import ListedForm, TotalsForm
from dxgeom.planner.instalments.keys import make_key, read_keys
from dxgeom.planner.instalments.schedule import schedule_of
from dxgeom.planner.instalments.sealing import opened
from dxgeom.planner.instalments.telling import answers_of

pytest.importorskip("cryptography")

LIVES = int(os.environ.get("DXGEOM_LIVES", "40"))
POLICY = """
policy: visits
privacy: concentrated
universe:
  attributes:
    day: {bins: [0, 1, 2, 3, 4, 5], whole: true}
rules:
  - {presence: true, epsilon: 1}
budget: 3
"""
PERIODS = 5
QUERIES = "queries:\n - prefixes: day\n"


class Ended(BaseException):
    """A process that is gone."""


def plan_by(mechanism: str) -> Any:
    policy = dx.parse_policy(POLICY)
    return dx.plan(policy.compile(), dx.parse_queries(QUERIES, policy), mechanism=mechanism)


def table(counts: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"day": np.repeat(np.arange(PERIODS), counts)})


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return make_key(tmp_path / "keys" / "key").file


class Wreck:
    """Ends what runs at its n-th chance: before or after anything is written, or once a table was read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left, self.reads = -1, list[int]()
        step, listed, totals = Ledger.take_step, ListedForm.sums_of, TotalsForm.sums_of

        def take_step(book: Ledger, one: Any) -> Any:
            self.chance()
            written = step(book, one)
            self.chance()
            return written

        def sums_of(real: Any) -> Any:
            def read(form: Any, place: int, *more: Any) -> Any:
                self.chance()
                found = real(form, place, *more)
                self.reads.append(place)
                self.chance()
                return found

            return read

        monkeypatch.setattr(Ledger, "take_step", take_step)
        monkeypatch.setattr(ListedForm, "sums_of", sums_of(listed))
        monkeypatch.setattr(TotalsForm, "sums_of", sums_of(totals))

    def chance(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Ended


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ["gaussian", "toeplitz-gaussian"])
def test_whatever_ends_a_run_all_of_it_is_one_draw_one_charge_and_one_reading(
    mechanism: str, tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, wreck, dice = plan_by(mechanism), Wreck(monkeypatch), random.Random(7)
    schedule = schedule_of(plan, "day")
    # Running totals are read from rows, which takes longer.
    for life in range(LIVES if mechanism == "gaussian" else LIVES // 10):
        (tmp_path / f"life{life}").mkdir()
        ledger, released = str(tmp_path / f"life{life}" / "privacy.db"), dict[str, Any]()
        plan.open(ledger, along="day", spend=1)
        for period in schedule.periods:
            while True:
                wreck.left = dice.randint(1, 9)
                counts = [dice.randint(0, 9) for _ in range(PERIODS)]  # it is another table each time
                rows = np.array([*counts, 0]) if mechanism == "gaussian" else table(counts)
                try:
                    found = plan.release_period(rows, period=period, ledger=ledger, along="day", key=key)
                except Ended:
                    continue
                released[period] = found.exact_values
                if dice.random() < 0.5:
                    break
        wreck.left = -1
        history = dx.ledger.verify_ledger(ledger)
        assert [one.spend for one in history.entries] == [1]
        with ledger_of(ledger, plan.mechanism.account) as book:
            window = telling._window(book, plan, schedule)
        sealed = [opened(window, one, read_keys(key)) for one in schedule.periods]
        assert [*window.seals] == [*schedule.periods] == [*window.answers]
        # All that was released is one draw of the noise in all numbers, and the sums that were sealed.
        every = [answers_of(schedule, place, sealed[: place + 1], Fraction(1)) for place in range(PERIODS)]
        assert [released[one] for one in schedule.periods] == every
        assert [json.loads(window.answers[one].text)["period"] for one in schedule.periods] == [*schedule.periods]


_COMPETE = """
import sys, pandas as pd, numpy as np, dxgeom as dx
policy = dx.parse_policy(sys.argv[1])
plan = dx.plan(policy.compile(), dx.parse_queries(sys.argv[2], policy), mechanism="gaussian")
rows = pd.DataFrame({"day": np.repeat(np.arange(5), [int(one) for one in sys.argv[5].split(",")])})
for period in sys.argv[6].split("|"):
    released = plan.release_period(rows, period=period, ledger=sys.argv[3], along="day", key=sys.argv[4])
    print(period, *released.exact_values)
"""


@pytest.mark.long
def test_two_processes_that_compete_tell_the_same(tmp_path: Path, key: Path) -> None:
    plan = plan_by("gaussian")
    schedule = schedule_of(plan, "day")
    for life in range(max(2, LIVES // 50)):
        (tmp_path / f"race{life}").mkdir()
        ledger = str(tmp_path / f"race{life}" / "privacy.db")
        plan.open(ledger, along="day", spend=1)
        words = [sys.executable, "-c", _COMPETE, POLICY, QUERIES, ledger, str(key)]
        running = [
            subprocess.Popen([*words, rows, "|".join(schedule.periods)], stdout=subprocess.PIPE, text=True)
            for rows in ("1,2,3,4,5", "50,40,30,20,10")
        ]
        one, other = (process.communicate(timeout=300)[0] for process in running)
        assert one == other
        assert len(one.splitlines()) == PERIODS
        assert len(dx.ledger.read_ledger(ledger).entries) == 1


@pytest.mark.long
def test_the_noise_of_many_lives_has_the_covariance_of_the_plan(tmp_path: Path) -> None:
    """Whitened: of 4,000 lives, and 20,000 of a soak, each entry of the mean of z·zᵀ is within 5 of its standard
    deviations, which 15 entries miss together with probability below 2e-5."""
    plan = plan_by("gaussian")
    schedule = schedule_of(plan, "day")
    axes, lives = schedule.form.law.body.axes, max(4_000, 20 * LIVES)
    drawn = np.zeros((lives, PERIODS))
    dice = np.random.default_rng(3)
    secrets = [[dice.bytes(32) for _ in range(PERIODS)] for _ in range(lives)]
    for life, own in enumerate(secrets):
        for place in range(PERIODS):
            numbers = list(range(place + 1))
            bits = telling.keyed_bits([own[one] for one in schedule.numbers.tolist()])
            drawn[life, place] = telling.rounded_coordinates(schedule.form.law, Fraction(1), [place], numbers, bits)[0]
    white = np.linalg.solve(axes, drawn.T)
    found = white @ white.T / lives
    deviations = np.where(np.eye(PERIODS) > 0, np.sqrt(2), 1.0) / np.sqrt(lives)
    rounding = 1 / 12 * np.abs(np.linalg.inv(axes) @ np.linalg.inv(axes).T)
    assert np.all(np.abs(found - np.eye(PERIODS)) < 5 * deviations + rounding)
    largest = float((np.abs(found - np.eye(PERIODS)) / deviations).max())
    print(f"{lives:,} lives: the largest of 15 standardised entries is {largest:.2f}")
