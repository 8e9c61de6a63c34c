"""Products of whole numbers with a float64 matrix whose sums are exact: the matrix is cut into slices of few digits."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.rounding import UNIT_ROUNDOFF

_MOST_SLICES: Final = 8
_LEAST_DIGITS: Final = 6
_SMALLEST: Final = 2.0**-900
"""Entries of a matrix are told apart from nothing down to this, so that no slice leaves float64's normal numbers."""


class Products(NamedTuple):
    """``values`` (E, p) and bounds on how far each is off, ``errors`` (E, p)."""

    values: NDArray[np.float64]
    errors: NDArray[np.float64]


def whole_products(matrix: NDArray[np.float64], vectors: NDArray[np.float64]) -> Products | None:
    """The exact matrix (p, m) times each of the ``vectors`` (E, m), with error bounds of a few units in the last place
    of the values, and not of the sum of all terms' sizes; None for vectors of other than whole numbers, or of too many
    digits.

    A slice has so few digits that all of its products with a vector are multiples of one unit, below 2⁵³ of these when
    added up: whatever order they are added in, nothing is rounded. Source: Ozaki, Ogita, Oishi & Rump 2012.
    """
    largest = float(np.abs(vectors).max(initial=0.0))
    size = math.ceil(math.log2(max(1, matrix.shape[1]))) + math.ceil(math.log2(largest + 1)) if largest < 2**52 else 53
    digits = 52 - size
    if digits < _LEAST_DIGITS or not np.all(vectors == np.floor(vectors)):
        return None
    rest, unit = matrix, _units_above(matrix)
    values = np.zeros((len(vectors), len(matrix)))
    sizes = np.zeros_like(values)
    for _ in range(_MOST_SLICES):
        unit = unit * 2.0**-digits
        slice_ = np.rint(rest / unit) * unit
        rest = rest - slice_
        part = vectors @ slice_.T
        values, sizes = values + part, sizes + np.abs(part)
        if not rest.any() or float(unit.min()) < _SMALLEST:
            break
    # As many additions as slices, each off by half a unit in the last place of what is at most the sum of sizes.
    rounding = sizes * ((_MOST_SLICES + 2) * UNIT_ROUNDOFF)
    left = np.abs(vectors) @ np.abs(rest).T * (1 + 2.0**-30) if rest.any() else 0.0
    return Products(values, rounding + left)


def _units_above(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """(p, 1): for each row twice a power of two that no entry is above; 1 where all are next to nothing."""
    tops = np.abs(matrix).max(axis=1, initial=0.0)
    return np.asarray(2.0 ** (np.floor(np.log2(np.where(tops > _SMALLEST, tops, 0.25))) + 2)[:, None])
