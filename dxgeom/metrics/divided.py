"""A metric as a part of itself: what a row may tell where several rows of one person are counted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.metrics.combinations import (
    CapMetric,
    Group,
    GroupedMetric,
    MaxMetric,
    OneMoreMetric,
    PresenceMetric,
    ReorderedMetric,
    SumMetric,
)
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric, StarMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.matrices import DenseMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.points import PointsMetric


def divided(metric: Metric, parts: int) -> Metric:
    """d/``parts``, of the same family.

    Guarantee: *rounded down*: exact rationals are divided exactly, and where a metric holds floats each is rounded
    down, so that no distance is above d/``parts``.
    Raises: UnsupportedCombination for a family that does not know how.
    """
    match metric:
        case CapMetric(inner=inner, epsilon=epsilon):
            return CapMetric(divided(inner, parts), epsilon / parts)
        case PresenceMetric(inner=inner, epsilon=epsilon):
            return PresenceMetric(divided(inner, parts), epsilon / parts)
        case OneMoreMetric(inner=inner, epsilon=epsilon):
            return OneMoreMetric(divided(inner, parts), None if epsilon is None else epsilon / parts)
        case ReorderedMetric(inner=inner):
            return replace(metric, inner=divided(inner, parts))
        case SumMetric(parts=held) | MaxMetric(parts=held):
            return type(metric)(tuple(divided(one, parts) for one in held))
        case GroupedMetric(parts=held, groups=groups):
            less = tuple(Group(group.places, group.epsilon / parts) for group in groups)
            return GroupedMetric(tuple(divided(one, parts) for one in held), less)
        case _:
            return _alone(metric, parts)


def _alone(metric: Metric, parts: int) -> Metric:
    match metric:
        case DiscreteMetric(epsilon=epsilon) | PartitionMetric(epsilon=epsilon):
            return replace(metric, epsilon=epsilon / parts)
        case LineMetric(rate=rate):
            return replace(metric, rate=rate / parts)
        case PointsMetric(rate=rate, floor=floor):
            return replace(metric, rate=rate / parts, floor=floor / parts)
        case StarMetric(epsilons=epsilons) | ValueSensitivityMetric(epsilons=epsilons):
            return replace(metric, epsilons=tuple(Fraction(epsilon) / parts for epsilon in epsilons))
        case GraphMetric(bounds=bounds):
            return replace(metric, bounds=_less(bounds, parts), exact_lengths=None)
        case DenseMetric(matrix=matrix):
            return DenseMetric(_less(matrix, parts))
    raise UnsupportedCombination(
        f"a {type(metric).__name__} does not know how to be shared among the rows of a person: count people once"
    )


def _less(bounds: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Each over ``parts``, *rounded down*; 0 stays 0 and ∞ stays ∞."""
    over = bounds / parts
    sound = (over > 0) & np.isfinite(over)
    return np.where(sound, np.nextafter(over, 0.0), over)
