"""Simple bodies around a body, each proved to contain it, whose noise is drawn without rejection."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.polytope import SymmetricPolytope
from dxgeom.geometry.round_bodies import Box, CrossPolytope, Ellipsoid
from dxgeom.noise.box import BoxNoise
from dxgeom.noise.ellipsoid import EllipsoidNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.laplace import LaplaceNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.row_norm import RowNorm, gauge_of, power_norm_of_balls, rational, row_product

MOST_SIGNS = 12
"""Dimensions up to which all 2^m corners of a box, or facets of a cross-polytope, are looked at."""
_PRECISION = 128
_OUTWARD = 1 + 2.0**-40
_ROUNDS = 200


def body_of(law: NoiseLaw) -> ConvexBody:
    """The norm ball of an envelope's noise. Raises: UnsupportedCombination for a law that is no envelope."""
    match law:
        case LaplaceNoise(scales=scales):
            return CrossPolytope(scales)
        case BoxNoise(body=body) | EllipsoidNoise(body=body) | FacetConeNoise(body=body):
            return body
    raise UnsupportedCombination(f"an envelope is a box, cross-polytope, ellipsoid or hull, found {type(law).__name__}")


def tightest_envelope(inner: ConvexBody) -> NoiseLaw:
    """The noise of the smallest, by volume, of the bodies around ``inner`` below that can be proved to contain it.

    Raises: UnsupportedCombination when none can.
    """
    found: list[NoiseLaw] = []
    for enclosing in (box_around, cross_polytope_around, ellipsoid_around):
        try:
            law = enclosing(inner)
            check_contains(body_of(law), inner)
        except (UnsupportedCombination, TooLarge, CertificateRefused, NotANormBall):
            continue
        found.append(law)
    if not found:
        raise UnsupportedCombination(f"no envelope can be proved to contain a {type(inner).__name__}")
    return min(found, key=lambda law: body_of(law).volume)


def box_around(inner: ConvexBody) -> BoxNoise:
    """The noise of the smallest box along the axes, *rounded up*."""
    return BoxNoise(Box(_reach(inner) * _OUTWARD))


def cross_polytope_around(inner: ConvexBody) -> LaplaceNoise:
    """The noise of a cross-polytope along the axes, nearly the one of least volume where the corners are known.

    Least volume: maximise Σ log w_k subject to Σ_k w_k|v_k| ≤ 1 at every corner. With 1/w = Σ_v λ_v |v| and Σ λ = m,
    multiplying each λ_v by its corner's load is the ascent of the dual. Any w is stretched until it is feasible.
    """
    rates = 1 / _reach(inner)
    points = _float_corners(inner)
    if points is not None:
        sizes = np.abs(points)
        weights = np.full(len(points), points.shape[1] / len(points))
        for _ in range(_ROUNDS):
            rates = 1 / (weights @ sizes)
            weights = weights * (sizes @ rates)
        return LaplaceNoise((sizes @ rates).max() / rates * _OUTWARD)
    with ctx.workprec(_PRECISION):
        loads = [_upper(support_bound(inner, direction)) for direction in _signed(rates)]
    return LaplaceNoise(max(loads) / rates * _OUTWARD)


def ellipsoid_around(inner: ConvexBody) -> EllipsoidNoise:
    """The noise of an ellipsoid of nearly least volume around the corners; it has at most m^(m/2) times the body's.

    With M = Σ λ_v v vᵀ, multiplying each λ_v by vᵀM⁻¹v/m converges to the ellipsoid of least volume.
    Raises: UnsupportedCombination for a body whose corners are not known. Source: Titterington 1976.
    """
    points = _float_corners(inner)
    if points is None:
        raise UnsupportedCombination(f"the corners of a {type(inner).__name__} are not known")
    size = points.shape[1]
    units = np.abs(points).max(axis=0)
    points = points / units
    weights = np.full(len(points), 1 / len(points))
    for _ in range(_ROUNDS):
        moment = (points * weights[:, None]).T @ points
        lengths = np.einsum("vi,vi->v", points, np.linalg.solve(moment, points.T).T)
        weights = weights * lengths / size
    axes = np.linalg.cholesky(moment) * (np.sqrt(lengths.max()) * (1 + 2.0**-20))
    return EllipsoidNoise(Ellipsoid(axes * units[:, None]))


