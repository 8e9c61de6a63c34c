"""Simple bodies around a body, whose noise is drawn without rejection; that they contain it is left to be proved."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, DxgeomError, NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.noise.laws.box import BoxNoise
from dxgeom.noise.laws.ellipsoid import EllipsoidNoise
from dxgeom.noise.laws.laplace import LaplaceNoise
from dxgeom.noise.laws.rejection import RejectionNoise

Envelope: TypeAlias = BoxNoise | LaplaceNoise | EllipsoidNoise

MOST_SIGNS = 12
"""Dimensions up to which the 2^m facets of a cross-polytope are looked at."""
_OUTWARD = 1 + 2.0**-40
_ROUNDS = 200
_REFUSALS = (UnsupportedCombination, TooLarge, CertificateRefused, NotANormBall)


def tightest_rejection(inner: ConvexBody) -> RejectionNoise:
    """Noise of a body drawn from that of the smallest, by volume, of the bodies below that is proved to contain it.

    Raises: what the smallest is refused for, when all are; UnsupportedCombination when there is none.
    """
    envelopes: list[Envelope] = []
    refusals: list[DxgeomError] = []
    for enclosing in (box_around, cross_polytope_around, ellipsoid_around):
        try:
            envelopes.append(enclosing(inner))
        except _REFUSALS as error:
            refusals.append(error)
    with np.errstate(over="ignore"):  # what overflows is refused as an envelope
        envelopes.sort(key=lambda envelope: envelope.body.volume)
    for place, envelope in enumerate(envelopes):
        try:
            return RejectionNoise(inner, envelope)
        except _REFUSALS as error:
            refusals.insert(place, error)
    raise refusals[0]


def box_around(inner: ConvexBody) -> BoxNoise:
    """The noise of the smallest box along the axes, *rounded up*."""
    return BoxNoise(Box(_extents(inner) * _OUTWARD))


def cross_polytope_around(inner: ConvexBody) -> LaplaceNoise:
    """The noise of a cross-polytope along the axes, nearly the one of least volume where the corners are known.

    Least volume: maximise Σ log w_k subject to Σ_k w_k|v_k| ≤ 1 at every corner. With 1/w = Σ_v λ_v |v| and Σ λ = m,
    multiplying each λ_v by its corner's load is the ascent of the dual. Any w is stretched until it is feasible.
    Raises: TooLarge for round bodies beyond :data:`MOST_SIGNS` dimensions.
    """
    points = _float_corners(inner)
    if points is not None:
        sizes = np.abs(points)
        weights = np.full(len(points), points.shape[1] / len(points))
        for _ in range(_ROUNDS):
            rates = 1 / (weights @ sizes)
            weights = weights * (sizes @ rates)
        return LaplaceNoise((sizes @ rates).max() / rates * _OUTWARD)
    if inner.dimension > MOST_SIGNS:
        raise TooLarge(f"the facets of a cross-polytope are looked at in up to {MOST_SIGNS} dimensions")
    rates = 1 / _extents(inner)
    signs = 1 - 2 * (np.arange(2**inner.dimension)[:, None] >> np.arange(inner.dimension) & 1)
    return LaplaceNoise(inner.support_upper_bounds(signs * rates).max() / rates * _OUTWARD)


def ellipsoid_around(inner: ConvexBody) -> EllipsoidNoise:
    """The noise of an ellipsoid of nearly least volume around the corners; it has at most m^(m/2) times the body's.

    With M = Σ λ_v v vᵀ, multiplying each λ_v by vᵀM⁻¹v/m converges to the ellipsoid of least volume.
    Raises: UnsupportedCombination for a body without corners. Source: Titterington 1976.
    """
    points = _float_corners(inner)
    if points is None:
        raise UnsupportedCombination(
            f"a {type(inner).__name__} with round parts has no corners to put an ellipsoid around"
        )
    units = np.abs(points).max(axis=0)
    points = points / units
    weights = np.full(len(points), 1 / len(points))
    for _ in range(_ROUNDS):
        moment = (points * weights[:, None]).T @ points
        lengths = np.einsum("vi,vi->v", points, np.linalg.solve(moment, points.T).T)
        weights = weights * lengths / points.shape[1]
    axes = np.linalg.cholesky(moment) * (np.sqrt(lengths.max()) * (1 + 2.0**-20))
    return EllipsoidNoise(Ellipsoid(axes * units[:, None]))


def _extents(body: ConvexBody) -> NDArray[np.float64]:
    """(m,): how far the body reaches along each axis, *rounded up*."""
    return body.support_upper_bounds(np.eye(body.dimension))


def _float_corners(body: ConvexBody) -> NDArray[np.float64] | None:
    corners = body.exact_corners()
    return None if corners is None else np.array([[float(arb(x)) for x in corner] for corner in corners])
