"""What every discrete noise law offers: exact probabilities, exact moments, and exact draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.numeric.randomness import Randomness


class DiscreteNoise(ABC):
    """A symmetric law of Z in ℤᵐ with P(Z = z) ∝ exp(−‖z‖) for a norm: no ideal noise is rounded.

    Adding Z to exact integer answers changes their odds by at most e^‖Δ‖ when the answers change by Δ.
    """

    @property
    @abstractmethod
    def second_moment(self) -> NDArray[np.float64]:
        """E[Z Zᵀ], (m, m), exact up to the rounding of float64."""

    @abstractmethod
    def probability(self, point: Sequence[int]) -> arb:
        """P(Z = point), as a ball of about 128 bits that contains it."""

    @abstractmethod
    def draw(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        """``count`` draws (count, m). Guarantee: *exact*, given uniform random words."""

    @property
    def dimension(self) -> int:
        """The number m of coordinates."""
        return len(self.second_moment)
