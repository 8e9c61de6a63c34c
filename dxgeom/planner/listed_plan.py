"""A plan of noise on a list of queries, of a mechanism that is at hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from dxgeom.kinds import registry
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.objectives.objective import Objective
from dxgeom.planner.plan import Plan
from dxgeom.universe.queries import LinearQueries


@final
@dataclass(frozen=True, eq=False)
class ListedNoise:
    """What was decided of noise on a list of queries. ``objective``: what was made small; ``comparison``: what else was
    considered."""

    objective: Objective
    comparison: CandidateComparison = field(repr=False)


def listed_plan(
    metric: VerifiedMetric,
    queries: LinearQueries,
    objective: Objective,
    mechanism: AdditiveMechanism,
    comparison: CandidateComparison,
    records: int | None = None,
) -> Plan:
    """The plan of this very noise."""
    return Plan(
        registry.kind_of(queries), metric, queries, mechanism, records, decided=ListedNoise(objective, comparison)
    )
