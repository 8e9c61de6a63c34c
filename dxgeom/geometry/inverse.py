"""Inverses of float64 matrices with a proved error bound, and their products with whole numbers, added up exactly."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from flint import arb_mat, ctx
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
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


_PRECISIONS = (128, 512, 2048)
_LARGE = 128
"""From so many rows on elimination in balls takes long, and many digits."""
_CORRECTIONS = 3
_NEAR, _NOTHING = 0.1, 1e-100
_UPWARD = 1 + 2.0**-30
"""More than what sums and products of a few thousand terms round."""
_SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


class Enclosure(NamedTuple):
    """``middle`` and ``radius`` (p, m): the exact entries lie within ``radius`` of ``middle``."""

    middle: NDArray[np.float64]
    radius: NDArray[np.float64]

    def products(self, vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The exact matrix times each of the float64 ``vectors`` (E, m): values, and bounds on their errors.

        A float64 dot product of m terms, in whatever order, is off by less than (m + 1)·2⁻⁵³ of the sum of its terms'
        sizes; the second line's own rounding is covered by counting one term more. A term, of the product or of the
        bound, that leaves float64 at its lower end is off by less than the smallest normal number. In many dimensions
        that is more than a covariance may lose, and products with whole numbers are added up without rounding.
        """
        vanished = self.middle.shape[1] * 3 * _SMALLEST_NORMAL
        exact = whole_products(self.middle, vectors) if len(self.middle) >= _LARGE else None
        if exact is not None:
            off = np.abs(vectors) @ self.radius.T
            return exact.values, (exact.errors + off * (1 + 2.0**-30)) * (1 + 2.0**-30) + vanished
        sizes = np.abs(self.middle) * ((self.middle.shape[1] + 3) * UNIT_ROUNDOFF) + self.radius * (1 + 2.0**-40)
        return vectors @ self.middle.T, (np.abs(vectors) @ sizes.T) * (1 + 2.0**-30) + vanished

    def images(
        self, points: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same of points (E, m) that are off by at most ``errors`` (E, m)."""
        values, slack = self.products(points)
        largest = np.abs(self.middle) + self.radius
        vanished = self.middle.shape[1] * 3 * _SMALLEST_NORMAL
        return values, slack + (errors @ largest.T) * (1 + 2.0**-30) + vanished


def inverse_enclosure(matrix: NDArray[np.float64]) -> Enclosure:
    """The inverse of a square matrix, or a right inverse (p, m) of a wide one (m, p), its entries taken exactly.

    Definition: W with R·W = 1; of a wide matrix below 128 rows Rᵀ(RRᵀ)⁻¹, that of least squares, and from there on one
    that differs from it by rounding.
    Raises: CertificateRefused when the matrix cannot be told from one of smaller rank.
    """
    found = corrected_inverse(matrix) if len(matrix) >= _LARGE else None
    if found is not None:
        return found
    for precision in _PRECISIONS:
        with ctx.workprec(precision):
            try:
                inverse = _inverse(arb_mat(matrix.tolist()))
            except ZeroDivisionError:
                continue
        found = _enclosed(inverse)
        if _is_sharp(found):
            return found
    raise CertificateRefused("a matrix is too near to a singular one for its inverse to be proved")


def corrected_inverse(matrix: NDArray[np.float64]) -> Enclosure | None:
    """W·(R·W)⁻¹, which is a right inverse of R whatever W is, for the W that float64 finds; None where that is too far
    from one.

    Definition: with F = R·W − 1 it is W − W·F + W·F²·(1 + F)⁻¹. The first two are computed in balls, and no entry of a
    row of the last is above ‖row of W‖₁·‖F‖²/(1 − ‖F‖), ‖F‖ < 1 the largest sum of a row's magnitudes.
    """
    try:
        nearly = np.linalg.pinv(matrix) if len(matrix) < matrix.shape[1] else np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    for _ in range(_CORRECTIONS):
        if not np.all(np.isfinite(nearly)):
            return None
        with ctx.workprec(_PRECISIONS[0]):
            there = arb_mat(nearly.tolist())
            off = arb_mat(matrix.tolist()) * there - arb_mat(np.eye(len(matrix)).tolist())
            first = _enclosed(there - there * off)
        far = _enclosed(off)
        distance = max(float((np.abs(far.middle) + far.radius).sum(axis=1).max()) * _UPWARD, _NOTHING)
        if not distance < _NEAR:
            return None
        rest = np.abs(nearly).sum(axis=1) * (distance**2 / (1 - distance)) * _UPWARD
        found = Enclosure(first.middle, (first.radius + rest[:, None] + _SMALLEST_NORMAL) * _UPWARD)
        if _is_sharp(found):
            return found
        nearly = first.middle
    return None


def _enclosed(entries: arb_mat) -> Enclosure:
    rows = entries.tolist()
    middle = np.array([[float(entry.mid()) for entry in row] for row in rows])
    radius = np.array([[float(entry.rad()) for entry in row] for row in rows])
    # The middle's own conversion to float64 is off by half a unit in the last place, the radius' as well.
    return Enclosure(middle, radius * (1 + 2.0**-40) + np.abs(middle) * 2 * UNIT_ROUNDOFF + _SMALLEST_NORMAL)


def _is_sharp(found: Enclosure) -> bool:
    middle, radius = found
    return bool(np.all(np.isfinite(middle)) and np.all(radius <= np.abs(middle).max() * 2.0**-40))


def _inverse(matrix: arb_mat) -> arb_mat:
    if matrix.nrows() == matrix.ncols():
        return matrix.inv()
    turned = matrix.transpose()
    return turned * (matrix * turned).inv()
