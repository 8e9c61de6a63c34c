"""Sixth phase, second half: the metric of a whole description, in its most structured form."""

from __future__ import annotations

import math
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
    present = _of_present(description, parts)
    return present if description.presence is None else PresenceMetric(present, description.presence)


def _of_present(description: MetricDescription, parts: Sequence[Metric]) -> Metric:
    ceiling = description.ceiling
    bare = all(not part.bounds and part.ceiling is None for part in description.parts) and not description.joint
    if ceiling is not None and bare:
        return DiscreteMetric(math.prod(part.size for part in parts), ceiling)
    inner = joined(description, parts)
    return inner if ceiling is None else CapMetric(inner, ceiling)
