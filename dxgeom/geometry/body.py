"""What every norm ball offers."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray


class ConvexBody(ABC):
    """A symmetric convex body K in ℝᵐ with interior: the unit ball of a norm.

    Laws: the gauge is a norm; ``gauge(v) ≤ 1`` iff v ∈ K; ``u·v ≤ support_function(u)·gauge(v)``, with equality for
    some v; a uniform point has the stated second moment.
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
