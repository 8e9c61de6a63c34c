"""Readings that move together: noise for a whole series under the maximum metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np

from dxgeom.errors import DxgeomError
from dxgeom.geometry.round_bodies import Box
from dxgeom.mechanisms.usefulness import series_root_mean_square
from dxgeom.noise.box import BoxNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import round_up

LARGEST_SERIES = 150
"""Readings: the box's sampler has a proved error bound for twice as many uniforms and one more."""


@final
@dataclass(frozen=True)
class SeriesMechanism:
    """n readings + round(V), V of density ∝ e^(−epsilon·max_t |v_t|), on a lattice of width ``step``.

    ``epsilon``: nats per unit of a reading. Guarantee: exchanging the series x of lattice readings for y changes the
    odds of any output by at most e^(spend·epsilon·max_t |x_t − y_t|), however many readings differ.
    Source: Chatzikokolakis et al. 2013, §6.1; corrected: independent noise for each reading needs n times the scale.
    """

    readings: int
    epsilon: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        if not (1 <= self.readings <= LARGEST_SERIES and self.epsilon > 0 and self.step > 0):
            raise DxgeomError(f"a series has 1 to {LARGEST_SERIES} readings, epsilon > 0 and step > 0")

    @cached_property
    def law(self) -> BoxNoise:
        """The law of V at spend 1, in steps: radius Gamma(n + 1), direction uniform in the cube."""
        return BoxNoise(Box(np.full(self.readings, round_up(1 / (self.epsilon * self.step)))))

    @property
    def mean_absolute(self) -> float:
        """E|error| of each reading at spend 1, in a reading's unit: (n + 1)/(2ε), without lattice rounding."""
        return (self.readings + 1) / (2 * float(self.epsilon))

    @property
    def root_mean_square(self) -> float:
        """√E(error²) of each reading at spend 1: √((n + 1)(n + 2)/3)/ε, and step²/12 for the lattice."""
        ideal, _ = series_root_mean_square(self.readings, float(self.epsilon))
        return math.hypot(ideal, float(self.step) / math.sqrt(12))

    def answer(
        self, series: Sequence[int], randomness: Randomness, spend: Fraction = Fraction(1)
    ) -> tuple[Fraction, ...]:
        """The noisy readings. Charges no ledger: whoever releases them has to.

        Args: ``series``: each reading in steps of the lattice, an integer.
        Raises: DxgeomError when the series does not fit; TooLarge when the noise leaves 64-bit integers.
        """
        if len(series) != self.readings or any(int(reading) != reading for reading in series):
            raise DxgeomError(f"a series here has {self.readings} readings, integers in steps of {self.step}")
        if not spend > 0:
            raise DxgeomError(f"a spend is positive, found {spend}")
        noise = self.law.draw(1, randomness, 1 / spend)[0].tolist()
        return tuple((int(reading) + z) * self.step for reading, z in zip(series, noise, strict=True))
