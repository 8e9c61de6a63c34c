"""Noise for one linear query whose neighbouring answers differ by a set V, in layers of what i records can do.

Where |V| is small beside its reach, as for values near 0 or near 1000 and none between, such noise can have a quarter
of the error of any that knows the reach alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from dxgeom.errors import DxgeomError
from dxgeom.noise.discrete.interval_union import IntervalUnion, union_of
from dxgeom.numeric.canonical_digest import DefinedByNumbers

_NEGLIGIBLE = 1e-16
_MOST_LAYERS = 2_000


@final
@dataclass(frozen=True)
class LayeredLineNoise(DefinedByNumbers):
    """Density ∝ e^(−ε·i) on layer i = (i-fold sum of V) + [−width, width], less the layers before.

    ``differences`` V: what one record can change, made symmetric and to contain 0. ``width``: how much of the
    neighbourhood of an answer counts as the answer. ``epsilon``: nats.
    Guarantee: ε-private on data without bounds; the normaliser is the same everywhere, so nothing is lost to it.
    Source: Wu, Xia & He 2017, Theorem 3 and §6.2; corrected: V has to be symmetric, the printed ones are not, and
    Corollary 1 needs answers that are not clipped to a range, else 2ε.
    """

    differences: IntervalUnion
    width: Fraction
    epsilon: float

    def __post_init__(self) -> None:
        if not (self.differences.length > 0 and self.width >= 0 and self.epsilon > 0):
            raise DxgeomError("layered noise needs a set V of positive length, a width of at least 0 and epsilon > 0")

    @property
    def defining(self) -> tuple[Any, ...]:
        """Exact, with ε as the float64 that it is."""
        return self.differences.parts, Fraction(self.width), float(self.epsilon)

    def loss(self, shift: Fraction | int) -> float:
        """ε times the least number of differences that add up to ``shift``: so much it can change the log-odds.

        Guarantee: *exact* but for the product. Raises: DxgeomError when 2,000 of them do not reach it.
        """
        reached, step = union_of([(0, 0)]), self.symmetric_differences
        for number in range(_MOST_LAYERS):
            if reached.holds(Fraction(shift)):
                return self.epsilon * number
            reached = reached + step
        raise DxgeomError(f"{_MOST_LAYERS:,} differences do not add up to a shift of {shift}")

    @property
    def symmetric_differences(self) -> IntervalUnion:
        """±V ∪ {0}."""
        parts = self.differences.parts
        return union_of([*parts, *((-high, -low) for low, high in parts), (0, 0)])

    def balls(self, count: int) -> tuple[IntervalUnion, ...]:
        """The first ``count`` layers, each together with those before it, *exact*."""
        balls, step = [union_of([(-self.width, self.width)])], self.symmetric_differences
        while len(balls) < count:
            balls.append(balls[-1] + step)
        return tuple(balls)

    @property
    def mean_absolute(self) -> float:
        """E|noise|, from exact lengths and moments of the layers; *approximate within* a relative 1e-12.

        What lies beyond the last layer looked at is bounded by that of the interval it lies in.
        """
        ball, step = union_of([(-self.width, self.width)]), self.symmetric_differences
        mass, moment = float(ball.length), float(ball.absolute_moment)
        for layer in range(1, _MOST_LAYERS):
            grown = ball + step
            weight = math.exp(-self.epsilon * layer)
            mass += weight * float(grown.length - ball.length)
            moment += weight * float(grown.absolute_moment - ball.absolute_moment)
            ball = grown
            # The reach grows by V's at most, so what is left is below 2·weight·reach²·(1 + 1/ε)³.
            if weight * float(grown.reach) ** 2 * (1 + 1 / self.epsilon) ** 3 < _NEGLIGIBLE * moment:
                return moment / mass
        raise DxgeomError(f"epsilon {self.epsilon:g} is too small: {_MOST_LAYERS:,} layers do not hold the noise")


def staircase_mean_absolute(sensitivity: float, epsilon: float) -> float:
    """The least E|noise| of any ε-private noise that knows the sensitivity Δ alone: Δ·e^(ε/2)/(e^ε − 1).

    Source: Geng & Viswanath 2016, Theorem 3.
    """
    if not (sensitivity > 0 and epsilon > 0):
        raise DxgeomError("a staircase has a positive sensitivity and a positive epsilon")
    return sensitivity / (2 * math.sinh(epsilon / 2))
