"""What the noise of a plan of running totals reveals of rows that differ in several periods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.parts.toeplitz_mechanism import ToeplitzMechanism
from dxgeom.planner.instalments.schedule import time_of

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan

_UP: Final = 1 + 2.0**-40


@final
@dataclass(frozen=True, eq=False)
class TotalsOverTime:
    """Of a plan whose answers are made of totals along the policy's time with noise, and of nothing else."""

    mechanism: ToeplitzMechanism
    _known: dict[int, float] = field(default_factory=dict, repr=False)

    def largest(self, periods: int) -> float:
        """Of any change within so many periods in a row, one row of each, at most; *rounded up*."""
        if periods not in self._known:
            try:
                found = self.mechanism.told_within(periods)
            except TooLarge:  # what the policy promises is known of these, too
                found = None
            self._known[periods] = math.inf if found is None else math.sqrt(found) * _UP
        return self._known[periods]

    def of_change(self, changed: Sequence[int]) -> float:
        """Of so many rows more, or fewer, with each value of the time; *rounded up*, and no more than that."""
        (column,), (size,) = self.mechanism.merged.columns, self.mechanism.merged.sizes
        moved = np.zeros(size)
        np.add.at(moved, column.codes, np.array(changed, dtype=np.float64))
        step = float(self.mechanism.step)
        totals = np.cumsum(moved)[None, :] / step
        law, _ = self.mechanism.law_of(0, step)
        return float(law.loss_upper_bounds(totals, np.zeros_like(totals))[0]) * _UP


def over_time(plan: Plan) -> TotalsOverTime | None:
    """What a plan reveals over its policy's time; None where it is not made of running totals along that alone."""
    mechanism, universe, along = plan.mechanism, plan.metric.universe, time_of(plan)
    if type(mechanism) is not ToeplitzMechanism or universe is None or along is None or mechanism.shares != 1:
        return None
    axis = [one.name for one in universe.attributes].index(along)
    alone = [one.axis for one in mechanism.merged.columns] == [axis]
    return TotalsOverTime(mechanism) if alone else None
