"""A bound that grows with distance, from 0 or from a floor: metric privacy, and the soft form of a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, final

import numpy as np

from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import product_round_down, round_down
from dxgeom.policy.axes.axis import Amount, Axis, Codes, Row
from dxgeom.policy.bounds.bound import Bound, Stated, common_denominator, in_units
from dxgeom.policy.bounds.threshold import Threshold


@final
@dataclass(frozen=True)
class PerDistance(Bound):
    """max(floor, rate·D) for values at distance D; floor 0 for ``per``, ε for ``within`` and ``beyond: linear``."""

    axis: Axis
    rate: Fraction
    floor: Fraction
    closed: ClassVar[bool] = True

    def between(self, start: int, end: int) -> Amount:
        apart = self.axis.between(start, end)
        if isinstance(apart, Fraction):
            return max(self.floor, self.rate * apart)
        return max(round_down(self.floor), float(product_round_down(round_down(self.rate), np.array(apart))))

    def stated(self, unit: int | None) -> Stated:
        if unit is None or self.axis.grain is None:
            return self.metric(self.axis.size).distance
        each, least = in_units([self.rate * self.axis.grain, self.floor], unit)

        def grown(first: Codes, second: Codes) -> Row:
            return np.asarray(np.maximum(_whole(self.axis.apart(first, second)) * each, least))

        return grown

    def metric(self, size: int) -> Metric:
        return self.axis.metric(self.rate, self.floor)

    @property
    def denominator(self) -> int | None:
        grain = self.axis.grain
        return None if grain is None else common_denominator([self.floor, self.rate * grain])

    @property
    def data(self) -> list[Any]:
        return ["growing", self.axis.name, str(self.rate), str(self.floor)]

    @property
    def extremes(self) -> tuple[Fraction, float]:
        return self.floor, math.inf

    @property
    def in_order(self) -> bool:
        return self.axis.in_order and self.floor == 0

    def nowhere_above(self, other: Bound) -> bool:
        if isinstance(other, PerDistance):
            return other.axis == self.axis and self.rate <= other.rate and self.floor <= other.floor
        if isinstance(other, Threshold):
            return other.axis == self.axis and max(self.floor, self.rate * other.reach) <= other.epsilon
        return False

    def why(self, metric: Metric) -> str:
        if isinstance(metric, GraphMetric):
            pairs = f"{metric.first.size:,} pairs"
            return f"distance grows along a graph: shortest paths over the {pairs} that generate it"
        if isinstance(metric, LineMetric):
            return "distance grows with the difference of numbers, so neighbouring values say it all"
        if self.floor > 0:
            return "distance grows, but not from below its epsilon: that is a metric as it stands"
        return "distance grows with the way between places: that is a metric as it stands"


def _whole(row: Row) -> Row:
    """Whole numbers of any size, and ∞."""
    exact = np.empty(row.size, dtype=object)
    exact[:] = [one if one == math.inf else int(one) for one in row.ravel().tolist()]
    return exact.reshape(row.shape)
