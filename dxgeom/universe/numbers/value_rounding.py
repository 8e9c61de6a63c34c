"""How far answers about values can be from answers about the raw numbers that the values stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.rounding import round_up


@final
@dataclass(frozen=True)
class ValueRounding:
    """What it does to one query that numbers are counted as the middle of what their values stand for.

    ``per_record``: the most that it moves the answer for each record that the query counts, in the answer's unit;
    *exact*. ``counted_by``: the place of a query that counts all these records, where one does. ``clamped``: columns
    whose numbers were clamped to ends that are not the true ones, by the policy or the query; the answer is about the
    clamped numbers.
    ``stepped``: columns of whose numbers its condition asks more than the values tell, which nothing bounds. That is
    about the words of the query, not about its weights: two that differ in it only are equal.
    """

    per_record: Fraction = Fraction(0)
    counted_by: int | None = None
    clamped: tuple[str, ...] = ()
    stepped: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def after(self, queries: int) -> ValueRounding:
        """The same where so many other queries come first."""
        return self if self.counted_by is None else replace(self, counted_by=self.counted_by + queries)

    def bias(self, records: Fraction | int | None) -> float:
        """The most that it moves the answer, *rounded up*, of so many records; infinite where nobody knows how many."""
        if self.per_record == 0:
            return 0.0
        return np.inf if records is None else round_up(self.per_record * records)


def rounding_biases(rounding: Sequence[ValueRounding], records: int | None) -> NDArray[np.float64]:
    """(K,): how far rounding of values can move each answer about a public number of records, *rounded up*."""
    return np.array([one.bias(records) for one in rounding])


def stacked_rounding(parts: Sequence[tuple[ValueRounding, ...]]) -> tuple[ValueRounding, ...]:
    """That of workloads one below the other."""
    before, found = 0, list[ValueRounding]()
    for part in parts:
        found += [one.after(before) for one in part]
        before += len(part)
    return tuple(found)
