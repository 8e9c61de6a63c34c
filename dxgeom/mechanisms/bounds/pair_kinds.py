"""Kinds of pairs of records whose distance is known, to be weighed in a bound: read from the verified metric alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.distance_bounds import joint_distance_bounds_of, parts_of
from dxgeom.metrics.combinations import CapMetric, PresenceMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric

_MOST_PAIRS: Final = 4096
_UPWARD: Final = 1 + 2.0**-30
"""Distances are rounded down; a bound needs them rounded up."""


@final
@dataclass(frozen=True, eq=False)
class PairKind:
    """One kind of pairs; the attributes that no pair of it changes have any values, the same of both records.

    ``moved``: the place of the only attribute that is changed; None where that is the whole record. ``centred``:
    whether both sides are drawn alike, at one distance; else where nothing is ``moved`` a record and none. ``first``,
    ``second`` (P,): the classes of listed changes of the attribute. ``inverse``: one over the squared distance, of all
    or of each listed change (P,); *rounded down*.
    """

    moved: int | None
    centred: bool
    inverse: NDArray[np.float64]
    first: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    second: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def listed(self) -> bool:
        """Whether its changes are listed."""
        return len(self.first) > 0


def pair_kinds(
    metric: Metric, shape: Sequence[int], axes: Sequence[int] | None, classes: Sequence[NDArray[np.int64]]
) -> list[PairKind]:
    """The kinds of pairs of records over attributes with so many values. ``axes`` and ``classes``: those that queries
    look at, and the classes of their values; None for axes that stand for whole records."""
    found = []
    presence = metric.epsilon if isinstance(metric, PresenceMetric) else None
    inner = metric.inner if isinstance(metric, PresenceMetric) else metric
    if presence is not None:
        found.append(PairKind(None, False, _inverse(presence)))
    far = inner.epsilon if isinstance(inner, DiscreteMetric | CapMetric) and presence is None else None
    if far is not None:
        found.append(PairKind(None, True, _inverse(far)))
    # Where no record is one more value, constants of values say nothing of it.
    if axes is None or math.prod(shape) != inner.size:
        return found
    try:
        most = joint_distance_bounds_of(metric, shape, dict(zip(axes, classes, strict=True))).most
    except TooLarge:
        return found
    for place, distance in enumerate(most):
        if distance is not None and (presence is None or distance < 2 * presence):
            found.append(PairKind(place, True, _inverse(distance)))
    return [*found, *_listed(inner, shape, dict(enumerate(zip(axes, classes, strict=True))))]


def _listed(inner: Metric, shape: Sequence[int], asked: Mapping[int, tuple[int, NDArray[np.int64]]]) -> list[PairKind]:
    """Changes of one attribute that generate all others, where they are at more than one distance, and few."""
    try:
        parts = parts_of(inner, shape)
    except TooLarge:
        return []
    found = []
    for place, (axis, own) in asked.items():
        if isinstance(parts[axis], DiscreteMetric) or len(own) > _MOST_PAIRS:
            continue
        blocks = list(itertools.islice(parts[axis].generating_pairs(), 2))
        if len(blocks) != 1 or len(blocks[0].first) > _MOST_PAIRS:
            continue
        (pairs,) = blocks
        first, second = own[pairs.first], own[pairs.second]
        told = (first != second) & np.isfinite(pairs.bound) & (pairs.bound > 0)
        if np.any(told):
            inverse = (pairs.bound[told] * _UPWARD) ** -2 / _UPWARD
            found.append(PairKind(place, False, inverse, first[told], second[told]))
    return found


def _inverse(distance: Fraction) -> NDArray[np.float64]:
    return np.array(float(1 / (distance * distance)) / _UPWARD)
