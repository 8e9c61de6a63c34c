"""Whether one norm is nowhere longer than another: space is cut into cones until each tells its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from dxgeom.geometry.bodies.exact_rows import dot, rationals
from dxgeom.numeric.exact_numbers import ExactNumber, at_most_one, rational, rational_matrix, value_rounded_up

MOST_CONES = 1 << 16
"""Cones that are looked at before the search gives up."""
MOST_DIMENSIONS = 8
_LONGEST = 2.0**50
_LEGIBLE = 2.0**-40
_STEPS, _TRIES, _SMALLEST_STEP = 30, 500, 1e-5

FloatNorm: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
ExactNorm: TypeAlias = Callable[[Sequence[fmpq]], ExactNumber]


@final
@dataclass(frozen=True, eq=False)
class Norm:
    """A norm on ℝᵐ, up to the rounding of float64 for points (…, m), and exactly for a rational one."""

    rounded: FloatNorm
    exact: ExactNorm


def is_nowhere_longer(first: Norm, second: Norm, dual: Norm, shape: NDArray[np.float64]) -> bool | None:
    """Whether ‖v‖ of ``first`` is at most that of ``second`` for every v; None when the limits leave it open.

    Space is cut into simplicial cones. If for some n ≠ 0 every edge g of a cone has ‖n‖*·‖g‖₁ ≤ n·g, the cone is done:
    each of its v is a sum of t_g·g with t_g ≥ 0, so ‖n‖*·‖v‖₁ ≤ Σ t_g·‖n‖*·‖g‖₁ ≤ n·v ≤ ‖n‖*·‖v‖₂. The n tried is the
    normal of the plane through the edges' points with ‖g‖₂ = 1. What is not done is halved. An edge with ‖g‖₁ > ‖g‖₂
    ends the search.

    Args: ``dual``: the dual norm of ``second``; ``shape`` (m, m): columns along which the first cones lie, best such
    that ``second`` is nearly round in their coordinates.
    Guarantee: True and False are *proved*: cones are halved in integers, and what a verdict rests on is compared in
    rationals or balls.
    """
    proof, size = _Proof(first, second, dual, shape), len(shape)
    if proof.is_longer(rationals(_far_point(first, second, shape))):
        return False
    if size > MOST_DIMENSIONS or not proof.spans:
        return None
    cones, looked_at = _orthants(size), 0
    while True:
        looked_at += len(cones)
        if looked_at > MOST_CONES or np.abs(cones).max() > _LONGEST:
            return None
        edges = cones @ shape.T
        lengths = second.rounded(edges)
        ratios = first.rounded(edges) / lengths
        furthest = np.unravel_index(ratios.argmax(), ratios.shape)
        if ratios[furthest] > 1 + _LEGIBLE and proof.is_longer(proof.place(cones[furthest])):
            return False
        normals = np.asarray(np.linalg.solve(edges / lengths[:, :, None], np.ones((len(cones), size, 1)))[:, :, 0])
        bounds = dual.rounded(normals) * ratios.max(axis=1)
        likely = bounds <= 1 - _LEGIBLE
        done = np.array(
            [ok and proof.is_done(cone, normal) for ok, cone, normal in zip(likely, cones, normals, strict=True)]
        )
        if done.all():
            return True
        cones = _halved(cones[~done], lengths[~done])


def _far_point(first: Norm, second: Norm, shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """(m,): where ``first`` is long against ``second``: the best of many, searched in ever smaller steps around it."""
    generator = np.random.default_rng(0)
    best = shape[:, 0]
    for step in np.geomspace(2.0, _SMALLEST_STEP, _STEPS):
        tried = np.vstack([best, best + step * generator.standard_normal((_TRIES, len(shape))) @ shape.T])
        tried /= second.rounded(tried)[:, None]
        best = tried[first.rounded(tried).argmax()]
    return best


def _orthants(size: int) -> NDArray[np.float64]:
    """(2^(m−1), m, m): the edges of every other orthant; the norms are symmetric."""
    signs = 1.0 - 2.0 * (np.arange(2 ** (size - 1))[:, None] >> np.arange(size) & 1)
    return np.asarray(signs[:, :, None] * np.eye(size))


def _halved(cones: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each cone cut through its widest pair of edges, between multiples of them that are about as long."""
    units = cones / np.linalg.norm(cones, axis=2, keepdims=True)
    cosines = units @ units.transpose(0, 2, 1)
    widest = cosines.reshape(len(cones), -1).argmin(axis=1)
    row, (one, other) = np.arange(len(cones)), np.unravel_index(widest, cosines.shape[1:])
    steps = np.rint(np.log2(lengths[row, other] / lengths[row, one]))[:, None]
    middle = cones[row, one] * 2.0 ** np.maximum(steps, 0) + cones[row, other] * 2.0 ** np.maximum(-steps, 0)
    halves = np.concatenate([cones, cones])
    halves[row, one] = middle
    halves[row + len(cones), other] = middle
    return halves


@final
class _Proof:
    """What is known exactly about single cones and edges; an edge belongs to many cones and is looked at once."""

    def __init__(self, first: Norm, second: Norm, dual: Norm, shape: NDArray[np.float64]) -> None:
        self._first, self._second, self._dual = first, second, dual
        self._matrix = rational_matrix(shape.tolist())
        self.spans = self._matrix.rank() == len(shape)
        self._bounds: dict[bytes, tuple[list[fmpq], fmpq]] = {}

    def is_longer(self, place: list[fmpq]) -> bool:
        """Whether ``first`` is longer than ``second`` there."""
        return at_most_one(lambda: self._first.exact(place) / self._second.exact(place)) is False

    def is_done(self, cone: NDArray[np.float64], normal: NDArray[np.float64]) -> bool:
        """Whether n ≠ 0 and ‖n‖*·‖g‖₁ ≤ n·g for every edge g."""
        direction = rationals(normal)
        length = rational(value_rounded_up(self._dual.exact(direction)))
        return any(direction) and all(
            length * bound <= dot(direction, place) for place, bound in map(self._place_and_bound, cone)
        )

    def _place_and_bound(self, edge: NDArray[np.float64]) -> tuple[list[fmpq], fmpq]:
        known = self._bounds.get(key := edge.tobytes())
        if known is None:
            place = self.place(edge)
            known = self._bounds[key] = place, rational(value_rounded_up(self._first.exact(place)))
        return known

    def place(self, edge: NDArray[np.float64]) -> list[fmpq]:
        """The end of an edge, shape·edge."""
        column = self._matrix * fmpq_mat(len(edge), 1, [int(x) for x in edge.tolist()])
        return [column[k, 0] for k in range(len(edge))]
