"""tr A^{1/2} from below, of a positive semidefinite matrix: proved from products of matrices alone.

For any Q (n, r) and any d > 0 (r,) take Y = Q·diag(d)·Qᵀ. With A = V·Vᵀ and Z = Y·V, ‖Z‖² = ‖Y·A·Y‖, so the sum of V's
singular values, which is tr A^{1/2}, is at least tr(Zᵀ·V)/‖Z‖ = tr(Y·A)/‖Y·A·Y‖^{1/2}. With B = Qᵀ·A·Q the trace is
Σ d_j·B_jj, and ‖Y·A·Y‖ is at most ‖Qᵀ·Q‖·‖diag(d)·B·diag(d)‖. Nothing is asked of Q and d; those of A's eigenvectors
make it nearly equal.

Every product of matrices is a ball: what float64 says, and by how much its entries can be off, in whatever order it
adds up (Higham 2002, (3.13)).
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

UNIT: Final = 2.0**-53
_TINY: Final = 2.0**-960
"""More than all that underflow can take from a sum, where the largest entry is about 1."""
_ROUNDED: Final = 1 + 2.0**-36
"""Covers what sums and quotients of fewer than 2¹⁵ positive numbers in float64 are off by."""
LARGEST: Final = 1 << 15


@final
class MatrixBall(NamedTuple):
    """Symmetric matrices ``middle`` + E (n, n) with ‖E‖_F ≤ ``radius``."""

    middle: Floats
    radius: float


def products_off_by(length: int) -> float:
    """What a sum of so many products in float64 is off by, over the sum of their sizes; *rounded up*."""
    return (length + 2) * UNIT / (1 - (length + 2) * UNIT)


def root_trace_below(ball: MatrixBall) -> float:
    """What tr A^{1/2} is not below, for every positive semidefinite A in the ball; *rounded down*.

    Work: some twenty products of matrices of that size. 0 for a matrix of more than 2¹⁵ rows, or without a bound.
    """
    size = len(ball.middle)
    largest = float(np.abs(ball.middle).max(initial=0.0))
    if not 0 < largest < np.inf or size > LARGEST or not np.isfinite(ball.radius):
        return 0.0
    # A power of four, whose root is exact too.
    power = 2 * round(np.log2(largest) / 2)
    matrix, radius = np.ldexp(ball.middle, -power), float(np.ldexp(ball.radius, -power)) + _TINY
    values, turned = np.linalg.eigh(matrix)
    values, turned = values[::-1], np.ascontiguousarray(turned[:, ::-1])
    return float(np.ldexp(_proved(matrix, radius, values, turned), power // 2))


def _proved(matrix: Floats, radius: float, values: Floats, turned: Floats) -> float:
    """Of as many directions as make the most of it."""
    size = len(matrix)
    longest = float(np.sum(turned * turned, axis=0).max()) * _ROUNDED
    frobenius = float(np.sqrt(np.sum(matrix * matrix))) * _ROUNDED
    # Entries of QᵀAQ: of |q|ᵀ|A||q| ≤ ‖q‖²·‖A‖_F twice as many sums as rows, and A's own radius.
    off = ((1 + products_off_by(size)) ** 2 - 1) * longest * frobenius + radius * longest + _TINY
    off *= _ROUNDED
    kept = int(np.count_nonzero(values > UNIT * UNIT))
    if not kept or not np.isfinite(off):
        return 0.0
    gains = np.cumsum(np.sqrt(values[:kept])) / np.sqrt(1 + off * np.cumsum(1 / values[:kept]))
    kept = int(gains.argmax()) + 1
    own, scales = turned[:, :kept], 1 / np.sqrt(values[:kept])
    middle = own.T @ (matrix @ own)
    if not float(np.diag(middle).min()) > 0:
        return 0.0
    trace = float(scales @ np.diag(middle)) / _ROUNDED - float(scales.sum()) * off * _ROUNDED
    near = (middle * scales[:, None]) * scales - np.eye(kept)
    # Scaling and taking the unit off are three roundings each, of numbers next to 1 or 0.
    rounded = (1 + float(np.sqrt(np.sum(near * near)))) * 8 * UNIT * kept
    stretched = 1 + float(np.sqrt(np.sum(near * near))) * _ROUNDED + rounded
    stretched += off * float(np.sum(scales * scales)) * _ROUNDED
    square = own.T @ own - np.eye(kept)
    apart = float(np.sqrt(np.sum(square * square))) * _ROUNDED + (products_off_by(size) + 2 * UNIT) * longest * kept
    bound = trace / (float(np.sqrt(stretched * (1 + apart))) * _ROUNDED)
    return max(0.0, bound / _ROUNDED) if np.isfinite(bound) else 0.0
