"""What somebody says of a column: all words, the ends of numbers or days, or a part of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Final, TypeAlias, final

from dxgeom.errors import DataError
from dxgeom.universe.decimals import NotANumber, exact

MOST_WHOLE: Final = 32
"""So many whole numbers are values of their own; more are put together to between 10 and 25."""
_MOST_STEPS: Final = 25
_ROUND: Final = (Fraction(1), Fraction(2), Fraction(5), Fraction(10))


@final
@dataclass(frozen=True)
class Values:
    """All words that there can be."""

    words: tuple[str, ...]


@final
@dataclass(frozen=True)
class Numbers:
    """The lowest and the highest number that anybody can have, and the step between values."""

    low: Fraction
    high: Fraction
    step: Fraction
    whole: bool

    @property
    def steps(self) -> int:
        return int((self.high - self.low) / self.step)


@final
@dataclass(frozen=True)
class Days:
    """The first and the last day that there can be, and how many days are one value."""

    first: date
    last: date
    step: int


@final
@dataclass(frozen=True)
class Months:
    """The month of each day, 1 to 12."""


@final
@dataclass(frozen=True)
class Chapters:
    """The first letter of each code, A to Z."""


Declared: TypeAlias = Values | Numbers | Days | Months | Chapters


def values_of(text: str) -> Values:
    """The words in a list with commas, each once."""
    return each_once(text.split(","))


def each_once(words: Iterable[str]) -> Values:
    """These words without blanks at their ends, each once."""
    return Values(tuple(dict.fromkeys(word.strip() for word in words if word.strip())))


def ends_of(text: str, *, whole: bool) -> Numbers | Days:
    """What ``LOW:HIGH`` or ``LOW:HIGH:STEP`` says, in numbers or days.

    Raises: DataError.
    """
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise DataError(f"a range is like 0:110, 0:110:10 or 2026-01-01:2026-12-31; found '{text}'")
    try:
        if _is_day(parts[0]):
            return _days(parts)
        low, high = exact(parts[0].strip()), exact(parts[1].strip())
        step = exact(parts[2].strip()) if len(parts) == 3 else _step(low, high, whole=whole)
    except (NotANumber, ValueError) as error:
        raise DataError(f"a range is like 0:110 or 2026-01-01:2026-12-31; found '{text}': {error}") from error
    if not low < high or step <= 0 or step > high - low:
        raise DataError(f"a range goes from a lower to a higher number in steps that fit in; found '{text}'")
    reach = math.ceil((high - low) / step) * step
    return Numbers(low, low + reach, step, whole and low.denominator == step.denominator == 1)


def _is_day(text: str) -> bool:
    return text.strip().count("-") == 2 and not text.strip().startswith("-")


def _days(parts: list[str]) -> Days:
    first, last = (date.fromisoformat(part.strip()) for part in parts[:2])
    if not first < last:
        raise ValueError("the last day is after the first")
    step = int(parts[2]) if len(parts) == 3 else max(1, math.ceil((last - first).days / 52))
    if step < 1:
        raise ValueError("a step is a number of days")
    return Days(first, last, step)


def _step(low: Fraction, high: Fraction, *, whole: bool) -> Fraction:
    """One where there are few whole numbers, else the least round step that gives at most 25."""
    span = high - low
    if span <= 0 or (whole and low.denominator == high.denominator == 1 and span < MOST_WHOLE):
        return Fraction(1)
    power = Fraction(10) ** (math.floor(math.log10(span)) - 2)
    found = next(f * power * ten for ten in (1, 10, 100) for f in _ROUND if span / (f * power * ten) <= _MOST_STEPS)
    return max(found, Fraction(1)) if whole and low.denominator == high.denominator == 1 else found


def length_of_rule(declared: Numbers) -> Fraction:
    """A round fifth of the range, *rounded down*: so far apart, the odds move by e^epsilon.

    >>> length_of_rule(Numbers(Fraction(0), Fraction(110), Fraction(5), True))
    Fraction(20, 1)
    """
    fifth = (declared.high - declared.low) / 5
    power = Fraction(10) ** math.floor(math.log10(fifth))
    return max(factor * power for factor in _ROUND if factor * power <= fifth)
