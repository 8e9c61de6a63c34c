"""Noise for one linear query whose neighbouring answers differ by a set V, in layers of what i records can do.

Where |V| is small beside its reach, as for values near 0 or near 1000 and none between, such noise can have a quarter
of the error of any that knows the reach alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from dxgeom.errors import DxgeomError
from dxgeom.numeric.sealed import DefinedByNumbers


@final
@dataclass(frozen=True)
class IntervalUnion:
    """Disjoint closed intervals (low, high) in increasing order; points are intervals of length 0."""

    parts: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        ends = [end for part in self.parts for end in part]
        proper = all(low <= high for low, high in self.parts)
        if not proper or any(a[1] >= b[0] for a, b in zip(self.parts, self.parts[1:], strict=False)):
            raise DxgeomError(f"intervals are disjoint and in order, found the ends {ends}")

    def __add__(self, other: IntervalUnion) -> IntervalUnion:
        """The Minkowski sum {a + b}; *exact*."""
        return union_of((low + left, high + right) for low, high in self.parts for left, right in other.parts)

    def holds(self, place: Fraction) -> bool:
        """Whether the place is in the union; *exact*."""
        return any(low <= place <= high for low, high in self.parts)

    @property
    def length(self) -> Fraction:
        """The total length, *exact*."""
        return sum((high - low for low, high in self.parts), Fraction(0))

    @property
    def absolute_moment(self) -> Fraction:
        """∫ |r| dr over the union, *exact*."""
        return sum((high * abs(high) - low * abs(low) for low, high in self.parts), Fraction(0)) / 2

    @property
    def reach(self) -> Fraction:
        """The largest |r|."""
        return max((max(abs(low), abs(high)) for low, high in self.parts), default=Fraction(0))


def union_of(intervals: Iterable[tuple[Fraction | int, Fraction | int]]) -> IntervalUnion:
    """The union of closed intervals that may overlap or touch."""
    merged: list[tuple[Fraction, Fraction]] = []
    for low, high in sorted((Fraction(low), Fraction(high)) for low, high in intervals):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return IntervalUnion(tuple(merged))


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
