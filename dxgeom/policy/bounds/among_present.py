"""What a rule states about values that are there, where an attribute may also be missing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes.axis import Amount, Codes, Pairs, Row
from dxgeom.policy.bounds.bound import Bound, Stated, closed
from dxgeom.universe.attributes import Attribute


@final
@dataclass(frozen=True)
class AmongPresent(Bound):
    """The inner bound for values that are there; nothing for pairs with the code ``missing``, the last one."""

    inner: Bound
    missing: int

    def between(self, start: int, end: int) -> Amount:
        return math.inf if self.missing in (start, end) else self.inner.between(start, end)

    def stated(self, unit: int | None) -> Stated:
        stated = self.inner.stated(unit)

        def among_present(first: Codes, second: Codes) -> Row:
            there = (first != self.missing) & (second != self.missing)
            found = np.full(first.shape, math.inf, dtype=np.float64 if unit is None else object)
            found[there] = stated(first[there], second[there])
            return found

        return among_present

    def metric(self, size: int) -> Metric:
        return closed(size, self.inner.metric(size - 1).generating_pairs())

    @property
    def denominator(self) -> int | None:
        return self.inner.denominator

    @property
    def data(self) -> list[Any]:
        return ["there", *self.inner.data]

    @property
    def extremes(self) -> tuple[Fraction, Amount]:
        return self.inner.extremes

    def nowhere_above(self, other: Bound) -> bool:
        return isinstance(other, AmongPresent) and self.inner.nowhere_above(other.inner)

    def few_pairs(self) -> Pairs | None:
        return self.inner.few_pairs()

    def why(self, metric: Metric) -> str:
        return self.inner.why(metric)

    def example(self) -> tuple[int, int | None]:
        return self.inner.example()


def among_present(bound: Bound, attribute: Attribute) -> Bound:
    """The bound as one on all codes of an attribute, whose missing value, if it has one, it does not know."""
    return bound if attribute.missing is None else AmongPresent(bound, attribute.missing)
