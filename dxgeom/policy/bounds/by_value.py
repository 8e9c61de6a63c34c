"""An ε for each value, of which the smaller one of two counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dxgeom.metrics.families import ValueSensitivityMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes.axis import Amount
from dxgeom.policy.bounds.bound import Bound, Stated, common_denominator, in_units


@final
@dataclass(frozen=True)
class ByValue(Bound):
    """min(ε_a, ε_b) for values a ≠ b; None where a value has no ε of its own: then the other one's counts alone."""

    epsilons: tuple[Fraction | None, ...]

    def between(self, start: int, end: int) -> Amount:
        stated = (self.epsilons[start], self.epsilons[end])
        return min((epsilon for epsilon in stated if epsilon is not None), default=math.inf)

    def stated(self, unit: int | None) -> Stated:
        each = in_units(self.epsilons, unit)
        return lambda first, second: np.minimum(each[first], each[second])

    def metric(self, size: int) -> Metric:
        """A value without an ε of its own is reached through the most sensitive one and back: twice the smallest ε."""
        smallest = self.extremes[0]
        return ValueSensitivityMetric(tuple(2 * smallest if one is None else one for one in self.epsilons))

    @property
    def denominator(self) -> int:
        return common_denominator(self.epsilons)

    @property
    def data(self) -> list[Any]:
        return ["values", [None if epsilon is None else str(epsilon) for epsilon in self.epsilons]]

    @property
    def extremes(self) -> tuple[Fraction, Amount]:
        known = [epsilon for epsilon in self.epsilons if epsilon is not None]
        return min(known), max(known) if len(known) == len(self.epsilons) else math.inf

    def why(self, metric: Metric) -> str:
        return "an epsilon by value: the smaller one of two values counts, or a detour by the smallest of all"

    def example(self) -> tuple[int, int | None]:
        return self.epsilons.index(self.extremes[0]), None


def smaller_of_each(lists: Sequence[ByValue], ceiling: Fraction | None) -> ByValue:
    """Several lists and a constant as one list.

    min(min(a_i, a_j), min(b_i, b_j)) = min(min(a_i, b_i), min(a_j, b_j)), and the same with a constant.
    """
    columns = zip(*(bound.epsilons for bound in lists), strict=True)
    return ByValue(tuple(min((e for e in (*column, ceiling) if e is not None), default=None) for column in columns))
