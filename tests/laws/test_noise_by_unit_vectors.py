"""Noise of every name, for random workloads under random policies, driven by unit vectors: it hides what it has to.

Nothing that the package proves is used: see ``reference.least_shift``. ``DXGEOM_POLICIES``: how many policies, each
with a workload and some names; make soak asks for six thousand.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from reference.least_shift import TOLERANCE, judged_pairs, worst_excess
from reference.random_workloads import MAKERS, POLICIES, Chance, policy_of

import dxgeom as dx
from dxgeom.errors import DxgeomError, UnsupportedCombination
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.candidates import build, names
from dxgeom.planner.wish import PlanOptions

COUNT = int(os.environ.get("DXGEOM_POLICIES", "24"))
PARTS = 12
AT_ONCE = 4
MOST_PAIRS = 120
LINEAR = [name for name in MAKERS if name.startswith(("LinearQueries", "MarginalQueries", "BoxQueries"))]


def workload(place):
    """A sensitivity of a random workload, under pure or concentrated privacy, with and without presence; of whole
    tables and boxes that of their answers one by one, as whoever names other noise for them gets it."""
    chance = Chance(f"unit vectors {place}")
    known = policy_of(chance.below(POLICIES), chance.likely(0.5))
    queries = MAKERS[chance.one(LINEAR)](known, chance)
    metric = known.metric
    if chance.likely(0.5):
        concentrated = dx.parse_policy(f"{known.policy.to_yaml()}\nprivacy: concentrated\n")
        metric = concentrated.compile()
    return sensitivity_of(metric, queries.listed)


def judged(place):
    """How many mechanisms were built for the workload and judged, by name."""
    try:
        sensitivity, generator = workload(place), np.random.default_rng(place)
    except UnsupportedCombination:
        return []  # two boxes of one name
    number = None if sensitivity.absent is not None else 20
    found = []
    for step in range(AT_ONCE):
        name = names()[(place * AT_ONCE + step) % len(names())]
        body = dx.geometry.PowerBall(np.ones(len(sensitivity.queries.names)), 1.5) if name == "body" else None
        try:
            mechanism = build(name, CandidateBuilder(sensitivity, options=PlanOptions(name, number, body=body)))
        except DxgeomError:
            continue
        excess = worst_excess(mechanism, judged_pairs(mechanism, generator, MOST_PAIRS))
        assert excess <= 1 + TOLERANCE, (place, name, excess)
        found.append(name)
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_no_noise_is_narrower_than_what_it_hides(part):
    built = [name for place in range(part, COUNT, PARTS) for name in judged(place)]
    print(f"{len(built)} mechanisms judged, of {len({*built})} names")
    assert built
