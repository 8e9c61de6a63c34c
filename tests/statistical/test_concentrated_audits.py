"""Gaussian plans audited from outside: a million draws of the worst pair, and the event that tells most of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.privacy import gaussian_delta

pytestmark = pytest.mark.long
DRAWS = 1_000_000
EPSILONS = (0.0, 0.5, 1.0, 2.0)
SURE = 6.0
"""Standard deviations: a correct law fails with a chance below 1e-7 (the seeds are fixed)."""
SURVEY = {
    "policy": "survey",
    "privacy": "concentrated",
    "universe": {"attributes": {"a": {"values": ["p", "q", "r"]}, "b": {"range": [0, 3], "step": 1}}},
    "rules": [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": "0.8", "per": 1}],
}


def worst_pair(mechanism):
    """The change of all answers that is hidden least, its distance, and the test that tells most of it."""
    sensitivity = mechanism.sensitivity
    changes = sensitivity.differences * sensitivity.queries.float_steps
    rows = mechanism.float_mixing
    inverse = np.linalg.pinv(rows @ mechanism.law.second_moment @ rows.T, rcond=1e-10)
    loads = np.sqrt(np.einsum("ek,kl,el->e", changes, inverse, changes))
    worst = int(np.argmax(loads / sensitivity.bounds))
    return changes[worst], float(sensitivity.bounds[worst]), inverse @ changes[worst]


def plans():
    policy = dx.Policy.from_dict(SURVEY)
    metric, universe = policy.compile(), policy.universe
    yield dx.plan(metric, dx.LinearQueries.ranges(universe, "b"), mechanism="gaussian")
    yield dx.plan(metric, dx.LinearQueries.marginals(universe, ways=2), mechanism="marginal-gaussian")
    yield dx.plan(metric, dx.LinearQueries.marginals(universe, ways=1), mechanism="gaussian", objective="max")


@pytest.mark.parametrize("place", range(3))
def test_no_event_tells_more_of_the_worst_pair_than_the_curve_and_one_tells_as_much(place):
    mechanism = list(plans())[place].mechanism
    change, distance, test = worst_pair(mechanism)
    noise = mechanism.float_mixing.T @ test
    told = [mechanism.law.draw(DRAWS, InsecureSeededRandomness(seed)) @ noise for seed in (1, 2)]
    moved = told[1] + float(change @ test)
    for epsilon in EPSILONS:
        at = epsilon + distance**2 / 2
        true, other = float(np.mean(moved > at)), float(np.mean(told[0] > at))
        found = true - math.exp(epsilon) * other
        off = math.sqrt((true * (1 - true) + math.exp(2 * epsilon) * other * (1 - other)) / DRAWS)
        stated = gaussian_delta(epsilon, distance)
        assert found <= stated + SURE * off, epsilon
        assert found >= 0.98 * stated - SURE * off, epsilon
