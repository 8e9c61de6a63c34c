"""A metric and a map on its records, both without the attributes that the map does not depend on.

One pass over a grid along one of its axes: how far the entries of a fibre lie apart.

A grid has shape (outer, size, inner); a fibre is ``grid[o, :, i]``. Every function takes C-contiguous int64 (below 2⁵²
in magnitude) or float64 entries and hands out differences that are exact for integers, correctly rounded for floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

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

Grid: TypeAlias = NDArray[Any]
Places: TypeAlias = NDArray[np.int64]
_ENTRIES = 1 << 16
"""Entries that are handled together, so that what is made of them stays in the cache."""
_LEAST_INNER = 64
"""Fewer entries of the inner axis at once would waste what the processor fetches with them."""


def tiles(grid: Grid) -> Iterator[Grid]:
    """The grid in pieces of whole fibres."""
    outer, size, inner = grid.shape
    wide = min(inner, max(_LEAST_INNER, _ENTRIES // size))
    tall = max(1, _ENTRIES // (size * wide))
    for o in range(0, outer, tall):
        for i in range(0, inner, wide):
            yield grid[o : o + tall, :, i : i + wide]


def constant_along(grid: Grid) -> bool:
    """Whether every fibre is constant; stops at the first piece that is not."""
    return all(np.array_equal(tile, np.broadcast_to(tile[:, :1], tile.shape)) for tile in tiles(grid))


def largest_range(grid: Grid) -> Any:
    """The largest difference between two entries of one fibre."""
    return max((tile.max(axis=1) - tile.min(axis=1)).max() for tile in tiles(grid))


def largest_changes_from_earlier(grid: Grid, order: Places) -> Grid:
    """(size,): entry p is the largest |grid[o, order[p], i] − grid[o, order[e], i]| over fibres and e < p."""
    largest = np.zeros(order.size, grid.dtype)
    for tile in tiles(grid):
        ordered = tile[:, order]
        later = ordered[:, 1:]
        above = np.maximum.accumulate(ordered, axis=1)[:, :-1] - later
        below = later - np.minimum.accumulate(ordered, axis=1)[:, :-1]
        np.maximum(largest[1:], np.maximum(above, below).max(axis=(0, 2)), out=largest[1:])
    return largest


def largest_steps(grid: Grid) -> Grid:
    """(size − 1,): entry k is the largest |grid[o, k + 1, i] − grid[o, k, i]| over fibres."""
    largest = np.zeros(grid.shape[1] - 1, grid.dtype)
    for tile in tiles(grid):
        np.maximum(largest, np.abs(np.diff(tile, axis=1)).max(axis=(0, 2)), out=largest)
    return largest


def largest_changes(grid: Grid, first: Places, second: Places) -> Grid:
    """(pairs,): entry p is the largest |grid[o, first[p], i] − grid[o, second[p], i]| over fibres."""
    largest = np.zeros(first.size, grid.dtype)
    pairs = max(1, _ENTRIES // (grid.shape[0] * grid.shape[2]))
    for start in range(0, first.size, pairs):
        here = slice(start, start + pairs)
        np.abs(grid[:, first[here]] - grid[:, second[here]]).max(axis=(0, 2), out=largest[here])
    return largest


def lowest_along_line(grid: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest grid below this one whose entries k and k + 1 of a fibre differ by at most steps[k]; *exact* for
    integers."""
    outer, size, inner = grid.shape
    if outer * inner == 1:
        return np.array(_lowest_of_one(grid.reshape(-1).tolist(), steps.tolist())).reshape(grid.shape)
    lowered = grid.copy()
    for k in range(1, size):
        np.minimum(lowered[:, k], lowered[:, k - 1] + steps[k - 1], out=lowered[:, k])
    for k in range(size - 2, -1, -1):
        np.minimum(lowered[:, k], lowered[:, k + 1] + steps[k], out=lowered[:, k])
    return lowered


def _lowest_of_one(fibre: list[float], steps: list[float]) -> list[float]:
    # Entry by entry, Python's own numbers are twenty times as fast as arrays of one.
    for k in range(1, len(fibre)):
        fibre[k] = min(fibre[k], fibre[k - 1] + steps[k - 1])
    for k in range(len(fibre) - 2, -1, -1):
        fibre[k] = min(fibre[k], fibre[k + 1] + steps[k])
    return fibre


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
