"""How far the values of each attribute are from each other: pairs of which all others are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.marginals.promise import parts_of
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import Sealed

MOST_VALUES: Final = 256
"""Of attributes that tell more apart no basis is sought: their least distance stands for all."""
_LISTED: Final = 4096
_ALIKE: Final = 2.0**-48


@final
@dataclass(frozen=True, eq=False)
class ValueDistances(Sealed):
    """Pairs of values ``first``, ``second`` (E,) of an attribute of so many, with their ``distances`` (E,), *rounded
    down*: no other two values are further apart than a way along these, but for a part in 2⁴⁸ for each pair that is
    left out, and what is at no finite distance."""

    size: int
    first: NDArray[np.int64] = field(repr=False)
    second: NDArray[np.int64] = field(repr=False)
    distances: NDArray[np.float64] = field(repr=False)


def uneven_distances(
    metric: Metric, shape: Sequence[int], classes: dict[int, NDArray[np.int64]]
) -> tuple[ValueDistances | None, ...]:
    """Of each attribute whose values are not all equally far apart, as :func:`promise_of` has them; None of others.

    Values of one class are not told apart; classes are as far apart as their nearest values. Two records are never
    further apart than both are from none, so pairs at that distance are left out.
    Raises: TooLarge where the metric is no sum over attributes.
    """
    records = metric.inner if isinstance(metric, PresenceMetric) else metric
    farthest = 2 * round_up(metric.epsilon) if isinstance(metric, PresenceMetric) else np.inf
    parts = parts_of(records, shape)
    return tuple(_uneven(parts[axis], own, farthest) for axis, own in sorted(classes.items()))


def _uneven(metric: Metric, classes: NDArray[np.int64], farthest: float) -> ValueDistances | None:
    size = int(classes.max()) + 1
    if isinstance(metric, DiscreteMetric) or metric.size > _LISTED or not 2 < size <= MOST_VALUES:
        return None
    values = np.arange(metric.size)
    apart = metric.distance(values[:, None], values)
    nearest = np.full((size, size), np.inf)
    np.minimum.at(nearest, (classes[:, None], classes), apart)
    nearest = np.minimum(nearest, nearest.T)
    np.fill_diagonal(nearest, 0.0)
    first, second = np.triu_indices(size, 1)
    own = nearest[first, second]
    if np.all(own == own[0]):
        return None
    kept = np.isfinite(own) & (own < farthest) & ~_between(nearest)[first, second]
    if not np.any(kept) or own.min() <= 0:
        return None
    return ValueDistances(size, first[kept], second[kept], own[kept])


def _between(apart: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(n, n): whether two values are as far apart as by a third, to which both are nearer."""
    found = np.zeros(apart.shape, dtype=bool)
    for own in apart:
        nearer = (own[:, None] < apart) & (own < apart) & (own[:, None] > 0) & (own > 0)
        with np.errstate(invalid="ignore"):
            found |= nearer & (own[:, None] + own <= apart * (1 + _ALIKE))
    return found & np.isfinite(apart)
