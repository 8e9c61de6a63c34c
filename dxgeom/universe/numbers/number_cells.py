"""What raw numbers a code stands for: an interval, and the one number of it whose worst error is smallest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

from dxgeom.numeric.sealed import cached_property

Interval: TypeAlias = tuple[Fraction, Fraction]


@final
@dataclass(frozen=True)
class RawNumbers:
    """Which raw numbers an attribute takes, beside those from its lowest to its highest end.

    ``whole``: whole numbers only. ``clamped``: numbers beyond the ends, too; they count in the end cells.
    ``true_ends``: the lowest and the highest raw number that there is, where that is stated of clamped numbers; no
    others are taken.
    """

    whole: bool = False
    clamped: bool = False
    true_ends: Interval | None = None

    @property
    def digest(self) -> tuple[object, ...]:
        """What is stated here, ready for JSON; nothing where nothing is."""
        ends = None if self.true_ends is None else [*map(str, self.true_ends)]
        return () if self == AS_THEY_ARE else (self.whole, self.clamped, ends)


AS_THEY_ARE = RawNumbers()
"""Any number between the ends, and none beyond."""


@final
@dataclass(frozen=True)
class NumberCells:
    """The raw numbers behind each code of an attribute: code k stands for [floors[k], floors[k + 1]), the last one for
    [floors[-1], top]; of whole numbers only for those between.

    Numbers that were clamped without true ends are spoken of as what they were clamped to.
    """

    floors: tuple[Fraction, ...]
    top: Fraction
    raw: RawNumbers = AS_THEY_ARE

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """The lowest number of each code and the highest, or the least that is above all of them. *Exact.*"""
        low, high = self.raw.true_ends or (self.floors[0], self.top)
        lower, upper = (low, *self.floors[1:]), (*self.floors[1:], high)
        if not self.raw.whole:
            return tuple(zip(lower, upper, strict=True))
        last = len(lower) - 1
        return tuple(
            (Fraction(math.ceil(one)), Fraction(math.floor(other) if k == last else math.ceil(other) - 1))
            for k, (one, other) in enumerate(zip(lower, upper, strict=True))
        )

    @cached_property
    def middles(self) -> tuple[Fraction, ...]:
        """The number of each code for sums and means: in the middle of its interval, which halves the worst error."""
        return tuple((low + high) / 2 for low, high in self.intervals)

    @cached_property
    def half_widths(self) -> tuple[Fraction, ...]:
        """How far a raw number can be from the middle of its code's interval."""
        return tuple((high - low) / 2 for low, high in self.intervals)
