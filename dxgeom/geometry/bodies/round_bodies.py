"""The balls of ℓ∞, ℓ₁ and ℓ₂, stretched: boxes, cross-polytopes, ellipsoids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.numeric.exact_numbers import ExactNumber, largest, power, rational, solve_rationally, total


@final
@dataclass(frozen=True, eq=False)
class Box(ConvexBody):
    """|v_k| ≤ half_widths[k] for every k: the stretched ball of ℓ∞."""

    half_widths: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_lengths(self.half_widths)

    @property
    def dimension(self) -> int:
        return len(self.half_widths)

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.max(np.abs(np.asarray(points)) / self.half_widths, axis=-1))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.abs(np.asarray(directions)) @ self.half_widths)

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        return largest(shares_of(point, self.half_widths))

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return generator.uniform(-1, 1, (count, self.dimension)) * self.half_widths

    @property
    def volume(self) -> float:
        return float(np.prod(2 * self.half_widths))

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.diag(self.half_widths**2 / 3)


@final
@dataclass(frozen=True, eq=False)
class CrossPolytope(ConvexBody):
    """Σ_k |v_k|/radii[k] ≤ 1: the stretched ball of ℓ₁, whose noise is independent Laplace noise."""

    radii: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_lengths(self.radii)

    @property
    def dimension(self) -> int:
        return len(self.radii)

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.sum(np.abs(np.asarray(points)) / self.radii, axis=-1))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.max(np.abs(np.asarray(directions)) * self.radii, axis=-1))

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        return total(shares_of(point, self.radii))

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        sizes = generator.standard_exponential((count, self.dimension + 1))
        places = sizes[:, :-1] / sizes.sum(axis=1, keepdims=True)
        return np.asarray(places * generator.choice([-1.0, 1.0], places.shape) * self.radii)

    @property
    def volume(self) -> float:
        return float(np.prod(2 * self.radii)) / math.factorial(self.dimension)

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.diag(2 * self.radii**2 / ((self.dimension + 1) * (self.dimension + 2)))


@final
@dataclass(frozen=True, eq=False)
class Ellipsoid(ConvexBody):
    """``axes @ (the unit ball of ℓ₂)``; ``axes`` (m, m), invertible."""

    axes: NDArray[np.float64]

    def __post_init__(self) -> None:
        square = self.axes.ndim == 2 and self.axes.shape[0] == self.axes.shape[1] > 0
        if not (square and np.all(np.isfinite(self.axes)) and np.linalg.matrix_rank(self.axes) == len(self.axes)):
            raise NotANormBall("an ellipsoid's axes form an invertible square matrix of finite numbers")

    @property
    def dimension(self) -> int:
        return len(self.axes)

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        flat = np.asarray(points, dtype=np.float64).reshape(-1, self.dimension)
        lengths = np.linalg.norm(np.linalg.solve(self.axes, flat.T), axis=0)
        return np.asarray(lengths.reshape(np.shape(points)[:-1]))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.linalg.norm(np.asarray(directions) @ self.axes, axis=-1))

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        places = solve_rationally(self.axes.tolist(), point)
        return power(sum((place**2 for place in places), fmpq(0)), Fraction(1, 2))

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        normals = generator.standard_normal((count, self.dimension))
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        return np.asarray(normals / lengths * generator.random((count, 1)) ** (1 / self.dimension) @ self.axes.T)

    @property
    def volume(self) -> float:
        ball = math.pi ** (self.dimension / 2) / math.gamma(self.dimension / 2 + 1)
        return float(ball * abs(np.linalg.det(self.axes)))

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.asarray(self.axes @ self.axes.T / (self.dimension + 2))


def shares_of(point: Sequence[fmpq], lengths: NDArray[np.float64]) -> list[fmpq]:
    """|v_k|/lengths[k], exactly."""
    return [abs(x) / rational(length) for x, length in zip(point, lengths.tolist(), strict=True)]


def check_lengths(lengths: NDArray[np.float64]) -> None:
    """Refuse lengths (m,) that make no body. Raises: NotANormBall."""
    if lengths.ndim != 1 or lengths.size == 0 or not np.all((lengths > 0) & np.isfinite(lengths)):
        raise NotANormBall(f"a body's lengths are positive and finite, found {lengths}")
