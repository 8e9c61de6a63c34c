"""The triangle inequality's hot loop: detours over one record in a symmetric matrix with zero diagonal.

The min-plus product of such a matrix with itself. Which detours are worth a look is told first by a copy of the matrix
in 16-bit whole numbers, of which a vector of the processor holds four times as many as of float64 numbers.

There are two of the loop with equal results, compiled by numba and in NumPy. numba is an optional extra.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import MissingExtra
from dxgeom.numeric.optional_library import optional_library

_BITS: Final = 15
_LARGEST: Final = 2**_BITS - 1
_SMALL: Final = 128
_EXPONENTS: Final = 1000
_COLUMNS: Final = 1024
_SUMS: Final = 1 << 16
"""Sums that are formed together, so that they stay in the processor's cache."""
WORTHWHILE: Final = 0.25
"""Where more pairs than this part are suspects, looking at all of them at once in float64 is faster."""


@final
@dataclass(frozen=True, eq=False)
class HalfPrecisionMatrix:
    """⌊d(i, j)·2ᵉ⌋ below 2¹⁵, with 2¹⁵ − 1 on the diagonal, so that no record is a detour to itself.

    ``slack``: 0 when nothing was cut off, so that suspects are exactly the pairs that a detour shortens; else 1.
    """

    entries: NDArray[np.uint16] = field(repr=False)
    slack: int


def half_precision_of(matrix: NDArray[np.float64], rows: int) -> HalfPrecisionMatrix | None:
    """The copy of a symmetric matrix with zero diagonal; None where it would not help.

    It does not help small matrices, infinite entries, or where very many detours are about as long as the direct way.
    Args: ``rows`` to look at, in the middle, to find out.
    """
    size = len(matrix)
    coarse = half_precision_copy(matrix) if size >= _SMALL else None
    if coarse is None:
        return None
    start = size // 2
    stop = min(start + rows, size)
    _, found = suspects(coarse, start, stop)
    return coarse if found <= WORTHWHILE * (stop - start) * start else None


def half_precision_copy(matrix: NDArray[np.float64]) -> HalfPrecisionMatrix | None:
    """The copy, whether it helps or not; None where there is none: infinite entries, or no number but 0."""
    largest = float(matrix.max(initial=0.0))
    exponent = _BITS - math.frexp(largest)[1]
    if largest == 0 or not math.isfinite(largest) or abs(exponent) > _EXPONENTS:
        return None
    scaled = matrix * 2.0**exponent
    entries = scaled.astype(np.uint16)
    slack = 0 if np.array_equal(entries, scaled) else 1
    np.fill_diagonal(entries, _LARGEST)
    return HalfPrecisionMatrix(entries, slack)


def suspects(
    coarse: HalfPrecisionMatrix, start: int, stop: int, loops: Detours | None = None
) -> tuple[NDArray[np.bool_], int]:
    """For rows start..stop-1 and j < i: which pairs a detour may shorten, shape (stop - start, stop), and how many.

    Guarantee: no other pair is shortened. d(i, k) + d(k, j) < d(i, j) gives a + b ≤ (d(i, k) + d(k, j))·2ᵉ < c + 1 for
    the whole parts a, b, c, hence a + b ≤ c. Scaling by a power of two is exact, and so are sums below 2¹⁶. Nothing
    changes when the sum is rounded to float64 first: rounding does not take a number across d(i, j), which is one.
    """
    loops = loops or fastest(len(coarse.entries))
    shortest = loops.shortest_coarse(coarse.entries, start, stop)
    found = np.tril(shortest < coarse.entries[start:stop, :stop] + np.uint16(coarse.slack), start - 1)
    return found, int(np.count_nonzero(found))


ROWS = 64
"""Rows that are looked at together, so that they stay in the processor's cache."""


