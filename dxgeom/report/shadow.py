"""The shadow of a noise body: what it looks like from the side of two queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.additive import AdditiveMechanism
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.laplace import LaplaceNoise


def shadow_of_body(mechanism: AdditiveMechanism, first: int, second: int) -> NDArray[np.float64]:
    """The corners (h, 2), counter-clockwise, of the unit ball of a mechanism's noise seen on two queries.

    In answer units at spend 1. It holds everything by which a change of one record at distance 1 can move the two
    answers, up to the rounding of float64. A body that is flat from there has two corners, no noise at all gives one.
    Raises: UnsupportedCombination for a law without corners.
    """
    onto = mechanism.float_spread[[first, second]]
    return convex_polygon(_corners(mechanism) @ onto.T)


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


def _corners(mechanism: AdditiveMechanism) -> NDArray[np.float64]:
    """The corners (n, m) of the unit ball of the noise's norm, in lattice steps."""
    match mechanism.law:
        case None:
            return np.zeros((1, mechanism.spread.shape[1]))
        case FacetConeNoise(body=body):
            return np.asarray(body.fan.vertices * (body.units * body.inflation))
        case LaplaceNoise(scales=scales):
            return np.vstack([np.diag(scales), -np.diag(scales)])
        case law:
            raise UnsupportedCombination(f"no picture is known here of {type(law).__name__}")
