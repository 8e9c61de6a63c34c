"""The loops of :mod:`dxgeom.metrics.kernels.detours`, compiled. Tiles stay in the processor's cache.

Kernel: numba's compiler.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

_COLUMNS = 512
_MIDDLES = 64
_COARSE_COLUMNS = 1024
_COARSE_MIDDLES = 32


@numba.njit(cache=True)
def shortest_detours(matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
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
def worst_detour(matrix: NDArray[np.float64], start: int, stop: int) -> tuple[float, int, int, int, int]:
    """The largest relative excess over rows start..stop-1, its i, k, j, and the number of positive ones."""
    shortest = shortest_detours(matrix, start, stop)
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
def worst_suspect(
    matrix: NDArray[np.float64], suspected: NDArray[np.bool_], start: int, stop: int
) -> tuple[float, int, int, int, int]:
    """The same as :func:`worst_detour`, looking at the suspected pairs alone."""
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
def suspects(entries: NDArray[np.uint16], start: int, stop: int, slack: int) -> tuple[NDArray[np.bool_], int]:
    """Which pairs j < i of rows start..stop-1 have a coarse detour below entries[i, j] + slack, and how many."""
    shortest = _shortest_coarse(entries, start, stop)
    found = np.zeros(shortest.shape, dtype=np.bool_)
    count = 0
    for i in range(start, stop):
        for j in range(i):
            near = np.int64(shortest[i - start, j]) < np.int64(entries[i, j]) + slack
            found[i - start, j] = near
            count += int(near)
    return found, count


@numba.njit(cache=True)
def _shortest_coarse(entries: NDArray[np.uint16], start: int, stop: int) -> NDArray[np.uint16]:
    """min over k of entries[i, k] + entries[k, j], eight middle records at a time."""
    size = entries.shape[0]
    shortest = np.full((stop - start, stop), 2**16 - 1, dtype=np.uint16)
    for left in range(0, stop, _COARSE_COLUMNS):
        right = min(left + _COARSE_COLUMNS, stop)
        for low in range(0, size, _COARSE_MIDDLES):
            high = min(low + _COARSE_MIDDLES, size)
            for i in range(start, stop):
                row, legs, k = shortest[i - start, left:right], entries[i], low
                while k + 8 <= high:
                    a, b, c, d = legs[k], legs[k + 1], legs[k + 2], legs[k + 3]
                    e, f, g, h = legs[k + 4], legs[k + 5], legs[k + 6], legs[k + 7]
                    # Each row is taken out by itself, so that the compiler sees that it is contiguous.
                    row_a, row_b = entries[k, left:right], entries[k + 1, left:right]
                    row_c, row_d = entries[k + 2, left:right], entries[k + 3, left:right]
                    row_e, row_f = entries[k + 4, left:right], entries[k + 5, left:right]
                    row_g, row_h = entries[k + 6, left:right], entries[k + 7, left:right]
                    for j in range(right - left):
                        least = min(row[j], np.uint16(a + row_a[j]))
                        least = min(least, np.uint16(b + row_b[j]))
                        least = min(least, np.uint16(c + row_c[j]))
                        least = min(least, np.uint16(d + row_d[j]))
                        least = min(least, np.uint16(e + row_e[j]))
                        least = min(least, np.uint16(f + row_f[j]))
                        least = min(least, np.uint16(g + row_g[j]))
                        row[j] = min(least, np.uint16(h + row_h[j]))
                    k += 8
                while k < high:
                    leg, other = legs[k], entries[k, left:right]
                    for j in range(right - left):
                        row[j] = min(row[j], np.uint16(leg + other[j]))
                    k += 1
    return shortest


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
