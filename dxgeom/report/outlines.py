"""Outlines of convex bodies, as polygons to draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.report.shadow import convex_polygon

_DIRECTIONS = 720


def shadow_outline(body: ConvexBody, first: int, second: int) -> NDArray[np.float64]:
    """The corners (h, 2) of the body's orthogonal projection on two of its coordinates, counter-clockwise.

    A polytope's are its own; another body's lie where neighbouring supporting lines of 720 directions meet, so the
    outline is around the shadow and within a hundred-thousandth of it.
    Raises: UnsupportedCombination unless first and second are two of the body's coordinates.
    """
    if first == second or not {first, second} <= set(range(body.dimension)):
        raise UnsupportedCombination(
            f"a shadow needs two different coordinates of {body.dimension}, found {first} and {second}"
        )
    if body.polytope is not None:
        return convex_polygon(body.polytope.vertices[:, [first, second]])
    angles = np.arange(_DIRECTIONS) * (2 * np.pi / _DIRECTIONS)
    directions = np.zeros((_DIRECTIONS, body.dimension))
    reach = body.support_function(np.eye(body.dimension))[[first, second]]
    flat = np.stack([np.cos(angles), np.sin(angles)], axis=1) / reach
    directions[:, [first, second]] = flat
    heights = body.support_function(directions)
    corners = np.linalg.solve(
        np.stack([flat, np.roll(flat, -1, axis=0)], axis=1),
        np.stack([heights, np.roll(heights, -1)], axis=1)[..., None],
    )
    return np.asarray(corners[:, :, 0])


def closed(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corners with the first again at the end."""
    return np.vstack([corners, corners[:1]])
