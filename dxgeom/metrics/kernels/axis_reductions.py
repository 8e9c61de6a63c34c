"""One pass over a grid along one of its axes: how far the entries of a fibre lie apart.

A grid has shape (outer, size, inner); a fibre is ``grid[o, :, i]``. Every function takes C-contiguous int64 (below 2⁵²
in magnitude) or float64 entries and hands out differences that are exact for integers, correctly rounded for floats.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numba
import numpy as np
from numpy.typing import NDArray

Grid: TypeAlias = NDArray[Any]
Places: TypeAlias = NDArray[np.int64]
_STRIP = 2048
"""Entries of the inner axis that are handled together, so that their running extremes stay in the cache."""


@numba.njit(cache=True)
def constant_along(grid: Grid) -> bool:
    """Whether every fibre is constant; stops at the first one that is not."""
    outer, size, inner = grid.shape
    for o in range(outer):
        for k in range(1, size):
            for i in range(inner):
                if grid[o, k, i] != grid[o, 0, i]:
                    return False
    return True


@numba.njit(cache=True)
def largest_range(grid: Grid) -> Any:
    """The largest difference between two entries of one fibre."""
    outer, size, inner = grid.shape
    low, high = np.empty(_STRIP, grid.dtype), np.empty(_STRIP, grid.dtype)
    widest = grid[0, 0, 0] - grid[0, 0, 0]
    for o in range(outer):
        for start in range(0, inner, _STRIP):
            width = min(_STRIP, inner - start)
            for i in range(width):
                low[i] = high[i] = grid[o, 0, start + i]
            for k in range(1, size):
                for i in range(width):
                    entry = grid[o, k, start + i]
                    low[i] = min(low[i], entry)
                    high[i] = max(high[i], entry)
            for i in range(width):
                widest = max(widest, high[i] - low[i])
    return widest


@numba.njit(cache=True)
def largest_changes_from_earlier(grid: Grid, order: Places) -> Grid:
    """(size,): entry p is the largest |grid[o, order[p], i] − grid[o, order[e], i]| over fibres and e < p."""
    outer, size, inner = grid.shape
    low, high = np.empty(_STRIP, grid.dtype), np.empty(_STRIP, grid.dtype)
    largest = np.zeros(size, grid.dtype)
    for o in range(outer):
        for start in range(0, inner, _STRIP):
            width = min(_STRIP, inner - start)
            for i in range(width):
                low[i] = high[i] = grid[o, order[0], start + i]
            for p in range(1, size):
                widest = largest[p]
                for i in range(width):
                    entry = grid[o, order[p], start + i]
                    widest = max(widest, max(high[i] - entry, entry - low[i]))
                    low[i] = min(low[i], entry)
                    high[i] = max(high[i], entry)
                largest[p] = widest
    return largest


@numba.njit(cache=True)
def largest_steps(grid: Grid) -> Grid:
    """(size − 1,): entry k is the largest |grid[o, k + 1, i] − grid[o, k, i]| over fibres."""
    outer, size, inner = grid.shape
    largest = np.zeros(max(size - 1, 0), grid.dtype)
    for o in range(outer):
        for k in range(size - 1):
            widest = largest[k]
            for i in range(inner):
                widest = max(widest, abs(grid[o, k + 1, i] - grid[o, k, i]))
            largest[k] = widest
    return largest


@numba.njit(cache=True)
def largest_changes(grid: Grid, first: Places, second: Places) -> Grid:
    """(pairs,): entry p is the largest |grid[o, first[p], i] − grid[o, second[p], i]| over fibres."""
    outer, _, inner = grid.shape
    largest = np.zeros(first.size, grid.dtype)
    for o in range(outer):
        for p in range(first.size):
            widest = largest[p]
            one, other = first[p], second[p]
            for i in range(inner):
                widest = max(widest, abs(grid[o, one, i] - grid[o, other, i]))
            largest[p] = widest
    return largest


@numba.njit(cache=True)
def lowest_along_line(grid: Grid, steps: NDArray[np.float64]) -> Grid:
    """The largest grid below this one whose entries k and k + 1 of a fibre differ by at most steps[k]; *exact* for
    integers."""
    lowered = grid.copy()
    outer, size, inner = grid.shape
    for o in range(outer):
        for k in range(1, size):
            for i in range(inner):
                lowered[o, k, i] = min(lowered[o, k, i], lowered[o, k - 1, i] + steps[k - 1])
        for k in range(size - 2, -1, -1):
            for i in range(inner):
                lowered[o, k, i] = min(lowered[o, k, i], lowered[o, k + 1, i] + steps[k])
    return lowered
