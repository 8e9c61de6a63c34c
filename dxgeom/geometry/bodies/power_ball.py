"""The stretched balls of ℓp."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.bodies.body import ConvexBody, Powers
from dxgeom.geometry.bodies.exact_rows import Rows, every_sign, on_the_axes, rationals, reciprocals
from dxgeom.geometry.bodies.gauge import RowNorm
from dxgeom.geometry.bodies.round_bodies import check_lengths, shares_of
from dxgeom.numeric.canonical_digest import own_numbers
from dxgeom.numeric.exact_numbers import ExactNumber, largest, power, total


@final
@dataclass(frozen=True, eq=False)
class PowerBall(ConvexBody):
    """Σ_k (|v_k|/radii[k])^p ≤ 1, and |v_k| ≤ radii[k] where p is infinite; ``exponent``: p, from 1 to ∞.

    Volume Π 2r_k · Γ(1 + 1/p)^m / Γ(1 + m/p). A vector of independent x_k with density ∝ exp(−|x|^p) has a direction
    that is independent of its length, and Γ(a/p)/Γ(1/p) for its moments; the second moment follows.
    Source: Dirichlet's integral.
    """

    radii: NDArray[np.float64]
    exponent: float

    def __post_init__(self) -> None:
        own_numbers(self, "radii")
        check_lengths(self.radii)
        if not self.exponent >= 1:
            raise NotANormBall(f"the ball of ℓp is convex for p from 1 to infinity, found {self.exponent}")

    @property
    def dimension(self) -> int:
        return len(self.radii)

    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        return _power_norm(np.abs(np.asarray(points)) / self.radii, self.exponent)

    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        p = self.exponent
        dual = math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)
        return _power_norm(np.abs(np.asarray(directions)) * self.radii, dual)

    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        shares = shares_of(point, self.radii)
        if math.isinf(self.exponent):
            return largest(shares)
        p = Fraction(self.exponent)
        powers = total(power(share, p) for share in shares)
        return power(powers, 1 / p)

    @cached_property
    def certified_gauge(self) -> RowNorm:
        return RowNorm(reciprocals(self.radii), self.exponent)

    def exact_corners(self) -> Rows | None:
        match self.exponent:
            case 1:
                return on_the_axes(rationals(self.radii))
            case math.inf:
                return every_sign(rationals(self.radii))
            case _:
                return None

    def exact_facets(self) -> Rows | None:
        rates = [1 / radius for radius in rationals(self.radii)]
        match self.exponent:
            case 1:
                return every_sign(rates)
            case math.inf:
                return on_the_axes(rates)
            case _:
                return None

    @property
    def powers(self) -> Powers:
        return Powers(self.radii, self.exponent)

    @property
    def axes_of_ball(self) -> NDArray[np.float64] | None:
        return np.diag(self.radii) if self.exponent == 2 else None

    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        if math.isinf(self.exponent):
            return generator.uniform(-1, 1, (count, self.dimension)) * self.radii
        sizes = generator.standard_gamma(1 / self.exponent, (count, self.dimension))
        whole = sizes.sum(axis=1, keepdims=True) + generator.standard_exponential((count, 1))
        places = (sizes / whole) ** (1 / self.exponent)
        return np.asarray(places * generator.choice([-1.0, 1.0], places.shape) * self.radii)

    @property
    def volume(self) -> float:
        inverse, m = 1 / self.exponent, self.dimension
        share = math.exp(m * math.lgamma(1 + inverse) - math.lgamma(1 + m * inverse))
        return float(np.prod(2 * self.radii)) * share

    @property
    def second_moment(self) -> NDArray[np.float64]:
        p, m = self.exponent, self.dimension
        if math.isinf(p):
            return np.diag(self.radii**2 / 3)
        logarithm = math.lgamma(3 / p) + math.lgamma(m / p) - math.lgamma(1 / p) - math.lgamma((m + 2) / p)
        return np.diag(self.radii**2 * (math.exp(logarithm) * m / (m + 2)))


def _power_norm(lengths: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """(Σ lengths^p)^(1/p) along the last axis, divided by the longest first so that nothing overflows."""
    longest = np.max(lengths, axis=-1)
    if math.isinf(exponent):
        return np.asarray(longest)
    shares = lengths / np.where(longest > 0, longest, 1.0)[..., None]
    return np.asarray(longest * np.sum(shares**exponent, axis=-1) ** (1 / exponent))
