"""Independent discrete Laplace noise: two-sided geometric numbers of rational scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall
from dxgeom.noise.discrete.law import DiscreteNoise
from dxgeom.numeric.exact_draws import check_scale, fair_bits, geometric
from dxgeom.numeric.randomness import Randomness

PRECISION = 128
"""Bits of the probabilities' balls."""


@final
@dataclass(frozen=True, eq=False)
class DiscreteLaplaceNoise(DiscreteNoise):
    """P(z) ∝ exp(−Σ_k |z_k|/scales[k]) on ℤᵐ, for positive rational scales.

    Source: Canonne, Kamath & Steinke 2020, Algorithm 2; Ghosh, Roughgarden & Sundararajan 2012 (geometric mechanism).
    """

    scales: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.scales or any(scale <= 0 for scale in self.scales):
            raise NotANormBall("discrete Laplace noise has at least one coordinate, and positive scales")
        for scale in self.scales:
            check_scale(scale)

    def loss(self, shift: Sequence[int]) -> Fraction:
        return sum((abs(int(z)) / scale for z, scale in zip(shift, self.scales, strict=True)), Fraction(0))

    @property
    def second_moment(self) -> NDArray[np.float64]:
        """E[z²] = 2x/(1 − x)² with x = exp(−1/scale)."""
        rates = np.array([1 / float(scale) for scale in self.scales])
        return np.diag(2 * np.exp(-rates) / np.expm1(-rates) ** 2)

    def probability(self, point: Sequence[int]) -> arb:
        with ctx.workprec(PRECISION):
            result = arb(1)
            for z, scale in zip(point, self.scales, strict=True):
                ratio = (-arb(fmpq(scale.denominator, scale.numerator))).exp()
                result *= (1 - ratio) / (1 + ratio) * ratio ** abs(int(z))
            return result

    def draw(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        return np.stack([_two_sided(scale, count, randomness) for scale in self.scales], axis=1)


def _two_sided(scale: Fraction, count: int, randomness: Randomness) -> NDArray[np.int64]:
    """A geometric number with a fair sign; −0 is drawn again, lest 0 be twice as likely."""
    values = np.zeros(count, dtype=np.int64)
    pending = np.arange(count)
    while pending.size:
        sizes = geometric(scale, len(pending), randomness)
        negative = fair_bits(len(pending), randomness)
        values[pending] = np.where(negative, -sizes, sizes)
        pending = pending[negative & (sizes == 0)]
    return values
