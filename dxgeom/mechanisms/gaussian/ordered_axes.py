"""The same normal noise through a triangular matrix: numbers that come later have fresh noise, whatever came before.

Any factor of a covariance draws the same law, and one that is triangular in the order of release draws each number from
what is fresh and what was drawn before. It is worked out in balls, and each entry rounded once, so that it is the same
on every machine; a little wider, so that the proof holds of the very matrix that is drawn with.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.noise.gaussian import GaussianNoise

MOST: Final = 512
"""Coordinates of more are not put in order: it takes the cube of their number."""
_WIDER: Final = 1 + 2.0**-30
_PRECISIONS: Final = (256, 512, 1024)
_TOLD: Final = 2.0**-100


def in_order(mechanism: AdditiveMechanism, law: GaussianNoise, order: NDArray[np.int64]) -> AdditiveMechanism:
    """The mechanism with axes that are lower triangular once rows and columns stand in this order (m,).

    Guarantee: that its noise hides every difference is proved anew, of the matrix returned; its standard deviations are
    those of before times 1 + 2⁻³⁰, up to the rounding of each entry.
    Raises: TooLarge for more than 512 coordinates; CertificateRefused where the proof fails.
    """
    size = len(order)
    if size > MOST:
        raise TooLarge(f"noise in {size:,} coordinates is not put into the order of release; in {MOST} it is")
    factor = _triangular(law.body.axes[order])
    axes = np.zeros((size, size))
    axes[np.ix_(order, order)] = factor * _WIDER
    return replace(mechanism, law=GaussianNoise(Ellipsoid(axes)))


def _triangular(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """L lower triangular with L·Lᵀ = axes·axesᵀ, each entry rounded to the nearest float64."""
    for precision in _PRECISIONS:
        with ctx.workprec(precision):
            exact = arb_mat(axes.tolist())
            found = _cholesky((exact * exact.transpose()).tolist())
            if found is not None:
                return found
    raise CertificateRefused("this covariance is too badly scaled to be drawn in the order of release")


def _cholesky(covariance: list[list[Any]]) -> NDArray[np.float64] | None:
    """None where the balls are too wide to tell it."""
    rows: list[list[arb]] = []
    found = np.zeros((len(covariance), len(covariance)))
    for place, entries in enumerate(covariance):
        row: list[arb] = []
        for column in range(place + 1):
            before = rows[column] if column < place else row
            left = entries[column] - sum((one * other for one, other in zip(row, before, strict=False)), arb(0))
            entry = left.sqrt() if column == place else left / rows[column][column]
            row.append(entry)
        diagonal = row[-1]
        if not (diagonal.is_finite() and diagonal > 0 and all(one.rad() < diagonal * _TOLD for one in row)):
            return None
        rows.append(row)
        found[place, : place + 1] = [_nearest(one) for one in row]
    return found


def _nearest(value: arb) -> float:
    above, power = map(int, value.mid().man_exp())
    return float(Fraction(above) * Fraction(2) ** power)
