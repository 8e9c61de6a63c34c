"""Cutting facets with many corners into simplices, from incidences alone.

Hulls of counts are full of facets with many corners, and floating-point triangulations of those come out flat or
folded. Which corner lies on which facet is decided in exact integers here; the rest is combinatorics.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.numeric.integer_solve import solve_exactly

_CLEARLY_BELOW = 1e-9


def pulled_triangulation(points: NDArray[np.int64], simplices: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Simplices (F, m) that triangulate the boundary of conv(points), every face cut from its lowest corner.

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
        return [_members(face)]
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


def _members(face: int) -> tuple[int, ...]:
    return tuple(index for index in range(face.bit_length()) if face >> index & 1)
