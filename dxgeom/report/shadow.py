"""The shadow of a noise body: what it looks like from the side of two queries."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.noise.laws.box import BoxNoise
from dxgeom.noise.laws.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.laws.ellipsoid import EllipsoidNoise
from dxgeom.noise.laws.facet_cones import FacetConeNoise
from dxgeom.noise.laws.laplace import LaplaceNoise
from dxgeom.noise.laws.law import NoiseLaw

_ANGLES = np.linspace(0, 2 * np.pi, 360, endpoint=False)
_DIRECTIONS = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
"""A round body is drawn as a polygon with a corner for every degree."""


def shadow_of_body(mechanism: AdditiveMechanism, first: int, second: int) -> NDArray[np.float64]:
    """The corners (h, 2), counter-clockwise, of the unit ball of a mechanism's noise seen on two queries.

    In answer units at spend 1. It holds everything by which a change of one record at distance 1 can move the two
    answers, up to the rounding of float64. A body that is flat from there has two corners, no noise at all gives one.
    Raises: UnsupportedCombination for a law whose body is not known here.
    """
    onto = mechanism.float_spread[[first, second]]
    return convex_polygon(_corners(mechanism.law, onto))


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


def _corners(law: NoiseLaw | None, onto: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (n, 2) whose hull is the image under ``onto`` (2, m) of the unit ball of the noise's norm."""
    match law:
        case None:
            return np.zeros((1, 2))
        case LinearImageNoise(inner=inner, map=image):
            return _corners(inner, onto @ image)
        case ProductNoise(parts=parts):
            ends = [0, *accumulate(part.dimension for part in parts)]
            blocks = zip(parts, pairwise(ends), strict=True)
            return np.vstack([_corners(part, onto[:, start:end]) for part, (start, end) in blocks])
        case FacetConeNoise(body=body):
            return np.asarray(body.vertices @ onto.T)
        case LaplaceNoise(scales=scales):
            return np.vstack([(onto * scales).T, -(onto * scales).T])
        case EllipsoidNoise(body=body):
            pulled = _DIRECTIONS @ (onto @ body.axes)
            lengths = np.linalg.norm(pulled, axis=1, keepdims=True)
            return np.asarray(pulled / np.where(lengths > 0, lengths, 1) @ (onto @ body.axes).T)
        case BoxNoise(body=body):
            edges = onto * body.half_widths
            across = np.column_stack([-edges[1], edges[0]])
            signs = np.sign(np.vstack([_DIRECTIONS, across + 1e-9 * edges.T, across - 1e-9 * edges.T]) @ edges)
            return np.vstack([signs @ edges.T, -signs @ edges.T])
        case _:
            raise UnsupportedCombination(f"no picture is known here of {type(law).__name__}")
