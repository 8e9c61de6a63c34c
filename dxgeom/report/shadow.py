"""The shadow of a noise body: what it looks like from the side of two queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.additive import AdditiveMechanism


def shadow_of_body(mechanism: AdditiveMechanism, first: int, second: int) -> NDArray[np.float64]:
    """The corners (h, 2), counter-clockwise, of the unit ball of a mechanism's noise seen on two queries.

    In answer units at spend 1. It holds everything by which a change of one record at distance 1 can move the two
    answers, up to the rounding of float64. A body that is flat from there has two corners, no noise at all gives one.
    """
    onto = mechanism.float_mixing[[first, second]]
    return convex_polygon(np.zeros((1, 2)) if mechanism.law is None else mechanism.law.shadow(onto))


def shadow_of_differences(mechanism: AdditiveMechanism, first: int, second: int) -> NDArray[np.float64]:
    """The distinct points (n, 2) by which generating pairs move two answers, per unit of distance; both signs."""
    sensitivity = mechanism.sensitivity
    steps = sensitivity.queries.float_steps[[first, second]]
    moved = sensitivity.differences[:, [first, second]] / sensitivity.bounds[:, None] * steps
    return np.unique(np.vstack([moved, -moved]), axis=0)


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