def through_one_record(matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
    """min(d(i, j), min over k of d(i, k) + d(k, j)) for rows i in ``start``..``stop - 1`` and columns j < ``stop``.

    The matrix is symmetric with a zero diagonal. Each sum is one float64 addition, exact for integers below 2⁵².
    """
    return fastest(len(matrix)).shortest_detours(np.ascontiguousarray(matrix, dtype=np.float64), start, stop)


def worst_detour(
    matrix: NDArray[np.float64],
    start: int,
    stop: int,
    coarse: HalfPrecisionMatrix | None = None,
    loops: Detours | None = None,
) -> tuple[float, tuple[int, int, int] | None, int]:
    """The triangle inequality over rows ``start``..``stop - 1`` of a symmetric matrix with zero diagonal.

    Returns: the largest relative excess 1 − (d(i, k) + d(k, j))/d(i, j), its first witness (i, k, j) or None, and the
    number of pairs j < i that some detour shortens. Each sum is one float64 addition, so sums of integers below 2⁵² are
    exact.
    Args: ``coarse``, its copy in fewer bits, spares most of the work and changes nothing else, as do ``loops``.
    """
    loops = loops or fastest(len(matrix))
    entries = np.ascontiguousarray(matrix, dtype=np.float64)
    suspected, found = (None, 0) if coarse is None else suspects(coarse, start, stop, loops)
    if suspected is None or found > WORTHWHILE * (stop - start) * stop:
        shortest = loops.shortest_detours(entries, start, stop)
        rows, columns = np.nonzero(np.tril(shortest < entries[start:stop, :stop], start - 1))
        detours = shortest[rows, columns]
        rows += start
    else:
        rows, columns = np.nonzero(suspected)
        rows += start
        detours = loops.detours_of_pairs(entries, rows, columns)
        shorter = detours < entries[rows, columns]
        rows, columns, detours = rows[shorter], columns[shorter], detours[shorter]
    return _worst_of(entries, rows, columns, detours)


def _worst_of(
    matrix: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64], detours: NDArray[np.float64]
) -> tuple[float, tuple[int, int, int] | None, int]:
    """The first of the worst of pairs that detours shorten."""
    if not rows.size:
        return 0.0, None, 0
    direct = matrix[rows, columns]
    endless = np.isinf(direct)
    excesses = np.where(endless, 1.0, direct - detours) / np.where(endless, 1.0, direct)
    worst = int(excesses.argmax())
    i, j = int(rows[worst]), int(columns[worst])
    with np.errstate(over="ignore"):
        k = int((matrix[i] + matrix[j]).argmin())
    return float(excesses[worst]), (i, k, j), rows.size


COMPILED_FROM = 2500
"""Smaller matrices are done in NumPy before the loops would be compiled, once after each installation."""
SLOWER = "numba would make this about four times as fast: pip install 'dxgeom[fast]'"


class Detours(Protocol):
    """What both have: min over k of matrix[i, k] + matrix[k, j], rows ``start``..``stop - 1``, columns below
    ``stop``."""

    def shortest_detours(self, matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
        """Not above matrix[i, j] itself."""

    def detours_of_pairs(
        self, matrix: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Of pairs; anything not below matrix[i, j] where that is shorter."""

    def shortest_coarse(self, entries: NDArray[np.uint16], start: int, stop: int) -> NDArray[np.uint16]:
        """Of entries below 2¹⁵."""


@final
class InNumPy:
    """The loops in NumPy: one middle record at a time for a tile of pairs."""

    @staticmethod
    def shortest_detours(matrix: NDArray[np.float64], start: int, stop: int) -> NDArray[np.float64]:
        """min over k of matrix[i, k] + matrix[k, j] and matrix[i, j] itself, for rows start..stop-1 and j < stop."""
        return _lowered(matrix[start:stop, :stop].copy(), matrix, start, stop)

    @staticmethod
    def detours_of_pairs(
        matrix: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """min over k of matrix[i, k] + matrix[k, j] for each pair."""
        shortest = np.empty(rows.size)
        pairs = max(1, _SUMS // len(matrix))
        for first in range(0, rows.size, pairs):
            some = slice(first, first + pairs)
            (matrix[rows[some]] + matrix[columns[some]]).min(axis=1, out=shortest[some])
        return shortest

    @staticmethod
    def shortest_coarse(entries: NDArray[np.uint16], start: int, stop: int) -> NDArray[np.uint16]:
        """min over k of entries[i, k] + entries[k, j] for rows start..stop-1 and j < stop."""
        return _lowered(np.full((stop - start, stop), 2**16 - 1, dtype=np.uint16), entries, start, stop)


def _lowered(shortest: NDArray[Any], matrix: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
    """The smaller of ``shortest`` (stop - start, stop) and min over k of matrix[i, k] + matrix[k, j]."""
    legs = np.ascontiguousarray(matrix[:, start:stop])[:, :, None]
    for left in range(0, stop, _COLUMNS):
        columns = slice(left, min(left + _COLUMNS, stop))
        tile = np.ascontiguousarray(shortest[:, columns])
        detours = np.empty_like(tile)
        with np.errstate(over="ignore"):
            for leg, row in zip(legs, matrix[:, columns], strict=True):
                np.minimum(tile, np.add(leg, row, out=detours), out=tile)
        shortest[:, columns] = tile
    return shortest


def fastest(size: int) -> Detours:
    """The loops to use for matrices of so many records."""
    return (_compiled() if size >= COMPILED_FROM else None) or InNumPy()


def slow_for_want_of_numba(size: int) -> bool:
    """Whether the loops for matrices of so many records would be faster with numba, which is not installed."""
    return size >= COMPILED_FROM and _compiled() is None


@cache
def _compiled() -> Detours | None:
    try:
        loops: Detours = optional_library("dxgeom.metrics.detours_compiled", "fast", "loops are compiled")
    except MissingExtra:
        return None
    return loops
