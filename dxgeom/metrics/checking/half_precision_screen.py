"""Which detours are worth a look: the triangle inequality on a copy of the matrix in 16-bit whole numbers.

A vector of the processor holds four times as many of them as of float64 numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, final

import numba
import numpy as np
from numpy.typing import NDArray

_BITS: Final = 15
_LARGEST: Final = 2**_BITS - 1
_SMALL: Final = 128
_EXPONENTS: Final = 1000
_COLUMNS: Final = 1024
_MIDDLES: Final = 32
WORTHWHILE: Final = 0.25
"""Where more pairs than this part are suspects, looking at all of them at once in float64 is faster."""


@final
@dataclass(frozen=True, eq=False)
class CoarseMatrix:
    """⌊d(i, j)·2ᵉ⌋ below 2¹⁵, with 2¹⁵ − 1 on the diagonal, so that no record is a detour to itself.

    ``slack``: 0 when nothing was cut off, so that suspects are exactly the pairs that a detour shortens; else 1.
    """

    entries: NDArray[np.uint16] = field(repr=False)
    slack: int


def coarse_of(matrix: NDArray[np.float64], rows: int) -> CoarseMatrix | None:
    """The copy of a symmetric matrix with zero diagonal; None where it would not help.

    It does not help small matrices, infinite entries, or where very many detours are about as long as the direct way.
    Args: ``rows`` to look at, in the middle, to find out.
    """
    size = len(matrix)
    coarse = coarse_copy(matrix) if size >= _SMALL else None
    if coarse is None:
        return None
    start = size // 2
    stop = min(start + rows, size)
    _, found = suspects(coarse, start, stop)
    return coarse if found <= WORTHWHILE * (stop - start) * start else None


def coarse_copy(matrix: NDArray[np.float64]) -> CoarseMatrix | None:
    """The copy, whether it helps or not; None where there is none: infinite entries, or no number but 0."""
    largest = float(matrix.max(initial=0.0))
    exponent = _BITS - math.frexp(largest)[1]
    if largest == 0 or not math.isfinite(largest) or abs(exponent) > _EXPONENTS:
        return None
    scaled = matrix * 2.0**exponent
    entries = scaled.astype(np.uint16)
    slack = 0 if np.array_equal(entries, scaled) else 1
    np.fill_diagonal(entries, _LARGEST)
    return CoarseMatrix(entries, slack)


def suspects(coarse: CoarseMatrix, start: int, stop: int) -> tuple[NDArray[np.bool_], int]:
    """For rows start..stop-1 and j < i: which pairs a detour may shorten, shape (stop - start, stop), and how many.

    Guarantee: no other pair is shortened. d(i, k) + d(k, j) < d(i, j) gives a + b ≤ (d(i, k) + d(k, j))·2ᵉ < c + 1 for
    the whole parts a, b, c, hence a + b ≤ c. Scaling by a power of two is exact, and so are sums below 2¹⁶. Nothing
    changes when the sum is rounded to float64 first: rounding does not take a number across d(i, j), which is one.
    """
    return _suspects(coarse.entries, start, stop, coarse.slack)


@numba.njit(cache=True)
def _suspects(entries: NDArray[np.uint16], start: int, stop: int, slack: int) -> tuple[NDArray[np.bool_], int]:
    shortest = _shortest(entries, start, stop)
    found = np.zeros(shortest.shape, dtype=np.bool_)
    count = 0
    for i in range(start, stop):
        for j in range(i):
            near = np.int64(shortest[i - start, j]) < np.int64(entries[i, j]) + slack
            found[i - start, j] = near
            count += int(near)
    return found, count


@numba.njit(cache=True)
def _shortest(entries: NDArray[np.uint16], start: int, stop: int) -> NDArray[np.uint16]:
    """min over k of entries[i, k] + entries[k, j], eight middle records at a time."""
    size = entries.shape[0]
    shortest = np.full((stop - start, stop), 2**16 - 1, dtype=np.uint16)
    for left in range(0, stop, _COLUMNS):
        right = min(left + _COLUMNS, stop)
        for low in range(0, size, _MIDDLES):
            high = min(low + _MIDDLES, size)
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
