"""Inverses of float64 matrices with a proved error bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from flint import arb_mat, ctx
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.numeric.rounding import UNIT_ROUNDOFF

_PRECISIONS = (128, 512, 2048)
_SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


class Enclosure(NamedTuple):
    """``middle`` and ``radius`` (p, m): the exact entries lie within ``radius`` of ``middle``."""

    middle: NDArray[np.float64]
    radius: NDArray[np.float64]

    def products(self, vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The exact matrix times each of the float64 ``vectors`` (E, m): values, and bounds on their errors.

        A float64 dot product of m terms, in whatever order, is off by less than (m + 1)·2⁻⁵³ of the sum of its terms'
        sizes; the second line's own rounding is covered by counting one term more. A term, of the product or of the
        bound, that leaves float64 at its lower end is off by less than the smallest normal number.
        """
        sizes = np.abs(self.middle) * ((self.middle.shape[1] + 3) * UNIT_ROUNDOFF) + self.radius * (1 + 2.0**-40)
        vanished = self.middle.shape[1] * 3 * _SMALLEST_NORMAL
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
    """The inverse of a square matrix, or the pseudo-inverse (p, m) of a wide one (m, p), its entries taken exactly.

    Definition: Rᵀ(RRᵀ)⁻¹, of all W with R·W = 1 that of least squares.
    Raises: CertificateRefused when the matrix cannot be told from one of smaller rank.
    """
    for precision in _PRECISIONS:
        with ctx.workprec(precision):
            try:
                entries = _inverse(arb_mat(matrix.tolist())).tolist()
            except ZeroDivisionError:
                continue
        middle = np.array([[float(entry.mid()) for entry in row] for row in entries])
        radius = np.array([[float(entry.rad()) for entry in row] for row in entries])
        # The middle's own conversion to float64 is off by half a unit in the last place, the radius' as well.
        radius = radius * (1 + 2.0**-40) + np.abs(middle) * 2 * UNIT_ROUNDOFF + _SMALLEST_NORMAL
        if np.all(np.isfinite(middle)) and np.all(radius <= np.abs(middle).max() * 2.0**-40):
            return Enclosure(middle, radius)
    raise CertificateRefused("a matrix is too near to a singular one for its inverse to be proved")


def _inverse(matrix: arb_mat) -> arb_mat:
    if matrix.nrows() == matrix.ncols():
        return matrix.inv()
    turned = matrix.transpose()
    return turned * (matrix * turned).inv()
