"""Bounds stated value by value, also of missing ones, and the simplest form of any bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.metrics.families import StarMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import graph_of_amounts
from dxgeom.metrics.metric import Metric, PairBlock
from dxgeom.numeric.rounding import sum_round_down
from dxgeom.policy.axes import Amount, Codes, Pairs, Row
from dxgeom.policy.bounds.bound import MIXED_SIZE_LIMIT, Bound, Constant, Stated, closed, common_denominator, in_units
from dxgeom.universe.attributes import Attribute


@final
@dataclass(frozen=True)
class ByValue(Bound):
    """min(ε_a, ε_b) for values a ≠ b; None where a value has no ε of its own: then the other one's counts alone."""

    epsilons: tuple[Fraction | None, ...]

    def between(self, start: int, end: int) -> Amount:
        stated = (self.epsilons[start], self.epsilons[end])
        return min((epsilon for epsilon in stated if epsilon is not None), default=math.inf)

    def as_written(self, unit: int | None) -> Stated:
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
    def constant(self) -> Fraction | None:
        smallest, largest = self.extremes
        return smallest if smallest == largest else None

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


@final
@dataclass(frozen=True)
class ByIndividual(Bound):
    """ε_a + ε_b for values a ≠ b; None where a value has no ε of its own: nothing is stated for its pairs."""

    epsilons: tuple[Fraction | None, ...]
    closed: ClassVar[bool] = True

    def between(self, start: int, end: int) -> Amount:
        one, other = self.epsilons[start], self.epsilons[end]
        return math.inf if one is None or other is None else one + other

    def as_written(self, unit: int | None) -> Stated:
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


@final
@dataclass(frozen=True)
class MissingValue(Bound):
    """ε between each value and the code ``missing``, the last one; nothing between values that are there."""

    missing: int
    epsilon: Fraction

    def between(self, start: int, end: int) -> Amount:
        return self.epsilon if self.missing in (start, end) else math.inf

    def as_written(self, unit: int | None) -> Stated:
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


@final
@dataclass(frozen=True)
class AmongPresent(Bound):
    """The inner bound for values that are there; nothing for pairs with the code ``missing``, the last one."""

    inner: Bound
    missing: int

    def between(self, start: int, end: int) -> Amount:
        return math.inf if self.missing in (start, end) else self.inner.between(start, end)

    def as_written(self, unit: int | None) -> Stated:
        stated = self.inner.as_written(unit)

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
    def of_present(self) -> Bound:
        return self.inner

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


def reduced(stated: Sequence[Bound]) -> tuple[tuple[Bound, ...], Fraction | None]:
    """Bounds on one attribute, and a ceiling after their closure, that together have the closure of those stated.

    A ceiling may be applied after the closure: a path through a pair bounded by ε is itself at least ε long. A list by
    value takes the ceiling in.
    """
    ceiling = least_constant(stated)
    lists = [bound for bound in stated if isinstance(bound, ByValue)]
    rest = list(dict.fromkeys(bound for bound in stated if not isinstance(bound, Constant | ByValue)))
    kept = tuple(bound for bound in rest if not _is_undercut(bound, rest, ceiling))
    return ((smaller_of_each(lists, ceiling), *kept), None) if lists else (kept, ceiling)


def shapes(bound: Bound, stated: Sequence[Bound], kept: Sequence[Bound]) -> bool:
    """Whether one of the bounds stated is still part of what was kept of them."""
    if isinstance(bound, Constant):
        return bound.epsilon == least_constant(stated)
    return isinstance(bound, ByValue) or bound in kept


def least_constant(stated: Sequence[Bound]) -> Fraction | None:
    """The smallest ε that is stated for every pair."""
    return min((bound.epsilon for bound in stated if isinstance(bound, Constant)), default=None)


def _is_undercut(bound: Bound, others: Sequence[Bound], ceiling: Fraction | None) -> bool:
    """Whether the ceiling or another bound is at most this one on every pair (and the bounds differ)."""
    if ceiling is not None and ceiling <= bound.extremes[0]:
        return True
    return any(other != bound and other.nowhere_above(bound) for other in others)
