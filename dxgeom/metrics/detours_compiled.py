"""The loops of :mod:`dxgeom.metrics.detours`, compiled. Tiles stay in the processor's cache.

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
def detours_of_pairs(
    matrix: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """min over k of matrix[i, k] + matrix[k, j] for each pair, ∞ where it is not below matrix[i, j]."""
    shortest = np.full(rows.size, np.inf)
    for pair in range(rows.size):
        one, other, direct = matrix[rows[pair]], matrix[columns[pair]], matrix[rows[pair], columns[pair]]
        # Counting all is faster than stopping at the first: a loop without a way out is done in vectors.
        shorter = 0
        for k in range(one.size):
            shorter += one[k] + other[k] < direct
        if shorter > 0:
            shortest[pair] = (one + other).min()
    return shortest


@numba.njit(cache=True)
def shortest_coarse(entries: NDArray[np.uint16], start: int, stop: int) -> NDArray[np.uint16]:
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
