"""Answers of no use, known before anything is spent: ± covers half or more of what is possible; and what helps.

Only what is public goes into it: the number of records, what each answer can be at all, and the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from dxgeom.mechanisms.linear.bars import CombinedNoise
from dxgeom.planner.plan import Plan
from dxgeom.report.exactness import covers, possible_ranges
from dxgeom.report.facts import known_records
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import amount

_MARGIN: Final = 1.03
_QUARTER: Final = 0.25
"""± that covers half of what is possible is a quarter of it."""
_SHAPES: Final = 0.9


@final
@dataclass(frozen=True)
class Useless:
    """An answer, its ±, the ends of what it can be, and the least spend at which it is of use: None where none helps,
    because rounding to bins alone is too much. ``ratio``: whether it is one of two answers."""

    name: str
    half_width: float
    possible: tuple[float, float]
    spend: Fraction | None
    ratio: bool = False

    @property
    def note(self) -> str:
        """In a few words, to stand beside ±."""
        low, high = map(amount, self.possible)
        if self.spend is None:
            return f"of no use: half of {low} to {high} or more"
        return f"of no use below a spend of {plain(self.spend)}"


def useless_of(plan: Plan, spend: Fraction, level: float) -> tuple[Useless, ...]:
    """The answers, ratios and variances that are of no use at this spend; none where how many records is not public.

    A ratio is of no use if it would be, were everybody in its group: whatever the data.
    """
    shown, records = plan.plan, known_records(plan)
    if not shown.answers_a_list:
        return tuple(_of_tables(plan, spend, level))
    if records is None:
        return ()
    known = _Known(shown, records, level)
    return (*known.answers(spend), *known.ratios(spend))


def _of_tables(plan: Plan, spend: Fraction, level: float) -> Iterator[Useless]:
    """Tables of counts, each of whose cells is between nobody and everybody."""
    records = plan.records
    if records is None:
        return
    possible = (0.0, float(records))
    for one in plan.each_table(spend, level):
        if math.isfinite(one.half_width) and covers(one.half_width, possible):
            yield Useless(one.name, one.half_width, possible, _least(spend, one.half_width, 0.0, possible))


@final
@dataclass(frozen=True)
class _Known:
    """A plan of a list of questions, and the public number of records."""

    plan: Plan
    records: int
    level: float

    def answers(self, spend: Fraction) -> Iterator[Useless]:
        widths, biases = self._errors(spend)
        ranges = possible_ranges(self.plan, self.records)
        for name, width, bias, possible in zip(self.plan.queries.names, widths, biases, ranges, strict=True):
            if possible is not None and covers(float(width), possible):
                yield Useless(name, float(width), possible, _least(spend, float(width), float(bias), possible))

    def ratios(self, spend: Fraction) -> Iterator[Useless]:
        """The error of a ratio is at least that of N − ρ·D, at the ρ where it is least, over the most that D can be;
        that of a variance is at least that of its squares."""
        widths, biases = self._errors(spend)
        ranges = possible_ranges(self.plan, self.records)
        for one in (*self.plan.queries.ratios, *self.plan.queries.variances):
            at, below = one.measured_as, ranges[one.denominator]
            most = 0.0 if below is None else max(map(abs, below))
            possible = (float(one.possible[0]), float(one.possible[1]))
            if not most or not np.all(np.isfinite(possible)):
                continue
            width, bias = (float(each[at]) / most for each in (widths, biases))
            width = bias + max(width - bias, 0.0) * self._shared(at, one.denominator, possible)
            if covers(width, possible):
                yield Useless(one.name, width, possible, _least(spend, width, bias, possible), ratio=True)

    def _shared(self, above: int, below: int, possible: tuple[float, float]) -> float:
        """How much less noise N − ρ·D can have than N, for noise that both share falls out of their ratio.

        With a margin for how far apart quantiles of noises of one variance are.
        """
        rows = np.zeros((2, self.plan.queries.count))
        rows[0, above] = rows[1, below] = 1
        noise = CombinedNoise(self.plan.mechanism, Fraction(1), rows, None, np.zeros(rows.shape[1]))
        (own, both), (_, other) = noise.covariance()
        if own <= 0 or other <= 0 or both == 0:
            return 1.0
        ratio = float(np.clip(both / other, *possible))
        left = math.sqrt(max(own - 2 * ratio * both + ratio**2 * other, 0.0) / own)
        return min(left * _SHAPES, 1.0) if left < 1 else 1.0

    def _errors(self, spend: Fraction) -> tuple[Any, Any]:
        widths = self.plan.half_widths(self.level, spend, self.records)
        return widths, self.plan.bars(spend, self.records).biases


def _least(spend: Fraction, width: float, bias: float, possible: tuple[float, float]) -> Fraction | None:
    """A spend of two digits at which ± covers less than half, little above the least; None where rounding alone is it.

    Noise is as wide as 1/spend but for the lattice that it is rounded to, which the margin is for; what is not noise
    does not change, so ± is at most noise and bias added up.
    """
    wanted = _QUARTER * (possible[1] - possible[0])
    if bias >= wanted or not math.isfinite(width):
        return None
    needed = float(spend) * max(width - bias, 0.0) / (wanted - bias) * _MARGIN
    if needed <= 0 or not math.isfinite(needed):
        return None
    unit = Fraction(10) ** (math.floor(math.log10(needed)) - 1)
    return math.ceil(Fraction(needed) / unit) * unit
