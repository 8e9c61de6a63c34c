"""What every noise law offers: exact moments, a float simulation, and draws fit for release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.noise.laws.rounding import IdealDraws, round_draws
from dxgeom.numeric.randomness import Randomness


class NoiseLaw(ABC):
    """A symmetric law of V in ℝᵐ, in lattice steps, that hides a shift w up to e^‖w‖_K; mostly ∝ exp(−‖V‖_K).

    Laws: ``second_moment`` is E[V Vᵀ]; ``simulate`` and ``draw`` agree with it and with each other, the latter rounded.
    """

    @property
    @abstractmethod
    def second_moment(self) -> NDArray[np.float64]:
        """E[V Vᵀ], (m, m), exact up to the rounding of float64."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """No coordinate exceeds this times the largest of its exponentials."""

    @abstractmethod
    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """``count`` float draws (count, m) for predictions and plots. **Never release these.**"""

    @abstractmethod
    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        """``count`` draws of V with a bound on what float64 makes of them, and the way to their exact values."""

    def draw(self, count: int, randomness: Randomness, factor: Fraction = Fraction(1)) -> NDArray[np.int64]:
        """``count`` draws of ``factor·V``, each coordinate rounded to the nearest integer (count, m).

        Guarantee: *exactly* the law of the rounded ideal noise, given uniform random words.
        Raises: TooLarge when a coordinate could leave int64.
        """
        self.check_size(factor)
        return round_draws(self.ideal(count, randomness), factor, randomness)

    @property
    def dimension(self) -> int:
        """The number m of coordinates."""
        return len(self.second_moment)

    def check_size(self, factor: Fraction) -> None:
        """Refuse a factor whose draws could leave int64, with a chance above e⁻¹⁰⁰.

        Raises: TooLarge.
        """
        if not self.reach * float(factor) * 400 < 2.0**62:
            raise TooLarge("noise of this size does not fit 64-bit integers; spend more of the budget on this release")
