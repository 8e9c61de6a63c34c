"""Gaussian noise of any covariance, for concentrated privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.normals import exact_normals, normals, words_for
from dxgeom.noise.laws.rounding import IdealDraws
from dxgeom.numeric.randomness import Randomness


@final
@dataclass(frozen=True, eq=False)
class GaussianNoise(NoiseLaw):
    """V = axes·N, N standard normal in ℝᵐ: covariance Σ = axes·axesᵀ.

    A shift w makes D_α(V + w‖V) = α·‖w‖²/2 for every α > 1, with ‖w‖ = √(wᵀΣ⁻¹w) = ‖axes⁻¹w‖₂ the norm of ``body``,
    the ellipsoid of those axes. The density is not ∝ exp(−‖v‖): odds are not bounded, and this hides shifts in the
    concentrated sense alone.

    Guarantee: ``draw`` rounds the ideal normal numbers *exactly*: whatever float64 leaves open is decided from more
    bits of the same uniforms. ``axes`` is the very matrix that containment is checked with.
    Source: Bun & Steinke 2016, Lemma 2.4; Box & Muller 1958.
    """

    body: Ellipsoid

    @property
    def concentrated(self) -> bool:
        return True

    @property
    def normal(self) -> bool:
        return True

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.asarray(self.body.axes @ self.body.axes.T)

    @property
    def amplitude(self) -> float:
        """√(2E) ≤ √2·E for exponentials from 1 on."""
        return float(np.abs(self.body.axes).sum(axis=1).max()) * math.sqrt(2)

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return np.asarray(generator.standard_normal((count, self.dimension)) @ self.body.axes.T)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        size = self.dimension
        words = randomness.words(count * words_for(size)).reshape(count, words_for(size))
        found, lengths = normals(words, size), np.abs(self.body.axes).T
        # m products and m − 1 sums in any order, each off by 2⁻⁵³ relative; doubled, and so is what bounds them.
        rounding = np.abs(found.values) @ lengths * ((size + 3) * 2.0**-52)
        errors = found.errors @ lengths * (1 + (size + 3) * 2.0**-52) + rounding * (1 + 2.0**-20)
        return IdealDraws(found.values @ self.body.axes.T, errors, found.legible, words, lambda _: self._evaluate)

    def _evaluate(self, uniforms: list[arb]) -> list[arb]:
        drawn = exact_normals(uniforms, self.dimension)
        return [
            sum((arb(a) * normal for a, normal in zip(row, drawn, strict=True) if a), arb(0))
            for row in self.body.axes.tolist()
        ]
