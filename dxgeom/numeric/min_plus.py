"""The min-plus product of a symmetric matrix with itself: the triangle inequality's hot loop."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=True)
def _worst_detour(matrix: NDArray[np.float64], start: int, stop: int) -> tuple[float, int, int, int, int]:
    """The largest relative excess over rows start..stop-1, its i, k, j, and the number of positive ones."""
    size = matrix.shape[0]
    shortest = np.empty(size)
    worst, worst_i, worst_j, count = 0.0, -1, -1, 0
    for i in range(start, stop):
        for j in range(size):
            shortest[j] = matrix[i, j]
        for k in range(size):
            leg = matrix[i, k]
            for j in range(i):
                detour = leg + matrix[k, j]
                shortest[j] = detour if detour < shortest[j] else shortest[j]
        for j in range(i):
            if shortest[j] < matrix[i, j]:
                count += 1
                excess = 1.0 if np.isinf(matrix[i, j]) else (matrix[i, j] - shortest[j]) / matrix[i, j]
                if worst_i < 0 or excess > worst:
                    worst, worst_i, worst_j = excess, i, j
    worst_k = -1
    if worst_i >= 0:
        best = np.inf
        for k in range(size):
            if matrix[worst_i, k] + matrix[k, worst_j] < best:
                best, worst_k = matrix[worst_i, k] + matrix[k, worst_j], k
    return worst, worst_i, worst_k, worst_j, count


def worst_detour(matrix: NDArray[np.float64], start: int, stop: int) -> tuple[float, tuple[int, int, int] | None, int]:
    """The triangle inequality over rows ``start``..``stop - 1`` of a symmetric matrix with zero diagonal.

    Returns: the largest relative excess 1 − (d(i, k) + d(k, j))/d(i, j), its witness (i, k, j) or None, and the number
    of pairs j < i that some detour shortens. Each sum is one float64 addition, so sums of integers below 2⁵² are exact.
    """
    worst, i, k, j, count = _worst_detour(np.ascontiguousarray(matrix, dtype=np.float64), start, stop)
    return float(worst), (int(i), int(k), int(j)) if i >= 0 else None, int(count)
