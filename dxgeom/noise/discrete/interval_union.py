"""Finite unions of closed intervals of the line, in exact rationals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dxgeom.errors import DxgeomError


@final
@dataclass(frozen=True)
class IntervalUnion:
    """Disjoint closed intervals (low, high) in increasing order; points are intervals of length 0."""

    parts: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        ends = [end for part in self.parts for end in part]
        proper = all(low <= high for low, high in self.parts)
        if not proper or any(a[1] >= b[0] for a, b in zip(self.parts, self.parts[1:], strict=False)):
            raise DxgeomError(f"intervals are disjoint and in order, found the ends {ends}")

    def __add__(self, other: IntervalUnion) -> IntervalUnion:
        """The Minkowski sum {a + b}; *exact*."""
        return union_of((low + left, high + right) for low, high in self.parts for left, right in other.parts)

    def holds(self, place: Fraction) -> bool:
        """Whether the place is in the union; *exact*."""
        return any(low <= place <= high for low, high in self.parts)

    @property
    def length(self) -> Fraction:
        """The total length, *exact*."""
        return sum((high - low for low, high in self.parts), Fraction(0))

    @property
    def absolute_moment(self) -> Fraction:
        """∫ |r| dr over the union, *exact*."""
        return sum((high * abs(high) - low * abs(low) for low, high in self.parts), Fraction(0)) / 2

    @property
    def reach(self) -> Fraction:
        """The largest |r|."""
        return max((max(abs(low), abs(high)) for low, high in self.parts), default=Fraction(0))


def union_of(intervals: Iterable[tuple[Fraction | int, Fraction | int]]) -> IntervalUnion:
    """The union of closed intervals that may overlap or touch."""
    merged: list[tuple[Fraction, Fraction]] = []
    for low, high in sorted((Fraction(low), Fraction(high)) for low, high in intervals):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return IntervalUnion(tuple(merged))
