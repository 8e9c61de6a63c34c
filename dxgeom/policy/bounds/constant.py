"""The same ε for every two values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np

from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.bounds.bound import Bound, Stated, in_units


@final
@dataclass(frozen=True, order=True)
class Constant(Bound):
    """ε for every pair of different values."""

    epsilon: Fraction
    closed: ClassVar[bool] = True

    def between(self, start: int, end: int) -> Fraction:
        return self.epsilon

    def stated(self, unit: int | None) -> Stated:
        same = in_units([self.epsilon], unit)
        return lambda first, second: np.broadcast_to(same, first.shape)

    def metric(self, size: int) -> Metric:
        return DiscreteMetric(size, self.epsilon)

    @property
    def denominator(self) -> int:
        return self.epsilon.denominator

    @property
    def data(self) -> list[Any]:
        return ["constant", str(self.epsilon)]

    @property
    def extremes(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.epsilon

    def why(self, metric: Metric) -> str:
        return "every two values are bounded by the same epsilon"
