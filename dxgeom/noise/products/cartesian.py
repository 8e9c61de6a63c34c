"""K-norm noise of a Cartesian product of bodies: one radius, and a uniform point in each of the factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall, UnsupportedCombination
from dxgeom.geometry.composed_bodies import CartesianProduct
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.lazy_uniform import LazyUniform
from dxgeom.noise.laws.rounding import FLOAT_ERROR, Evaluation, IdealDraws, exponentials, legible
from dxgeom.numeric.blocks import block_slices
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property

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
        draws = [part.ideal(count, randomness) for part in self.parts]
        own = self.dimension + 1 + len(self.parts)
        words = randomness.words(count * own).reshape(count, own)
        sizes = exponentials(words)
        radius = sizes[:, : self.dimension + 1].sum(axis=1)
        values, errors, certain = self._points(draws, sizes[:, self.dimension + 1 :], radius)
        refined = {
            row: [
                *(uniform for draw in draws for uniform in draw.uniforms(row)),
                *(LazyUniform(int(word)) for word in words[row]),
            ]
            for row in set().union(*(draw.refined for draw in draws))
        }
        return IdealDraws(
            values,
            errors,
            np.all([certain, legible(words), *(draw.legible for draw in draws)], axis=0),
            np.hstack([*(draw.words for draw in draws), words]),
            lambda row: self._evaluation(draws, row),
            refined,
        )

    def _points(
        self, draws: list[IdealDraws], spare: NDArray[np.float64], radius: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Values, bounds on their errors, and whether float64 knows the denominators at all.

        With t = V_b/(‖V_b‖ + E): |δt| ≤ (|δV_b| + |t|·δ(denominator))/denominator, a little more than which allows for
        the denominator's own error; the radius adds |t|·δR, and four products and quotients 2⁻⁵² each.
        """
        radius_error = (self.dimension + 1 + radius) * FLOAT_ERROR
        values, errors, certain = [], [], np.ones(len(radius), dtype=np.bool_)
        for place, (part, draw) in enumerate(zip(self.parts, draws, strict=True)):
            gauge, slack = part.known_body.certified_gauge.near(draw.values, draw.errors)
            below = gauge + spare[:, place]
            below_error = slack + (1 + spare[:, place]) * FLOAT_ERROR + below * 2.0**-52
            certain &= below_error <= below * _LEAST_CERTAINTY
            below = np.where(below > 0, below, 1.0)
            point = draw.values / below[:, None]
            off = (draw.errors + np.abs(point) * below_error[:, None]) / below[:, None] * (1 + 2 * _LEAST_CERTAINTY)
            values.append(radius[:, None] * point)
            errors.append(
                (radius + radius_error)[:, None] * off + np.abs(point) * (radius_error + radius * 2.0**-50)[:, None]
            )
        return np.hstack(values), np.hstack(errors), certain

    def _evaluation(self, draws: list[IdealDraws], row: int) -> Evaluation:
        evaluations = [draw.evaluation(row) for draw in draws]
        blocks = block_slices(draw.words.shape[1] for draw in draws)
        own = blocks[-1].stop

        def evaluate(uniforms: list[arb]) -> list[arb]:
            sizes = [-uniform.log() for uniform in uniforms[own:]]
            radius = sum(sizes[: self.dimension + 1], arb(0))
            values: list[arb] = []
            for part, inner, block, spare in zip(
                self.parts, evaluations, blocks, sizes[self.dimension + 1 :], strict=True
            ):
                point = inner(uniforms[block])
                scale = radius / (part.known_body.certified_gauge.exact(point) + spare)
                values += [value * scale for value in point]
            return values

        return evaluate


def _simulated(part: NoiseLaw, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Uniform points (count, m_b) of the factor's body."""
    noise = part.simulate(count, generator)
    below = part.known_body.gauge(noise) + generator.standard_exponential(count)
    return np.asarray(noise / below[:, None])
