"""Gaussian noise with jumps, checked again: that it jumps along every difference, far and often enough.

Another route than the law's: differences are looked up by their own bytes, lengths are held against Σ⁻¹ and not against
the inverse of its root, and rates are computed in another form, in more bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from flint import arb, arb_mat, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.noise.jumps import GaussianWithJumps, rates_of_reaches

_PRECISION: Final = 256
_UNITS: Final = 16
_DOWNWARD: Final = 1 - 2.0**-50

Hidden = Callable[[arb_mat, NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]], int]


def audit_jumps(law: GaussianWithJumps, shifts: NDArray[np.int64], bounds: NDArray[np.float64], hidden: Hidden) -> int:
    """How many differences (E, m), each with its distance (E,), had to be looked at in balls.

    Args: ``hidden``: tells that wᵀΣ⁻¹w ≤ b² for all, and how many of them in balls.
    Raises: CertificateRefused for a difference that the law does not jump along, or not far or often enough.
    """
    steps = np.ascontiguousarray(law.shifts.steps(slice(None)))
    distances = law.shifts.distances
    _require_listed(steps, distances, np.ascontiguousarray(shifts), bounds)
    with ctx.workprec(_PRECISION):
        root = arb_mat(law.gaussian.body.axes.tolist())
        covariance = root * root.transpose()
        # x_eᵀΣ⁻¹x_e ≤ 1/s_e² says that the difference is hidden as if it were promised its distance over s_e.
        promised = distances / np.sqrt(law.reaches / _UNITS) * _DOWNWARD
        near = hidden(covariance, law.gaussian.second_moment, steps, promised)
        _require_rates(law.reaches)
    return near


def _require_listed(
    steps: NDArray[np.int64], distances: NDArray[np.float64], shifts: NDArray[np.int64], bounds: NDArray[np.float64]
) -> None:
    stated = {step.tobytes(): distance for step, distance in zip(steps, distances.tolist(), strict=True)}
    for shift, bound in zip(shifts, bounds.tolist(), strict=True):
        distance = stated.get(shift.tobytes(), stated.get((-shift).tobytes()))
        if distance is None or distance > bound:
            raise CertificateRefused("a difference is not among those that the noise jumps along at its distance")


def _require_rates(reaches: NDArray[np.int64]) -> None:
    total = 0
    for reach, many in zip(*(found.tolist() for found in np.unique(reaches, return_counts=True)), strict=True):
        length, rate = arb(fmpq(reach, _UNITS)), int(rates_of_reaches()[reach])
        least = (1 + 1 / length) / length * (-length / 2 - 1).exp() + 4 / length**2 * (-length / 2 - 2).exp()
        if reach < 2 * _UNITS or not arb(rate) >= 2 * least * arb(2) ** 64:
            raise CertificateRefused("some jump is not as frequent as its reach needs")
        total += rate * many
    if total >= 1 << 64:
        raise CertificateRefused("jumps would not end")
