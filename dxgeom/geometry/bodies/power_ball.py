"""The stretched balls of ℓp."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.bodies.axis_ball import AxisBall, check_lengths
from dxgeom.geometry.bodies.body import Powers
from dxgeom.numeric.canonical_digest import own_numbers


@final
@dataclass(frozen=True, eq=False)
class PowerBall(AxisBall):
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
