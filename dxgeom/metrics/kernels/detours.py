"""The triangle inequality's hot loop: detours over one record in a symmetric matrix with zero diagonal.

There are two of it with equal results, compiled by numba and in NumPy. numba is an optional extra.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import MissingExtra
from dxgeom.metrics.kernels import detours_in_numpy
from dxgeom.numeric.optional_library import optional_library

Worst: TypeAlias = tuple[float, int, int, int, int]
"""The largest relative excess 1 − detour/direct way, its i, k, j (or −1), and how many pairs have a shorter detour."""
COMPILED_FROM = 1000
"""Smaller matrices are done before a compiler would be loaded."""
SLOWER = "numba would make this about five times as fast: pip install 'dxgeom[fast]'"


class Detours(Protocol):
    """What both modules hold: min over k of matrix[i, k] + matrix[k, j], rows ``start``..``stop - 1``, columns below
    ``stop``."""

    def shortest_detours(self, matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
        """Not above matrix[i, j] itself."""

    def detours_of_pairs(
        self, matrix: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Of pairs; anything not below matrix[i, j] where that is shorter."""

    def shortest_coarse(self, entries: NDArray[np.uint16], start: int, stop: int) -> NDArray[np.uint16]:
        """Of entries below 2¹⁵."""


def fastest(size: int) -> Detours:
    """The loops to use for matrices of so many records."""
    return (_compiled() if size >= COMPILED_FROM else None) or detours_in_numpy


def slow_for_want_of_numba(size: int) -> bool:
    """Whether the loops for matrices of so many records would be faster with numba, which is not installed."""
    return size >= COMPILED_FROM and _compiled() is None


@cache
def _compiled() -> Detours | None:
    try:
        loops: Detours = optional_library("dxgeom.metrics.kernels.detours_compiled", "fast", "loops are compiled")
    except MissingExtra:
        return None
    return loops


def worst_of_rows(matrix: NDArray[np.float64], start: int, stop: int, loops: Detours) -> Worst:
    """The first of the worst of pairs j < i, row by row."""
    detours = loops.shortest_detours(matrix, start, stop)
    rows, columns = np.nonzero(np.tril(detours < matrix[start:stop, :stop], start - 1))
    return _worst_of(matrix, rows + start, columns, detours[rows, columns])


def worst_suspect(matrix: NDArray[np.float64], suspected: NDArray[np.bool_], start: int, loops: Detours) -> Worst:
    """The same, looking at the suspected pairs of rows from ``start`` alone; all entries are finite."""
    rows, columns = np.nonzero(suspected)
    rows += start
    detours = loops.detours_of_pairs(matrix, rows, columns)
    shorter = detours < matrix[rows, columns]
    return _worst_of(matrix, rows[shorter], columns[shorter], detours[shorter])


def suspects(
    entries: NDArray[np.uint16], start: int, stop: int, slack: int, loops: Detours
) -> tuple[NDArray[np.bool_], int]:
    """Which pairs j < i have min over k of entries[i, k] + entries[k, j] below entries[i, j] + slack; how many."""
    near = loops.shortest_coarse(entries, start, stop) < entries[start:stop, :stop] + np.uint16(slack)
    found = np.tril(near, start - 1)
    return found, int(np.count_nonzero(found))


def _worst_of(
    matrix: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64], detours: NDArray[np.float64]
) -> Worst:
    """The first of the worst of pairs that detours shorten."""
    if not rows.size:
        return 0.0, -1, -1, -1, 0
    direct = matrix[rows, columns]
    endless = np.isinf(direct)
    excesses = np.where(endless, 1.0, direct - detours) / np.where(endless, 1.0, direct)
    worst = int(excesses.argmax())
    i, j = int(rows[worst]), int(columns[worst])
    with np.errstate(over="ignore"):
        k = int((matrix[i] + matrix[j]).argmin())
    return float(excesses[worst]), i, k, j, rows.size
