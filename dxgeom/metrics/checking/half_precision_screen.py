"""Which detours are worth a look: the triangle inequality on a copy of the matrix in 16-bit whole numbers.

A vector of the processor holds four times as many of them as of float64 numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.kernels.detours import Detours, fastest

_BITS: Final = 15
_LARGEST: Final = 2**_BITS - 1
_SMALL: Final = 128
_EXPONENTS: Final = 1000
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
