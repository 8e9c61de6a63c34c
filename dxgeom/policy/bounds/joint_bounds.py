"""Bounds on records that differ in several attributes at once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.combinations import MaxMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import round_down
from dxgeom.policy.axes import Amount, Codes, Row
from dxgeom.policy.bounds.bound import Bound, Constant, common_unit, in_units
from dxgeom.policy.bounds.distance_bounds import PerDistance

Moves: TypeAlias = Mapping[str, tuple[int, int]]
"""By attribute, the two different codes between which it moves."""
Table: TypeAlias = Callable[[Sequence[int], Sequence[int]], Row]
"""From a code of each attribute and the attributes' sizes, the bound of every combination; shape: the sizes."""


class JointBound(ABC):
    """An upper bound for records that differ only in the attributes ``names``, which are in the universe's order.

    Laws as of a :class:`Bound`, with a combination of codes in a code's place.
    """

    names: tuple[str, ...]

    @property
    @abstractmethod
    def constant(self) -> Fraction | None:
        """Its ε where it is the same for all such records; without one it ties the attributes to each other."""

    @abstractmethod
    def alone(self, name: str) -> Bound:
        """What it states for records that differ in this one of its attributes only."""

    @abstractmethod
    def between(self, moves: Moves) -> Amount:
        """The bound for records that differ by these moves, one at least; *exact* or *rounded down*."""

    @abstractmethod
    def of_pairs(self, moves: Mapping[str, tuple[Codes, Codes]]) -> NDArray[np.float64]:
        """The bound of many pairs of records by the codes of each of its attributes, some alike; *rounded down*."""

    @abstractmethod
    def table(self, unit: int | None) -> Table:
        """The bounds from one combination to every other, in units as of ``Bound.as_written``."""

    @abstractmethod
    def metric(self, parts: Sequence[Metric]) -> Metric:
        """The closure on combinations of its attributes' codes, from the closures of what it states of each alone."""

    @property
    @abstractmethod
    def denominator(self) -> int | None:
        """Every stated bound is a whole multiple of one over this; None where bounds are rounded."""

    @property
    @abstractmethod
    def data(self) -> list[Any]:
        """What fingerprints are made of: a word for the kind, its attributes, and its numbers as text."""

    @abstractmethod
    def nowhere_above(self, other: JointBound) -> bool:
        """Whether this is at most the other bound on every pair that the other bounds; not sure counts as no."""

    def is_undercut(self, others: Sequence[JointBound], ceiling: Fraction | None) -> bool:
        """Whether one of the others (or the ceiling on all pairs) is at most this one on every pair that it bounds."""
        if ceiling is not None and self.constant is not None and ceiling <= self.constant:
            return True
        return any(other != self and other.nowhere_above(self) for other in others)


@final
@dataclass(frozen=True)
class JointConstant(JointBound):
    """ε for records that differ only in these attributes, in however many of them at once; two names at least."""

    names: tuple[str, ...]
    epsilon: Fraction

    @property
    def constant(self) -> Fraction:
        return self.epsilon

    def alone(self, name: str) -> Bound:
        return Constant(self.epsilon)

    def between(self, moves: Moves) -> Fraction:
        return self.epsilon

    def of_pairs(self, moves: Mapping[str, tuple[Codes, Codes]]) -> NDArray[np.float64]:
        first, _ = moves[self.names[0]]
        return np.full(first.shape, round_down(self.epsilon))

    def table(self, unit: int | None) -> Table:
        same = in_units([self.epsilon], unit)
        return lambda codes, sizes: np.broadcast_to(same, sizes)

    def metric(self, parts: Sequence[Metric]) -> Metric:
        return DiscreteMetric(math.prod(part.size for part in parts), self.epsilon)

    @property
    def denominator(self) -> int:
        return self.epsilon.denominator

    @property
    def data(self) -> list[Any]:
        return ["together", list(self.names), str(self.epsilon)]

    def nowhere_above(self, other: JointBound) -> bool:
        if not isinstance(other, JointConstant):
            return False
        return self.epsilon <= other.epsilon and set(other.names) <= set(self.names)


@final
@dataclass(frozen=True)
class LargestChange(JointBound):
    """The largest of the attributes' own bounds, for records that differ only in these; every floor is 0."""

    names: tuple[str, ...]
    each: tuple[PerDistance, ...]

    @property
    def constant(self) -> None:
        return None

    def alone(self, name: str) -> Bound:
        return self.each[self.names.index(name)]

    def between(self, moves: Moves) -> Amount:
        return max(self.alone(name).between(*codes) for name, codes in moves.items())

    def of_pairs(self, moves: Mapping[str, tuple[Codes, Codes]]) -> NDArray[np.float64]:
        return np.asarray(np.maximum.reduce([self.alone(name).of_pairs(*codes) for name, codes in moves.items()]))

    def table(self, unit: int | None) -> Table:
        stated = [bound.as_written(unit) for bound in self.each]

        def largest(codes: Sequence[int], sizes: Sequence[int]) -> Row:
            found = np.zeros(sizes, dtype=np.float64 if unit is None else object)
            for axis, (bound, code, size) in enumerate(zip(stated, codes, sizes, strict=True)):
                moves = np.array(bound(np.full(size, code), np.arange(size)))
                moves[code] = 0
                found = np.maximum(found, moves.reshape([-1 if k == axis else 1 for k in range(len(sizes))]))
            return found

        return largest

    def metric(self, parts: Sequence[Metric]) -> Metric:
        return MaxMetric(tuple(parts))

    @property
    def denominator(self) -> int | None:
        each = [bound.denominator for bound in self.each]
        return None if None in each else common_unit(each)

    @property
    def data(self) -> list[Any]:
        return ["largest", list(self.names), [bound.data for bound in self.each]]

    def nowhere_above(self, other: JointBound) -> bool:
        if not isinstance(other, LargestChange) or not set(other.names) <= set(self.names):
            return False
        return all(self.alone(name).nowhere_above(bound) for name, bound in zip(other.names, other.each, strict=True))
