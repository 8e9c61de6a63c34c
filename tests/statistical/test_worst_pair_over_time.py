"""A year of months, audited: the worst pair of tables, a row in January or none, told apart by all twelve answers.

A million simulated answers of each table. False alarms: of each of the four bounds 1e-6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import dxgeom as dx
from dxgeom.planner.instalments.forms import TotalsForm
from dxgeom.planner.instalments.schedule import schedule_of
from dxgeom.privacy.curves import concentrated_right_guess

pytestmark = pytest.mark.long
MONTHS = 12
DRAWS = 1_000_000
ALARM = 1e-6


def worst_pair(mechanism: str, privacy: str) -> tuple[Any, np.ndarray]:
    """The law of the noise in all answers, and what one row of January adds to them, in its steps."""
    time = {"column": "day", "from": "2025-01-01", "to": "2025-12-31", "every": "month"}
    time |= {"before": False, "after": False}
    stated = {"policy": "p", "privacy": privacy, "universe": {"attributes": {"of": ["a"]}}, "time": time}
    policy = dx.Policy.from_dict({**stated, "rules": [{"presence": True, "epsilon": 1}]})
    asked = dx.queries_from_dict({"queries": [{"total": "so far"}]}, policy)
    form = schedule_of(dx.plan(policy.compile(), asked, mechanism=mechanism), "day").form
    if isinstance(form, TotalsForm):
        return form.law, np.ones(MONTHS) / float(form.mechanism.step)
    row = np.zeros(MONTHS + 1, dtype=np.int64)
    row[0] = 1
    added = np.array(form.mechanism.sensitivity.queries.integer_answers(row))
    return form.law, added[form.mechanism.mixing.coordinates].astype(float)


def shares(law: Any, added: np.ndarray, favours: Any) -> tuple[int, int]:
    """In how many answers, without the row and with it, the event is seen."""
    generator, seen = np.random.default_rng(12), [0, 0]
    for _ in range(DRAWS // 100_000):
        for place, shift in enumerate((0.0, added)):
            seen[place] += int(np.count_nonzero(favours(law.simulate(100_000, generator) + shift)))
    return seen[0], seen[1]


def at_least(seen: int) -> float:
    return float(beta.ppf(ALARM, seen, DRAWS - seen + 1))


def at_most(seen: int) -> float:
    return float(beta.ppf(1 - ALARM, seen + 1, DRAWS - seen))


@pytest.mark.parametrize("mechanism", ["gaussian", "toeplitz-gaussian"])
def test_a_right_guess_by_the_whole_year_is_as_rare_as_is_said(mechanism: str) -> None:
    """The best guess there is, by the likelihood ratio: right as often as is said of normal noise, and hardly less."""
    law, added = worst_pair(mechanism, "concentrated")
    along = np.linalg.solve(law.second_moment, added)
    middle = float(along @ added) / 2
    without, with_it = shares(law, added, lambda answers: answers @ along > middle)
    normal = 0.5 * (1 + math.erf(1 / math.sqrt(8)))  # of normal noise at distance 1
    least = (at_least(DRAWS - without) + at_least(with_it)) / 2
    most = (at_most(DRAWS - without) + at_most(with_it)) / 2
    assert least <= normal <= concentrated_right_guess(1.0)
    assert most >= 0.99 * normal


def test_odds_of_a_whole_year_of_pure_answers_are_those_of_the_rule() -> None:
    """Where all twelve answers are below what they are without the row they say the most: odds of e to 1, no more."""
    law, added = worst_pair("laplace", "pure")
    scales = law.laplace_scales

    def favours(answers: np.ndarray) -> np.ndarray:
        ratio = ((np.abs(answers - added) - np.abs(answers)) / scales).sum(axis=1)
        return np.asarray(ratio > 0.9)

    without, with_it = shares(law, added, favours)
    assert at_least(without) <= math.e * at_most(with_it)
    assert at_most(without) >= math.exp(0.9) * at_least(with_it)
    assert min(without, with_it) > 100
