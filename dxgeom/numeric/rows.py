"""Distinct rows of integer matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def distinct_rows(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct rows of an (E, K) matrix in a fixed order, and for every row which of them it is."""
    if rows.shape[1] == 0:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    packed = np.ascontiguousarray(rows).view([("", rows.dtype)] * rows.shape[1]).ravel()
    _, where, inverse = np.unique(packed, return_index=True, return_inverse=True)
    return rows[where], np.asarray(inverse, dtype=np.int64).ravel()


def least_by_row(rows: NDArray[np.int64], bounds: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The distinct rows, each with the smallest of its bounds."""
    distinct, which = distinct_rows(rows)
    least = np.full(len(distinct), np.inf)
    np.minimum.at(least, which, bounds)
    return distinct, least
