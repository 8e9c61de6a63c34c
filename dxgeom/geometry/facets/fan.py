"""The proof that simplices close up to the boundary of a symmetric convex body, in exact integers.

A cone sampler draws nothing in a direction that no simplex covers, so a missing or folded simplex would be a leak,
not an inaccuracy. What has to hold, for the cones over the simplices:

1. every simplex has a non-zero determinant;
2. every ridge belongs to exactly two simplices, which lie on opposite sides of the ridge's cone. Then the number of
   cones over a point does not change when the point crosses a ridge, so it is the same almost everywhere;
3. one interior point of one cone lies in no other. Then that number is one: the cones tile space;
4. across every ridge the other simplex' far vertex is not beyond this simplex' plane. A function that is linear on
   the cones of a tiling and convex across each ridge is convex: the gauge is a seminorm;
5. the vertices come in opposite pairs: the gauge is symmetric, so a norm.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.geometry.facets.cones import cones_around
from dxgeom.numeric.integer_solve import solve_exactly


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


def certify_fan(vertices: NDArray[np.int64], simplices: NDArray[np.int64]) -> Fan:
    """Prove the five statements above for integer vertices.

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
    if len(ridges) % 2 or np.any(ridges[0::2] != ridges[1::2]) or np.any(_same(ridges[1:-1:2], ridges[2::2])):
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


def _same(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether neighbouring pairs of ridges are one and the same, which makes four simplices at a ridge."""
    return np.asarray(np.all(first == second, axis=1))
