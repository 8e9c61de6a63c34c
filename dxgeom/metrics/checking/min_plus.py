"""The min-plus product of a symmetric matrix with itself: the triangle inequality's hot loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.checking.half_precision_screen import WORTHWHILE, HalfPrecisionMatrix, suspects
from dxgeom.metrics.kernels.detours import Detours, fastest

ROWS = 64
"""Rows that are looked at together, so that they stay in the processor's cache."""


def through_one_record(matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
    """min(d(i, j), min over k of d(i, k) + d(k, j)) for rows i in ``start``..``stop - 1`` and columns j < ``stop``.

    The matrix is symmetric with a zero diagonal. Each sum is one float64 addition, exact for integers below 2⁵².
    """
    return fastest(len(matrix)).shortest_detours(np.ascontiguousarray(matrix, dtype=np.float64), start, stop)


def worst_detour(
    matrix: NDArray[np.float64],
    start: int,
    stop: int,
    coarse: HalfPrecisionMatrix | None = None,
    loops: Detours | None = None,
) -> tuple[float, tuple[int, int, int] | None, int]:
    """The triangle inequality over rows ``start``..``stop - 1`` of a symmetric matrix with zero diagonal.

    Returns: the largest relative excess 1 − (d(i, k) + d(k, j))/d(i, j), its first witness (i, k, j) or None, and the
    number of pairs j < i that some detour shortens. Each sum is one float64 addition, so sums of integers below 2⁵² are
    exact.
    Args: ``coarse``, its copy in fewer bits, spares most of the work and changes nothing else, as do ``loops``.
    """
    loops = loops or fastest(len(matrix))
    entries = np.ascontiguousarray(matrix, dtype=np.float64)
    suspected, found = (None, 0) if coarse is None else suspects(coarse, start, stop, loops)
    if suspected is None or found > WORTHWHILE * (stop - start) * stop:
        shortest = loops.shortest_detours(entries, start, stop)
        rows, columns = np.nonzero(np.tril(shortest < entries[start:stop, :stop], start - 1))
        detours = shortest[rows, columns]
        rows += start
    else:
        rows, columns = np.nonzero(suspected)
        rows += start
        detours = loops.detours_of_pairs(entries, rows, columns)
        shorter = detours < entries[rows, columns]
        rows, columns, detours = rows[shorter], columns[shorter], detours[shorter]
    return _worst_of(entries, rows, columns, detours)


def _worst_of(
    matrix: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64], detours: NDArray[np.float64]
) -> tuple[float, tuple[int, int, int] | None, int]:
    """The first of the worst of pairs that detours shorten."""
    if not rows.size:
        return 0.0, None, 0
    direct = matrix[rows, columns]
    endless = np.isinf(direct)
    excesses = np.where(endless, 1.0, direct - detours) / np.where(endless, 1.0, direct)
    worst = int(excesses.argmax())
    i, j = int(rows[worst]), int(columns[worst])
    with np.errstate(over="ignore"):
        k = int((matrix[i] + matrix[j]).argmin())
    return float(excesses[worst]), (i, k, j), rows.size
