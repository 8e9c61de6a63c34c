"""Sixth phase for a universe that a table lists: shortest paths over the listed records only."""

from __future__ import annotations

import numpy as np

from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.presence import PresenceMetric
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.families.graph import GraphMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.bounds.constant import Constant
from dxgeom.policy.lower.describe import AttributeDescription, MetricDescription
from dxgeom.policy.lower.listed_pairs import Neighbourhoods, stated_together
from dxgeom.universe.universe import Universe


def lower_listed(universe: Universe, description: MetricDescription, edges: GraphMetric) -> Metric:
    """The metric of a whole description over listed records, from the graph of its rules about some attributes.

    Definition: the closure over *listed* records. A path through a record that is not listed does not exist, so
    distances may be larger than over the product of the attributes.
    Guarantee: every bound is exact or *rounded down*.
    """
    present: Metric = edges
    if description.ceiling is not None:
        bare = edges.first.size == 0
        ceiling = description.ceiling
        present = DiscreteMetric(universe.record_types, ceiling) if bare else CapMetric(edges, ceiling)
    return present if description.presence is None else PresenceMetric(present, description.presence)


def edges_of_listed(universe: Universe, description: MetricDescription) -> GraphMetric:
    """The pairs of listed records that generate what the rules state about one attribute, or several together.

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
