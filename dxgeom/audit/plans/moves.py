"""What a metric protects, as moves of which all changes of a record are made: read from how it is made up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations import CapMetric, GroupedMetric, PresenceMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric, PairBlock


@final
@dataclass(frozen=True, eq=False)
class Moves:
    """``parts``: of each attribute the metric of its values alone; None where they have none but a ceiling.
    ``together``: attributes whose values may all change at this distance. ``presence``: of a record and none.
    """

    sizes: tuple[int, ...]
    parts: tuple[Metric | None, ...]
    together: tuple[tuple[tuple[int, ...], Fraction], ...]
    presence: Fraction | None

    def ceiling(self, axis: int) -> Fraction | None:
        """No two values of the attribute are further apart than this, by another move than its own."""
        ceilings = [distance for places, distance in self.together if axis in places]
        return min([*ceilings, *([] if self.presence is None else [2 * self.presence])], default=None)

    def along(self, axis: int) -> Iterator[PairBlock]:
        """Pairs of values that a move of the attribute alone is made of, those below its ceiling."""
        part, ceiling = self.parts[axis], self.ceiling(axis)
        highest = math.inf if ceiling is None else math.nextafter(float(ceiling), math.inf)
        for pairs in () if part is None else part.generating_pairs():
            kept = pairs.bound < highest
            yield PairBlock(pairs.first[kept], pairs.second[kept], pairs.bound[kept])

    @cached_property
    def labels(self) -> tuple[NDArray[np.int64], ...]:
        """Of each attribute the component of every value: within one all changes are at a finite distance."""
        return tuple(self._labels(axis) for axis in range(len(self.sizes)))

    def _labels(self, axis: int) -> NDArray[np.int64]:
        part, values = self.parts[axis], np.arange(self.sizes[axis])
        if self.ceiling(axis) is not None:
            return np.zeros_like(values)
        found = np.full_like(values, -1)
        while part is not None and np.any(found < 0):
            first = int((found < 0).argmax())
            near = np.isfinite(part.distance(np.full_like(values, first), values)) & (found < 0)
            found[near], found[first] = first, first
        return values if part is None else found


def moves_of(metric: Metric, sizes: Sequence[int]) -> Moves:
    """The moves of attributes with these numbers of values. Raises: TooLarge for a metric that has no such form."""
    presence = metric.epsilon if isinstance(metric, PresenceMetric) else None
    inner = metric.inner if isinstance(metric, PresenceMetric) else metric
    together: list[tuple[tuple[int, ...], Fraction]] = []
    everything = tuple(range(len(sizes)))
    while isinstance(inner, CapMetric) and len(sizes) > 1:
        together.append((everything, inner.epsilon))
        inner = inner.inner
    parts: tuple[Metric | None, ...]
    if inner.size != math.prod(sizes):
        raise TooLarge("this audit knows no moves of a metric that has other record types than the attributes make")
    if len(sizes) == 1:
        parts = (inner,)
    elif isinstance(inner, GroupedMetric) and inner.shape == tuple(sizes):
        together += [(group.places, group.epsilon) for group in inner.groups]
        parts = inner.parts
    elif isinstance(inner, SumMetric) and inner.shape == tuple(sizes):
        parts = inner.parts
    elif isinstance(inner, DiscreteMetric):
        together.append((everything, inner.epsilon))
        parts = (None,) * len(sizes)
    else:
        raise TooLarge("this audit knows no moves of which the metric's changes of a record are made")
    return Moves(tuple(sizes), parts, tuple(together), presence)
