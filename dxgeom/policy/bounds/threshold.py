"""ε for near values, nothing for others: Blowfish's distance threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dxgeom.metrics.graph import graph_of_amounts
from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes.axis import Amount, Axis, Pairs
from dxgeom.policy.bounds.bound import Bound, Stated, in_units


@final
@dataclass(frozen=True)
class Threshold(Bound):
    """ε for values at distance at most ``reach``, the border included; a pair that cannot be told from it is near."""

    axis: Axis
    epsilon: Fraction
    reach: Fraction

    def between(self, start: int, end: int) -> Amount:
        return self.epsilon if self.axis.is_within(start, end, self.reach) else math.inf

    def stated(self, unit: int | None) -> Stated:
        within, near = self.axis.within(self.reach), in_units([self.epsilon], unit)
        return lambda first, second: np.where(within(first, second), near, math.inf)

    def metric(self, size: int) -> Metric:
        first, second = self.few_pairs()
        return graph_of_amounts(size, (first, second), [self.epsilon], np.zeros(first.size, dtype=np.int64))

    @property
    def denominator(self) -> int:
        return self.epsilon.denominator

    @property
    def data(self) -> list[Any]:
        return ["near", self.axis.name, str(self.epsilon), str(self.reach)]

    @property
    def extremes(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.epsilon

    def nowhere_above(self, other: Bound) -> bool:
        if not isinstance(other, Threshold):
            return False
        return other.axis == self.axis and self.epsilon <= other.epsilon and self.reach >= other.reach

    def few_pairs(self) -> Pairs:
        return self.axis.pairs(self.reach)

    def why(self, metric: Metric) -> str:
        pairs = sum(block.bound.size for block in metric.generating_pairs())
        return f"only near pairs are bounded: shortest paths over those {pairs:,}"
