"""The loops of :mod:`dxgeom.metrics.kernels.detours` in NumPy: one middle record at a time for a tile of pairs."""

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


def worst_detour(matrix: NDArray[np.float64], start: int, stop: int) -> tuple[float, int, int, int, int]:
    """The largest relative excess over rows start..stop-1, its i, k, j, and the number of positive ones."""
    detours = shortest_detours(matrix, start, stop)
    rows, columns = np.nonzero(np.tril(detours < matrix[start:stop, :stop], start - 1))
    return _worst_of(matrix, rows + start, columns, detours[rows, columns])


def worst_suspect(
    matrix: NDArray[np.float64], suspected: NDArray[np.bool_], start: int, stop: int
) -> tuple[float, int, int, int, int]:
    """The same as :func:`worst_detour`, looking at the suspected pairs alone."""
    rows, columns = np.nonzero(suspected)
    rows += start
    detours = np.empty(rows.size)
    pairs = max(1, _SUMS // len(matrix))
    for first in range(0, rows.size, pairs):
        some = slice(first, first + pairs)
        _sums(matrix[rows[some]], matrix[columns[some]]).min(axis=1, out=detours[some])
    shorter = detours < matrix[rows, columns]
    return _worst_of(matrix, rows[shorter], columns[shorter], detours[shorter])


def suspects(entries: NDArray[np.uint16], start: int, stop: int, slack: int) -> tuple[NDArray[np.bool_], int]:
    """Which pairs j < i of rows start..stop-1 have a coarse detour below entries[i, j] + slack, and how many."""
    shortest = np.full((stop - start, stop), 2**16 - 1, dtype=np.uint16)
    near = _lowered(shortest, entries, start, stop) < entries[start:stop, :stop] + np.uint16(slack)
    found = np.tril(near, start - 1)
    return found, int(np.count_nonzero(found))


def _lowered(shortest: NDArray[Any], matrix: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
    """The smaller of ``shortest`` (stop - start, stop) and min over k of matrix[i, k] + matrix[k, j]."""
    legs = np.ascontiguousarray(matrix[:, start:stop])[:, :, None]
    for left in range(0, stop, _COLUMNS):
        columns = slice(left, min(left + _COLUMNS, stop))
        tile = np.ascontiguousarray(shortest[:, columns])
        detours = np.empty_like(tile)
        for leg, row in zip(legs, matrix[:, columns], strict=True):
            np.minimum(tile, _sums(leg, row, detours), out=tile)
        shortest[:, columns] = tile
    return shortest


def _worst_of(
    matrix: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64], detours: NDArray[np.float64]
) -> tuple[float, int, int, int, int]:
    """The first of the worst of pairs that detours shorten."""
    if not rows.size:
        return 0.0, -1, -1, -1, 0
    direct = matrix[rows, columns]
    endless = np.isinf(direct)
    excesses = np.where(endless, 1.0, direct - detours) / np.where(endless, 1.0, direct)
    worst = int(excesses.argmax())
    i, j = int(rows[worst]), int(columns[worst])
    return float(excesses[worst]), i, int(_sums(matrix[i], matrix[j]).argmin()), j, rows.size


def _sums(one: NDArray[Any], other: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        return np.asarray(np.add(one, other, out=out))
