"""Sixth phase for a universe that a table lists: shortest paths over the listed records only."""

from __future__ import annotations

import numpy as np

from dxgeom.metrics.families.graph import GraphMetric
from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.bounds.constant import Constant
from dxgeom.policy.lower.describe import AttributeDescription, MetricDescription
from dxgeom.policy.lower.listed_pairs import Neighbourhoods, stated_together
from dxgeom.universe.universe import Universe


def edges_of_listed(universe: Universe, description: MetricDescription) -> GraphMetric:
    """The pairs of listed records that generate what the rules state about one attribute, or several together.

    Definition: the closure over *listed* records. A path through a record that is not listed does not exist, so
    distances may be larger than over the product of the attributes.
    Guarantee: every bound is exact or *rounded down*.
    Raises: TooLarge.
    """
    found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))]
    for place, part in enumerate(description.parts):
        groups = Neighbourhoods(universe, place)
        found += [groups.generating(bound) for bound in _bounds(part)]
    found += [stated_together(universe, bound) for bound in description.joint]
    first, second, bounds = (np.concatenate([one[k] for one in found]) for k in range(3))
    return GraphMetric(universe.record_types, first, second, bounds)


def _bounds(part: AttributeDescription) -> tuple[Bound, ...]:
    """A ceiling on one attribute is about its own pairs only: paths here may change several attributes."""
    return part.bounds if part.ceiling is None else (*part.bounds, Constant(part.ceiling))
