"""Polytopes given by halfspaces, and the exact way from either form to the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import array_of, described
from dxgeom.errors import CertificateRefused, NotANormBall, WrongArgument
from dxgeom.geometry.body import ConvexBody, RowNorm, Rows, dot, reciprocals
from dxgeom.geometry.fan import Fan, certify_fan, corner_points, pulled_triangulation, rounded_planes
from dxgeom.geometry.polytope import SymmetricPolytope, hull_of_points
from dxgeom.numeric.exact_numbers import ExactNumber, rational, rational_matrix
from dxgeom.numeric.qhull import HullLimits, float_hull
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import cached_property, freeze_arrays

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


_SAME_CORNER = 1e-9
"""Relative to the largest coordinate: a corner is the opposite of another where they differ by no more."""


def body_of_corners(thing: Any) -> ConvexBody:
    """The body that is stated: itself, or the hull around an exact polytope, around a convex polygon of Shapely that is
    symmetric about 0, or around points (n, m), each of which stands for its opposite, too.

    Guarantee: as of :func:`hull_of_points`: no corner, rounded to float64, is left outside.
    Raises: NotANormBall for a polygon that is not convex or not symmetric, and as :func:`hull_of_points`;
    WrongArgument.
    """
    if isinstance(thing, ConvexBody):
        return thing
    advice = (
        "take one of dxgeom.geometry, as Box, Ellipsoid or HalfspacePolytope, a Shapely polygon, or a list of corners"
    )
    stated = thing.vertices if isinstance(thing, ExactPolytope) else _corners_of_polygon(thing)
    points = array_of(stated, "body", advice, float)
    if points.ndim != 2 or not points.size or not np.all(np.isfinite(points)):
        raise WrongArgument(f"'body' has corners, a row of finite numbers each; found {described(thing)}: {advice}")
    if np.linalg.matrix_rank(points) < points.shape[1]:
        raise NotANormBall(
            f"the corners of 'body' are flat: a body has an interior in all {points.shape[1]} coordinates"
        )
    return hull_of_points(points)


def _corners_of_polygon(thing: Any) -> Any:
    """The corners of a polygon; of anything else itself."""
    if getattr(thing, "geom_type", None) is None:
        return thing
    if thing.geom_type != "Polygon" or not thing.equals(thing.convex_hull):
        raise NotANormBall(f"a body is convex, and without holes; this {thing.geom_type} is not: take its convex_hull")
    corners = np.array(thing.exterior.coords)[:-1, :2]
    apart = np.abs(corners[:, None] + corners[None]).max(axis=2).min(axis=1)
    if np.any(apart > _SAME_CORNER * np.abs(corners).max()):
        raise NotANormBall("the polygon is not symmetric about 0: with each corner v it has the corner -v")
    return corners


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
        freeze_arrays(self, "normals", "heights")
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


ROUND_REACH = 4
"""Round bodies are bounded in every direction of whole numbers up to this."""


class Cylinder(NamedTuple):
    """All points whose ``coordinates``, in this order, lie in ``body``."""

    body: ConvexBody
    coordinates: tuple[int, ...]


def intersection_of_cylinders(cylinders: Sequence[Cylinder], dimension: int) -> HalfspacePolytope:
    """The points of ℝᵐ that lie in every cylinder: the largest of the bodies' gauges, as a polytope.

    Guarantee: *contains* the intersection. Of polytopes it is the intersection itself but for normals rounded to
    float64 and heights rounded up; a round body is replaced by halfspaces in :func:`whole_directions`, which is coarse
    in many dimensions.
    Raises: NotANormBall when a coordinate is bounded by no cylinder, or coordinates are no fit for their body.
    Source: Awan & Slavković 2020, §6; corrected: an intersection, not a union.
    """
    normals, heights = [], []
    for body, coordinates in cylinders:
        fits = len(coordinates) == body.dimension and len(set(coordinates)) == len(coordinates)
        if not fits or not all(0 <= place < dimension for place in coordinates):
            raise NotANormBall(
                f"a cylinder over a body of {body.dimension} coordinates names as many of 0 to {dimension - 1}, each "
                f"once; found {coordinates}"
            )
        directions = _directions(body)
        rows = np.zeros((len(directions), dimension))
        rows[:, list(coordinates)] = directions
        normals.append(rows)
        heights.append(body.support_upper_bounds(directions))
    if not normals:
        raise NotANormBall("an intersection has at least one cylinder")
    return HalfspacePolytope(np.vstack(normals), np.concatenate(heights))


def whole_directions(dimension: int, reach: int = ROUND_REACH) -> NDArray[np.float64]:
    """One of each pair of opposite directions with whole coordinates up to ``reach`` and no common divisor (H, m)."""
    every = itertools.product(range(-reach, reach + 1), repeat=dimension)
    return np.array([row for row in every if math.gcd(*row) == 1 and row > (0,) * dimension], dtype=np.float64)


def _directions(body: ConvexBody) -> NDArray[np.float64]:
    """A polytope's own facets, one of each pair, as float64; of a round body the whole directions."""
    facets = body.exact_facets()
    if facets is None:
        return whole_directions(body.dimension) / np.sqrt(np.diag(body.second_moment))
    rows = np.unique([[int(x.p) / int(x.q) for x in facet] for facet in facets], axis=0)
    return np.asarray(rows[len(rows) // 2 :])
