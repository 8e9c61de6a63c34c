"""Projections of bodies on two coordinates, and of noise bodies on two queries, as polygons to draw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.mechanisms.linear.additive import AdditiveMechanism

_DIRECTIONS = 720


def projection_of_body(mechanism: AdditiveMechanism, first: int, second: int) -> NDArray[np.float64]:
    """The corners (h, 2), counter-clockwise, of the unit ball of a mechanism's noise seen on two queries.

    In answer units at spend 1. It holds everything by which a change of one record at distance 1 can move the two
    answers, up to the rounding of float64. A body that is flat from there has two corners, no noise at all gives one.
    """
    onto = mechanism.float_mixing[[first, second]]
    return convex_polygon(np.zeros((1, 2)) if mechanism.law is None else mechanism.law.projection(onto))


def projected_differences(mechanism: AdditiveMechanism, first: int, second: int) -> NDArray[np.float64]:
    """The distinct points (n, 2) by which generating pairs move two answers, per unit of distance; both signs."""
    sensitivity = mechanism.sensitivity
    steps = sensitivity.queries.float_steps[[first, second]]
    moved = sensitivity.differences[:, [first, second]] / sensitivity.bounds[:, None] * steps
    return np.unique(np.vstack([moved, -moved]), axis=0)


def projection_outline(body: ConvexBody, first: int, second: int) -> NDArray[np.float64]:
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


def convex_polygon(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The corners of the convex hull of points (n, 2), counter-clockwise, beginning with the smallest.

    Corners that lie on a side are left out. Points on a line give its two ends, equal points give one.
    """
    ordered = np.unique(points, axis=0)
    if len(ordered) <= 2:
        return ordered
    chain = [*_right_turns_removed(ordered)[:-1], *_right_turns_removed(ordered[::-1])[:-1]]
    return np.array(chain)


def _right_turns_removed(ordered: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    chain: list[NDArray[np.float64]] = []
    for point in ordered:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(start: NDArray[np.float64], middle: NDArray[np.float64], end: NDArray[np.float64]) -> float:
    """Twice the area of the triangle, positive when it turns left."""
    one, other = middle - start, end - start
    return float(one[0] * other[1] - one[1] * other[0])
