"""Noise made of other noise: side by side, through a linear map, or of a Cartesian product with one radius."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall, UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.inverse import Enclosure, inverse_enclosure
from dxgeom.geometry.round_bodies import CartesianProduct, FreeSum, LinearImage, blocks_of
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rounding import FLOAT_ERROR, Evaluation, IdealDraws, LazyUniform, exponentials, legible, sums_of
from dxgeom.numeric.arrays import block_diagonal, block_slices
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import cached_property, freeze_arrays


@final
@dataclass(frozen=True, eq=False)
class ProductNoise(NoiseLaw):
    """Independent parts side by side: density ∝ exp(−Σ_b ‖v_b‖_b) over blocks of coordinates."""

    parts: tuple[NoiseLaw, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise NotANormBall("a product has at least one part")

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> ProductNoise | None:
        return None if body.summands is None else cls(tuple(law_of(part) for part in body.summands))

    @cached_property
    def body(self) -> FreeSum | None:
        bodies = [part.body for part in self.parts if part.body is not None]
        return FreeSum(tuple(bodies)) if len(bodies) == len(self.parts) else None

    @property
    def concentrated(self) -> bool:
        """If a part is. The root of the sum of squares of the parts' norms is at most their sum."""
        return any(part.concentrated for part in self.parts)

    @property
    def normal(self) -> bool:
        return all(part.normal for part in self.parts)

    def loss_upper_bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        cut = [part.loss_upper_bounds(shifts[:, block], errors[:, block]) for part, block in self._blocks]
        return np.asarray(np.sum(cut, axis=0) * (1 + (len(cut) + 1) * UNIT_ROUNDOFF))

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.vstack([part.projection(onto[:, block]) for part, block in self._blocks])

    @property
    def facets(self) -> int:
        return sum(part.facets for part in self.parts)

    @property
    def _blocks(self) -> list[tuple[NoiseLaw, slice]]:
        return list(zip(self.parts, block_slices(part.dimension for part in self.parts), strict=True))

    @cached_property
    def second_moment(self) -> NDArray[np.float64]:
        return block_diagonal([part.second_moment for part in self.parts])

    def variances_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.sum([part.variances_along(rows[:, block]) for part, block in self._blocks], axis=0))

    def mean_sizes_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Of rows that lie in one part each."""
        parts = [part.mean_sizes_along(rows[:, block]) for part, block in self._blocks]
        touched = np.array([np.any(rows[:, block] != 0, axis=1) for _, block in self._blocks])
        known = [part for part in parts if part is not None]
        return np.sum(known, axis=0) if len(known) == len(parts) and touched.sum(axis=0).max() <= 1 else None

    @cached_property
    def dimension(self) -> int:
        return sum(part.dimension for part in self.parts)

    @property
    def amplitude(self) -> float:
        return max(part.amplitude for part in self.parts)

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
        freeze_arrays(self, "map")
        size = self.inner.dimension
        shaped = self.map.ndim == 2 and self.map.shape[1] == size and np.all(np.isfinite(self.map))
        if not (shaped and 0 < len(self.map) == np.linalg.matrix_rank(self.map)):
            raise NotANormBall("the map of noise has a column for each of its coordinates, and independent rows")

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> LinearImageNoise | None:
        if body.preimage is None:
            return None
        inner, image = body.preimage
        return cls(law_of(inner), image)

    @cached_property
    def body(self) -> LinearImage | None:
        inner = self.inner.body
        return None if inner is None or self._is_wide else LinearImage(inner, self.map)

    @property
    def concentrated(self) -> bool:
        return self.inner.concentrated

    @property
    def normal(self) -> bool:
        return self.inner.normal

    def loss_upper_bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Through a wide map R the norm is min{‖u‖ : R·u = w}, and ‖u‖ of that of least squares, u = Rᵀ(RRᵀ)⁻¹w, or of
        one near it, is never below it."""
        return self.inner.loss_upper_bounds(*self._inverse.images(shifts, errors))

    def quantiles_along(self, rows: NDArray[np.float64], missed: float) -> NDArray[np.float64] | None:
        return self.inner.quantiles_along(rows @ self.map, missed)

    def mean_sizes_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        return self.inner.mean_sizes_along(rows @ self.map)

    def preimages(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(E, n) and (E, n): for each point a u with map·u = point, near least squares, and bounds on its errors."""
        return self._inverse.products(points)

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner.projection(onto @ self.map)

    @property
    def facets(self) -> int:
        return self.inner.facets

    def size_in_words(self, hidden: str) -> str:
        if self._is_wide:
            return f"{self.inner.dimension:,} sums in {len(self.map):,} dimensions around {hidden}"
        return super().size_in_words(hidden)

    @property
    def _is_wide(self) -> bool:
        return bool(len(self.map) < self.map.shape[1])

    @cached_property
    def _inverse(self) -> Enclosure:
        return inverse_enclosure(self.map)

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.asarray(self.map @ self.inner.second_moment @ self.map.T)

    @property
    def amplitude(self) -> float:
        return float(np.abs(self.map).sum(axis=1).max()) * self.inner.amplitude

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
            return lambda uniforms: sums_of(rows, inner(uniforms))

        return IdealDraws(draws.values @ self.map.T, errors, draws.legible, draws.words, evaluation, draws.refined)


_LEAST_CERTAINTY = 2.0**-12
"""A denominator that float64 knows less well than this leaves its row to exact arithmetic."""


@final
@dataclass(frozen=True, eq=False)
class CartesianProductNoise(NoiseLaw):
    """Density ∝ exp(−max_b ‖v_b‖_b) over blocks of coordinates, from the noise of each factor, without rejection.

    V = R·(U₁, …, U_B), R ~ Gamma(m + 1), U_b uniform in factor b. A uniform point comes of the factor's own noise V_b
    as V_b/(‖V_b‖_b + E), E a standard exponential: ‖V_b‖_b ~ Gamma(m_b) is independent of V_b/‖V_b‖_b, and
    Gamma(m_b)/(Gamma(m_b) + E) is the m_b-th root of a uniform number.

    Guarantee: ``draw`` is *exact*, from lazily read bits of all these.
    Raises: NotANormBall without factors; UnsupportedCombination for a factor whose density is no exp(−‖v‖).
    """

    parts: tuple[NoiseLaw, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise NotANormBall("a product has at least one factor")
        if any(part.concentrated for part in self.parts):
            raise UnsupportedCombination("the factors' noise has density ∝ exp(−‖v‖), which Gaussian noise has not")
        self.body.certified_gauge  # noqa: B018 (a factor whose body is known as a projection only is refused here)

    @cached_property
    def body(self) -> CartesianProduct:
        return CartesianProduct(tuple(part.known_body for part in self.parts))

    @property
    def facets(self) -> int:
        return sum(part.facets for part in self.parts)

    @cached_property
    def second_moment(self) -> NDArray[np.float64]:
        return self.body.noise_second_moment

    @property
    def amplitude(self) -> float:
        """No factor's point is longer than its body, and the radius has m + 1 exponentials."""
        reach = max(float(part.known_body.support_function(np.eye(part.dimension)).max()) for part in self.parts)
        return reach * (self.dimension + 1)

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        radius = generator.standard_gamma(self.dimension + 1, (count, 1))
        return np.asarray(radius * np.hstack([_simulated(part, count, generator) for part in self.parts]))

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        inner = ProductNoise(self.parts).ideal(count, randomness)
        further = self.dimension + 1 + len(self.parts)
        words = randomness.words(count * further).reshape(count, further)
        sizes = exponentials(words)
        radius = sizes[:, : self.dimension + 1].sum(axis=1)
        values, errors, certain = self._points(inner, sizes[:, self.dimension + 1 :], radius)
        return IdealDraws(
            values,
            errors,
            certain & legible(words) & inner.legible,
            np.hstack([inner.words, words]),
            lambda row: self._evaluation(inner.evaluation(row), inner.words.shape[1]),
            {row: [*known, *(LazyUniform(int(word)) for word in words[row])] for row, known in inner.refined.items()},
        )

    def _points(
        self, inner: IdealDraws, spare: NDArray[np.float64], radius: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Values, bounds on their errors, and whether float64 knows the denominators at all.

        With t = V_b/(‖V_b‖ + E): |δt| ≤ (|δV_b| + |t|·δ(denominator))/denominator, a little more than which allows for
        the denominator's own error; the radius adds |t|·δR, and four products and quotients 2⁻⁵² each.
        """
        radius_error = (self.dimension + 1 + radius) * FLOAT_ERROR
        values, errors, certain = [], [], np.ones(len(radius), dtype=np.bool_)
        for place, (body, block) in enumerate(blocks_of(self.body.parts)):
            noise, noise_errors = inner.values[:, block], inner.errors[:, block]
            gauge, slack = body.certified_gauge.near(noise, noise_errors)
            below = gauge + spare[:, place]
            below_error = slack + (1 + spare[:, place]) * FLOAT_ERROR + below * 2.0**-52
            certain &= below_error <= below * _LEAST_CERTAINTY
            below = np.where(below > 0, below, 1.0)
            point = noise / below[:, None]
            off = (noise_errors + np.abs(point) * below_error[:, None]) / below[:, None] * (1 + 2 * _LEAST_CERTAINTY)
            values.append(radius[:, None] * point)
            errors.append(
                (radius + radius_error)[:, None] * off + np.abs(point) * (radius_error + radius * 2.0**-50)[:, None]
            )
        return np.hstack(values), np.hstack(errors), certain

    def _evaluation(self, inner: Evaluation, words: int) -> Evaluation:
        """``words``: how many of the uniforms are those of the factors."""

        def evaluate(uniforms: list[arb]) -> list[arb]:
            noise, sizes = inner(uniforms[:words]), [-uniform.log() for uniform in uniforms[words:]]
            radius = sum(sizes[: self.dimension + 1], arb(0))
            values: list[arb] = []
            for (body, block), spare in zip(blocks_of(self.body.parts), sizes[self.dimension + 1 :], strict=True):
                scale = radius / (body.certified_gauge.exact(noise[block]) + spare)
                values += [value * scale for value in noise[block]]
            return values

        return evaluate


def _simulated(part: NoiseLaw, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Uniform points (count, m_b) of the factor's body."""
    noise = part.simulate(count, generator)
    below = part.known_body.gauge(noise) + generator.standard_exponential(count)
    return np.asarray(noise / below[:, None])
