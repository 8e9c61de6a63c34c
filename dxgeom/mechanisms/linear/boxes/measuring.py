"""From counts to a block's numbers and back, axis by axis: children above their first sibling, and less their mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.boxes.factors import Factor, Tree
from dxgeom.mechanisms.linear.boxes.question import Levels


def sibling_differences(
    table: NDArray[np.int64], block: Levels, factors: Sequence[Factor], axes: Sequence[int]
) -> NDArray[np.int64]:
    """Children above the first of their siblings, along every tree."""
    for axis in axes:
        radix = _radix(factors[axis], block[axis])
        split = table.reshape((*table.shape[:axis], -1, radix, *table.shape[axis + 1 :]))
        first, rest = np.split(split, [1], axis=axis + 1)
        table = (rest - first).reshape((*table.shape[:axis], -1, *table.shape[axis + 1 :]))
    return table


def interleaved(drawn: NDArray[Any], shape: tuple[int, ...], axes: Sequence[int], sizes: Sequence[int]) -> NDArray[Any]:
    """Noise drawn group by group of siblings, as the differences stand."""
    outer = [length // (sizes[axes.index(axis)] - 1) if axis in axes else length for axis, length in enumerate(shape)]
    table = drawn.reshape([*outer, *(size - 1 for size in sizes)])
    order = []
    for axis in range(len(shape)):
        order.append(axis)
        if axis in axes:
            order.append(len(shape) + axes.index(axis))
    return np.asarray(table.transpose(order).reshape(shape))


def centred_sums(
    table: NDArray[np.float64], block: Levels, factors: Sequence[Factor], differenced: bool
) -> NDArray[np.float64]:
    """Children less the mean of their siblings, along every tree; ``differenced``: of what each is above the first."""
    for axis, level in enumerate(block):
        factor = factors[axis]
        if not level or not isinstance(factor, Tree):
            continue
        radix = factor.radices[level - 1]
        split = table.reshape((*table.shape[:axis], -1, radix - differenced, *table.shape[axis + 1 :]))
        if differenced:
            split = np.concatenate([np.zeros_like(np.take(split, [0], axis=axis + 1)), split], axis=axis + 1)
        split = split - split.mean(axis=axis + 1, keepdims=True)
        table = split.reshape((*table.shape[:axis], -1, *table.shape[axis + 1 :]))
    return table


def below(table: NDArray[np.float64], axis: int, level: int, factor: Factor) -> NDArray[np.float64]:
    """What a level's numbers say of how many records lie below each cut, from none to all, along an axis."""
    if isinstance(factor, Tree):
        width = factor.padded // factor.cells(level)
        values = np.repeat(table, width, axis=axis) / width
        sums = np.concatenate([np.zeros_like(np.take(values, [0], axis=axis)), np.cumsum(values, axis=axis)], axis=axis)
        ends = [*range(factor.size), factor.padded]  # beyond the last value there is nobody
        return np.take(sums, ends, axis=axis)
    half = factor.size // 2
    if not level:
        cuts = np.concatenate([np.zeros(half + 1), np.ones(factor.size - half)])
        return np.asarray(table * cuts.reshape([-1 if place == axis else 1 for place in range(table.ndim)]))
    none = np.zeros_like(np.take(table, [0], axis=axis))
    first, rest = np.split(table, [half], axis=axis)
    return np.concatenate([none, first, -rest, none], axis=axis)


def _radix(factor: Factor, level: int) -> int:
    return factor.radices[level - 1] if isinstance(factor, Tree) else 0
