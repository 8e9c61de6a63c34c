"""A column: one fact about every value of an attribute, that queries may mention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

from dxgeom.universe.numbers.number_cells import NumberCells


@final
@dataclass(frozen=True)
class TextColumn:
    """A word for every code of an attribute.

    ``dates``: the words are days written year-month-day, increasing, so that they can be compared. ``missing``: the
    attribute has one more code, the last, which means no value and has no entry here. ``endless``: the last day stands
    for all that follow it, so that a later one can be refused.
    """

    name: str
    texts: tuple[str, ...]
    dates: bool = False
    missing: bool = False
    endless: bool = False


@final
@dataclass(frozen=True)
class NumberColumn:
    """An exact number for every code of an attribute.

    ``cells``: the half-open interval [low, high) that each code stands for (the last one closed) when a code
    covers many raw numbers, so that a threshold inside a cell can be refused; None when every code is one number.
    ``rounded``: raw numbers between two of these are rounded, so that a threshold between them can be refused.
    ``missing``: the attribute has one more code, the last, which means no value and has no entry here.
    ``stands_for``: the raw numbers behind each code; None where the number is a fact of the value itself.
    """

    name: str
    numbers: tuple[Fraction, ...]
    cells: tuple[tuple[Fraction, Fraction], ...] | None = None
    rounded: bool = False
    missing: bool = False
    stands_for: NumberCells | None = None

    @property
    def added_up(self) -> tuple[Fraction, ...]:
        """The number of each code for sums and means: no other halves what :attr:`half_widths` says any further."""
        return self.numbers if self.stands_for is None else self.stands_for.middles

    @property
    def half_widths(self) -> tuple[Fraction, ...]:
        """How far what a code stands for can be from its number in sums."""
        return (Fraction(0),) * len(self.numbers) if self.stands_for is None else self.stands_for.half_widths

    @property
    def extent(self) -> tuple[Fraction, Fraction]:
        """The lowest and the highest number that any code stands for."""
        if self.stands_for is None:
            return min(self.numbers), max(self.numbers)
        return self.stands_for.intervals[0][0], self.stands_for.intervals[-1][1]


Column: TypeAlias = TextColumn | NumberColumn


def may_be_fractions(column: Column) -> bool:
    """Whether a column's values stand for raw numbers that need not be whole."""
    return isinstance(column, NumberColumn) and column.stands_for is not None and not column.stands_for.raw.whole


def words_of_column(column: Column) -> tuple[str, ...]:
    """Its entries as words; a number as Python writes the fraction."""
    return tuple(map(str, column.numbers)) if isinstance(column, NumberColumn) else column.texts


def plain(number: Fraction) -> str:
    """An exact number as a person writes it: 5, 0.25, or 1/3 where no decimal is exact."""
    if number.denominator == 1:
        return str(number.numerator)
    decimals, rest = 0, number.denominator
    while rest % 10 == 0:
        rest, decimals = rest // 10, decimals + 1
    twos = fives = 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{number.numerator}/{number.denominator}"
    digits = decimals + max(twos, fives)
    shifted = abs(number.numerator) * 10**digits // number.denominator
    whole, fraction = divmod(shifted, 10**digits)
    return f"{'-' if number < 0 else ''}{whole}.{fraction:0{digits}d}".rstrip("0")


def chance_in_words(chance: Fraction) -> str:
    """A chance as a person writes it: 1e-9 where it is a power of ten or few digits of one, else all its digits."""
    if chance == 0:
        return "0"
    digits, power = chance, 0
    while digits < 1 and power < 300:
        digits, power = digits * 10, power + 1
    short = digits.denominator == 1 or (digits * 1000).denominator == 1
    return f"{plain(digits)}e-{power}" if short and power > 3 else plain(chance)


def texts_of(numbers: Sequence[Fraction]) -> tuple[str, ...]:
    """:func:`plain` of each number."""
    return tuple(plain(number) for number in numbers)
