"""Small workloads over one universe, among which noise of every name finds what it is for; and how it is built."""

from __future__ import annotations

import numpy as np

import dxgeom as dx
from dxgeom.errors import DxgeomError
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.candidates import build
from dxgeom.planner.wish import PlanOptions
from reference.policy_of_ranges import policy_of_ranges

SIZES = (4, 3)
ALONE = 2
"""Records come and go, and no two are nearer than both are from none."""
METRICS = [(privacy, presence) for privacy in ("pure", "concentrated") for presence in (False, True)]
METRICS += [("pure", ALONE)]
RECORDS = 20


def workloads(universe):
    """Whole tables, boxes of one attribute and of both, products of prefixes, intervals; all over one universe."""
    cuts = [{"a0": (0, high), "a1": (0, wide)} for high in (1, 2, 4) for wide in (2, 3)]
    return {
        "a table": dx.LinearQueries.marginals(universe, [("a0",)]),
        "tables": dx.LinearQueries.marginals(universe, [("a0",), ("a0", "a1")]),
        "boxes": dx.LinearQueries.boxes(universe, [{"a0": (0, 2)}, {"a0": (1, 3), "a1": (0, 2)}, {"a1": (1, 3)}]),
        "products": dx.LinearQueries.boxes(universe, cuts[:-1]),
        "intervals": dx.LinearQueries.boxes(universe, [{"a0": ends} for ends in ((0, 1), (0, 2), (0, 4), (1, 3))]),
    }


def policy_of(privacy, presence, lines=(1,)):
    return policy_of_ranges(SIZES, privacy, lines, bool(presence), alone=presence == ALONE)


def built(name, sensitivity):
    """The candidate of that name; None where it is refused."""
    number = None if sensitivity.absent is not None else RECORDS
    body = dx.geometry.PowerBall(np.ones(len(sensitivity.queries.names)), 1.5) if name == "body" else None
    try:
        return build(name, CandidateBuilder(sensitivity, options=PlanOptions(name, number, body=body)))
    except DxgeomError:
        return None
