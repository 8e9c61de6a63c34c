"""Readings that move together: noise for a whole series under the maximum metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from dxgeom.arguments import WHOLE, require, require_exact, require_level
from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.geometry.round_bodies import Box
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Mechanism, account_of, digest_of, require_not_held, require_one_record
from dxgeom.metrics.combinations import MaxMetric
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.noise.round_laws import BoxNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import cached_property, canonical_digest

LARGEST_SERIES = 150
"""Readings: the box's sampler has a proved error bound for twice as many uniforms and one more."""


@final
@dataclass(frozen=True)
class SeriesMechanism(Mechanism[Sequence[int], tuple[Fraction, ...]]):
    """n readings + round(V), V of density ∝ e^(−epsilon·max_t |v_t|), on a lattice of width ``step``.

    ``account``: whose budget a release spends. ``epsilon``: nats per unit of a reading. The data are each reading in
    steps of the lattice, integers. Made by :func:`series_mechanism` or :func:`series_mechanism_under`.

    Guarantee: exchanging the series x of lattice readings for y changes the
    odds of any output by at most e^(spend·epsilon·max_t |x_t − y_t|), however many readings differ.
    Source: Chatzikokolakis et al. 2013, §6.1; corrected: independent noise for each reading needs n times the scale.
    """

    account: Account
    readings: int
    epsilon: Fraction
    step: Fraction
    name: str = "series"

    def __post_init__(self) -> None:
        # A quotient of floats may be rounded down, and the noise with it.
        exact = isinstance(self.epsilon, (int, Fraction)) and isinstance(self.step, (int, Fraction))
        if not (exact and 1 <= self.readings <= LARGEST_SERIES and self.epsilon > 0 and self.step > 0):
            raise UnsupportedCombination(
                f"a series has 1 to {LARGEST_SERIES} readings, epsilon > 0 and step > 0, both exact: Fraction('0.1')"
            )

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("series", self.account.policy_fingerprint, self.name, self.step, self.law)

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

    def joint_half_width(self, level: float = 0.95, spend: Fraction = Fraction(1)) -> float:
        """With probability *at least* ``level`` no reading is off by more than this, all at once.

        Definition: the largest |V_t| has the density ∝ rⁿ⁻¹·e^(−εr), so it exceeds x/ε with the chance of fewer than n
        Poisson events of mean x; and half a step for the lattice. Up to the rounding of float64.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        require_level(level)
        low, high = 0.0, 1.0
        while _fewer_events(self.readings, high) > 1 - level:
            high *= 2
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _fewer_events(self.readings, middle) > 1 - level else (low, middle)
        return high / float(self.epsilon * spend) + float(self.step) / 2

    def check(self, data: Sequence[int], spend: Fraction) -> None:
        proper = isinstance(data, (Sequence, np.ndarray)) and len(data) == self.readings
        if not proper or not all(isinstance(one, WHOLE) and not isinstance(one, bool) for one in data):
            raise DataError(f"a series here has {self.readings} readings, integers in steps of {self.step}")
        if not spend > 0:
            raise UnsupportedCombination(f"a spend is positive, found {spend}")
        self.law.check_size(1 / spend)

    def draws(
        self, data: Sequence[int], spend: Fraction, count: int, randomness: Randomness
    ) -> list[tuple[Fraction, ...]]:
        """The noisy readings."""
        self.check(data, spend)
        return [
            tuple((int(reading) + z) * self.step for reading, z in zip(data, noise, strict=True))
            for noise in self.law.draw(count, randomness, 1 / spend).tolist()
        ]


def series_root_mean_square(readings: int, epsilon: float) -> tuple[float, float]:
    """The error of each of n readings that move together: by ℓ∞ noise, and by independent Laplace noise.

    Definition: √((n + 1)(n + 2)/3)/ε for the density ∝ e^(−ε·max|z_i|), and √2·n/ε, because n independent readings
    reveal n times what one does.
    Source: Chatzikokolakis et al. 2013, §6.1; corrected: Example 2 adds Laplace noise of scale 1/ε to each reading,
    which is n·ε-private under the maximum metric.
    """
    if not (0 < readings < math.inf and 0 < epsilon < math.inf):
        raise UnsupportedCombination("a series has readings and an epsilon, positive and finite")
    return math.sqrt(Fraction((readings + 1) * (readings + 2), 3)) / epsilon, math.sqrt(2) * readings / epsilon


def _fewer_events(number: int, mean: float) -> float:
    """The chance of fewer than so many events of a Poisson law; a sum of positive numbers."""
    return math.fsum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(number))


def series_mechanism(
    title: str, readings: int, epsilon: Fraction, step: Fraction, budget: Fraction = Fraction(1)
) -> SeriesMechanism:
    """Noise for series that no policy speaks of; all series of this title, epsilon and budget share an account.

    Raises: UnsupportedCombination for numbers that make no series.
    """
    require(title, str, "title", "give the name that a ledger is to know these series by")
    require(readings, WHOLE, "readings", "give their whole number")
    for number, what in ((epsilon, "epsilon"), (step, "step"), (budget, "budget")):
        require_exact(number, what)
    return SeriesMechanism(Account(title, digest_of("series", title, epsilon), budget), readings, epsilon, step)


def series_mechanism_under(metric: VerifiedMetric) -> SeriesMechanism:
    """Noise for the series of a policy that measures several numbers by their largest change.

    The answers lie on the lattice of the policy's own numbers, and are not held within its bounds.
    Raises: UnsupportedCombination unless all numbers have one rate and one step, and are multiples of that step.
    """
    require_verified(metric)
    require_one_record(metric, "series")
    inner = metric.metric
    lines = [part for part in inner.parts if isinstance(part, LineMetric)] if isinstance(inner, MaxMetric) else []
    rates = {line.rate for line in lines}
    if not isinstance(inner, MaxMetric) or len(lines) < len(inner.parts) or inner.step is None or len(rates) != 1:
        raise UnsupportedCombination("a series is of numbers measured by their largest change, with one rate and step")
    epsilon = rates.pop()
    step = inner.step / epsilon
    if any((line.positions[0] / step).denominator != 1 for line in lines):
        raise UnsupportedCombination(f"the readings of a series are multiples of their step, here {step}")
    return SeriesMechanism(account_of(require_not_held(metric, "a series")), len(lines), epsilon, step)
