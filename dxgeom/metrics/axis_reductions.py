"""One pass over a grid along one of its axes: how far the entries of a fibre lie apart.

A grid has shape (outer, size, inner); a fibre is ``grid[o, :, i]``. Every function takes C-contiguous int64 (below 2⁵²
in magnitude) or float64 entries and hands out differences that are exact for integers, correctly rounded for floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Grid: TypeAlias = NDArray[Any]
Places: TypeAlias = NDArray[np.int64]
_ENTRIES = 1 << 16
"""Entries that are handled together, so that what is made of them stays in the cache."""
_LEAST_INNER = 64
"""Fewer entries of the inner axis at once would waste what the processor fetches with them."""


def tiles(grid: Grid) -> Iterator[Grid]:
    """The grid in pieces of whole fibres."""
    outer, size, inner = grid.shape
    wide = min(inner, max(_LEAST_INNER, _ENTRIES // size))
    tall = max(1, _ENTRIES // (size * wide))
    for o in range(0, outer, tall):
        for i in range(0, inner, wide):
            yield grid[o : o + tall, :, i : i + wide]


def constant_along(grid: Grid) -> bool:
    """Whether every fibre is constant; stops at the first piece that is not."""
    return all(np.array_equal(tile, np.broadcast_to(tile[:, :1], tile.shape)) for tile in tiles(grid))


def largest_range(grid: Grid) -> Any:
    """The largest difference between two entries of one fibre."""
    return max((tile.max(axis=1) - tile.min(axis=1)).max() for tile in tiles(grid))


def largest_changes_from_earlier(grid: Grid, order: Places) -> Grid:
    """(size,): entry p is the largest |grid[o, order[p], i] − grid[o, order[e], i]| over fibres and e < p."""
    largest = np.zeros(order.size, grid.dtype)
    for tile in tiles(grid):
        ordered = tile[:, order]
        later = ordered[:, 1:]
        above = np.maximum.accumulate(ordered, axis=1)[:, :-1] - later
        below = later - np.minimum.accumulate(ordered, axis=1)[:, :-1]
        np.maximum(largest[1:], np.maximum(above, below).max(axis=(0, 2)), out=largest[1:])
    return largest


def largest_steps(grid: Grid) -> Grid:
    """(size − 1,): entry k is the largest |grid[o, k + 1, i] − grid[o, k, i]| over fibres."""
    largest = np.zeros(grid.shape[1] - 1, grid.dtype)
    for tile in tiles(grid):
        np.maximum(largest, np.abs(np.diff(tile, axis=1)).max(axis=(0, 2)), out=largest)
    return largest


def largest_changes(grid: Grid, first: Places, second: Places) -> Grid:
    """(pairs,): entry p is the largest |grid[o, first[p], i] − grid[o, second[p], i]| over fibres."""
    largest = np.zeros(first.size, grid.dtype)
    pairs = max(1, _ENTRIES // (grid.shape[0] * grid.shape[2]))
    for start in range(0, first.size, pairs):
        here = slice(start, start + pairs)
        np.abs(grid[:, first[here]] - grid[:, second[here]]).max(axis=(0, 2), out=largest[here])
    return largest


def lowest_along_line(grid: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest grid below this one whose entries k and k + 1 of a fibre differ by at most steps[k]; *exact* for
    integers."""
    outer, size, inner = grid.shape
    if outer * inner == 1:
        return np.array(_lowest_of_one(grid.reshape(-1).tolist(), steps.tolist())).reshape(grid.shape)
    lowered = grid.copy()
    for k in range(1, size):
        np.minimum(lowered[:, k], lowered[:, k - 1] + steps[k - 1], out=lowered[:, k])
    for k in range(size - 2, -1, -1):
        np.minimum(lowered[:, k], lowered[:, k + 1] + steps[k], out=lowered[:, k])
    return lowered


def _lowest_of_one(fibre: list[float], steps: list[float]) -> list[float]:
    # Entry by entry, Python's own numbers are twenty times as fast as arrays of one.
    for k in range(1, len(fibre)):
        fibre[k] = min(fibre[k], fibre[k - 1] + steps[k - 1])
    for k in range(len(fibre) - 2, -1, -1):
        fibre[k] = min(fibre[k], fibre[k + 1] + steps[k])
    return fibre
