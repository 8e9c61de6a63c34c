"""An ε for each individual, of which two add up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.metrics.families import StarMetric
from dxgeom.metrics.metric import Metric, PairBlock
from dxgeom.numeric.rounding import sum_round_down
from dxgeom.policy.axes.axis import Amount
from dxgeom.policy.bounds.bound import MIXED_SIZE_LIMIT, Bound, Stated, closed, common_denominator, in_units


@final
@dataclass(frozen=True)
class ByIndividual(Bound):
    """ε_a + ε_b for values a ≠ b; None where a value has no ε of its own: nothing is stated for its pairs."""

    epsilons: tuple[Fraction | None, ...]
    closed: ClassVar[bool] = True

    def between(self, start: int, end: int) -> Amount:
        one, other = self.epsilons[start], self.epsilons[end]
        return math.inf if one is None or other is None else one + other

    def stated(self, unit: int | None) -> Stated:
        own = in_units(self.epsilons, unit)
        if unit is None:
            return lambda first, second: sum_round_down(own[first], own[second])
        return lambda first, second: own[first] + own[second]

    def metric(self, size: int) -> Metric:
        """A value without an ε of its own stands alone; among the others no detour is shorter than a sum."""
        known = [(code, epsilon) for code, epsilon in enumerate(self.epsilons) if epsilon is not None]
        star = StarMetric(tuple(epsilon for _, epsilon in known))
        if star.size == len(self.epsilons):
            return star
        if star.size > MIXED_SIZE_LIMIT:
            raise TooLarge(
                f"'individuals' lists {star.size:,} of its values and leaves others out; at most {MIXED_SIZE_LIMIT:,} "
                "are handled then: say 'otherwise'"
            )
        codes = np.array([code for code, _ in known], dtype=np.int64)
        pairs = star.generating_pairs()
        return closed(len(self.epsilons), (PairBlock(codes[one], codes[other], bound) for one, other, bound in pairs))

    @property
    def denominator(self) -> int:
        return common_denominator(self.epsilons)

    @property
    def data(self) -> list[Any]:
        return ["individuals", [None if epsilon is None else str(epsilon) for epsilon in self.epsilons]]

    @property
    def extremes(self) -> tuple[Fraction, Amount]:
        return sum(self._known[:2], Fraction(0)), sum(self._known[-2:], Fraction(0))

    def nowhere_above(self, other: Bound) -> bool:
        if not isinstance(other, ByIndividual):
            return False
        pairs = zip(self.epsilons, other.epsilons, strict=True)
        return all(theirs is None or (mine is not None and mine <= theirs) for mine, theirs in pairs)

    def why(self, metric: Metric) -> str:
        if isinstance(metric, StarMetric):
            return "every value has its own epsilon and two values their sum: that is a metric as it stands"
        pairs = sum(block.bound.size for block in metric.generating_pairs())
        return f"only near pairs are bounded: shortest paths over those {pairs:,}"

    def example(self) -> tuple[int, int | None]:
        return self.epsilons.index(self._known[0]), None

    @cached_property
    def _known(self) -> list[Fraction]:
        """In increasing order."""
        return sorted(epsilon for epsilon in self.epsilons if epsilon is not None)
