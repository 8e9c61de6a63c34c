"""Corners, facets and support values of bodies as exact rationals, where they have them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from flint import ctx, fmpq
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.geometry.bodies.composed_bodies import CartesianProduct, FreeSum, LinearImage, blocks_of
from dxgeom.geometry.bodies.exact_polytope import polytope_of_halfspaces
from dxgeom.geometry.bodies.halfspaces import HalfspacePolytope
from dxgeom.geometry.bodies.polytope import SymmetricPolytope
from dxgeom.geometry.bodies.power_ball import PowerBall
from dxgeom.geometry.bodies.round_bodies import Box, CrossPolytope, Ellipsoid
from dxgeom.numeric.blocks import block_slices
from dxgeom.numeric.exact_numbers import (
    ExactNumber,
    largest,
    power,
    rational,
    solve_rationally,
    total,
    value_rounded_up,
)

Rows: TypeAlias = list[list[fmpq]]
_PRECISION = 256
MOST_ROWS = 1 << 17
"""More corners or facets than this are not listed."""


def corners_of(body: ConvexBody) -> Rows | None:
    """Points whose hull is the body, or None for a round body.

    Guarantee: *exact*. Raises: TooLarge beyond :data:`MOST_ROWS`; CertificateRefused as :func:`polytope_of_halfspaces`.
    """
    match body:
        case Box(half_widths=lengths) | PowerBall(radii=lengths, exponent=math.inf):
            return _every_sign(_rationals(lengths))
        case CrossPolytope(radii=lengths) | PowerBall(radii=lengths, exponent=1):
            return _on_the_axes(_rationals(lengths))
        case SymmetricPolytope():
            units = [rational(unit) * rational(body.inflation) for unit in body.units.tolist()]
            return [[int(x) * unit for x, unit in zip(row, units, strict=True)] for row in body.fan.vertices.tolist()]
        case HalfspacePolytope():
            vertices = polytope_of_halfspaces(body.normals.tolist(), body.heights.tolist()).vertices
            return [[rational(x) for x in row] for row in vertices]
        case CartesianProduct(parts=parts):
            return _combined([corners_of(part) for part in parts])
        case FreeSum(parts=parts):
            return _side_by_side([corners_of(part) for part in parts], parts)
        case LinearImage(inner=inner, map=matrix):
            corners = corners_of(inner)
            return None if corners is None else [_image(matrix, corner) for corner in corners]
    return None


def facets_of(body: ConvexBody) -> Rows | None:
    """Normals a with K = {v: a·v ≤ 1 for all of them}, or None for a round body. Guarantee and Raises: as corners."""
    match body:
        case Box(half_widths=lengths) | PowerBall(radii=lengths, exponent=math.inf):
            return _on_the_axes([1 / length for length in _rationals(lengths)])
        case CrossPolytope(radii=lengths) | PowerBall(radii=lengths, exponent=1):
            return _every_sign([1 / length for length in _rationals(lengths)])
        case SymmetricPolytope():
            units = [rational(unit) * rational(body.inflation) for unit in body.units.tolist()]
            planes = zip(body.fan.normals.tolist(), body.fan.volumes.tolist(), strict=True)
            return [[fmpq(n, height) / unit for n, unit in zip(row, units, strict=True)] for row, height in planes]
        case HalfspacePolytope():
            rows = zip(body.normals.tolist(), body.heights.tolist(), strict=True)
            half = [[rational(a) / rational(height) for a in normal] for normal, height in rows]
            return half + [[-a for a in row] for row in half]
        case CartesianProduct(parts=parts):
            return _side_by_side([facets_of(part) for part in parts], parts)
        case FreeSum(parts=parts):
            return _combined([facets_of(part) for part in parts])
        case LinearImage(inner=inner, map=matrix):
            facets = facets_of(inner)
            return None if facets is None else [solve_rationally(matrix.T.tolist(), facet) for facet in facets]
    return None


def power_ball_form(body: ConvexBody) -> tuple[list[fmpq], float] | None:
    """Radii r and exponent p with K = {v: Σ (|v_k|/r_k)^p ≤ 1}, of the bodies that are balls of ℓp along the axes."""
    match body:
        case Box(half_widths=lengths):
            return _rationals(lengths), math.inf
        case CrossPolytope(radii=lengths):
            return _rationals(lengths), 1.0
        case PowerBall(radii=lengths, exponent=exponent):
            return _rationals(lengths), exponent
        case Ellipsoid(axes=axes) if np.array_equal(axes, np.diag(np.diag(axes))):
            return [abs(length) for length in _rationals(np.diag(axes))], 2.0
    return None


def support_exactly(body: ConvexBody, direction: Sequence[fmpq]) -> ExactNumber:
    """max over v ∈ K of direction·v: rational where it can be, else a ball at the precision in force."""
    form = power_ball_form(body)
    if form is not None:
        return _dual_norm([abs(x) * radius for x, radius in zip(direction, form[0], strict=True)], form[1])
    match body:
        case Ellipsoid(axes=axes):
            squares = (height**2 for height in _image(axes.T, direction))
            return power(sum(squares, fmpq(0)), Fraction(1, 2))
        case CartesianProduct(parts=parts):
            return total(_of_parts(parts, direction))
        case FreeSum(parts=parts):
            return largest(_of_parts(parts, direction))
        case LinearImage(inner=inner, map=matrix):
            return support_exactly(inner, _image(matrix.T, direction))
    corners = corners_of(body) or []
    return largest(sum((a * x for a, x in zip(direction, corner, strict=True)), fmpq(0)) for corner in corners)


def _dual_norm(sizes: list[fmpq], exponent: float) -> ExactNumber:
    """max of Σ sizes·u over ‖u‖_p ≤ 1."""
    if exponent == 1:
        return largest(sizes)
    dual = Fraction(1) if math.isinf(exponent) else Fraction(exponent) / (Fraction(exponent) - 1)
    return power(total(power(size, dual) for size in sizes), 1 / dual)


def support_rounded_up(body: ConvexBody, directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """max over v ∈ K of u·v for each of the directions (H, m), *rounded up*: what an outer polytope asks for."""
    with ctx.workprec(_PRECISION):
        values = [support_exactly(body, _rationals(direction)) for direction in directions]
        return np.array([value_rounded_up(value) for value in values])


def _of_parts(parts: tuple[ConvexBody, ...], direction: Sequence[fmpq]) -> list[ExactNumber]:
    return [support_exactly(part, direction[block]) for part, block in blocks_of(parts)]


def _rationals(lengths: NDArray[np.float64]) -> list[fmpq]:
    return [rational(length) for length in lengths.tolist()]


def _image(matrix: NDArray[np.float64], point: Sequence[fmpq]) -> list[fmpq]:
    return [sum((rational(a) * x for a, x in zip(row, point, strict=True)), fmpq(0)) for row in matrix.tolist()]


def _on_the_axes(lengths: list[fmpq]) -> Rows:
    zero = [fmpq(0)] * len(lengths)
    return [[*zero[:k], sign * x, *zero[k + 1 :]] for k, x in enumerate(lengths) for sign in (1, -1)]


def _every_sign(lengths: list[fmpq]) -> Rows:
    return _combined([[[length], [-length]] for length in lengths]) or []


def _combined(parts: Sequence[Rows | None]) -> Rows | None:
    """Every choice of one row from each part, side by side."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if math.prod(len(part) for part in known) > MOST_ROWS:
        raise TooLarge(f"a body with more than {MOST_ROWS:,} corners or facets is not compared corner by corner")
    return [list(itertools.chain(*rows)) for rows in itertools.product(*known)]


def _side_by_side(rows: Sequence[Rows | None], parts: tuple[ConvexBody, ...]) -> Rows | None:
    """The rows of every part, with zeros in the other parts' coordinates."""
    known = [part for part in rows if part is not None]
    if len(known) < len(rows):
        return None
    blocks = block_slices(part.dimension for part in parts)
    size = blocks[-1].stop
    return [
        [fmpq(0)] * block.start + row + [fmpq(0)] * (size - block.stop)
        for part, block in zip(known, blocks, strict=True)
        for row in part
    ]
