"""A metric and a map on its records, both without the attributes that the map does not depend on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.cap import CapMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.product import SumMetric
from dxgeom.numeric.fibres import constant_along


def without_idle_attributes(metric: Metric, values: NDArray[Any]) -> tuple[Metric, NDArray[Any]]:
    """The same map on fewer records: attributes along which no row of ``values`` (K, N) varies are dropped.

    Guarantee: the same differences with the same bounds, pair by pair; only repetitions go. A metric that is no sum of
    attributes, nor a cap on one, comes back as it is.
    """
    match metric:
        case SumMetric():
            parts, values = _kept(metric, values)
            return (parts[0] if len(parts) == 1 else SumMetric(parts)), values
        case CapMetric(inner=inner, epsilon=epsilon):
            fewer, values = without_idle_attributes(inner, values)
            return CapMetric(fewer, epsilon), values
        case _:
            return metric, values


def _kept(metric: SumMetric, values: NDArray[Any]) -> tuple[tuple[Metric, ...], NDArray[Any]]:
    """Walks from the first attribute to the last; what is dropped makes every later look cheaper."""
    kept: list[Metric] = []
    for place, part in enumerate(metric.parts):
        before = math.prod(one.size for one in kept)
        after = math.prod(metric.shape[place + 1 :])
        grid = np.ascontiguousarray(values).reshape(-1, part.size, after)
        last_hope = not kept and place == len(metric.parts) - 1
        if constant_along(grid) and not last_hope:
            values = grid[:, 0].reshape(len(values), before * after)
        else:
            kept.append(part)
    return tuple(kept), values


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
