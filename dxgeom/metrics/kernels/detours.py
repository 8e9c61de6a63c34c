"""The triangle inequality's hot loops: detours over one record in a symmetric matrix with zero diagonal.

There are two of each loop with equal results, compiled by numba and in NumPy. numba is an optional extra.
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
    """What both modules hold. Rows ``start``..``stop - 1``, columns below ``stop`` (of pairs: below the row)."""

    def shortest_detours(self, matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
        """min over k of matrix[i, k] + matrix[k, j] and matrix[i, j] itself."""

    def worst_detour(self, matrix: NDArray[np.float64], start: int, stop: int) -> Worst:
        """The first of the worst, row by row."""

    def worst_suspect(self, matrix: NDArray[np.float64], suspected: NDArray[np.bool_], start: int, stop: int) -> Worst:
        """The same, looking at the suspected pairs alone; all entries are finite."""

    def suspects(self, entries: NDArray[np.uint16], start: int, stop: int, slack: int) -> tuple[NDArray[np.bool_], int]:
        """Which pairs j < i have min over k of entries[i, k] + entries[k, j] below entries[i, j] + slack; how many.

        Entries are below 2¹⁵.
        """


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
