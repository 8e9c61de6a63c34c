"""The loops of :mod:`dxgeom.metrics.detours` in NumPy: one middle record at a time for a tile of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_COLUMNS = 1024
_SUMS = 1 << 16
"""Sums that are formed together, so that they stay in the processor's cache."""


def shortest_detours(matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
    """min over k of matrix[i, k] + matrix[k, j] and matrix[i, j] itself, for rows start..stop-1 and j < stop."""
    return _lowered(matrix[start:stop, :stop].copy(), matrix, start, stop)


def detours_of_pairs(
    matrix: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """min over k of matrix[i, k] + matrix[k, j] for each pair."""
    shortest = np.empty(rows.size)
    pairs = max(1, _SUMS // len(matrix))
    for first in range(0, rows.size, pairs):
        some = slice(first, first + pairs)
        (matrix[rows[some]] + matrix[columns[some]]).min(axis=1, out=shortest[some])
    return shortest


def shortest_coarse(entries: NDArray[np.uint16], start: int, stop: int) -> NDArray[np.uint16]:
    """min over k of entries[i, k] + entries[k, j] for rows start..stop-1 and j < stop."""
    return _lowered(np.full((stop - start, stop), 2**16 - 1, dtype=np.uint16), entries, start, stop)


def _lowered(shortest: NDArray[Any], matrix: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
    """The smaller of ``shortest`` (stop - start, stop) and min over k of matrix[i, k] + matrix[k, j]."""
    legs = np.ascontiguousarray(matrix[:, start:stop])[:, :, None]
    for left in range(0, stop, _COLUMNS):
        columns = slice(left, min(left + _COLUMNS, stop))
        tile = np.ascontiguousarray(shortest[:, columns])
        detours = np.empty_like(tile)
        with np.errstate(over="ignore"):
            for leg, row in zip(legs, matrix[:, columns], strict=True):
                np.minimum(tile, np.add(leg, row, out=detours), out=tile)
        shortest[:, columns] = tile
    return shortest
