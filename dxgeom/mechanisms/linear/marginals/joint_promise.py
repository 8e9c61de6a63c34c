"""What a metric with constants for several attributes together promises of each alone: shares of them, from below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.marginals.promise import Promise, promise_of
from dxgeom.metrics.combinations import CapMetric, Group, GroupedMetric, PresenceMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric


def joint_promise_of(metric: Metric, shape: Sequence[int], classes: Mapping[int, NDArray[np.int64]]) -> Promise:
    """As :func:`promise_of`, where constants for several attributes together, or for any change, undercut the sum.

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
        return promise_of(metric, shape, dict(classes))
    alone = promise_of(inner, shape, dict(classes))
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
    return Promise(tuple(least), tuple(most), presence)


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
