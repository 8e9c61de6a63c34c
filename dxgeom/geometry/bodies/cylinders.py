"""Intersections of cylinders: bodies that each bound some of the coordinates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.geometry.bodies.halfspaces import HalfspacePolytope

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
