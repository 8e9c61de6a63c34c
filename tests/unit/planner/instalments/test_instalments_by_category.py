"""Running totals of several categories, and listed ones, released period by period."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest

import dxgeom as dx
from dxgeom.errors import NotDue, UnsupportedCombination
from dxgeom.ledger.ledger import ledger_of
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.toeplitz_mechanism import totals_in_answers
from dxgeom.noise.in_categories import CategoryNormals
from dxgeom.noise.triangular import TriangularNormals
from dxgeom.planner.instalments import telling
from dxgeom.planner.instalments.forms import ListedForm, TotalsForm
from dxgeom.planner.instalments.keys import make_key, read_keys
from dxgeom.planner.instalments.schedule import schedule_of
from dxgeom.planner.instalments.sealing import opened
from dxgeom.planner.releases.reading import read

pytest.importorskip("cryptography")

POLICY = """
policy: visits
privacy: concentrated
universe:
  attributes:
    region: [north, south, west]
time: {column: day, from: 2025-01-01, to: 2025-01-04, every: day, before: false, after: false}
rules:
  - {presence: true, epsilon: 1}
  - {change: region, epsilon: 1}
budget: 3
"""
BY_REGION = "queries:\n - {total: so far, by: [region]}\n - total: so far\n"
TOTALS = "queries:\n - total: so far\n"
REGIONS = ("north", "south", "west")
FORMS = ["boxes by region", "list by region", "list of totals"]
SPEND = Fraction(3, 2)


def plan_of(form: str, policy: str = POLICY) -> Any:
    parsed = dx.parse_policy(policy)
    queries, metric = dx.parse_queries(BY_REGION if "region" in form else TOTALS, parsed), parsed.compile()
    plan = dx.plan(metric, queries, mechanism="toeplitz-gaussian")
    if form.startswith("boxes"):
        return plan
    listed = dx.plan(metric, queries, mechanism="gaussian")
    return replace(listed, mechanism=totals_in_answers(plan.mechanism, sensitivity_of(metric, queries)))


def rows_of(counts: np.ndarray) -> pd.DataFrame:
    rows = [(REGIONS[one], f"2025-01-0{day + 1}") for (one, day), many in np.ndenumerate(counts) for _ in range(many)]
    return pd.DataFrame(rows, columns=["region", "day"])


def one_draw(law: Any, bits: Any) -> list[int]:
    """All noise at once, by other code: the laid out matrix times normal numbers, in 400 bits."""
    with mpmath.workprec(400):
        drawn = []
        for number in range(law.dimension):
            size, turn = (mpmath.mpf(bits(number, which, 512)) / 2**512 for which in (0, 1))
            drawn.append(mpmath.sqrt(-2 * mpmath.log(size)) * mpmath.cos(2 * mpmath.pi * turn))
        rows = [mpmath.fsum(mpmath.mpf(a) * z for a, z in zip(row, drawn, strict=True)) for row in law.map.tolist()]
        return [int(mpmath.floor(one / mpmath.mpf(3) * 2 + mpmath.mpf(1) / 2)) for one in rows]


def secrets_of(plan: Any, ledger: str, key: Path) -> list[bytes]:
    schedule = schedule_of(plan, "day")
    with ledger_of(ledger, schedule.form.mechanism.account) as book:
        window = telling._window(book, plan, schedule)
    return [opened(window, one, read_keys(key)).secret for one in schedule.periods]


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_all_that_is_released_is_one_draw_of_the_plan(form: str, tmp_path: Path) -> None:
    """Each period from its own rows and the earlier ones, and together the plan's answers with one draw of noise."""
    plan, key = plan_of(form), make_key(tmp_path / "keys" / "key").file
    schedule = schedule_of(plan, "day")
    assert type(schedule.form) is (TotalsForm if form == "boxes by region" else ListedForm)
    assert type(schedule.form.law) is (CategoryNormals if "region" in form else TriangularNormals)
    ledger, counts = str(tmp_path / "privacy.db"), np.random.default_rng(5).integers(40, 90, (3, 4))
    plan.open(ledger, along="day", spend=SPEND)
    with pytest.raises(NotDue, match="out of turn"):
        plan.release_period(rows_of(counts), period=schedule.periods[1], ledger=ledger, along="day", key=key)
    released: dict[int, Fraction] = {}
    for place, period in enumerate(schedule.periods):
        table = counts.copy()
        table[:, place + 1 :] = 7  # rows of days that are not due yet are no matter
        table[:, :place] = 3  # nor are those of days that were read
        found = plan.release_period(rows_of(table), period=period, ledger=ledger, along="day", key=key)
        again = plan.release_period(rows_of(table[:, :1]), period=period, ledger=ledger, along="day", key=key)
        assert found.exact_values == again.exact_values
        released |= dict(zip(schedule.answers_in(place), found.exact_values, strict=True))
    history = dx.ledger.verify_ledger(ledger)
    assert [one.spend for one in history.entries] == [SPEND]
    law, mechanism, secrets = schedule.form.law, plan.mechanism, secrets_of(plan, ledger, key)
    noise = one_draw(law, telling.keyed_bits([secrets[one] for one in schedule.numbers.tolist()]))
    if form == "boxes by region":
        data = read(mechanism, rows_of(counts), "refuse", None, True).data
        expected = list(map(Fraction, mechanism.answered(data, {0: np.array(noise)})))
    else:
        histogram = np.append(counts.ravel(), 0)  # nobody
        expected = [*mechanism.answered(histogram, [noise])[0]]
    assert [released[answer] for answer in range(len(expected))] == expected


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_periods_share_no_number_and_each_has_noise_of_full_rank(form: str) -> None:
    """Whatever earlier periods reveal, later ones have numbers that no earlier one depends on."""
    schedule = schedule_of(plan_of(form), "day")
    law, periods = schedule.form.law, schedule.form.carried
    assert schedule.numbers.tolist() == schedule.coordinates.tolist() == periods.tolist()
    for place in range(len(schedule.periods)):
        here = np.flatnonzero(periods == place)
        assert np.linalg.cond(law.map[np.ix_(here, here)]) < 100
        assert not np.any(law.map[np.ix_(here, np.flatnonzero(periods > place))])


