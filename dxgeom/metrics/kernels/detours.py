"""The triangle inequality's hot loop: detours over one record in a symmetric matrix with zero diagonal.

There are two of it with equal results, compiled by numba and in NumPy. numba is an optional extra.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import MissingExtra
from dxgeom.metrics.kernels import detours_in_numpy
from dxgeom.numeric.optional_library import optional_library

COMPILED_FROM = 2500
"""Smaller matrices are done in NumPy before the loops would be compiled, once after each installation."""
SLOWER = "numba would make this about four times as fast: pip install 'dxgeom[fast]'"


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
