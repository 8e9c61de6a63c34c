"""The min-plus product of a symmetric matrix with itself: the triangle inequality's hot loop."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.checking.half_precision_screen import WORTHWHILE, CoarseMatrix, suspects

ROWS = 64
"""Rows per tile; a tile's columns and middle records are cut so that all three stay in the processor's cache."""
_COLUMNS = 512
_MIDDLES = 64


@numba.njit(cache=True)
def _shortest_detours(matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
    """min over k of matrix[i, k] + matrix[k, j] and matrix[i, j] itself, for rows start..stop-1 and j < stop."""
    size = matrix.shape[0]
    shortest = matrix[start:stop, :stop].copy()
    for left in range(0, stop, _COLUMNS):
        right = min(left + _COLUMNS, stop)
        for low in range(0, size, _MIDDLES):
            for i in range(start, stop):
                row = shortest[i - start, left:right]
                for k in range(low, min(low + _MIDDLES, size)):
                    leg = matrix[i, k]
                    other = matrix[k, left:right]
                    for j in range(right - left):
                        detour = leg + other[j]
                        row[j] = detour if detour < row[j] else row[j]
    return shortest


@numba.njit(cache=True)
def _worst_detour(matrix: NDArray[np.float64], start: int, stop: int) -> tuple[float, int, int, int, int]:
    """The largest relative excess over rows start..stop-1, its i, k, j, and the number of positive ones."""
    shortest = _shortest_detours(matrix, start, stop)
    worst, worst_i, worst_j, count = 0.0, -1, -1, 0
    for i in range(start, stop):
        for j in range(i):
            direct, detour = matrix[i, j], shortest[i - start, j]
            if detour < direct:
                count += 1
                excess = 1.0 if np.isinf(direct) else (direct - detour) / direct
                if worst_i < 0 or excess > worst:
                    worst, worst_i, worst_j = excess, i, j
    worst_k = _shortest_way(matrix, worst_i, worst_j)[1] if worst_i >= 0 else -1
    return worst, worst_i, worst_k, worst_j, count


@numba.njit(cache=True)
def _worst_suspect(
    matrix: NDArray[np.float64], suspected: NDArray[np.bool_], start: int, stop: int
) -> tuple[float, int, int, int, int]:
    """The same as :func:`_worst_detour`, looking at the suspected pairs alone."""
    worst, worst_i, worst_k, worst_j, count = 0.0, -1, -1, -1, 0
    for i in range(start, stop):
        for j in range(i):
            if suspected[i - start, j] and _shortened(matrix[i], matrix[j], matrix[i, j]):
                count += 1
                detour, k = _shortest_way(matrix, i, j)
                excess = (matrix[i, j] - detour) / matrix[i, j]
                if worst_i < 0 or excess > worst:
                    worst, worst_i, worst_k, worst_j = excess, i, k, j
    return worst, worst_i, worst_k, worst_j, count


@numba.njit(cache=True)
def _shortened(one: NDArray[np.float64], other: NDArray[np.float64], direct: float) -> bool:
    # Counting all is faster than stopping at the first: a loop without a way out is done in vectors.
    count = 0
    for k in range(one.size):
        count += one[k] + other[k] < direct
    return count > 0


@numba.njit(cache=True)
def _shortest_way(matrix: NDArray[np.float64], i: int, j: int) -> tuple[float, int]:
    best, middle = np.inf, -1
    for k in range(matrix.shape[0]):
        if matrix[i, k] + matrix[k, j] < best:
            best, middle = matrix[i, k] + matrix[k, j], k
    return best, middle


def through_one_record(matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
    """min(d(i, j), min over k of d(i, k) + d(k, j)) for rows i in ``start``..``stop - 1`` and columns j < ``stop``.

    The matrix is symmetric with a zero diagonal. Each sum is one float64 addition, exact for integers below 2⁵².
    """
    return np.asarray(_shortest_detours(np.ascontiguousarray(matrix, dtype=np.float64), start, stop))


def worst_detour(
    matrix: NDArray[np.float64], start: int, stop: int, coarse: CoarseMatrix | None = None
) -> tuple[float, tuple[int, int, int] | None, int]:
    """The triangle inequality over rows ``start``..``stop - 1`` of a symmetric matrix with zero diagonal.

    Returns: the largest relative excess 1 − (d(i, k) + d(k, j))/d(i, j), its witness (i, k, j) or None, and the number
    of pairs j < i that some detour shortens. Each sum is one float64 addition, so sums of integers below 2⁵² are exact.
    Args: ``coarse``, its copy in fewer bits, spares most of the work and changes nothing else.
    """
    entries = np.ascontiguousarray(matrix, dtype=np.float64)
    suspected, found = (None, 0) if coarse is None else suspects(coarse, start, stop)
    if suspected is None or found > WORTHWHILE * (stop - start) * stop:
        worst, i, k, j, count = _worst_detour(entries, start, stop)
    else:
        worst, i, k, j, count = _worst_suspect(entries, suspected, start, stop)
    return float(worst), (int(i), int(k), int(j)) if i >= 0 else None, int(count)
