"""K-norm noise of a box: all coordinates share one radius."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.round_bodies import Box
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.lazy_uniform import WORD
from dxgeom.noise.laws.rounding import FLOAT_ERROR, IdealDraws, exponentials, legible
from dxgeom.numeric.randomness import Randomness


@final
@dataclass(frozen=True, eq=False)
class BoxNoise(NoiseLaw):
    """V = R·U with R ~ Gamma(m + 1) and U uniform in the box: density ∝ exp(−max_k |v_k|/half_widths[k]).

    R is the sum of m + 1 exponentials, U_k = half_widths[k]·(2u_k − 1).
    Source: Awan & Slavković 2020, Prop. 4.13.
    """

    body: Box

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> BoxNoise | None:
        if body.powers is None or body.powers.exponent != math.inf:
            return None
        return cls(Box(body.powers.radii))

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return self.body.noise_second_moment

    @property
    def amplitude(self) -> float:
        return float(self.body.half_widths.max()) * (self.body.dimension + 1)

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        radius = generator.standard_gamma(self.dimension + 1, (count, 1))
        return np.asarray(radius * generator.uniform(-1, 1, (count, self.dimension)) * self.body.half_widths)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        size, widths = self.dimension, self.body.half_widths
        words = randomness.words(count * (2 * size + 1)).reshape(count, 2 * size + 1)
        radius = exponentials(words[:, : size + 1]).sum(axis=1, keepdims=True)
        places = words[:, size + 1 :].astype(np.float64) * 2.0 ** (1 - WORD) - 1
        # |places| ≤ 1 is off by less than 2⁻⁵¹, which the radius' own allowance of 2⁻⁴³(m + 1 + R) covers as well.
        errors = (size + 1 + radius) * widths * FLOAT_ERROR
        return IdealDraws(
            radius * places * widths, errors, legible(words[:, : size + 1]), words, lambda _: self._evaluate
        )

    def _evaluate(self, uniforms: list[arb]) -> list[arb]:
        size, widths = self.dimension, self.body.half_widths.tolist()
        radius = sum((-uniform.log() for uniform in uniforms[: size + 1]), arb(0))
        return [radius * (2 * uniform - 1) * width for uniform, width in zip(uniforms[size + 1 :], widths, strict=True)]
