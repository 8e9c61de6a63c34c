"""What plans over time reveal: of all sign patterns within a window, to people who react to answers, and by figures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds
from dxgeom.mechanisms.parts.weighed_totals import weighed_strategies
from dxgeom.planner.instalments.forms import TotalsForm
from dxgeom.planner.instalments.schedule import schedule_of

PERIODS = 8


def planned(mechanism: str, privacy: str, *rules: dict[str, Any], periods: int = PERIODS) -> Any:
    """A plan of running totals over months, the first of which is January 2025."""
    last = f"2025-{periods:02}-{(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[periods - 1]}"
    time = {"column": "day", "from": "2025-01-01", "to": last, "every": "month", "before": False, "after": False}
    stated = {"policy": "p", "privacy": privacy, "universe": {"attributes": {"of": ["a"]}}, "time": time}
    policy = dx.Policy.from_dict({**stated, "rules": [{"presence": True, "epsilon": 1}, *rules]})
    asked = dx.queries_from_dict({"queries": [{"total": "so far"}]}, policy)
    return dx.plan(policy.compile(), asked, mechanism=mechanism)


def losses(plan: Any, changes: np.ndarray) -> np.ndarray:
    """Of changes (n, T) in the numbers of records of each month, what the plan tells of each at spend 1."""
    form = schedule_of(plan, "day").form
    if isinstance(form, TotalsForm):
        shifts = np.cumsum(changes, axis=1) / float(form.mechanism.step)
    else:
        numbers = np.hstack([changes, np.zeros((len(changes), 1))]).astype(np.int64)
        each = [form.mechanism.sensitivity.queries.integer_answers(row) for row in np.eye(PERIODS + 1, dtype=np.int64)]
        shifts = (numbers @ np.array(each))[:, form.mechanism.mixing.coordinates].astype(float)
    return form.law.loss_upper_bounds(shifts, np.zeros_like(shifts))


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "privacy"),
    [("gaussian", "concentrated"), ("toeplitz-gaussian", "concentrated"), ("laplace", "pure")],
)
def test_no_pattern_of_signs_within_a_window_tells_more_than_its_rule(mechanism: str, privacy: str) -> None:
    """All 3^8 changes of one record a month: there, gone or as it was. The best noise is told nearly all it may: of
    one month, where it is proved for one, and of several at once where it is proved for these."""
    rules = {"any": "3 steps", "epsilon": 2}, {"any": "life", "epsilon": 5}
    plan = planned(mechanism, privacy, *rules)
    changes = np.array(list(itertools.product((-1, 0, 1), repeat=PERIODS)))
    told = losses(plan, changes)
    some = np.abs(changes).astype(bool)
    width = np.where(some.any(1), PERIODS - np.argmax(some[:, ::-1], axis=1) - np.argmax(some, axis=1), 0)
    assert told.max() <= 5 * (1 + 1e-9)
    assert told[width <= 3].max() <= 2 * (1 + 1e-9)
    if mechanism == "toeplitz-gaussian":
        assert told[width <= 1].max() <= 1 + 1e-9
        assert max(told.max() / 5, told[width <= 3].max() / 2, told[width <= 1].max()) >= 0.999
        return
    assert told[width <= 1].max() <= 5 / PERIODS * (1 + 1e-9)
    assert told[width <= 1].max() >= 0.99 * 5 / PERIODS


@pytest.mark.long
def test_what_a_year_tells_of_a_week_a_month_and_a_life() -> None:
    """The figures of decision 080: the best plan of 365 days for presence alone, and somebody who is there each day."""
    bounds = LineBounds(Fraction(1), None, True)
    strategy = next(weighed_strategies(365, bounds, np.ones(365)))
    each = np.linalg.solve(strategy.matrix(strategy.least_scale(bounds)), np.tri(365))
    for days, told in ((1, 1.0), (7, 6.36), (30, 24.2), (90, 63.1), (365, 162)):
        until = np.hstack([np.zeros((365, 1)), np.cumsum(each, axis=1)])
        assert float(np.linalg.norm(until[:, days:] - until[:, : 366 - days], axis=0).max()) == pytest.approx(
            told, rel=3e-3
        )


@pytest.mark.long
def test_five_categories_over_a_year_of_months_err_as_the_best_noise_does() -> None:
    """The figure of another method: a record comes or goes, or is of another category, each at distance 1."""
    time = {
        "column": "day",
        "from": "2025-01-01",
        "to": "2025-12-31",
        "every": "month",
        "before": False,
        "after": False,
    }
    stated = {"policy": "p", "privacy": "concentrated", "universe": {"attributes": {"of": list("abcde")}}, "time": time}
    rules = [{"presence": True, "epsilon": 1}, {"change": "of", "epsilon": 1}]
    policy = dx.Policy.from_dict({**stated, "rules": rules})
    asked = dx.queries_from_dict({"queries": [{"total": "so far", "by": "of"}]}, policy)
    plan = dx.plan(policy.compile(), asked, mechanism="gaussian")
    assert math.sqrt(float(np.mean(plan.rmse(1) ** 2))) == pytest.approx(2.0751, rel=1e-3)


Laws = np.ndarray
STEPS = [(1, 0), (0, 1), (1, 1), (3, 1)]


def transcript(law: Laws, first: int, seconds: Sequence[int]) -> Laws:
    """(4, 4): the chance of both answers, numbers with noise modulo 4; the second number follows the first answer."""
    return np.array([[law[(one - first) % 4, (two - seconds[one]) % 4] for two in range(4)] for one in range(4)])


@pytest.mark.long
def test_whoever_reacts_to_pure_answers_learns_no_more() -> None:
    """All adversaries of five laws: the second number, and the rest of the change, are any functions of the first
    answer. A law is noise in both numbers, however the two depend on each other."""
    generator = np.random.default_rng(5)
    for _ in range(5):
        law = generator.dirichlet(np.ones(16)).reshape(4, 4)
        logs = np.log(law)
        fixed = max(float((logs - np.roll(logs, change, (0, 1))).max()) for change in STEPS)
        reacting = -math.inf
        for change in sorted({one for one, _ in STEPS}):
            rest = [other for one, other in STEPS if one == change]
            for seconds in itertools.product(range(4), repeat=4):
                mine = np.log(transcript(law, 0, seconds))
                for changed in itertools.product(rest, repeat=4):
                    others = [one + more for one, more in zip(seconds, changed, strict=True)]
                    reacting = max(reacting, float((mine - np.log(transcript(law, change, others))).max()))
        assert reacting == fixed


def test_concentrated_noise_that_is_not_normal_tells_more_to_whoever_reacts() -> None:
    """A coin of the first answer makes the second period's noise narrow and the third's wide, or the reverse: who sees
    it puts the change where noise is narrow. So such plans are refused."""

    def squared(scale: float) -> float:
        return math.exp(1 / scale**2)  # E[(p/q)²] of normal noise, a change of 1

    narrow, wide = 0.5, 4.0
    fixed = math.log((squared(narrow) + squared(wide)) / 2)
    reacting = math.log(squared(narrow))
    assert (round(fixed, 2), round(reacting, 2)) == (3.33, 4.0)
