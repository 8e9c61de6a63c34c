"""Finite sets of integers as runs of consecutive ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DxgeomError, TooLarge
from dxgeom.numeric.sealed import cached_property

MOST_RUNS = 1 << 20
"""Of the sums of two sets, before they are put together."""


@final
@dataclass(frozen=True)
class IntegerRuns:
    """Runs low..high of consecutive integers, in increasing order, with a gap between any two."""

    runs: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        proper = all(low <= high for low, high in self.runs)
        if not proper or any(a[1] + 1 >= b[0] for a, b in zip(self.runs, self.runs[1:], strict=False)):
            raise DxgeomError(f"runs of integers are apart and in order, found {self.runs[:8]}")

    def __add__(self, other: IntegerRuns) -> IntegerRuns:
        """The set {a + b}. Raises: TooLarge beyond 2²⁰ pairs of runs."""
        if len(self.runs) * len(other.runs) > MOST_RUNS:
            raise TooLarge(
                f"sums of {len(self.runs):,} and {len(other.runs):,} runs of integers are too many to list: take noise "
                "that knows the largest difference alone"
            )
        return runs_of((low + left, high + right) for low, high in self.runs for left, right in other.runs)

    @property
    def count(self) -> int:
        """How many integers there are."""
        return sum(high - low + 1 for low, high in self.runs)

    @property
    def widest_gap(self) -> int:
        """The largest difference of two neighbours in the set that are not in one run; 0 for one run."""
        return max((b[0] - a[1] for a, b in zip(self.runs, self.runs[1:], strict=False)), default=0)

    @property
    def furthest(self) -> int:
        """The largest |z|."""
        return max((max(abs(low), abs(high)) for low, high in self.runs), default=0)

    def power_sum(self, power: int) -> int:
        """Σ |z|^power, for a power of 0, 1 or 2."""
        return sum(
            _sum_below(high + 1, power) - _sum_below(low, power)
            if low >= 0
            else _sum_below(1 - low, power) - _sum_below(-high, power)
            if high < 0
            else _sum_below(high + 1, power) + _sum_below(1 - low, power) - (power == 0)
            for low, high in self.runs
        )

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self.runs, number, key=itemgetter(0)) - 1
        return place >= 0 and number <= self.runs[place][1]

    def holds(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each number is in the set."""
        place = np.searchsorted(self._lows, numbers, side="right") - 1
        return np.asarray((place >= 0) & (numbers <= self._highs[np.maximum(place, 0)]))

    @cached_property
    def _lows(self) -> NDArray[np.int64]:
        return np.array([low for low, _ in self.runs], dtype=np.int64)

    @cached_property
    def _highs(self) -> NDArray[np.int64]:
        return np.array([high for _, high in self.runs], dtype=np.int64)


def runs_of(runs: Iterable[tuple[int, int]]) -> IntegerRuns:
    """The integers of runs that may overlap or touch."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(runs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return IntegerRuns(tuple(merged))


def _sum_below(end: int, power: int) -> int:
    """Σ z^power over 0 ≤ z < end."""
    if power == 0:
        return end
    return end * (end - 1) // 2 if power == 1 else (end - 1) * end * (2 * end - 1) // 6
