"""Exact sums, distinct rows and blocks of arrays of numbers.

Columns of a table: of words, of numbers, or of words by their places in a list.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

LARGEST = 2**63 - 1
"""The most records a histogram can hold."""
FITS = 2**62
"""Whole numbers below it, and the sum of two of them, are of 64 bits."""
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


_SHORT = 64
"""Longer rows are hashed rather than coded column by column."""


def distinct_rows(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct rows of an (E, K) matrix in lexicographic order, and for every row which of them it is.

    A row becomes one integer in mixed radix, column by column, so that integers are sorted (or, where they are few,
    only looked up) instead of rows.
    """
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    if len(rows) == 0:
        return rows, np.zeros(0, dtype=np.int64)
    ranks, count = _ranks(*_codes(rows))
    where = np.empty(count, dtype=np.int64)
    where[ranks] = np.arange(len(rows))
    return rows[where], ranks


def _codes(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """An integer below a number, that is returned with it, for each row: equal for equal rows, and in their order."""
    codes, count = np.zeros(len(rows), dtype=np.int64), 1
    for place, column in enumerate(rows.T):
        low, high = int(column.min()), int(column.max())
        if count * (high - low + 1) >= FITS:
            codes, count = _ranks(codes, count)
            tied = np.bincount(codes)[codes] > 1
            if 2 * np.count_nonzero(tied) <= len(rows):
                # Few rows are told apart by what is left of them.
                later = distinct_rows(np.column_stack([codes[tied], rows[tied, place:]]))[1]
                many = int(later.max(initial=0)) + 1
                codes = codes * many
                codes[tied] += later
                return codes, count * many
            column = np.unique(column, return_inverse=True)[1].astype(np.int64).reshape(-1)
            low, high = 0, int(column.max())
        if high > low:
            codes = codes * (high - low + 1) + (column - low)
            count *= high - low + 1
    return codes, count


def least_by_row(rows: NDArray[np.int64], bounds: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The distinct rows, each with the smallest of its bounds."""
    distinct, which = distinct_rows(rows)
    least = np.full(len(distinct), np.inf)
    np.minimum.at(least, which, bounds)
    return distinct, least


def kinds_of_rows(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first of each kind of equal rows, and for every row which kind it is, in order of appearance.

    Rows may be of any shape; long ones are compared as bytes.
    """
    if rows.ndim == 2 and rows.shape[1] <= _SHORT and rows.dtype == np.int64:
        distinct, which = distinct_rows(rows)
        first = np.full(len(distinct), len(rows), dtype=np.int64)
        np.minimum.at(first, which, np.arange(len(rows)))
        order = np.argsort(first)
        return first[order], np.argsort(order)[which]
    seen: dict[bytes, int] = {}
    places: list[int] = []
    kinds = np.empty(len(rows), dtype=np.int64)
    for place, row in enumerate(rows):
        kind = seen.setdefault(row.tobytes(), len(places))
        kinds[place] = kind
        if kind == len(places):
            places.append(place)
    return np.array(places, dtype=np.int64), kinds


def first_of_each_kind(shape: Sequence[int], kinds: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The first cell of each kind in a grid, where cells are of one kind when each of these arrays says so.

    Args: ``kinds``: numbers of kinds 0, 1, …; each array broadcasts over the grid.
    """
    joined = np.zeros((1,) * len(shape), dtype=np.int64)
    for own in kinds:
        count = int(own.max()) + 1
        pairs = joined * count + own
        joined = _ranks(pairs.ravel(), (int(joined.max()) + 1) * count)[0].reshape(pairs.shape)
    return kinds_of_rows(np.broadcast_to(joined, shape).reshape(-1, 1))[0]


def _ranks(codes: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], int]:
    """For each of the codes 0..count-1 its place among those that occur, and how many occur."""
    if count <= 4 * len(codes):
        occurs = np.zeros(count, dtype=bool)
        occurs[codes] = True
        places = np.cumsum(occurs) - 1
        return np.asarray(places[codes], dtype=np.int64), int(places[-1]) + 1
    distinct, ranks = np.unique(codes, return_inverse=True)
    return np.asarray(ranks, dtype=np.int64).reshape(-1), len(distinct)


def block_slices(sizes: Iterable[int]) -> list[slice]:
    """Where blocks of these sizes lie when they follow each other."""
    return [slice(start, end) for start, end in pairwise([0, *accumulate(sizes)])]


def block_diagonal(matrices: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Square matrices along the diagonal, zeros elsewhere."""
    blocks = block_slices(map(len, matrices))
    whole = np.zeros((blocks[-1].stop, blocks[-1].stop))
    for matrix, block in zip(matrices, blocks, strict=True):
        whole[block, block] = matrix
    return whole


Coded: TypeAlias = tuple[NDArray[np.int32], Sequence[str]]
"""Words by their places in a list, the same in every batch; −1 where there is none."""
Column: TypeAlias = "Coded | NDArray[Any] | Sequence[Any]"
Columns: TypeAlias = Mapping[str, Column]


def plain_cells(column: Column) -> list[Any]:
    """The cells of a column as people read them; None where there is none.

    >>> plain_cells((np.array([1, -1], dtype=np.int32), ["a", "b"]))
    ['b', None]
    """
    if isinstance(column, tuple):
        places, words = column
        return [None if place < 0 else words[place] for place in places.tolist()]
    return column.tolist() if isinstance(column, np.ndarray) else [*column]


def plain_columns(columns: Columns) -> dict[str, list[Any]]:
    """All columns as people read them."""
    return {title: plain_cells(column) for title, column in columns.items()}
