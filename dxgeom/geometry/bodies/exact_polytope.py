"""Polytopes in both forms, corners and facets, in rationals: each form is derived from the other without rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall
from dxgeom.geometry.facets.fan import Fan, certify_fan
from dxgeom.geometry.facets.triangulation import corner_points, pulled_triangulation
from dxgeom.numeric.qhull import HullLimits, float_hull

_FLAT = 1e-10

RationalRows = NDArray[Any] | Sequence[Sequence[int | float | Fraction]]
"""A matrix of ints, Fractions or float64, each taken as the rational it is."""


@final
@dataclass(frozen=True, eq=False)
class ExactPolytope:
    """conv(vertices) = {v: normals @ v ≤ 1}: rationals, nothing superfluous, both in opposite pairs.

    ``vertices`` (V, m) and ``normals`` (F, m): Fractions, in ascending order, each exactly once.
    Only :func:`polytope_of_points` and :func:`polytope_of_halfspaces` make one, from a certified boundary.
    """

    vertices: NDArray[Any]
    normals: NDArray[Any]

    @property
    def dimension(self) -> int:
        """The number m of coordinates."""
        return int(self.vertices.shape[1])

    @property
    def polar(self) -> ExactPolytope:
        """{u: u·v ≤ 1 on the polytope}: corners and facets change places."""
        return ExactPolytope(self.normals, self.vertices)


def polytope_of_points(points: RationalRows) -> ExactPolytope:
    """conv(±points) in both forms; points that are no corners are dropped.

    Qhull proposes the boundary, exact incidences mend it, and it stands when every ridge has two facets, all of them
    convex (see :func:`certify_fan`), and every point is inside.
    Guarantee: *exact*. Raises: NotANormBall when the points lie in a subspace; CertificateRefused when float64 proposes
    no boundary that can be proved; TooLarge when it proposes none.
    """
    integers, units = _in_integers(points)
    fan = _certified(integers)
    if not fan.holds(integers):
        raise CertificateRefused("a point lies outside the hull that is to contain it")
    planes = np.array(
        sorted({tuple(Fraction(int(n), int(h)) for n in row) for row, h in zip(fan.normals, fan.volumes, strict=True)}),
        dtype=object,
    )
    incidences = planes @ fan.vertices.T == 1
    vertices = fan.vertices[corner_points(incidences)]
    return ExactPolytope(_sorted_rows(vertices * units), _sorted_rows(planes / units))


def polytope_of_halfspaces(normals: RationalRows, heights: Sequence[int | float | Fraction]) -> ExactPolytope:
    """{v: |normals[k]·v| ≤ heights[k]} in both forms; halfspaces that cut nothing off are dropped.

    Its corners are the facets of its polar, the hull of ±normals/heights.
    Guarantee and Raises: as :func:`polytope_of_points`; NotANormBall for heights that are not positive.
    """
    if not all(height > 0 for height in heights):
        raise NotANormBall("the origin lies inside every halfspace: heights are positive")
    rows = [[Fraction(x) / Fraction(h) for x in row] for row, h in zip(normals, heights, strict=True)]
    return polytope_of_points(rows).polar


def _in_integers(points: RationalRows) -> tuple[NDArray[Any], NDArray[Any]]:
    """±points, each once and without 0, as integers times a rational unit (m,) per coordinate."""
    rows = {tuple(Fraction(x) for x in row) for row in points}
    whole = np.array(sorted(rows | {tuple(-x for x in row) for row in rows}), dtype=object)
    whole = whole[np.any(whole != 0, axis=1)] if len(rows) else whole
    if len(whole) == 0 or not np.all(np.any(whole != 0, axis=0)):
        raise NotANormBall("the points lie in a subspace: reduce to their span first")
    units = []
    for column in whole.T:
        denominator = math.lcm(*(x.denominator for x in column))
        units.append(Fraction(math.gcd(*(int(x * denominator) for x in column)), denominator))
    integers = np.array([[int(x / unit) for x, unit in zip(row, units, strict=True)] for row in whole], dtype=object)
    return integers, np.array(units, dtype=object)


def _certified(integers: NDArray[Any]) -> Fan:
    largest = [int(max(column)) for column in integers.T]
    places = np.array([[x / most for x, most in zip(row, largest, strict=True)] for row in integers], dtype=np.float64)
    if np.linalg.matrix_rank(places) < places.shape[1]:
        raise NotANormBall("the points lie in a subspace: reduce to their span first")
    simplices = float_hull(places).simplices
    corners = places[simplices]
    flat = np.abs(np.linalg.det(corners)) <= _FLAT * np.prod(np.linalg.norm(corners, axis=2), axis=1)
    if not np.any(flat):
        try:
            return certify_fan(integers, simplices)
        except CertificateRefused:
            return certify_fan(integers, pulled_triangulation(integers, simplices, HullLimits().facets))
    return certify_fan(integers, pulled_triangulation(integers, simplices[~flat], HullLimits().facets))


def _sorted_rows(rows: NDArray[Any]) -> NDArray[Any]:
    return np.array(sorted(rows.tolist()), dtype=object).reshape(rows.shape)


def one_of_each_pair(rows: NDArray[Any]) -> NDArray[Any]:
    """In ascending order opposites mirror each other, so the first half is one of each."""
    return rows[: len(rows) // 2]
