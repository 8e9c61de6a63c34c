"""Sixth phase, second half: the metric of a whole description, in its most structured form."""

from __future__ import annotations

from collections.abc import Sequence

from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.presence import PresenceMetric
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.lower.blocks import joined
from dxgeom.policy.lower.describe import MetricDescription


def lower_records(description: MetricDescription, parts: Sequence[Metric]) -> Metric:
    """The metric of a whole description, from its attributes' metrics.

    Guarantee: every bound is exact or *rounded down*.
    Raises: TooLarge when an exact form would exceed a stated size.
    """
    bare = all(not part.bounds and part.ceiling is None for part in description.parts) and not description.joint
    return under_ceiling(joined(description, parts), bare, description)


def under_ceiling(metric: Metric, bare: bool, description: MetricDescription) -> Metric:
    """The metric with what is stated about all pairs of records; ``bare``: nothing else is stated."""
    if description.ceiling is not None:
        ceiling = description.ceiling
        metric = DiscreteMetric(metric.size, ceiling) if bare else CapMetric(metric, ceiling)
    return metric if description.presence is None else PresenceMetric(metric, description.presence)
