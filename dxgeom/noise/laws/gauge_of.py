"""The exact gauge of every body: lengths, normals and maps are the rationals that float64 holds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.geometry.bodies.composed_bodies import CartesianProduct, FreeSum, LinearImage, blocks_of
from dxgeom.geometry.bodies.halfspaces import HalfspacePolytope
from dxgeom.geometry.bodies.polytope import SymmetricPolytope
from dxgeom.geometry.bodies.power_ball import PowerBall
from dxgeom.geometry.bodies.round_bodies import Box, CrossPolytope, Ellipsoid
from dxgeom.noise.laws.gauge import Gauge, LargestGauge, RowNorm, SumGauge
from dxgeom.numeric.exact_numbers import rational, rational_matrix


def gauge_of(body: ConvexBody) -> Gauge:
    """‖·‖_K, to be evaluated in float64 with a bound and in ball arithmetic. Guarantee: *exact*."""
    match body:
        case Box(half_widths=lengths):
            return RowNorm(_reciprocals(lengths), math.inf)
        case CrossPolytope(radii=lengths):
            return RowNorm(_reciprocals(lengths), 1)
        case PowerBall(radii=lengths, exponent=exponent):
            return RowNorm(_reciprocals(lengths), exponent)
        case Ellipsoid(axes=axes):
            return RowNorm(rational_matrix(axes.tolist()).inv(), 2)
        case SymmetricPolytope():
            return RowNorm(fmpq_mat(_planes(body)), math.inf)
        case HalfspacePolytope(normals=normals, heights=heights):
            return RowNorm(_reciprocals(heights) * rational_matrix(normals.tolist()), math.inf)
        case CartesianProduct(parts=parts):
            return LargestGauge(_of_blocks(parts))
        case FreeSum(parts=parts):
            return SumGauge(_of_blocks(parts))
        case LinearImage(inner=inner, map=matrix):
            return gauge_of(inner).through(rational_matrix(matrix.tolist()).inv())
    raise UnsupportedCombination(f"no exact gauge is known for {type(body).__name__}: its noise can only be simulated")


def _of_blocks(parts: tuple[ConvexBody, ...]) -> tuple[Gauge, ...]:
    """Each part's gauge of its own coordinates, as a function of all."""
    whole = sum(part.dimension for part in parts)
    return tuple(gauge_of(part).through(_selection(block, whole)) for part, block in blocks_of(parts))


def _selection(block: slice, dimension: int) -> fmpq_mat:
    return fmpq_mat([[fmpq(int(k == row)) for k in range(dimension)] for row in range(block.start, block.stop)])


def _reciprocals(lengths: NDArray[Any]) -> fmpq_mat:
    values = [1 / rational(length) for length in lengths.tolist()]
    return fmpq_mat([[x if k == j else fmpq(0) for j in range(len(values))] for k, x in enumerate(values)])


def _planes(body: SymmetricPolytope) -> list[list[fmpq]]:
    """One row n/h for every pair of opposite facet planes n·v = ±h."""
    scales = [rational(unit) * rational(body.inflation) for unit in body.units.tolist()]
    planes = set()
    for normal, volume in zip(body.fan.normals.tolist(), body.fan.volumes.tolist(), strict=True):
        row = [Fraction(int(n), int(volume)) for n in normal]
        sign = 1 if next(x for x in row if x) > 0 else -1
        planes.add(tuple(sign * x for x in row))
    return [[rational(x) / scale for x, scale in zip(row, scales, strict=True)] for row in sorted(planes)]
