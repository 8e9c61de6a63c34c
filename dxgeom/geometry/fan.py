"""Simplices cut from facets, proved in exact integers to close up to the boundary of a symmetric convex body."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.numeric.arrays import FITS
from dxgeom.numeric.exact_numbers import solve_exactly
from dxgeom.numeric.rounding import UNIT_ROUNDOFF

_CLEARLY_BELOW = 1e-9


def pulled_triangulation(points: NDArray[np.int64], simplices: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Simplices (F, m) that triangulate the boundary of conv(points), every face cut from its lowest corner.

    Hulls of counts are full of facets with many corners, and floating-point triangulations of those come out flat or
    folded. Which corner lies on which facet is decided in exact integers here; the rest is combinatorics.

    Args: ``points`` (V, m); ``simplices``: some simplex of every facet, none of them flat; ``most``: give up beyond.
    Cutting each face from its lowest corner makes neighbouring facets agree on what they share.
    Raises: CertificateRefused when a simplex' plane is no facet's, or facets do not fit together; TooLarge beyond
    ``most`` simplices.
    """
    if len(simplices) == 0:
        raise CertificateRefused("every simplex of the hull is flat")
    incidences = np.unique(_incidences(points, simplices), axis=0)
    incidences[:, ~corner_points(incidences)] = False
    facets = [_bits(row) for row in incidences]
    dimension = points.shape[1]
    known: dict[int, list[tuple[int, ...]]] = {}
    pieces: list[tuple[int, ...]] = []
    for row, facet in zip(incidences, facets, strict=True):
        simple = row.sum() <= dimension
        near = () if simple else np.flatnonzero(incidences[:, row].sum(axis=1) >= dimension - 1)
        pieces += _pull(facet, dimension, [facets[index] for index in near], known)
        if len(pieces) > most:
            raise TooLarge(f"triangulating the hull's facets passes {most:,} simplices")
    if any(len(piece) != dimension for piece in pieces):
        raise CertificateRefused("the facets of the hull do not fit together")
    return np.array(pieces, dtype=np.int64)