def check_contains(outer: ConvexBody, inner: ConvexBody) -> None:
    """Prove that ``outer`` contains ``inner``, in rationals or ball arithmetic.

    A gauge that is a largest or a sum of |linear forms| is at most 1 on the body iff the support function of each form,
    or of each signed sum of forms, is; any gauge is iff it is at every corner.
    Raises: CertificateRefused when it does not hold or cannot be decided; UnsupportedCombination or TooLarge when there
    is no way to tell.
    """
    gauge = gauge_of(outer)
    with ctx.workprec(_PRECISION):
        corners = exact_corners(inner)
        if corners is not None:
            values = (_gauge_at(gauge, corner) for corner in corners)
        else:
            values = (support_bound(inner, direction) for direction in _facets(gauge))
        if not all(bool(value <= 1) for value in values):
            raise CertificateRefused("the envelope does not provably contain the body it is drawn for")


def exact_corners(body: ConvexBody) -> list[list[fmpq]] | None:
    """Points whose hull, with their opposites, is the body; None where there are none or too many."""
    match body:
        case SymmetricPolytope():
            scales = [rational(unit) * rational(body.inflation) for unit in body.units.tolist()]
            return [[int(x) * s for x, s in zip(row, scales, strict=True)] for row in body.fan.vertices.tolist()]
        case CrossPolytope(radii=radii):
            size = len(radii)
            return [[rational(r) if k == j else fmpq(0) for j in range(size)] for k, r in enumerate(radii.tolist())]
        case Box(half_widths=widths) if len(widths) <= MOST_SIGNS:
            return _signed(widths)
    return None


def support_bound(body: ConvexBody, direction: Sequence[fmpq]) -> fmpq | arb:
    """max over v ∈ K of direction·v, exactly or as a ball that contains it. Raises: UnsupportedCombination."""
    match body:
        case Box(half_widths=lengths):
            return sum((abs(u) * rational(w) for u, w in zip(direction, lengths.tolist(), strict=True)), fmpq(0))
        case Ellipsoid(axes=axes):
            along = [[arb(rational(a)) for a in column] for column in axes.T.tolist()]
            return power_norm_of_balls([row_product([arb(u) for u in direction], column) for column in along], 2)
    corners = exact_corners(body)
    if corners is None:
        raise UnsupportedCombination(f"no support function with a proved error is known for {type(body).__name__}")
    return max(abs(sum((u * x for u, x in zip(direction, corner, strict=True)), fmpq(0))) for corner in corners)


def _gauge_at(gauge: RowNorm, point: Sequence[fmpq]) -> fmpq | arb:
    heights = [abs(sum((a * x for a, x in zip(row, point, strict=True)), fmpq(0))) for row in gauge.rows.tolist()]
    if math.isinf(gauge.exponent):
        return max(heights)
    if gauge.exponent == 1:
        return sum(heights, fmpq(0))
    return power_norm_of_balls([arb(height) for height in heights], gauge.exponent)


def _facets(gauge: RowNorm) -> list[list[fmpq]]:
    """Directions u with: the gauge is at most 1 at v iff every |u·v| is."""
    rows = gauge.rows.tolist()
    if math.isinf(gauge.exponent):
        return rows
    if gauge.exponent != 1:
        raise UnsupportedCombination("a round body is proved to contain only bodies whose corners are known")
    signs = _signed(np.ones(len(rows)))
    return [
        [sum((s * row[k] for s, row in zip(sign, rows, strict=True)), fmpq(0)) for k in range(len(rows[0]))]
        for sign in signs
    ]


def _signed(lengths: NDArray[np.float64]) -> list[list[fmpq]]:
    """(±lengths[0], ±lengths[1], …), one of each opposite pair. Raises: TooLarge beyond :data:`MOST_SIGNS`."""
    if len(lengths) > MOST_SIGNS:
        raise TooLarge(f"all sign patterns are looked at in up to {MOST_SIGNS} dimensions, found {len(lengths)}")
    first, *others = [rational(length) for length in lengths.tolist()]
    return [
        [first, *(s * x for s, x in zip(signs, others, strict=True))] for signs in product((1, -1), repeat=len(others))
    ]


def _reach(body: ConvexBody) -> NDArray[np.float64]:
    """(m,): how far the body reaches along each axis, in float64 and hardly too short."""
    with ctx.workprec(_PRECISION):
        axes = [[fmpq(int(k == j)) for j in range(body.dimension)] for k in range(body.dimension)]
        return np.array([_upper(support_bound(body, axis)) for axis in axes])


def _upper(value: fmpq | arb) -> float:
    return float(arb(value).upper())


def _float_corners(body: ConvexBody) -> NDArray[np.float64] | None:
    corners = exact_corners(body)
    return None if corners is None else np.array([[float(arb(x)) for x in corner] for corner in corners])
