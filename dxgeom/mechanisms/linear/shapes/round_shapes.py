"""Shapes with closed forms that exist in any dimension: the ellipsoid of least trace, and the box."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.geometry.bodies.round_bodies import Box, Ellipsoid
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.shapes.round_spaces import RoundSpace
from dxgeom.mechanisms.linear.shapes.strategy_program import principal_axes
from dxgeom.noise.laws.box import BoxNoise
from dxgeom.noise.laws.ellipsoid import EllipsoidNoise

_ROUNDS = 2000
_WORK = 2e10
"""Multiplications to spend at most, the same on every machine."""
_CLOSE = 1e-4
"""Relative distance from the optimum at which to stop; the mean squared error of the noise is that much too large."""

_Ellipsoid: TypeAlias = tuple[float, float, NDArray[np.float64], NDArray[np.float64]]


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


def least_trace_ellipsoid(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """A positive definite M (m, m) with pᵀM⁻¹p ≤ 1 for all points, up to rounding, and tr M nearly least.

    Weights μ_e on the points, with C = Σ μ_e p pᵀ, give M = tr(C^½)·C^½; raising the weights of points outside and
    lowering those inside, in proportion to pᵀM⁻¹p, converges to the optimum, where none is outside.
    For every μ, tr(C^½)² is a lower bound of the least trace, which tells when to stop.

    Args: ``points`` (E, m), of rank m.
    """
    size = points.shape[1]
    rounds = int(min(_ROUNDS, max(20, _WORK / (2 * len(points) * size * size))))
    best, least = np.eye(size), np.inf
    for bound, furthest, roots, axes in _ellipsoids(points, rounds):
        if bound * furthest < least:
            best, least = (axes * (roots * (roots.sum() * furthest))) @ axes.T, bound * furthest
        if furthest <= 1 + _CLOSE:
            break
    return best


def trace_bound(points: NDArray[np.float64], rounds: int) -> float:
    """What the trace of no such M is below, up to the rounding of float64; higher after more rounds."""
    return max(bound for bound, _, _, _ in _ellipsoids(points, rounds))


def _ellipsoids(points: NDArray[np.float64], rounds: int) -> Iterator[_Ellipsoid]:
    """Round by round: tr(C^½)², the largest pᵀM⁻¹p, and the roots and axes of C."""
    weights = np.full(len(points), 1 / len(points))
    for _ in range(rounds):
        values, axes = np.linalg.eigh((points * weights[:, None]).T @ points)
        roots = np.sqrt(np.maximum(values, values[-1] * 1e-300))
        places = points @ (axes / np.sqrt(roots * roots.sum()))
        gauges = np.einsum("ek,ek->e", places, places)
        yield float(roots.sum()) ** 2, float(gauges.max()), roots, axes
        weights = weights * gauges
        weights /= weights.sum()
