"""Which records a metric joins at all: within a component all distances are finite, between two they are infinite."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.groups import GroupedMetric
from dxgeom.metrics.combinations.largest_change import MaxMetric
from dxgeom.metrics.combinations.one_more import OneMoreMetric
from dxgeom.metrics.combinations.presence import PresenceMetric
from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.combinations.reordered import ReorderedMetric
from dxgeom.metrics.families.graph import GraphMetric
from dxgeom.metrics.families.partition import PartitionMetric
from dxgeom.metrics.metric import Metric


@final
@dataclass(frozen=True, eq=False)
class Components:
    """The components of a product, each a combination of components of its axes.

    ``axes``: for each axis of the product the component of each code, numbered from 0; an absent record, the index
    after the last, lies in component 0.
    """

    axes: tuple[NDArray[np.int64], ...] = field(repr=False)

    @property
    def count(self) -> int:
        """How many components there are."""
        return math.prod(int(axis.max()) + 1 for axis in self.axes)

    def of(self, records: NDArray[np.int64]) -> NDArray[np.int64]:
        """The component of each record, by index. Guarantee: *exact*."""
        if self.count == 1:
            return np.zeros(np.shape(records), dtype=np.int64)
        codes = np.unravel_index(records, tuple(len(axis) for axis in self.axes))
        found = np.zeros(np.shape(records), dtype=np.int64)
        for axis, code in zip(self.axes, codes, strict=True):
            found = found * (int(axis.max()) + 1) + axis[code]
        return found

    def keys(self, attributes: int) -> list[tuple[int, NDArray[np.int64]]]:
        """What orders records as their components are numbered, whatever their number: by the first key, then the next.

        Definition: the attributes of several components, each by its place with the component of every code.
        Guarantee: *exact*; two records that are there share a component exactly when all keys are equal.
        Raises: TooLarge where components are not told attribute by attribute.
        """
        if self.count == 1:
            return []
        if len(self.axes) != attributes:
            raise TooLarge("the components of these records are not told attribute by attribute")
        return [(place, axis) for place, axis in enumerate(self.axes) if int(axis.max()) > 0]


def components_of(metric: Metric) -> Components:
    """The components of a metric: two records share one exactly when their distance is finite."""
    match metric:
        case CapMetric() | PresenceMetric():
            return Components((np.zeros(1, dtype=np.int64),))
        case SumMetric(parts=parts) | MaxMetric(parts=parts):
            return Components(tuple(_labels(part) for part in parts))
        case GroupedMetric(parts=parts, groups=groups):
            joined = {place for group in groups for place in group.places}
            return Components(
                tuple(
                    np.zeros(part.size, dtype=np.int64) if place in joined else _labels(part)
                    for place, part in enumerate(parts)
                )
            )
        case _:
            return Components((_labels(metric),))


def _labels(metric: Metric) -> NDArray[np.int64]:
    """(N,): the component of each record."""
    match metric:
        case GraphMetric() | PartitionMetric():
            return np.asarray(metric.components()[1], dtype=np.int64)
        case OneMoreMetric(inner=inner, epsilon=None):
            labels = _labels(inner)
            return np.append(labels, labels.max() + 1)
        case OneMoreMetric():
            return np.zeros(metric.size, dtype=np.int64)
        case ReorderedMetric(inner=inner, shape=shape, order=order):
            within = _labels(inner).reshape([shape[axis] for axis in order])
            return np.ascontiguousarray(within.transpose(np.argsort(order))).reshape(-1)
        case CapMetric() | PresenceMetric() | SumMetric() | MaxMetric() | GroupedMetric():
            return components_of(metric).of(np.arange(metric.size))
        case _:
            return _by_distance(metric)


def _by_distance(metric: Metric) -> NDArray[np.int64]:
    """Everything at a finite distance of one record is its component; then the next record without one."""
    labels = np.full(metric.size, -1, dtype=np.int64)
    count = 0
    while (left := np.flatnonzero(labels < 0)).size:
        labels[left[np.isfinite(metric.distance(left[0], left))]] = count
        count += 1
    return labels
