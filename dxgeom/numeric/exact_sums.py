"""Sums of many int64 numbers that may pass what int64 holds, alone, weighted, and class by class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 2**63 - 1
"""The most records a histogram can hold."""
_LIMB = 32
_NARROWEST = 8


def exact_sum(numbers: NDArray[Any]) -> int:
    """The exact sum of fewer than 2³¹ non-negative integers of any integer dtype."""
    wide = numbers.astype(np.uint64)
    high = int(np.sum(wide >> np.uint64(_LIMB), dtype=np.uint64))
    low = int(np.sum(wide & np.uint64(2**_LIMB - 1), dtype=np.uint64))
    return (high << _LIMB) + low


def integer_totals(numerators: NDArray[np.int64], counts: NDArray[np.int64]) -> list[int]:
    """``numerators @ counts`` without overflow; exact."""
    present = np.flatnonzero(counts)
    if 2 * present.size < counts.size:
        numerators, counts = numerators[:, present], counts[present]
    largest = max(int(numerators.max(initial=0)), -int(numerators.min(initial=0)))
    if largest * float(np.abs(counts.astype(np.float64)).sum()) < 2.0**61:
        return [int(total) for total in numerators @ counts]
    bits = 61 - largest.bit_length() - counts.size.bit_length()
    if bits < _NARROWEST or counts.min() < 0:
        return [int(np.dot(row.astype(object), counts.astype(object))) for row in numerators]
    # Limbs of the counts, each so short that no sum over it passes 61 bits.
    totals = [0] * len(numerators)
    for shift in range(0, int(counts.max()).bit_length(), bits):
        parts = (numerators @ ((counts >> shift) & ((1 << bits) - 1))).tolist()
        totals = [total + (part << shift) for total, part in zip(totals, parts, strict=True)]
    return totals


def summed_by_class(grid: NDArray[Any], axis: int, classes: NDArray[np.int64] | None) -> NDArray[Any]:
    """The grid with the entries of each class of an axis added up; of all of them, without classes.

    Guarantee: *exact* on integers; floats up to rounding.
    """
    if grid.shape[axis] == 1:
        return grid
    if classes is None:
        return np.asarray(grid.sum(axis=axis, keepdims=True))
    count = int(classes.max()) + 1
    if count == len(classes):
        return grid if np.all(classes == np.arange(count)) else np.take(grid, np.argsort(classes), axis=axis)
    outer, inner = math.prod(grid.shape[:axis]), math.prod(grid.shape[axis + 1 :])
    added = np.zeros((outer, count, inner), dtype=grid.dtype)
    view = grid.reshape(outer, len(classes), inner)
    for code, place in enumerate(classes):
        added[:, place] += view[:, code]
    return added.reshape(*grid.shape[:axis], count, *grid.shape[axis + 1 :])
