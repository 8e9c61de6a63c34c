"""The balls of ℓ∞, ℓ₁ and ℓ₂, stretched: boxes, cross-polytopes, ellipsoids."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.body import ConvexBody


@final
@dataclass(frozen=True, eq=False)
class Box(ConvexBody):
    """|v_k| ≤ half_widths[k] for every k: the stretched ball of ℓ∞."""

    half_widths: NDArray[np.float64]

    def __post_init__(self) -> None:
        _check_positive(self.half_widths)

    @property
    def dimension(self) -> int:
        return len(self.half_widths)

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.max(np.abs(np.asarray(points)) / self.half_widths, axis=-1))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.abs(np.asarray(directions)) @ self.half_widths)

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
        _check_positive(self.radii)

    @property
    def dimension(self) -> int:
        return len(self.radii)

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.sum(np.abs(np.asarray(points)) / self.radii, axis=-1))

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(np.max(np.abs(np.asarray(directions)) * self.radii, axis=-1))

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

    @property
    def volume(self) -> float:
        ball = math.pi ** (self.dimension / 2) / math.gamma(self.dimension / 2 + 1)
        return float(ball * abs(np.linalg.det(self.axes)))

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.asarray(self.axes @ self.axes.T / (self.dimension + 2))


def _check_positive(lengths: NDArray[np.float64]) -> None:
    if lengths.ndim != 1 or lengths.size == 0 or not np.all((lengths > 0) & np.isfinite(lengths)):
        raise NotANormBall(f"a body's lengths are positive and finite, found {lengths}")
