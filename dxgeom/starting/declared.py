"""What whoever starts says of a column, from public knowledge: its values, its ends, or that it is left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Final, TypeAlias, final

from dxgeom.errors import DataError
from dxgeom.universe.columns import plain
from dxgeom.universe.decimals import NotANumber, exact

_MOST_STEPS: Final = 12
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


@final
@dataclass(frozen=True)
class Days:
    """The first and the last day that there can be, and how many days are one value."""

    first: date
    last: date
    step: int


Declared: TypeAlias = Values | Numbers | Days


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
        step = exact(parts[2].strip()) if len(parts) == 3 else _round_step(high - low)
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


def _round_step(span: Fraction) -> Fraction:
    """A round step, so that there are at most a dozen."""
    if span <= 0:
        return Fraction(1)
    power = Fraction(10) ** math.floor(math.log10(span / _MOST_STEPS))
    return next(factor * power for factor in _ROUND if span / (factor * power) <= _MOST_STEPS)


def in_yaml(declared: Declared) -> str:
    """The attribute as a policy file says it."""
    match declared:
        case Values(words=words):
            return f"[{', '.join(map(quoted, words))}]"
        case Numbers(low=low, high=high, step=step, whole=whole):
            more = ", whole: true" if whole else ""
            return f"{{range: [{plain(low)}, {plain(high)}], step: {plain(step)}{more}}}"
        case Days(first=first, last=last, step=step):
            return f"{{dates: [{first.isoformat()}, {last.isoformat()}], step: {step}}}"


def quoted(word: str) -> str:
    """A word as YAML text: as it stands where it can be nothing else, else in quotes.

    >>> quoted("ward"), quoted("no: 1"), quoted("true"), quoted("3")
    ('ward', '"no: 1"', '"true"', '"3"')
    """
    simple = word.isascii() and word.replace("_", "a").replace("-", "a").isalnum() and word[:1].isalpha()
    if simple and word.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n"):
        return word
    escaped = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in word)
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"').replace("\\\\u", "\\u") + '"'
