"""What every discrete noise law offers: exact probabilities, exact moments, and exact draws."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.numeric.canonical_digest import DefinedByNumbers
from dxgeom.numeric.randomness import Randomness


class DiscreteNoise(DefinedByNumbers):
    """A symmetric law of Z in ℤᵐ with P(Z = z) ∝ exp(−‖z‖) for a norm: no ideal noise is rounded.

    Adding Z to exact integer answers changes their odds by at most e^‖Δ‖ when the answers change by Δ.

    Laws: ‖·‖ is ``loss``; log P(z) − log P(z + Δ) is ``loss(z + Δ) − loss(z)``; ``second_moment`` is that of
    ``probability``, which ``draw`` follows; laws with one digest are one law.
    """

    @abstractmethod
    def loss(self, shift: Sequence[int]) -> Fraction:
        """‖shift‖, *exact*: a shift of the answers changes the odds of any output by at most e^‖shift‖."""

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
