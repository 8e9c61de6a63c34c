"""Noise made of other noise: side by side, or through a linear map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.rounding import Evaluation, IdealDraws
from dxgeom.numeric.blocks import block_diagonal, block_slices
from dxgeom.numeric.randomness import Randomness


@final
@dataclass(frozen=True, eq=False)
class ProductNoise(NoiseLaw):
    """Independent parts side by side: density ∝ exp(−Σ_b ‖v_b‖_b) over blocks of coordinates."""

    parts: tuple[NoiseLaw, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise NotANormBall("a product has at least one part")

    @cached_property
    def second_moment(self) -> NDArray[np.float64]:
        return block_diagonal([part.second_moment for part in self.parts])

    @property
    def reach(self) -> float:
        return max(part.reach for part in self.parts)

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return np.hstack([part.simulate(count, generator) for part in self.parts])

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        draws = [part.ideal(count, randomness) for part in self.parts]
        blocks = block_slices(draw.words.shape[1] for draw in draws)

        def evaluation(row: int) -> Evaluation:
            evaluations = [draw.evaluation(row) for draw in draws]

            def evaluate(uniforms: list[arb]) -> list[arb]:
                parts = zip(evaluations, blocks, strict=True)
                return [value for part, block in parts for value in part(uniforms[block])]

            return evaluate

        return IdealDraws(
            np.hstack([draw.values for draw in draws]),
            np.hstack([draw.errors for draw in draws]),
            np.all([draw.legible for draw in draws], axis=0),
            np.hstack([draw.words for draw in draws]),
            evaluation,
            {
                row: [uniform for draw in draws for uniform in draw.uniforms(row)]
                for row in set().union(*(draw.refined for draw in draws))
            },
        )


@final
@dataclass(frozen=True, eq=False)
class LinearImageNoise(NoiseLaw):
    """W = map·V. ``map`` (m, n): float64, of rank m ≤ n.

    Where m = n the density is ∝ exp(−‖map⁻¹w‖_K), the noise of the body's image. Where m < n it is no such
    exponential, but W hides a shift w as well as the noise of the image does: for every u with map·u = w, adding w to W
    is adding u to V, and that changes the odds of V by at most e^‖u‖_K.
    """

    inner: NoiseLaw
    map: NDArray[np.float64]

    def __post_init__(self) -> None:
        size = self.inner.dimension
        shaped = self.map.ndim == 2 and self.map.shape[1] == size and np.all(np.isfinite(self.map))
        if not (shaped and 0 < len(self.map) == np.linalg.matrix_rank(self.map)):
            raise NotANormBall("the map of noise has a column for each of its coordinates, and independent rows")

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.asarray(self.map @ self.inner.second_moment @ self.map.T)

    @property
    def reach(self) -> float:
        return float(np.abs(self.map).sum(axis=1).max()) * self.inner.reach

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return np.asarray(self.inner.simulate(count, generator) @ self.map.T)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        draws = self.inner.ideal(count, randomness)
        lengths = np.abs(self.map).T
        # n products and n − 1 sums, each off by 2⁻⁵³ relative; doubled.
        rounding = self.map.shape[1] * 2.0**-51
        errors = draws.errors @ lengths * (1 + 2.0**-40) + np.abs(draws.values) @ lengths * rounding
        rows = self.map.tolist()

        def evaluation(row: int) -> Evaluation:
            inner = draws.evaluation(row)

            def evaluate(uniforms: list[arb]) -> list[arb]:
                values = inner(uniforms)
                return [sum((arb(a) * value for a, value in zip(line, values, strict=True)), arb(0)) for line in rows]

            return evaluate

        return IdealDraws(draws.values @ self.map.T, errors, draws.legible, draws.words, evaluation, draws.refined)
