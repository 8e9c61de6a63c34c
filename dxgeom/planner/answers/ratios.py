"""Ratios, variances and differences of released answers, with intervals that follow from their joint noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import NUMBER, require
from dxgeom.errors import WrongArgument
from dxgeom.mechanisms.linear.bars import CombinedNoise, error_norm
from dxgeom.planner.answers.tables import unknown_name

if TYPE_CHECKING:
    from dxgeom.planner.answers.linear_answers import LinearAnswers
    from dxgeom.universe.numbers.ratio_query import AskedVariance

Combined: TypeAlias = str | Mapping[str, int | Fraction]
"""An answer by its name, or several with what each is multiplied by."""

Range: TypeAlias = tuple[float, float]
LARGEST_SHARE: Final = 2**500
"""Coefficients have float64's range around them."""

EVERYTHING: Range = (-math.inf, math.inf)


@final
@dataclass(frozen=True)
class RatioAnswer:
    """A ratio of two released answers.

    ``value``: their quotient, brought into the range; None where the denominator came out as 0. ``parts``: intervals of
    which one holds the true ratio with probability *at least* ``level``; where the denominator may be 0 there may be
    two, or one without an end. ``rounding``: how far, per record, values that stand for many numbers can move it, which
    ``parts`` hold. ``within``: what the ratio can be at all.
    """

    name: str
    value: float | None
    parts: tuple[Range, ...]
    level: float
    rounding: float = 0.0
    within: Range = field(default=EVERYTHING)

    @property
    def interval(self) -> Range:
        """The smallest interval that holds all parts."""
        return self.parts[0][0], self.parts[-1][1]

    def minus(self, other: RatioAnswer) -> RatioAnswer:
        """How far one ratio is above another, such as the means of two groups: its interval holds where both do.

        The chances that either interval misses add up, so the level is lower than theirs. Raises: WrongArgument.
        """
        require(other, RatioAnswer, "other", "give another ratio of released answers")
        (low, high), (below, above) = self.interval, other.interval
        value = None if self.value is None or other.value is None else self.value - other.value
        level = max(self.level + other.level - 1, 0.0)
        within = (self.within[0] - other.within[1], self.within[1] - other.within[0])
        rounding = self.rounding + other.rounding
        return RatioAnswer(
            f"{self.name} - {other.name}", value, ((low - above, high - below),), level, rounding, within
        )

    def as_dict(self) -> dict[str, Any]:
        """The ratio ready for JSON; an end that is not there is None."""
        return {
            "name": self.name,
            "value": self.value,
            "parts": [[end if math.isfinite(end) else None for end in part] for part in self.parts],
            "level": float(self.level),
            "bias": {"rounding": self.rounding if math.isfinite(self.rounding) else None},
        }


def ratio_of(
    answers: LinearAnswers,
    numerator: Combined,
    denominator: Combined,
    level: float,
    within: Range = EVERYTHING,
    name: str | None = None,
) -> RatioAnswer:
    """Fieller's set: all ρ with |N̂ − ρ·D̂| ≤ c(ρ), c(ρ) what the error of N − ρ·D exceeds with probability 1 − ``level``
    at most; widened by what rounding does for each record; then what of it lies in the range.

    An empty set is the whole range: nothing is known then. The method is the same whatever D̂ is.
    Raises: WrongArgument, UnsupportedCombination for an unknown name or no level.
    """
    within = _range_of(within)
    above, below = (_coefficients(answers, each) for each in (numerator, denominator))
    each_record = _rounding_per_record(answers, above, below)
    counted = answers.bars.rounding if each_record is None else np.zeros(len(answers.names))
    parts = _not_excluded(answers, above, below, level, counted)
    top, bottom = (_value(answers, row) for row in (above, below))
    wider = each_record or 0.0
    # The range is of raw numbers, and the values that stand for them may lie beyond it: widened first.
    held = [part for low, high in parts if (part := _common((low - wider, high + wider), within)) is not None]
    value = None if bottom == 0 else min(max(float(top / bottom), within[0]), within[1])
    title = name or f"{_words(numerator)} / {_words(denominator)}"
    return RatioAnswer(title, value, tuple(_joined(held or [within])), level, wider, within)


def _not_excluded(
    answers: LinearAnswers, above: NDArray[Any], below: NDArray[Any], level: float, rounding: NDArray[np.float64]
) -> list[Range]:
    """Fieller's set of two combinations, where rounding moves each answer so far."""
    rows = np.stack([above, below]).astype(np.float64)
    noise = CombinedNoise(answers.mechanism, answers.spent, rows, answers.records, rounding)
    if not np.all(np.isfinite(noise.beside)):
        return [EVERYTHING]
    top, bottom = (float(_value(answers, row)) for row in (above, below))
    return error_norm(noise, level).not_excluded(top, bottom)


