"""K-norm noise of an ellipsoid: a Gamma radius in a uniform direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.lazy_uniform import WORD
from dxgeom.noise.laws.rounding import IdealDraws, exponentials, legible
from dxgeom.numeric.randomness import Randomness

FLOAT_ERROR = 2.0**-29
"""Bound on the float64 error of one coordinate, relative to Σ_j |a_kj|·(m + R), given the two conditions below.

A normal N = √(2E)·cos 2πu is off by at most 2⁻³³: √E loses 2⁻⁴⁵/(2·2⁻¹⁰) where E ≥ 2⁻²⁰, the cosine 2⁻⁴⁸·√(2E).
Dividing by a length of at least 2⁻³ √m gives a direction within 2⁻³⁰·(1 + |D|)/2, and the radius adds 2⁻⁴³(m + R)."""
_SMALLEST_EXPONENTIAL = 2.0**-20
_SHORTEST = 2.0**-3


@final
@dataclass(frozen=True, eq=False)
class EllipsoidNoise(NoiseLaw):
    """V = axes·(R·D) with R ~ Gamma(m), D uniform on the unit sphere: density ∝ exp(−‖axes⁻¹v‖₂).

    D is the direction of m normals, two from each pair of uniforms (Box and Muller); of an odd number the last is left.
    """

    body: Ellipsoid

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> EllipsoidNoise | None:
        return None if body.axes_of_ball is None else cls(Ellipsoid(body.axes_of_ball))

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return self.body.noise_second_moment

    @property
    def amplitude(self) -> float:
        return float(np.abs(self.body.axes).sum(axis=1).max()) * self.body.dimension

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        normals = generator.standard_normal((count, self.dimension))
        directions = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        radius = generator.standard_gamma(self.dimension, (count, 1))
        return np.asarray((radius * directions) @ self.body.axes.T)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        size, pairs = self.dimension, -(-self.dimension // 2)
        words = randomness.words(count * (size + 2 * pairs)).reshape(count, size + 2 * pairs)
        sizes = exponentials(words[:, : size + pairs])
        radius = sizes[:, :size].sum(axis=1, keepdims=True)
        lengths, angles = np.sqrt(2 * sizes[:, size:]), words[:, size + pairs :].astype(np.float64) * 2.0**-WORD
        turns = np.stack([np.cos(2 * np.pi * angles), np.sin(2 * np.pi * angles)], axis=2)
        normals = (lengths[:, :, None] * turns).reshape(count, 2 * pairs)[:, :size]
        length = np.linalg.norm(normals, axis=1, keepdims=True)
        values = (radius * normals / np.where(length > 0, length, 1)) @ self.body.axes.T
        errors = (size + radius) * np.abs(self.body.axes).sum(axis=1) * FLOAT_ERROR
        tame = np.all(sizes[:, size:] >= _SMALLEST_EXPONENTIAL, axis=1) & (length[:, 0] >= _SHORTEST * size**0.5)
        return IdealDraws(values, errors, legible(words[:, : size + pairs]) & tame, words, lambda _: self._evaluate)

    def _evaluate(self, uniforms: list[arb]) -> list[arb]:
        size, pairs = self.dimension, -(-self.dimension // 2)
        sizes = [-uniform.log() for uniform in uniforms[: size + pairs]]
        turns = [2 * arb.pi() * uniform for uniform in uniforms[size + pairs :]]
        normals = [
            (2 * exponential).sqrt() * part
            for exponential, turn in zip(sizes[size:], turns, strict=True)
            for part in (turn.cos(), turn.sin())
        ][:size]
        square = sum((normal * normal for normal in normals), arb(0))
        scale = sum(sizes[:size], arb(0)) / square.sqrt()
        return [
            sum((arb(a) * normal for a, normal in zip(row, normals, strict=True)), arb(0)) * scale
            for row in self.body.axes.tolist()
        ]
