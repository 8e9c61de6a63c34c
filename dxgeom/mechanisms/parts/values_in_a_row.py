"""What noise in running totals reveals of a change in several values in a row, one record of each, there or gone.

A record of value t becomes the vector v_t, as long as what is revealed of it. Somebody may be there on some days and
gone on others, so a change is Σ s_t·v_t for any signs s, and of shares of a record for any s from -1 to 1. It is at
most √Σ|v_t·v_u| long: just that where no two are at an obtuse angle, and all days at once are the worst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Runs: TypeAlias = tuple[tuple[int, int], ...]
"""Values in a row: so many, of so many codes each; one after the other."""


def patterns(classes: Sequence[int], width: int) -> tuple[Runs, ...]:
    """How many of so many codes in a row each value has, from the first of these on: all that there are."""
    found: dict[Runs, None] = {}
    for start in range(max(1, len(classes) - width + 1)):
        counts = [len([*same]) for _, same in groupby(classes[start : start + width])]
        found[tuple((len([*same]), count) for count, same in groupby(counts))] = None
    return tuple(found)


def largest_within(near: Floats, off: Floats, classes: Sequence[int], width: int) -> float:
    """Σ|v_t·v_u| over any so many codes in a row, the largest there is; *rounded up*.

    Args: ``near`` (n, m): v_t of each value, nearly; ``off`` (m,): by what length each is off at most.
    """
    size, values = near.shape
    up = 1 + (size + values + 16) * 2.0**-50
    lengths = (np.linalg.norm(near, axis=0) * up + off) * up
    products = near.T @ near
    np.abs(products, out=products)
    most, codes = 0.0, np.asarray(classes)
    for start in range(max(1, len(codes) - width + 1)):
        own = codes[start : start + width]
        first, counts = int(own[0]), np.bincount(own - own[0]).astype(np.float64)
        here = slice(first, first + len(counts))
        # A product is off by (n + 2)·2⁻⁵³ of both lengths, and by what either vector is.
        long, loose = float(counts @ lengths[here]), float(counts @ off[here])
        told = float(counts @ products[here, here] @ counts)
        most = max(most, told + long * (2 * loose + long * (size + 8) * 2.0**-52))
    return float(most * up * (1 + values * values * 2.0**-52))


def windows_of(runs: Runs) -> Iterator[tuple[int, int, int]]:
    """Of each run the first value, the first beyond, and how many codes each has."""
    start = 0
    for length, count in runs:
        yield start, start + length, count
        start += length


def square_of_first(totals: Sequence[int], runs: Runs) -> int:
    """The square of the sum of the first columns of a lower triangular Toeplitz matrix, times their codes; *exact*.

    Args: ``totals`` (n + 1,): of its first coefficients, from 0.
    """
    parts = [*windows_of(runs)]
    size, found = len(totals) - 1, 0
    for row in range(size):
        own = sum(
            count * (totals[max(0, row + 1 - low)] - totals[max(0, row + 1 - high)]) for low, high, count in parts
        )
        found += own * own
    return found


def length_of_first(totals: Floats, runs: Runs) -> float:
    """Its root, in float64."""
    rows = np.arange(1, len(totals))
    found = sum(
        count * (totals[np.maximum(0, rows - low)] - totals[np.maximum(0, rows - high)])
        for low, high, count in windows_of(runs)
    )
    return math.sqrt(float(np.sum(np.square(found))))


def toeplitz_columns(series: NDArray[np.int64], one: int, lengths: Floats) -> Floats:
    """(n, n): C with these coefficients, in parts of ``one``, each column over its length."""
    size = len(series)
    found = np.zeros((size, size))
    for column in range(size):
        found[column:, column] = series[: size - column] / (float(one) * lengths[column])
    return found
