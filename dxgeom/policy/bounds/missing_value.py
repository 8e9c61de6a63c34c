"""How far the missing value of an attribute is from every value that is there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dxgeom.metrics.graph import graph_of_amounts
from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes.axis import Amount, Pairs
from dxgeom.policy.bounds.bound import Bound, Stated, in_units


@final
@dataclass(frozen=True)
class MissingValue(Bound):
    """ε between each value and the code ``missing``, the last one; nothing between values that are there."""

    missing: int
    epsilon: Fraction

    def between(self, start: int, end: int) -> Amount:
        return self.epsilon if self.missing in (start, end) else math.inf

    def stated(self, unit: int | None) -> Stated:
        away = in_units([self.epsilon], unit)
        return lambda first, second: np.where((first == self.missing) | (second == self.missing), away, math.inf)

    def metric(self, size: int) -> Metric:
        first, second = self.few_pairs()
        return graph_of_amounts(size, (first, second), [self.epsilon], np.zeros(first.size, dtype=np.int64))

    @property
    def denominator(self) -> int:
        return self.epsilon.denominator

    @property
    def data(self) -> list[Any]:
        return ["missing", str(self.epsilon)]

    @property
    def to_missing(self) -> Fraction:
        return self.epsilon

    @property
    def extremes(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.epsilon

    def nowhere_above(self, other: Bound) -> bool:
        return isinstance(other, MissingValue) and self.epsilon <= other.epsilon

    def few_pairs(self) -> Pairs:
        return np.arange(self.missing, dtype=np.int64), np.full(self.missing, self.missing, dtype=np.int64)

    def why(self, metric: Metric) -> str:
        return "only the missing value is bounded, equally far from every other"

    def example(self) -> tuple[int, int | None]:
        return 0, self.missing
