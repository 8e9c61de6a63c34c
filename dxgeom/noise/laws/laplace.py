"""Independent Laplace noise: the K-norm noise of a cross-polytope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.round_bodies import CrossPolytope
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.rounding import FLOAT_ERROR, IdealDraws, exponential_sums, exponentials, legible
from dxgeom.numeric.canonical_digest import own_numbers
from dxgeom.numeric.exact_draws import fair_bits
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property


@final
@dataclass(frozen=True, eq=False)
class LaplaceNoise(NoiseLaw):
    """V_k = ±scales[k]·E_k: density ∝ exp(−Σ |v_k| / scales[k]). ``scales`` (m,): positive float64, lattice steps."""

    scales: NDArray[np.float64]

    def __post_init__(self) -> None:
        own_numbers(self, "scales")
        if self.scales.ndim != 1 or not np.all((self.scales > 0) & np.isfinite(self.scales)):
            raise NotANormBall(f"Laplace scales are positive and finite, found {self.scales}")

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> LaplaceNoise | None:
        if body.powers is None or body.powers.exponent != 1:
            return None
        return cls(body.powers.radii)

    @cached_property
    def body(self) -> CrossPolytope:
        return CrossPolytope(self.scales)

    @property
    def laplace_scales(self) -> NDArray[np.float64]:
        return self.scales

    def size_in_words(self, hidden: str) -> str:
        return f"{len(self.scales):,} scales from {hidden}"

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.diag(2 * self.scales**2)

    def variances_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((rows**2) @ (2 * self.scales**2))

    @property
    def dimension(self) -> int:
        return len(self.scales)

    @property
    def amplitude(self) -> float:
        return float(self.scales.max())

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return generator.laplace(size=(count, self.scales.size)) * self.scales

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        words, axes, values, errors = self._drawn(count, randomness)
        return IdealDraws(
            values, errors, legible(words), words, lambda row: exponential_sums(np.diag(axes[row]).tolist())
        )

    def apart(self, count: int, randomness: Randomness) -> IdealDraws:
        words, axes, values, errors = self._drawn(count, randomness)
        alone, signed = words.reshape(-1, 1), axes.reshape(-1, 1)
        return IdealDraws(
            values.reshape(-1, 1),
            errors.reshape(-1, 1),
            legible(alone),
            alone,
            lambda row: exponential_sums([signed[row].tolist()]),
        )

    def _drawn(
        self, count: int, randomness: Randomness
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """(count, m) each: words, signed scales, values and bounds on their errors."""
        size = self.scales.size
        words = randomness.words(count * size).reshape(count, size)
        axes = np.where(fair_bits(count * size, randomness).reshape(count, size), 1.0, -1.0) * self.scales
        sizes = exponentials(words)
        return words, axes, axes * sizes, self.scales * (1 + sizes) * FLOAT_ERROR
