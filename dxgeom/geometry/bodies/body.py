"""What every norm ball offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from flint import fmpq
from numpy.typing import ArrayLike, NDArray

from dxgeom.numeric.exact_numbers import ExactNumber


class ConvexBody(ABC):
    """A symmetric convex body K in ℝᵐ with interior: the unit ball of a norm.

    Laws: the gauge is a norm; ``gauge(v) ≤ 1`` iff v ∈ K; ``u·v ≤ support_function(u)·gauge(v)``, with equality for
    some v; a uniform point has the stated second moment; the exact gauge is what the gauge rounds.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number m of coordinates."""

    @abstractmethod
    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        """``‖v‖_K`` of points (…, m), up to the rounding of float64."""

    @abstractmethod
    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        """max over v ∈ K of u·v, of directions (…, m), up to the rounding of float64."""

    @abstractmethod
    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        """``‖point‖_K`` of one rational point: rational where it can be, else a ball at the precision in force."""

    @abstractmethod
    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """``count`` float points (count, m), uniform in K, for predictions and plots. **Never release these.**"""

    @property
    @abstractmethod
    def volume(self) -> float:
        """The volume, up to the rounding of float64."""

    @property
    @abstractmethod
    def second_moment(self) -> NDArray[np.float64]:
        """E[U Uᵀ] (m, m) of a uniform point, up to the rounding of float64."""

    @property
    def noise_second_moment(self) -> NDArray[np.float64]:
        """E[V Vᵀ] (m, m) of the noise with density ∝ exp(−‖v‖_K): a uniform point times a Gamma(m + 1) radius."""
        return (self.dimension + 1) * (self.dimension + 2) * self.second_moment
