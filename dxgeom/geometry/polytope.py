"""Symmetric polytopes whose boundary is proved closed and convex, and that hold every given difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.geometry.body import ConvexBody, RowNorm, Rows
from dxgeom.geometry.fan import Fan, certify_fan, extreme_points, largest_gauge, pulled_triangulation, rounded_planes
from dxgeom.numeric.exact_numbers import ExactNumber, rational
from dxgeom.numeric.qhull import HullLimits, float_hull
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import cached_property

GRID_BITS = 26
"""Bits per coordinate of the integer grid that vertices are rounded to."""
SHIFT_BITS = (0, 8, 12, 16)
"""Vertices are first taken as they are, then moved by up to 2^bits grid steps (see :func:`_in_general_position`)."""
_FLAT = 1e-10
"""A simplex whose determinant is this small next to its edges may be flat; its plane is not to be read off."""
_GAUGES_PER_BLOCK, _MOST_STATED = 4_000_000, 4096


@final
@dataclass(frozen=True, eq=False)
class SymmetricPolytope(ConvexBody):
    """``inflation · diag(units) · conv(fan.vertices)``: a norm ball with a proved boundary.

    ``units`` (m,): powers of two; ``inflation``: a float64, so every real vertex is an exact dyadic number.
    ``moved``: how many units a vertex was moved at most, per coordinate, from the difference it stands for.
    ``stated``: (n, m) the points that it was made around, where they are few.
    Only :func:`hull_of_differences`, :func:`hull_of_points`, :func:`hull_of_corners` and
    :func:`dxgeom.geometry.hulls.enclosing_polytope` make one.
    """

    fan: Fan = field(repr=False)
    units: NDArray[np.float64]
    inflation: float
    moved: float
    stated: NDArray[np.float64] | None = field(default=None, repr=False)

    @property
    def dimension(self) -> int:
        return int(self.fan.simplices.shape[1])

    @property
    def facets(self) -> int:
        """The number of boundary simplices."""
        return len(self.fan.simplices)

    @cached_property
    def normals(self) -> NDArray[np.float64]:
        """(F, m): the body is ``normals @ v ≤ 1``, up to the rounding of float64."""
        return rounded_planes(self.fan) / self.units / self.inflation

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """(F,): the part of the volume under each simplex; sums to 1."""
        total = int(self.fan.volumes.sum())
        return np.array([int(volume) / total for volume in self.fan.volumes])

    @cached_property
    def volume(self) -> float:
        total = int(self.fan.volumes.sum()) / math.factorial(self.dimension)
        return total * float(np.prod(self.units)) * self.inflation**self.dimension

    @cached_property
    def vertices(self) -> NDArray[np.float64]:
        """(V, m): the vertices, correctly rounded."""
        return np.asarray(self.fan.vertices * (self.units * self.inflation))

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.max(np.asarray(points) @ self.normals.T, axis=-1))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.max(np.asarray(directions) @ self.vertices.T, axis=-1))

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        steps = [x / rational(unit) for x, unit in zip(point, self.units.tolist(), strict=True)]
        whole = math.lcm(*(int(step.q) for step in steps))
        heights = self.fan.normals @ np.array([int(step * whole) for step in steps], dtype=object)
        highest = max(fmpq(height, volume) for height, volume in zip(heights, self.fan.volumes, strict=True))
        return highest / (whole * rational(self.inflation))

    @cached_property
    def certified_gauge(self) -> RowNorm:
        """One row n/h for every pair of opposite facet planes n·v = ±h."""
        planes = set()
        for normal, volume in zip(self.fan.normals.tolist(), self.fan.volumes.tolist(), strict=True):
            row = [Fraction(int(n), int(volume)) for n in normal]
            sign = 1 if next(x for x in row if x) > 0 else -1
            planes.add(tuple(sign * x for x in row))
        rows = [[rational(x) / unit for x, unit in zip(row, self._exact_units, strict=True)] for row in sorted(planes)]
        return RowNorm(fmpq_mat(rows), math.inf)

    def gauge_upper_bounds(self, points: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """max_f n_f·y: each normal off by 2·2⁻⁵³ relative, a dot product of m terms by (m + 1)·2⁻⁵³ of their sizes."""
        steepest = np.abs(self.normals).max(axis=0)
        rounding = (self.dimension + 6) * UNIT_ROUNDOFF
        heights = np.empty(len(points))
        rows = max(1, _GAUGES_PER_BLOCK // len(self.normals))
        for start in range(0, len(points), rows):
            heights[start : start + rows] = (points[start : start + rows] @ self.normals.T).max(axis=1)
        return np.asarray(
            (heights + (np.abs(points) * rounding + errors) @ steepest * (1 + 2.0**-30)) * (1 + 2 * UNIT_ROUNDOFF)
        )

    def exact_corners(self) -> Rows:
        rows = self.fan.vertices.tolist()
        return [[int(x) * unit for x, unit in zip(row, self._exact_units, strict=True)] for row in rows]

    def stated_corners(self) -> Rows:
        if self.stated is None:
            return self.exact_corners()
        return [[sign * rational(x) for x in row] for row in self.stated.tolist() for sign in (1, -1)]

    def exact_facets(self) -> Rows:
        planes = zip(self.fan.normals.tolist(), self.fan.volumes.tolist(), strict=True)
        units = self._exact_units
        return [[fmpq(n, height) / unit for n, unit in zip(row, units, strict=True)] for row, height in planes]

    @property
    def polytope(self) -> SymmetricPolytope:
        return self

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.vertices @ onto.T)

    @property
    def defining(self) -> tuple[Any, ...]:
        """Planes and volumes follow from the simplices; how far vertices were moved says nothing of the body."""
        return self.fan.vertices, self.fan.simplices, self.units, self.inflation

    @property
    def _exact_units(self) -> list[fmpq]:
        return [rational(unit) * rational(self.inflation) for unit in self.units.tolist()]

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        simplex = np.searchsorted(np.cumsum(self.shares)[:-1], generator.random(count), side="right")
        sizes = generator.standard_exponential((count, self.dimension + 1))
        weights = sizes[:, :-1] / sizes.sum(axis=1, keepdims=True)
        places = np.zeros((count, self.dimension))
        for corner in range(self.dimension):
            places += weights[:, corner, None] * self.vertices[self.fan.simplices[simplex, corner]]
        return places

    @cached_property
    def second_moment(self) -> NDArray[np.float64]:
        return self.noise_second_moment / ((self.dimension + 1) * (self.dimension + 2))

    @cached_property
    def noise_second_moment(self) -> NDArray[np.float64]:
        """E[V Vᵀ] (m, m) of the K-norm noise, from the triangulation.

        Per simplex with vertices v₁..v_m, V = Σ E_i v_i with exponential E_i, so E[V Vᵀ] = Σ v vᵀ + (Σ v)(Σ v)ᵀ.
        """
        corners = self.vertices[self.fan.simplices]
        sums = corners.sum(axis=1)
        spread = np.einsum("f,fik,fil->kl", self.shares, corners, corners)
        return np.asarray(spread + np.einsum("f,fk,fl->kl", self.shares, sums, sums))


def hull_of_differences(
    differences: NDArray[np.int64],
    bounds: NDArray[np.float64],
    limits: HullLimits | None = None,
    among: NDArray[np.int64] | None = None,
) -> SymmetricPolytope:
    """A polytope that contains every ``±differences[e] / bounds[e]`` and is barely larger than their hull.

    Vertices are rounded to integers, the boundary is proved in exact integers, and the body is then inflated by the
    largest gauge of any difference, computed with its rounding error added: so *every difference is inside*.

    Args: ``differences`` (E, m), magnitudes below 2⁵³; ``bounds`` (E,), positive and finite. ``among``: the places of
    some that the corners are looked for among; all where left out. The body holds every difference either way.
    Raises: TooLarge beyond ``limits``; NotANormBall when the differences span no full-dimensional body;
    CertificateRefused when no grid gives a provable boundary.
    """
    if not np.all((bounds > 0) & np.isfinite(bounds)):
        raise NotANormBall("a sensitivity body needs positive finite bounds")
    with np.errstate(over="ignore"):
        points = differences / bounds[:, None]
    return hull_of_points(points, limits, among)


def hull_of_points(
    points: NDArray[np.float64], limits: HullLimits | None = None, among: NDArray[np.int64] | None = None
) -> SymmetricPolytope:
    """The same for points (E, m) in float64: *every real point is inside* that one of ``±points`` is the rounding of.

    A coordinate may be off by one correct rounding, 2⁻⁵³ of itself.
    Raises: as :func:`hull_of_differences`.
    """
    limits = limits or HullLimits()
    points, units = _scaled_points(points)
    tried = points if among is None else points[among]
    try:
        corners = tried[extreme_points(tried, limits)]
    except TooLarge as error:
        if np.linalg.matrix_rank(points) < points.shape[1]:
            raise NotANormBall("the differences lie in a subspace: reduce to their span first") from error
        raise
    return _proved(corners, points, units, limits)


def hull_of_corners(corners: NDArray[np.float64], limits: HullLimits | None = None) -> SymmetricPolytope:
    """The same for points (E, m) of which hardly any is superfluous: they are not sifted first.

    Raises: as :func:`hull_of_differences`.
    """
    points, units = _scaled_points(corners)
    return _proved(points, points, units, limits or HullLimits())


def _proved(
    corners: NDArray[np.float64], points: NDArray[np.float64], units: NDArray[np.float64], limits: HullLimits
) -> SymmetricPolytope:
    """The hull of the corners, inflated to hold all points."""
    refusal: CertificateRefused | TooLarge | None = None
    for shift in SHIFT_BITS:
        try:
            fan = proved_fan(_in_general_position(_on_grid(corners), shift), limits)
        except (CertificateRefused, TooLarge) as error:
            refusal = error
            continue
        inflation = largest_gauge(fan, points * 2.0**GRID_BITS)
        stated = points * units if len(points) <= _MOST_STATED else None
        return SymmetricPolytope(fan, units * 2.0**-GRID_BITS, inflation, 0.5 + (2**shift if shift else 0), stated)
    raise CertificateRefused(f"no placement of the vertices gave a provable hull: {refusal}")


def proved_fan(grid: NDArray[np.int64], limits: HullLimits) -> Fan:
    """The boundary of the hull of integer points in opposite pairs, as a proved fan; a point may be just outside it.

    Raises: CertificateRefused, TooLarge.
    """
    points = grid.astype(np.float64)
    simplices = float_hull(points).simplices
    corners = points[simplices] / 2.0**GRID_BITS
    extent = np.prod(np.linalg.norm(corners, axis=2), axis=1)
    flat = np.abs(np.linalg.det(corners)) <= _FLAT * extent
    if np.any(flat):
        simplices = pulled_triangulation(grid, simplices[~flat], limits.facets)
    return certify_fan(grid, simplices)


def _scaled_points(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each coordinate divided by a power of two, exactly, to lie within [−1, 1]."""
    largest = np.max(np.abs(points), axis=0, initial=0.0)
    if not np.all((largest > 0) & np.isfinite(largest)):
        raise NotANormBall("some coordinate never changes, or changes too much for float64")
    units = 2.0 ** np.ceil(np.log2(largest))
    return points / units, units


def _on_grid(corners: NDArray[np.float64]) -> NDArray[np.int64]:
    """One of each pair of opposite corners, rounded to the grid."""
    rounded = np.rint(corners * 2.0**GRID_BITS).astype(np.int64)
    leading = rounded[np.arange(len(rounded)), np.argmax(rounded != 0, axis=1)]
    return np.unique(rounded * np.sign(leading)[:, None], axis=0)


def _in_general_position(half: NDArray[np.int64], shift_bits: int) -> NDArray[np.int64]:
    """Corners and their opposites, each pair moved by a fixed pattern of up to 2^shift_bits steps (0 bits: none).

    Where corners nearly share a facet, float64 may cut it into simplices that are flat or overlap. Moved by a millionth
    they clearly do not share it, and the inflation makes up for the move.
    """
    if shift_bits:
        reach = 2**shift_bits
        half = half + np.random.default_rng(1).integers(-reach, reach + 1, half.shape)
    return np.vstack([half, -half])
