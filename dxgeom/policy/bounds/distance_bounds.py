"""Bounds stated by distance: within a reach, in proportion, along edges, or inside groups."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, final

import numpy as np

from dxgeom.metrics.families import LineMetric, PartitionMetric
from dxgeom.metrics.graph import GraphMetric, graph_of_amounts
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import product_round_down, round_down
from dxgeom.policy.axes import Amount, Axis, CircleAxis, Codes, Pairs, Row
from dxgeom.policy.bounds.bound import Bound, Stated, common_denominator, in_units


@final
@dataclass(frozen=True)
class Threshold(Bound):
    """ε for values at distance at most ``reach``, the border included; a pair that cannot be told from it is near."""

    axis: Axis
    epsilon: Fraction
    reach: Fraction

    def between(self, start: int, end: int) -> Amount:
        return self.epsilon if self.axis.is_within(start, end, self.reach) else math.inf

    def as_written(self, unit: int | None) -> Stated:
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

    def as_written(self, unit: int | None) -> Stated:
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
        if isinstance(self.axis, CircleAxis):
            return "distance grows with the shorter way round, so each value and the next say it all"
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


_APART: Final = 2**31
"""Codes are below this, so that two of them fit into one int64."""


@final
@dataclass(frozen=True)
class Edges(Bound):
    """Its own ε for each listed pair of codes; the pairs increase, each with its lower code first."""

    pairs: tuple[tuple[int, int], ...]
    epsilons: tuple[Fraction, ...]

    def between(self, start: int, end: int) -> Amount:
        return self._by_pair.get((min(start, end), max(start, end)), math.inf)

    def as_written(self, unit: int | None) -> Stated:
        """The pairs increase, so they are found by halving."""
        one, other = self.few_pairs()
        known, amounts = one * _APART + other, in_units(self.epsilons, unit)

        def listed(first: Codes, second: Codes) -> Row:
            wanted = np.minimum(first, second) * _APART + np.maximum(first, second)
            at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
            return np.where(known[at] == wanted, amounts[at], math.inf)

        return listed

    def metric(self, size: int) -> Metric:
        first, second = self.few_pairs()
        return graph_of_amounts(size, (first, second), self.epsilons, np.arange(first.size))

    @property
    def denominator(self) -> int:
        return common_denominator(self.epsilons)

    @property
    def data(self) -> list[Any]:
        return ["edges", [[*pair, str(epsilon)] for pair, epsilon in zip(self.pairs, self.epsilons, strict=True)]]

    @property
    def extremes(self) -> tuple[Fraction, Fraction]:
        return min(self.epsilons), max(self.epsilons)

    def few_pairs(self) -> Pairs:
        first, second = np.array(self.pairs, dtype=np.int64).T.copy()
        return first, second

    def why(self, metric: Metric) -> str:
        return f"only the pairs of a file are bounded: shortest paths over those {len(self.pairs):,}"

    def example(self) -> tuple[int, int | None]:
        return self.pairs[0]

    @cached_property
    def _by_pair(self) -> dict[tuple[int, int], Fraction]:
        return dict(zip(self.pairs, self.epsilons, strict=True))


@final
@dataclass(frozen=True)
class Partition(Bound):
    """ε for values of one block; ``blocks`` numbers the block of each code, in the order of their first codes."""

    blocks: tuple[int, ...] = field(repr=False)
    epsilon: Fraction
    closed: ClassVar[bool] = True

    def between(self, start: int, end: int) -> Amount:
        return self.epsilon if self.blocks[start] == self.blocks[end] else math.inf

    def as_written(self, unit: int | None) -> Stated:
        inside, block = in_units([self.epsilon], unit), self._block
        return lambda first, second: np.where(block[first] == block[second], inside, math.inf)

    def metric(self, size: int) -> Metric:
        return PartitionMetric(self._block, self.epsilon)

    @property
    def denominator(self) -> int:
        return self.epsilon.denominator

    @property
    def data(self) -> list[Any]:
        return ["blocks", list(self.blocks), str(self.epsilon)]

    @property
    def extremes(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.epsilon

    def nowhere_above(self, other: Bound) -> bool:
        """Each of the other's blocks lies within one of these."""
        if not isinstance(other, Partition) or self.epsilon > other.epsilon:
            return False
        return len(set(zip(other.blocks, self.blocks, strict=True))) == len(set(other.blocks))

    def why(self, metric: Metric) -> str:
        return f"a constant inside each of {len(set(self.blocks)):,} blocks"

    @cached_property
    def _block(self) -> Codes:
        return np.array(self.blocks, dtype=np.int64)
