"""The min-plus product of a symmetric matrix with itself: the triangle inequality's hot loop."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.checking.half_precision_screen import WORTHWHILE, HalfPrecisionMatrix, suspects
from dxgeom.metrics.kernels.detours import fastest, worst_of_rows, worst_suspect

ROWS = 64
"""Rows that are looked at together, so that they stay in the processor's cache."""


def through_one_record(matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
    """min(d(i, j), min over k of d(i, k) + d(k, j)) for rows i in ``start``..``stop - 1`` and columns j < ``stop``.

    The matrix is symmetric with a zero diagonal. Each sum is one float64 addition, exact for integers below 2⁵².
    """
    return fastest(len(matrix)).shortest_detours(np.ascontiguousarray(matrix, dtype=np.float64), start, stop)


def worst_detour(
    matrix: NDArray[np.float64], start: int, stop: int, coarse: HalfPrecisionMatrix | None = None
) -> tuple[float, tuple[int, int, int] | None, int]:
    """The triangle inequality over rows ``start``..``stop - 1`` of a symmetric matrix with zero diagonal.

    Returns: the largest relative excess 1 − (d(i, k) + d(k, j))/d(i, j), its witness (i, k, j) or None, and the number
    of pairs j < i that some detour shortens. Each sum is one float64 addition, so sums of integers below 2⁵² are exact.
    Args: ``coarse``, its copy in fewer bits, spares most of the work and changes nothing else.
    """
    loops = fastest(len(matrix))
    entries = np.ascontiguousarray(matrix, dtype=np.float64)
    suspected, found = (None, 0) if coarse is None else suspects(coarse, start, stop)
    if suspected is None or found > WORTHWHILE * (stop - start) * stop:
        worst, i, k, j, count = worst_of_rows(entries, start, stop, loops)
    else:
        worst, i, k, j, count = worst_suspect(entries, suspected, start, loops)
    return worst, (i, k, j) if i >= 0 else None, count
