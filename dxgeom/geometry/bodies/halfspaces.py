"""Polytopes given by halfspaces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.geometry.bodies.exact_polytope import ExactPolytope, one_of_each_pair, polytope_of_halfspaces
from dxgeom.geometry.bodies.exact_rows import Rows, dot, highest, rationals, reciprocals
from dxgeom.geometry.bodies.gauge import RowNorm
from dxgeom.geometry.bodies.polytope import SymmetricPolytope, hull_of_points
from dxgeom.geometry.facets.fan_gauges import rounded_planes
from dxgeom.numeric.canonical_digest import own_numbers
from dxgeom.numeric.exact_numbers import ExactNumber, rational, rational_matrix, value_rounded_up
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import cached_property


class Corners(NamedTuple):
    """``stretch · conv(places)`` contains the polytope; ``places`` (W, m) are float64, within 2⁻⁵³ of rationals."""

    places: NDArray[np.float64]
    stretch: float


@final
@dataclass(frozen=True, eq=False)
class HalfspacePolytope(ConvexBody):
    """|normals[k]·v| ≤ heights[k] for every k, the numbers taken as the rationals that float64 holds.

    ``normals`` (H, m); ``heights`` (H,), positive. The gauge needs no more than this. The support function is that of
    ``corners``, volume and moments are those of ``hull``: *rounded up*, up to the rounding of float64. Lengths grow by
    about 1e-8 for generic halfspaces with few corners to a facet, by up to 1e-3 where corners crowd, and by nothing
    where halfspaces and corners lie on the grid. With heights h(normals), h a support function that is exact or rounded
    up, it *contains* the body of h.
    """

    normals: NDArray[np.float64]
    heights: NDArray[np.float64]

    def __post_init__(self) -> None:
        own_numbers(self, "normals", "heights")
        shaped = self.normals.ndim == 2 and self.heights.shape == self.normals.shape[:1] and self.normals.size > 0
        if not shaped or not np.all(np.isfinite(self.normals)):
            raise NotANormBall("halfspaces are a matrix of finite normals, with one height for each")
        if not np.all((self.heights > 0) & np.isfinite(self.heights)):
            raise NotANormBall("the origin lies inside every halfspace: heights are positive and finite")
        lengths = np.max(np.abs(self.normals), axis=0)
        if not np.all(lengths > 0) or np.linalg.matrix_rank(self.normals / lengths) < self.dimension:
            raise NotANormBall("some direction is bounded by no halfspace: there is no norm with this unit ball")

    @property
    def dimension(self) -> int:
        return int(self.normals.shape[1])

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.max(np.abs(np.asarray(points) @ self.normals.T) / self.heights, axis=-1))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.max(np.asarray(directions) @ self.corners.places.T, axis=-1) * self.corners.stretch)

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        return max(abs(dot(row, point)) for row in self.certified_gauge.rows.tolist())

    @cached_property
    def certified_gauge(self) -> RowNorm:
        return RowNorm(reciprocals(self.heights) * rational_matrix(self.normals.tolist()), math.inf)

    def exact_corners(self) -> Rows:
        vertices = polytope_of_halfspaces(self.normals.tolist(), self.heights.tolist()).vertices
        return [[rational(x) for x in row] for row in vertices]

    def exact_facets(self) -> Rows:
        return [[sign * a for a in row] for sign in (1, -1) for row in self.certified_gauge.rows.tolist()]

    @property
    def polytope_around(self) -> SymmetricPolytope:
        return self.hull

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """Uniform in ``hull``."""
        return self.hull.simulate_uniform(count, generator)

    @property
    def volume(self) -> float:
        return self.hull.volume

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return self.hull.second_moment

    @cached_property
    def corners(self) -> Corners:
        """The vertices, through the polar body: they are the planes of the hull of ±normals/heights.

        The hull Q that is proved has the vertices q_k = p_k + δ_k instead of p_k = normals[k]/heights[k]. If c is the
        largest gauge of a q_k in the norm of the p's hull, then ‖q_k‖ ≤ 1 + ‖δ_k‖ ≤ 1 + c·‖δ_k‖_Q, so
        c ≤ 1/(1 − max ‖δ_k‖_Q), and the polytope lies in c times Q's polar. Halfspaces that Q has no vertex for are
        left out, which only enlarges.
        Raises: TooLarge, CertificateRefused as :func:`hull_of_points`.
        """
        points = self.normals / self.heights[:, None]
        polar = hull_of_points(points)
        planes = rounded_planes(polar.fan)
        moved = float(np.max(np.abs(planes) @ _moves(polar, points / polar.units))) * (1 + 2.0**-40)
        if not moved < 1:
            raise NotANormBall("the halfspaces are too nearly dependent for float64 to bound their polytope")
        return Corners(planes / polar.units, math.nextafter(1 / (1 - moved), math.inf))

    @cached_property
    def hull(self) -> SymmetricPolytope:
        """A polytope in corners and cones that *contains* this one; its noise may be released in its stead.

        Raises: TooLarge, CertificateRefused, NotANormBall as :func:`hull_of_points`.
        """
        inner = hull_of_points(self.corners.places)
        return replace(inner, inflation=math.nextafter(inner.inflation * self.corners.stretch, math.inf))


def halfspaces_around(polytope: ExactPolytope) -> HalfspacePolytope:
    """Its facets in float64. Guarantee: *contains* the polytope, heights rounded up after the normals moved."""
    normals = np.array(one_of_each_pair(polytope.normals), dtype=np.float64)
    vertices = [[rational(x) for x in vertex] for vertex in polytope.vertices]
    heights = [highest(rationals(row), vertices) for row in normals]
    return HalfspacePolytope(normals, np.array([value_rounded_up(height) for height in heights]))


def _moves(polar: SymmetricPolytope, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(m,): how far, per coordinate, any vertex of the fan is from the nearest of ±points at most, in its own steps.

    Points are quotients off by 2⁻⁵³ of themselves, hence by less than 2⁻²⁶ of these steps.
    """
    furthest = np.zeros(polar.dimension)
    for vertex in polar.fan.vertices.astype(np.float64):
        apart = np.abs(np.concatenate([points - vertex, points + vertex]))
        furthest = np.maximum(furthest, apart[apart.max(axis=1).argmin()])
    largest = float(np.abs(points).max())
    return furthest + largest * 4 * UNIT_ROUNDOFF
