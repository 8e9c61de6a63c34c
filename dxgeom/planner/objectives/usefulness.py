"""Answers whose error exceeds all that they could be: nobody learns anything from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.universe.columns import plain
from dxgeom.universe.queries import LinearQueries

_USEFUL = Fraction(1, 10)
"""An answer whose error is this part of its range is of some use."""


@final
@dataclass(frozen=True)
class UselessAnswer:
    """An answer's expected error, the range that it lies in whatever the records are, and the spend at which that error
    is a tenth of the range; None where no spend makes it so small."""

    name: str
    rmse: float
    low: Fraction
    high: Fraction
    spend: Fraction | None

    @property
    def in_words(self) -> str:
        """One sentence."""
        remedy = (
            "no spend helps, because rounding or bias alone is too large"
            if self.spend is None
            else f"at spend {plain(self.spend)} it would be a tenth of that range"
        )
        return (
            f"the answer to '{self.name}' is useless: its expected error {self.rmse:.4g} exceeds all that the answer "
            f"can be, {float(self.low):.6g} to {float(self.high):.6g}; {remedy}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The warning ready for JSON."""
        return {
            "query": self.name,
            "rmse": self.rmse,
            "range": [float(self.low), float(self.high)],
            "useful_at_spend": None if self.spend is None else str(self.spend),
            "message": self.in_words,
        }


def useless_answers(
    queries: LinearQueries, mechanism: AdditiveMechanism, spend: Fraction, records: int | None
) -> tuple[UselessAnswer, ...]:
    """The answers whose expected error at a spend exceeds their range over all data of a public number of records.

    None are told where that number is private or not stated: nothing bounds the answers then.
    """
    if records is None:
        return ()
    errors = np.sqrt(mechanism.variances(spend))
    lowest, highest = queries.tables.extremes
    found = []
    for place, (name, unit) in enumerate(zip(queries.names, queries.units, strict=True)):
        low, high = unit * int(lowest[place]) * records, unit * int(highest[place]) * records
        if errors[place] > float(high - low):
            needed = _spend_for(mechanism, place, float(_USEFUL * (high - low)))
            found.append(UselessAnswer(name, float(errors[place]), low, high, needed))
    return tuple(found)


def _spend_for(mechanism: AdditiveMechanism, place: int, error: float) -> Fraction | None:
    """The spend, rounded up to two digits, at which one answer's error is so small."""
    left = error**2 - float(mechanism.lasting_errors[place])
    if left <= 0:
        return None
    spend = math.sqrt(float(mechanism.ideal_variances[place]) / left)
    unit = Fraction(10) ** (math.floor(math.log10(spend)) - 1)
    return math.ceil(Fraction(spend) / unit) * unit
