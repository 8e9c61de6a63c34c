"""Numbers, days or steps on a line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.points import PointsMetric
from dxgeom.policy.axes.axis import MAX_PAIRS, Axis, Codes, Pairs, Row, runs, too_many_pairs

_FITS: Final = 2**61
"""Positions below this, and their differences, are compared as int64."""


@final
@dataclass(frozen=True)
class LineAxis(Axis):
    """D(a, b) = \\|position_a − position_b\\|, *exact*.

    ``positions``: strictly increasing, one per code; ``name``: "numbers" for the attribute's own numbers or days,
    "steps" for its codes.
    """

    name: Literal["numbers", "steps"]
    positions: tuple[Fraction, ...] = field(repr=False, hash=False)
    in_order: ClassVar[bool] = True

    @property
    def size(self) -> int:
        return len(self.positions)

    @cached_property
    def grain(self) -> Fraction:
        return Fraction(1, math.lcm(*{position.denominator for position in self.positions}))

    def between(self, start: int, end: int) -> Fraction:
        return abs(self.positions[start] - self.positions[end])

    def apart(self, first: Codes, second: Codes) -> Row:
        return np.asarray(abs(self._spots[first] - self._spots[second]))

    def within(self, reach: Fraction) -> Callable[[Codes, Codes], NDArray[np.bool_]]:
        most = self._limit(reach)
        return lambda first, second: np.asarray(self.apart(first, second) <= most, dtype=np.bool_)

    def pairs(self, reach: Fraction) -> Pairs:
        codes = np.arange(self.size, dtype=np.int64)
        # Both ends of the reach move up with the code.
        last = np.searchsorted(self._spots, self._spots + self._limit(reach), side="right").astype(np.int64) - 1
        counts = last - codes
        total = int(np.sum(counts))
        if total > MAX_PAIRS:
            raise too_many_pairs(total)
        return runs(codes + 1, counts)

    def metric(self, rate: Fraction, floor: Fraction) -> Metric:
        if floor == 0:
            return LineMetric(self.positions, rate)
        column = np.array([[float(position)] for position in self.positions])
        return PointsMetric(column, "plane", rate, floor)

    def _limit(self, reach: Fraction) -> int:
        """The last whole number of grains within the reach; beyond every difference the number does not matter."""
        return min(int(reach / self.grain), 2 * max(_FITS, *(abs(int(self._spots[end])) for end in (0, -1))))

    @cached_property
    def _spots(self) -> Row:
        """Positions in grains."""
        whole = [position.numerator * (self.grain.denominator // position.denominator) for position in self.positions]
        return np.array(whole, dtype=np.int64 if max(abs(whole[0]), abs(whole[-1])) < _FITS else object)