def _incidences(points: NDArray[np.int64], simplices: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(H, V): which point lies on which of the distinct planes, exactly."""
    ones = np.ones((*simplices.shape, 1), dtype=object)
    volumes, normals = solve_exactly(points[simplices].astype(object), ones)
    planes = np.array(
        sorted({_primitive(*plane) for plane in zip(normals[:, :, 0], volumes, strict=True)}), dtype=object
    )
    normals, heights = planes[:, :-1], planes[:, -1]
    slopes = np.array(normals / heights[:, None], dtype=np.float64) @ points.T.astype(np.float64)
    on_plane = np.zeros(slopes.shape, dtype=bool)
    for plane, point in np.argwhere(slopes > 1 - _CLEARLY_BELOW):
        height = int(np.dot(normals[plane], points[point].astype(object)))
        if height > heights[plane]:
            raise CertificateRefused("a plane of the hull cuts off one of its points")
        on_plane[plane, point] = height == heights[plane]
    return on_plane


def _primitive(normal: NDArray[Any], volume: Any) -> tuple[int, ...]:
    divisor = math.gcd(*(int(x) for x in normal), int(volume)) * (-1 if volume < 0 else 1)
    return tuple(int(x) // divisor for x in (*normal, volume))


def corner_points(incidences: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Points that are vertices: no other point lies on all of their facets."""
    common = [-1] * incidences.shape[1]
    for row in incidences:
        face = _bits(row)
        for point in np.flatnonzero(row):
            common[point] &= face
    return np.array([face == 1 << point for point, face in enumerate(common)])


def _bits(row: NDArray[np.bool_]) -> int:
    return sum(1 << int(index) for index in np.flatnonzero(row))


def _pull(
    face: int, corners: int, neighbours: list[int], known: dict[int, list[tuple[int, ...]]]
) -> list[tuple[int, ...]]:
    """The face's simplices of ``corners`` corners each: its lowest corner joined to every sub-face without it.

    A sub-face is where the face meets a neighbour, so the sub-faces are in turn each other's neighbours.
    """
    if face.bit_count() <= corners:
        return [tuple(index for index in range(face.bit_length()) if face >> index & 1)]
    if face not in known:
        meets = {face & neighbour for neighbour in neighbours} - {face}
        subfaces = [meet for meet in meets if not any(meet & other == meet and meet != other for other in meets)]
        lowest = face & -face
        apex = (lowest.bit_length() - 1,)
        known[face] = [
            apex + rest
            for subface in sorted(subfaces)
            if not subface & lowest
            for rest in _pull(subface, corners - 1, subfaces, known)
        ]
    return known[face]


_LONGEST = 2**40
"""Directions are rounded to integers no longer than this: finer than float64 knows them is of no use."""


class Fan(NamedTuple):
    """A proved tiling of space by simplicial cones.

    ``simplices`` (F, m) index ``vertices`` (V, m), integers in int64 or, where they are longer, Python's; ``normals``
    (F, m) and ``volumes`` (F,) are Python integers: ``normals[f]·v ≤ volumes[f]`` on the body, with equality on
    simplex f, and ``volumes[f]`` is its |determinant|.
    """

    vertices: NDArray[np.int64]
    simplices: NDArray[np.int64]
    normals: NDArray[Any]
    volumes: NDArray[Any]

    def holds(self, points: NDArray[Any]) -> bool:
        """Whether every integer point (E, m) is under every facet; by symmetry its opposite is too. *Exact*."""
        largest = int(np.abs(self.normals).max()) * int(np.abs(points).max())
        kind: Any = np.int64 if largest * points.shape[1] < FITS else object
        heights = np.abs(points.astype(kind) @ self.normals.T.astype(kind)).max(axis=0)
        return bool(np.all(heights <= self.volumes))


def certify_fan(vertices: NDArray[np.int64], simplices: NDArray[np.int64]) -> Fan:
    """The fan of simplices of integer vertices, once they are proved to close up to a symmetric convex body's boundary.

    A cone sampler draws nothing in a direction that no simplex covers, so a missing or folded simplex would be a leak,
    not an inaccuracy. What has to hold, for the cones over the simplices:

    1. every simplex has a non-zero determinant;
    2. every ridge belongs to exactly two simplices, which lie on opposite sides of the ridge's cone. Then the number of
       cones over a point does not change when the point crosses a ridge, so it is the same almost everywhere;
    3. one interior point of one cone lies in no other. Then that number is one: the cones tile space;
    4. across every ridge the other simplex' far vertex is not beyond this simplex' plane. A function that is linear on
       the cones of a tiling and convex across each ridge is convex: the gauge is a seminorm;
    5. the vertices come in opposite pairs: the gauge is symmetric, so a norm.

    Guarantee: *exact*. Raises: CertificateRefused naming the statement that fails.
    """
    if len(simplices) == 0:
        raise CertificateRefused("a hull without simplices covers nothing")
    used, renumbered = np.unique(simplices, return_inverse=True)
    vertices = vertices[used]
    simplices = np.sort(renumbered.reshape(simplices.shape), axis=1)
    determinants, normals = _planes(vertices, simplices)
    if np.any(determinants == 0):
        raise CertificateRefused("a simplex of the hull is flat")
    corners = vertices[simplices]
    if cones_around(corners, corners[0].astype(object).sum(axis=0)) != 1:
        raise CertificateRefused("the simplices of the hull cover some direction more than once")
    _check_symmetry(vertices)
    fan = Fan(vertices, simplices, normals, np.abs(determinants))
    _check_ridges(fan, determinants)
    return fan


def _planes(vertices: NDArray[np.int64], simplices: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Signed determinants and outward normals."""
    determinants, normals = solve_exactly(vertices[simplices], np.ones((*simplices.shape, 1), dtype=object))
    return determinants, normals[:, :, 0] * np.where(determinants < 0, -1, 1)[:, None]


def _check_symmetry(vertices: NDArray[np.int64]) -> None:
    rows = {tuple(row) for row in vertices.tolist()}
    if any(tuple(-x for x in row) not in rows for row in rows):
        raise CertificateRefused("the hull's vertices do not come in opposite pairs")


def _check_ridges(fan: Fan, determinants: NDArray[Any]) -> None:
    facets, dimension = fan.simplices.shape
    ridges = np.concatenate([np.delete(fan.simplices, place, axis=1) for place in range(dimension)])
    order = np.lexsort(ridges.T[::-1]) if dimension > 1 else np.arange(facets)
    ridges = ridges[order]
    four = np.any(np.all(ridges[1:-1:2] == ridges[2::2], axis=1))  # simplices at one ridge
    if len(ridges) % 2 or np.any(ridges[0::2] != ridges[1::2]) or four:
        raise CertificateRefused("a ridge of the hull does not belong to exactly two simplices: a facet is missing")
    place, facet = np.divmod(order, facets)
    apex = fan.simplices[facet, place]
    signs = np.where(determinants[facet] < 0, -1, 1) * np.where((dimension - 1 - place) % 2, -1, 1)
    if np.any(signs[0::2] == signs[1::2]):
        raise CertificateRefused("two simplices of the hull lie on the same side of their common ridge")
    one, other = facet[0::2], apex[1::2]
    heights = np.sum(fan.normals[one] * fan.vertices[other].astype(object), axis=1)
    if np.any(heights > fan.volumes[one]):
        raise CertificateRefused("the hull is not convex across one of its ridges")


def cones_around(corners: NDArray[np.int64], point: NDArray[Any]) -> int:
    """The number of closed cones over simplices ``corners`` (F, m, m), none of them flat, that hold ``point`` (m,).

    Guarantee: *exact*.
    """
    near = corners[~_provably_beside(corners, point)]
    sides = np.broadcast_to(point[None, :, None], (*near.shape[:2], 1))
    determinants, coordinates = solve_exactly(near.transpose(0, 2, 1), sides)
    signs = np.where(determinants < 0, -1, 1)
    return int(np.count_nonzero(np.all(coordinates[:, :, 0] * signs[:, None] >= 0, axis=1)))


def _provably_beside(corners: NDArray[np.int64], point: NDArray[Any]) -> NDArray[np.bool_]:
    """Cones that do not hold the point for a reason that 64-bit integers show; not all of them.

    The reason is a direction in which every corner points forward, and the point backward. Float64 proposes it; what
    it is rounded to proves itself.
    """
    count, dimension, _ = corners.shape
    largest = max(*point, *-point, int(corners.max()), -int(corners.min()))
    room = FITS // (dimension * largest)
    inverses = _inverses(corners)
    if room < 2 or inverses is None:
        return np.zeros(count, dtype=bool)
    coordinates = inverses @ point.astype(np.float64)
    lowest = coordinates.argmin(axis=1)
    every = np.arange(count)
    # Tilted towards all corners, so that rounding does not turn the direction away from those it is orthogonal to.
    tilt = -coordinates[every, lowest] / (2 * np.abs(coordinates).sum(axis=1))
    directions = inverses[every, lowest] + tilt[:, None] * inverses.sum(axis=1)
    scaled = directions / np.abs(directions).max(axis=1, keepdims=True) * float(min(room, _LONGEST) - 1)
    whole = np.rint(np.where(np.isfinite(scaled), scaled, 0)).astype(np.int64)
    forward = np.einsum("fim,fm->fi", corners, whole).min(axis=1)
    return np.asarray((forward >= 0) & (whole @ point.astype(np.int64) < 0))


def _inverses(corners: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """(F, m, m): rows that give a point's coordinates in each cone; None where float64 does not suffice."""
    try:
        inverses = np.linalg.inv(corners.astype(np.float64).transpose(0, 2, 1))
    except np.linalg.LinAlgError:
        return None
    return np.asarray(inverses) if np.all(np.isfinite(inverses)) else None


_GAUGES_PER_BLOCK: Final = 4_000_000


def rounded_planes(fan: Fan) -> NDArray[np.float64]:
    """(F, m): normals over volumes, ``planes @ v ≤ 1`` on the fan's body, each entry correctly rounded."""
    return np.array(fan.normals / fan.volumes[:, None], dtype=np.float64)


def largest_gauge(fan: Fan, points: NDArray[np.float64]) -> float:
    """The largest gauge of ±points, *rounded up*.

    Errors relative to Σ|n||p|: 2⁻⁵³ for each normal, 2⁻⁵³ for each point (a rounded quotient), and m·2⁻⁵³ for the dot
    product; doubled for safety. By symmetry of the fan the sign of a point does not matter.
    """
    normals = rounded_planes(fan)
    dimension = normals.shape[1]
    steepest = np.max(np.abs(normals), axis=0)
    largest = 0.0
    size = max(1, _GAUGES_PER_BLOCK // len(normals))
    for start in range(0, len(points), size):
        here = points[start : start + size]
        slack = (np.abs(here) @ steepest) * (2 * (dimension + 3) * UNIT_ROUNDOFF)
        largest = max(largest, float(np.max(np.max(here @ normals.T, axis=1) + slack)))
    return math.nextafter(largest * (1 + 4 * UNIT_ROUNDOFF), math.inf)