def variance_of(answers: LinearAnswers, asked: AskedVariance, level: float) -> RatioAnswer:
    """A variance E(x − c)² − (Ex − c)², with an interval that holds it with probability *at least* ``level``.

    Both means lie in Fieller's sets at once with that probability, for each misses with half of what is left: the
    method is the same whatever the denominator is, and nothing is promised given what was released. Raw numbers at most
    h from x have a standard deviation at most h from that of x, since it is a seminorm; that is added afterwards.
    """
    names, centre = answers.names, asked.centre
    below, total, squares = (
        _coefficients(answers, names[at]) for at in (asked.denominator, asked.numerator, asked.squares)
    )
    reach, exactly = float(asked.within[1] - centre), np.zeros(len(names))
    each = (1 + level) / 2
    off, spread = (
        _hull(_not_excluded(answers, row, below, each, exactly), within)
        for row, within in ((total - centre * below, (-reach, reach)), (squares, (0.0, reach**2)))
    )
    nearest = 0.0 if off[0] <= 0 <= off[1] else min(abs(off[0]), abs(off[1]))
    slack = 1e-12 * reach**2
    low = max(spread[0] - max(abs(off[0]), abs(off[1])) ** 2 - slack, 0.0)
    high = min(spread[1] - nearest**2 + slack, reach**2)
    if high < low:
        low, high = 0.0, reach**2
    half = float(asked.half_width)
    held = max(math.sqrt(low) - half, 0.0) ** 2 * (1 - 1e-12), min((math.sqrt(high) + half) ** 2, reach**2)
    bottom, value = _value(answers, below), None
    if bottom != 0:
        mean = _value(answers, total) / bottom - centre
        value = min(max(float(_value(answers, squares) / bottom - mean**2), 0.0), reach**2)
    return RatioAnswer(asked.name, value, (held,), level, max(held[1] - high, low - held[0]), (0.0, reach**2))


def _hull(parts: list[Range], within: Range) -> Range:
    """The smallest interval that holds what of these lies in a range; the range where nothing does."""
    held = [part for one in parts if (part := _common(one, within)) is not None] or [within]
    return held[0][0], held[-1][1]


def combination_of(answers: LinearAnswers, shares: Combined, level: float) -> tuple[float, float]:
    """(value, half-width): of a combination of answers, such as {"women": 1, "men": -1}, under their joint noise."""
    row = _coefficients(answers, shares)
    rows = np.array([[float(share) for share in row]])
    noise = CombinedNoise(answers.mechanism, answers.spent, rows, answers.records, answers.bars.rounding)
    return float(_value(answers, row)), noise.half_width(level)


def ratio_answers(answers: LinearAnswers, level: float) -> tuple[RatioAnswer, ...]:
    """The ratios that the queries ask for, then the variances."""
    names = answers.names
    ratios = (
        ratio_of(
            answers,
            names[one.numerator],
            names[one.denominator],
            level,
            (float(one.within[0]), float(one.within[1])),
            one.name,
        )
        for one in answers.queries.ratios
    )
    return *ratios, *(variance_of(answers, one, level) for one in answers.queries.variances)


def _common(one: Range, other: Range) -> Range | None:
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return (low, high) if low <= high else None


def _joined(parts: list[Range]) -> list[Range]:
    """The same with parts that overlap made one; they come in their order."""
    found = parts[:1]
    for low, high in parts[1:]:
        if low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def _range_of(within: object) -> Range:
    """Raises: WrongArgument unless these are two numbers, the lower first."""
    advice = "give the lowest and the highest that the ratio can be, such as (0, 1)"
    require(within, (tuple, list), "within", advice)
    ends = tuple(within) if isinstance(within, (tuple, list)) else ()
    for end in ends:
        require(end, NUMBER, "within", advice)
    try:
        low, high = map(float, ends)
    except (OverflowError, ValueError) as error:
        raise WrongArgument(f"'within' is two numbers of float64's range: {advice}") from error
    if not low <= high:
        raise WrongArgument(f"'within' is a range, found {low:g} to {high:g}: {advice}")
    return low, high


def _coefficients(answers: LinearAnswers, combined: Combined) -> NDArray[Any]:
    """(K,): exact coefficients, 0 itself where there is none: most are, and a whole number is quick to tell from 0."""
    require(combined, (str, Mapping), "combination", 'name an answer, or several as in {"women": 1, "men": -1}')
    shares: Mapping[str, int | Fraction] = {combined: 1} if isinstance(combined, str) else combined
    row = np.zeros(len(answers.names), dtype=object)
    for name, share in shares.items():
        if name not in answers.names:
            raise unknown_name("answer", name, answers.names)
        require(share, (int, Fraction), "coefficient", "write it exactly, such as -1 or Fraction('0.1')")
        exact = Fraction(share)
        if abs(exact) > LARGEST_SHARE or 0 < abs(exact) < 1 / Fraction(LARGEST_SHARE):
            raise WrongArgument(f"'coefficient' is 0, or from 1/2**500 to 2**500 in size; that of '{name}' is not")
        row[answers.names.index(name)] += exact
    return row


def _value(answers: LinearAnswers, row: NDArray[Any]) -> Fraction:
    each = zip(row, answers.exact_values, strict=True)
    return sum((share * value for share, value in each if share), Fraction(0))


def _rounding_per_record(answers: LinearAnswers, above: NDArray[Any], below: NDArray[Any]) -> float | None:
    """What rounding does to a ratio whose denominator counts the records that its numerator adds up, else None.

    Each of D records moves N by h at most, and so N/D by h.
    """
    (tops,), (bottoms,) = np.nonzero(above), np.nonzero(below)
    each = answers.queries.each_rounding
    if len(bottoms) != 1 or below[bottoms[0]] != 1 or any(each[k].per_record for k in bottoms):
        return None
    if any(each[k].per_record and each[k].counted_by != bottoms[0] for k in tops):
        return None
    moved = sum((abs(above[k]) * each[k].per_record for k in tops), Fraction(0))
    return float(moved) * (1 + 2.0**-52)


def _words(combined: Combined) -> str:
    return combined if isinstance(combined, str) else "(" + " + ".join(f"{s}·{n}" for n, s in combined.items()) + ")"