def test_turns_that_mix_periods_are_not_fresh() -> None:
    matrix = np.array([[2.0, 0.0], [1.0, 2.0]])
    law = CategoryNormals(matrix, 0.25 * matrix, (2, 2, 1))
    first, last = np.array([0, 2]), np.array([1, 3])
    assert law.fresh_in_turn([first, last])
    assert law.fresh_in_turn([first[:1], last])
    assert not law.fresh_in_turn([last, first])
    assert not law.fresh_in_turn([np.array([0, 1]), np.array([2, 3])])
    assert not law.fresh_in_turn([first[:1], first[1:], last])


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS[:2])
def test_periods_along_what_no_total_runs_along_are_refused(form: str) -> None:
    with pytest.raises(UnsupportedCombination, match="not of the periods one by one"):
        schedule_of(plan_of(form), "region")


MOVED = POLICY.replace("budget: 3", "  - {change: day, per: 2 days, epsilon: 1}\nbudget: 3")
WITHIN = POLICY.replace("region, epsilon: 1", "region, epsilon: 2").replace(
    "budget: 3", "  - {any: 2 days, epsilon: 1.5}\nbudget: 3"
)


@pytest.mark.parametrize("policy", [POLICY, MOVED], ids=["days", "moves"])
@pytest.mark.parametrize("form", FORMS)
def test_closing_early_accounts_for_what_the_periods_reveal(form: str, policy: str) -> None:
    """The largest length of every change in the totals that were released, undone by their own block, laid out."""
    schedule = schedule_of(plan_of(form, policy), "day")
    law, carried, kinds = schedule.form.law, schedule.form.carried, 3 if "region" in form else 1
    step = float(getattr(schedule.form.mechanism, "step", 1)) if form.startswith("boxes") else None
    steps = step or float(schedule.form.mechanism.mixing.measured.step)
    moved = np.kron(np.eye(kinds), np.tri(4)) / steps
    for last in range(4):
        rows = np.flatnonzero(carried <= last)
        seen = np.linalg.solve(law.map[np.ix_(rows, rows)], moved[rows])
        lengths = [np.linalg.norm(seen, axis=0).max()]
        apart = [(a, b) for a in range(4 * kinds) for b in range(a) if a % 4 == b % 4]
        lengths += [np.linalg.norm(seen[:, a] - seen[:, b]) for a, b in apart]
        if policy is MOVED:
            near = [(a, a + 1) for a in range(4 * kinds) if a % 4 < 3]
            lengths += [2 * np.linalg.norm(seen[:, a] - seen[:, b]) for a, b in near]
        told = telling.most_told(schedule, last)
        assert max(lengths) * (1 - 1e-9) <= told <= max(lengths) * (1 + 1e-6)
    assert told > 0.999
    assert telling.most_told(schedule, 0) < (1.001 if policy is MOVED else 0.9)


def test_closing_a_plan_of_several_days_accounts_for_them() -> None:
    schedule = schedule_of(plan_of("list of totals", WITHIN), "day")
    told = [telling.most_told(schedule, last) for last in range(4)]
    assert all(0 < one <= other <= 1 for one, other in pairwise(told))
    assert told[0] < 0.95
    assert told[3] > 0.99


@pytest.mark.long
def test_noise_of_many_lives_has_the_covariance_of_one_draw() -> None:
    """Whitened: of 1,000 lives, and 20,000 of a soak, each entry of the mean of z·zᵀ is within 5.5 of its standard
    deviations, which 78 entries miss together with probability below 3e-6."""
    schedule = schedule_of(plan_of("boxes by region"), "day")
    law, periods, lives, drawn = (
        schedule.form.law,
        schedule.form.carried,
        max(1_000, 20 * int(os.environ.get("DXGEOM_LIVES", "0"))),
        [],
    )
    dice = np.random.default_rng(4)
    for _ in range(lives):
        secrets, found = [dice.bytes(32) for _ in schedule.periods], np.zeros(law.dimension)
        for place in range(len(schedule.periods)):
            numbers = np.flatnonzero(schedule.numbers <= place).tolist()
            bits = telling.keyed_bits([secrets[one] if one <= place else None for one in schedule.numbers.tolist()])
            here = np.flatnonzero(periods == place).tolist()
            found[here] = telling.rounded_coordinates(law, Fraction(1), here, numbers, bits)
        drawn.append(found)
    white = np.linalg.solve(law.map, np.array(drawn).T)
    means, inverse = white @ white.T / lives, np.linalg.inv(law.map)
    deviations = np.where(np.eye(law.dimension) > 0, np.sqrt(2), 1.0) / np.sqrt(lives)
    assert np.all(np.abs(means - np.eye(law.dimension)) < 5.5 * deviations + np.abs(inverse @ inverse.T) / 12)
    largest = float((np.abs(means - np.eye(law.dimension)) / deviations).max())
    print(f"{lives:,} lives: the largest of 78 standardised entries is {largest:.2f}")
