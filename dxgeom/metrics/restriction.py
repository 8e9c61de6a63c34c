"""A metric and a map on its records, both without the attributes that the map does not depend on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.axis_reductions import constant_along
from dxgeom.metrics.combinations import (
    CapMetric,
    Group,
    GroupedMetric,
    MaxMetric,
    PresenceMetric,
    ReorderedMetric,
    SumMetric,
    grouped,
)
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric


def without_idle_attributes(metric: Metric, values: NDArray[Any]) -> tuple[Metric, NDArray[Any]]:
    """The same map on fewer records: attributes along which no row of ``values`` (K, N) varies are dropped.

    Guarantee: the same differences with the same bounds, pair by pair; only repetitions go, and bounds of a group that
    another undercuts on what is left. A metric that has no attributes (but perhaps an absent record) comes back as it
    is; the order of records may change with the metric's, but an absent record stays the last.
    """
    match metric:
        case SumMetric(parts=parts):
            kept, values = _varying(parts, values)
            return _alone_or(SumMetric, list(kept.values())), values
        case MaxMetric(parts=parts):
            kept, values = _varying(parts, values)
            return _together(metric, list(kept.values())), values
        case GroupedMetric(parts=parts, groups=groups):
            kept, values = _varying(parts, values)
            new = {old: place for place, old in enumerate(kept)}
            left = [Group(tuple(new[old] for old in new if old in one.places), one.epsilon) for one in groups]
            return grouped(list(kept.values()), left), values
        case ReorderedMetric(inner=inner):
            return without_idle_attributes(inner, metric.rearranged(values))
        case CapMetric(inner=inner, epsilon=epsilon):
            fewer, values = without_idle_attributes(inner, values)
            return CapMetric(fewer, epsilon), values
        case PresenceMetric(inner=inner, epsilon=epsilon):
            fewer, present = without_idle_attributes(inner, values[:, :-1])
            return PresenceMetric(fewer, epsilon), np.concatenate([present, values[:, -1:]], axis=1)
        case _:
            return metric, values


def _alone_or(family: type[SumMetric] | type[MaxMetric], parts: Sequence[Metric]) -> Metric:
    return parts[0] if len(parts) == 1 else family(tuple(parts))


def _together(metric: MaxMetric, parts: Sequence[Metric]) -> Metric:
    """Some parts of a largest change. Where all pairs generate it they still do: what is left may be lines of one
    step, whose neighbours' rounded distances add up to others, and a part of one value tells the two apart."""
    if metric.step is not None:
        return _alone_or(MaxMetric, parts)
    left = MaxMetric(tuple(parts))
    return left if left.step is None else MaxMetric((*parts, DiscreteMetric(1, Fraction(1))))


def _varying(parts: Sequence[Metric], values: NDArray[Any], inner: int = 1) -> tuple[dict[int, Metric], NDArray[Any]]:
    """The parts that matter, by place; walks from the first to the last: what is dropped makes every later cheaper.

    Args: ``values`` (K, records·inner), ``inner`` numbers for every record.
    """
    kept: dict[int, Metric] = {}
    for place, part in enumerate(parts):
        before = math.prod(one.size for one in kept.values())
        after = math.prod(one.size for one in parts[place + 1 :]) * inner
        grid = np.ascontiguousarray(values).reshape(-1, part.size, after)
        last_hope = not kept and place == len(parts) - 1
        if constant_along(grid) and not last_hope:
            values = grid[:, 0].reshape(len(values), before * after)
            continue
        if isinstance(part, MaxMetric):
            below, fewer = _varying(part.parts, grid.reshape(len(grid), -1), after)
            part, values = _together(part, list(below.values())), fewer.reshape(len(values), -1)
        kept[place] = part
    return kept, values


def on_axes(metric: Metric, shape: tuple[int, ...], axes: tuple[int, ...]) -> Metric | None:
    """The metric on the product of these axes alone, None for a metric that is no sum over this shape.

    Guarantee: a map that depends on these axes only has the same differences with the same bounds.
    """
    match metric:
        case SumMetric(parts=parts) if metric.shape == shape and axes:
            return parts[axes[0]] if len(axes) == 1 else SumMetric(tuple(parts[axis] for axis in axes))
        case CapMetric(inner=inner, epsilon=epsilon):
            fewer = on_axes(inner, shape, axes)
            return None if fewer is None else CapMetric(fewer, epsilon)
        case _:
            return None
