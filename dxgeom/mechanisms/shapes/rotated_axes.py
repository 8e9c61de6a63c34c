"""Laplace noise in a better basis: as cheap as independent noise, and often a hundredth of its error.

Shapes with closed forms that exist in any dimension: the ellipsoid of least trace, and the box.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.reciprocal_program import minimise_reciprocal_squares
from dxgeom.mechanisms.shapes.round_spaces import RoundSpace, least_trace_ellipsoid
from dxgeom.mechanisms.shapes.strategy import refined
from dxgeom.mechanisms.shapes.strategy_program import (
    WORK,
    improved_strategy,
    longest_first,
    principal_axes,
    spread_of,
)
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise


def ellipsoid_mechanism(space: RoundSpace) -> AdditiveMechanism:
    """K-norm noise of the ellipsoid of least trace around all differences over their bounds.

    Definition: minimise tr M subject to x_eᵀM⁻¹x_e ≤ 1; total weighted squared error (m + 1)·tr M.
    Guarantee: every generating difference is inside, with all rounding errors counted against it; the trace is within a
    relative 1e-4 of the least.
    Raises: CertificateRefused when float64 cannot show it.
    """
    values, axes = np.linalg.eigh(least_trace_ellipsoid(space.points))
    ball = EllipsoidNoise(Ellipsoid(np.eye(space.dimension)))
    return space.mechanism("ellipsoid", ball, axes * np.sqrt(np.maximum(values, values[-1] * 1e-14)))


def box_mechanism(space: RoundSpace) -> AdditiveMechanism:
    """ℓ∞ noise: the smallest box around all differences over their bounds, along the queries or the principal axes.

    Guarantee: every generating difference is inside, with all rounding errors counted against it.
    Raises: CertificateRefused when float64 cannot show it.
    Source: Awan & Slavković 2020, Prop. 4.13.
    """
    cube = BoxNoise(Box(np.ones(space.dimension)))
    return space.mechanism("box", cube, box_image(space))


def box_image(space: RoundSpace) -> NDArray[np.float64]:
    """The matrix (m, m) that makes the cube [−1, 1]ᵐ that box, in round coordinates."""
    bases = [principal_axes(space.points)]
    if space.query_basis is not None:
        bases.append(space.query_basis)
    images = [basis.T * np.abs(space.points @ basis.T).max(axis=0) for basis in bases]
    return min(images, key=lambda image: float(np.sum(image**2)))


def box_moment(dimension: int) -> float:
    """The mean square of each coordinate of the noise of the cube [−1, 1]ᵐ."""
    return (dimension + 1) * (dimension + 2) / 3


@final
@dataclass(frozen=True)
class Effort:
    """How much to spend on improving a strategy: ``work`` multiplications, about, in at most ``steps`` at a time, and
    at most so many ``rounds`` over all differences; ``shifts``: how often attention goes to the answers that are worst.
    """

    work: float
    steps: int
    rounds: int
    shifts: int


THOROUGH: Final = Effort(WORK, 200, 8, 5)
QUICK: Final = Effort(WORK / 30, 50, 1, 3)
"""Where somebody is in a hurry: mostly within a tenth of what a thorough search finds, for a tenth of its time."""
QUICK_EFFORT: Final = Effort(WORK / 100, 20, 0, 0)
"""To see of which order the error of a longer search would be."""


def rotated_laplace(space: RoundSpace, strategy: NDArray[np.float64]) -> AdditiveMechanism:
    """Independent Laplace noise on m combinations of the queries, from which the answers follow.

    Definition: noise B⁻¹V with V_r ~ Lap(1), ‖BΔ_e‖₁ ≤ b_e on all generating pairs, and ‖B⁻¹‖ small. Bases tried: the
    queries themselves, the longest differences one after another, the principal axes; each with optimal scales, and
    the best then improved as a whole. This is the matrix mechanism with as many strategies as dimensions.

    Args: ``strategy`` B in round coordinates, from :func:`best_strategy`.
    Guarantee: every generating difference is hidden, with all rounding errors counted against it; the error is exact,
    the basis a local optimum only.
    Raises: CertificateRefused when float64 cannot show it.
    """
    return space.mechanism(
        "rotated-laplace", LaplaceNoise(np.ones(space.dimension)), np.asarray(np.linalg.inv(strategy))
    )


def best_strategy(space: RoundSpace, effort: Effort = THOROUGH) -> NDArray[np.float64]:
    """The matrix B (m, m) in round coordinates with ‖B x_e‖₁ ≤ 1 for the points x_e, up to rounding."""
    best = improved_strategy(space.points, best_start(space), effort.work, effort.steps)
    again = _optimally_scaled(space.points, best)
    return refined(
        space, min([best, *([] if again is None else [again])], key=spread_of), effort.work / 10, effort.rounds
    )


def best_start(space: RoundSpace) -> NDArray[np.float64]:
    """The best of the bases that the search begins from, each with optimal scales, (m, m)."""
    starts = [longest_first(space.points), principal_axes(space.points)]
    if space.query_basis is not None:
        starts.insert(0, space.query_basis)
    scaled = [found for start in starts if (found := _optimally_scaled(space.points, start)) is not None]
    if not scaled:
        raise CertificateRefused("no basis of this workload has optimal scales within float64")
    return min(scaled, key=spread_of)


def _optimally_scaled(points: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """diag(w)·basis with the w of least error; None where float64 does not suffice to find it."""
    lengths = np.sum(np.linalg.inv(basis) ** 2, axis=0)
    try:
        rates = minimise_reciprocal_squares(np.abs(points @ basis.T), lengths / lengths.max()).rates
    except CertificateRefused:
        return None
    return np.asarray(rates[:, None] * basis)
