"""What a metric promises about each attribute, as constants: read from the verified metric, never from a policy.

What a metric with constants for several attributes together promises of each alone: shares of them, from below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations import CapMetric, Group, GroupedMetric, PresenceMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric

_MOST_VALUES: Final = 4096
"""Of more values only generating pairs are looked at, and distances from the first."""
_MOST_PAIRS: Final = 10**8
"""Generating pairs that are looked at."""
_UPWARD: Final = 1 + Fraction(1, 2**40)
"""Distances in float64 are rounded down; a bound needs them rounded up."""


@final
@dataclass(frozen=True)
class DistanceBounds:
    """Constants that the metric is between: ``least[k]`` ≤ d ≤ ``most[k]`` for records that differ in attribute k
    alone, in what is told apart of it; ``presence``: for a record and none. None: no promise at all, d is infinite, for
    ``most`` of some pair.

    Distances add over attributes, so noise that honours ``least`` honours the metric, and no noise that does is better
    than the best for ``most``.
    """

    least: tuple[Fraction | None, ...]
    most: tuple[Fraction | None, ...]
    presence: Fraction | None

    @property
    def exact(self) -> bool:
        """Whether the metric is these very constants."""
        return self.least == self.most


def distance_bounds_of(metric: Metric, shape: Sequence[int], classes: dict[int, NDArray[np.int64]]) -> DistanceBounds:
    """The constants of attributes with these numbers of values under a metric on their product.

    Args: ``classes``: of each attribute that is asked about, by its place, the class of every value; values of one
    class are not told apart. The constants are of these attributes, in order.
    Raises: TooLarge where the metric is no sum over attributes, or an attribute has too many values that are not alike.
    """
    presence = metric.epsilon if isinstance(metric, PresenceMetric) else None
    records = metric.inner if isinstance(metric, PresenceMetric) else metric
    parts = parts_of(records, shape)
    each = [_constants(parts[place], own) for place, own in sorted(classes.items())]
    return DistanceBounds(
        tuple(_below_absence(least, presence) for least, _ in each),
        tuple(_below_absence(most, presence) for _, most in each),
        presence,
    )


def parts_of(metric: Metric, shape: Sequence[int]) -> tuple[Metric, ...]:
    """The metric of each attribute, which add up. Raises: TooLarge where there are none."""
    if isinstance(metric, SumMetric) and metric.shape == tuple(shape):
        return metric.parts
    if tuple(shape) == (metric.size,):
        return (metric,)
    raise TooLarge(
        "noise for whole tables of counts needs distances that add up over attributes, and these have a bound for "
        "several attributes together"
    )


def _below_absence(constant: Fraction | None, presence: Fraction | None) -> Fraction | None:
    """Two records are never further apart than both are from none; then presence alone says so."""
    return None if presence is not None and constant is not None and constant >= 2 * presence else constant


def _constants(metric: Metric, classes: NDArray[np.int64]) -> tuple[Fraction | None, Fraction | None]:
    if isinstance(metric, DiscreteMetric):
        return metric.epsilon, metric.epsilon
    if metric.size > _MOST_VALUES:
        nearest = _least_of_generating_pairs(metric, classes)
        # Any two values are no further apart than both are from the first.
        farthest = float(metric.distance(np.int64(0), np.arange(metric.size)).max())
        known = nearest is not None and np.isfinite(farthest)
        return nearest, 2 * Fraction(farthest) * _UPWARD if known else None
    values = np.arange(metric.size)
    apart = metric.distance(values[:, None], values)
    told = classes[:, None] != classes
    finite = np.isfinite(apart) & told
    if not np.any(finite):
        return None, None
    least = _hidden(float(apart[finite].min()))
    everywhere = bool(np.all(finite == told))
    return least, Fraction(float(apart[finite].max())) * _UPWARD if everywhere else None


def _least_of_generating_pairs(metric: Metric, classes: NDArray[np.int64]) -> Fraction | None:
    """The least distance of values that are told apart: on every path between two such values, one step is of two such
    values, and no longer. None where no step is.

    Raises: TooLarge.
    """
    least, left = np.inf, _MOST_PAIRS
    for pairs in metric.generating_pairs():
        left -= pairs.first.size
        if left < 0:
            raise TooLarge(f"the distances of more than {_MOST_PAIRS:,} pairs of values would be looked at")
        told = classes[pairs.first] != classes[pairs.second]
        least = min(least, float(pairs.bound[told].min(initial=np.inf)))
    return None if least == np.inf else _hidden(least)


def _hidden(least: float) -> Fraction:
    if least <= 0:
        raise TooLarge("values at no distance are told apart: noise of no size would hide that")
    return Fraction(least)


def joint_distance_bounds_of(
    metric: Metric, shape: Sequence[int], classes: Mapping[int, NDArray[np.int64]]
) -> DistanceBounds:
    """As :func:`distance_bounds_of`, where constants for several attributes together, or for any change, undercut the
    sum.

    Definition: with constants ε_G for groups G of attributes, ``least`` are such that Σ_{k∈G} least_k ≤ ε_G for every
    group, of the attributes that are asked about. Guarantee: the distances that add up from ``least`` are nowhere above
    the metric: a step inside a group costs ε_G, which is no less than all of its attributes' shares, and any other step
    is one of the sum. So noise that honours ``least`` honours the metric. ``most`` is what a change of one attribute
    alone costs at most; the gap between both is told by plans.
    Raises: TooLarge for a metric of another form.
    """
    presence = metric.epsilon if isinstance(metric, PresenceMetric) else None
    inner, groups = _without_groups(metric.inner if isinstance(metric, PresenceMetric) else metric, shape)
    if not groups:
        return distance_bounds_of(metric, shape, dict(classes))
    alone = distance_bounds_of(inner, shape, dict(classes))
    axes = sorted(classes)
    nearer = [group for group in groups if presence is None or group.epsilon < 2 * presence]
    most = [_least([own, *_over(groups, axis)]) for axis, own in zip(axes, alone.most, strict=True)]
    least = [_least([own, *_over(nearer, axis)]) for axis, own in zip(axes, alone.least, strict=True)]
    if presence is not None:
        # Records that far apart are no nearer than through absence, and presence alone says so.
        most, least = ([None if one is None or one >= 2 * presence else one for one in own] for own in (most, least))
    for group in nearer:
        places = [place for place, axis in enumerate(axes) if axis in group.places]
        level = _level([one for place in places if (one := least[place]) is not None], group.epsilon)
        for place in places:
            least[place] = _least([least[place], level])
    return DistanceBounds(tuple(least), tuple(most), presence)


@final
@dataclass(frozen=True)
class AnyChange:
    """Bounds on what any change costs between records that are told apart: ``least`` ≤ d, and d ≤ ``most`` where that
    is known; None for ``least`` where presence alone limits it, or nothing does. ``presence``: of a record and none."""

    least: Fraction | None
    most: Fraction | None
    presence: Fraction | None


def any_change(metric: Metric, shape: Sequence[int], classes: Mapping[int, NDArray[np.int64]]) -> AnyChange:
    """The same constants for changes of whole records.

    Guarantee: between two records of other classes some step of every way changes a class. It is inside a
    group, or one of the sum, which costs what its attribute costs alone at least; ``least`` is below both. Ways
    through absence cost twice presence. Raises: TooLarge for a metric of another form.
    """
    presence = metric.epsilon if isinstance(metric, PresenceMetric) else None
    inner, groups = _without_groups(metric.inner if isinstance(metric, PresenceMetric) else metric, shape)
    alone = distance_bounds_of(inner, shape, dict(classes)).least
    least = _least([*alone, *(group.epsilon for group in groups)])
    most = _least([group.epsilon for group in groups if {*classes} <= {*group.places}])
    if len(shape) == 1:
        most = distance_bounds_of(inner, shape, dict(classes)).most[0] if classes else None
    if presence is not None:
        most = 2 * presence if most is None else min(most, 2 * presence)
    return AnyChange(_below_absence(least, presence), most, presence)


def _without_groups(metric: Metric, shape: Sequence[int]) -> tuple[Metric, tuple[Group, ...]]:
    """The distances that add up, and the constants that undercut them."""
    if tuple(shape) == (metric.size,):
        return metric, ()
    if isinstance(metric, DiscreteMetric):
        alone = tuple(DiscreteMetric(size, metric.epsilon) for size in shape)
        return SumMetric(alone), (Group(tuple(range(len(shape))), metric.epsilon),)
    if isinstance(metric, CapMetric):
        inner, groups = _without_groups(metric.inner, shape)
        return inner, (*groups, Group(tuple(range(len(shape))), metric.epsilon))
    if isinstance(metric, GroupedMetric) and metric.shape == tuple(shape):
        return SumMetric(metric.parts), metric.groups
    return metric, ()


def _over(groups: Sequence[Group], axis: int) -> list[Fraction]:
    return [group.epsilon for group in groups if axis in group.places]


def _least(constants: Sequence[Fraction | None]) -> Fraction | None:
    return min((one for one in constants if one is not None), default=None)


def _level(constants: Sequence[Fraction], whole: Fraction) -> Fraction:
    """The largest level for which these constants, each cut off at it, add up to the whole at most."""
    left, rest = whole, sorted(constants)
    for place, one in enumerate(rest):
        even = left / (len(rest) - place)
        if one > even:
            return even
        left -= one
    return whole
