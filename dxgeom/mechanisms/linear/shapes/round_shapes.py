"""Shapes with closed forms that exist in any dimension: the ellipsoid of least trace, and the box."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.shapes.least_traces import least_trace_ellipsoid
from dxgeom.mechanisms.linear.shapes.round_spaces import RoundSpace
from dxgeom.mechanisms.linear.shapes.strategy_program import principal_axes
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise


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
