"""Lengths where values lie on a line, or are all alike, or both: sums of distances are differences of running sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.quantiles.reach import Reach


@final
@dataclass(frozen=True, eq=False)
class LineReach(Reach):
    """Value u is min(heights[t] − heights[u], ceiling) units from value t > u.

    ``heights`` (T,): increasing int64, None where the ceiling alone counts; ``ceiling``: None where there is none.
    ``places`` (N,): of the value of each record type.

    Without a ceiling, lengths of several ranks add up. Row k counts the ranks i with r_{k−1} < i < r_{k+1} only: their
    sum is Σ_i φ_i(x_(i)) with, for r_k < i < r_{k+1}, φ_i(x) = (t_k − x)⁺ + (x − t_{k+1})⁺, and |x − t_k| at i = r_k.
    Each φ_i has slopes −1, 0 and 1, also where t_k > t_{k+1}, for the slopes then cancel in between. Replacing a record
    at u by one at v shifts the sorted heights by |u − v| in all, so the sum changes by no more.
    """

    unit: Fraction
    heights: NDArray[np.int64] | None = field(repr=False)
    ceiling: int | None
    places: NDArray[np.int64] = field(repr=False)
    count: int

    @property
    def adds_up(self) -> bool:
        return self.ceiling is None

    @property
    def largest(self) -> int:
        height = None if self.heights is None else int(self.heights[-1] - self.heights[0])
        return min(size for size in (height, self.ceiling) if size is not None)

    @property
    def smallest(self) -> int:
        step = None if self.heights is None else int(np.diff(self.heights).min(initial=self.largest))
        return min(size for size in (step, self.ceiling) if size is not None)

    @property
    def places_of_tally(self) -> NDArray[np.int64]:
        return np.arange(self.count)

    def tally(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros(self.count, dtype=np.int64)
        np.add.at(sums, self.places, counts)
        return sums

    def row(
        self, tally: NDArray[Any], ranks: tuple[int, int], among: tuple[int, int], ceiling: int | None = None
    ) -> NDArray[Any]:
        upto = np.cumsum(tally)
        raised = _between(upto, ranks[1], among[1] - 1)
        lowered = _between(upto, among[0] + 1, ranks[0])
        lowest = min((one for one in (self.ceiling, ceiling) if one is not None), default=None)
        mirrored = None if self.heights is None else self.heights[-1] - self.heights[::-1]
        downwards = _sums(mirrored, lowest, lowered[::-1])[::-1]
        return np.asarray(_sums(self.heights, lowest, raised) + downwards)

    def furthest(self, numbers: NDArray[np.float64], units: int) -> float:
        last = np.full(self.count, self.count - 1)
        if self.ceiling is None or self.ceiling > units:
            heights = np.zeros(self.count, dtype=np.int64) if self.heights is None else self.heights
            within = np.searchsorted(heights, heights + min(units, self.largest), side="right") - 1
            last = np.arange(self.count) if self.heights is None else within
        return float(np.max(numbers[last] - numbers))


def _between(upto: NDArray[Any], first: int, last: int) -> NDArray[Any]:
    """(T,): how many records of ranks first..last have each value, from how many have it or a lower one."""
    return np.asarray(np.diff(np.clip(upto, first - 1, last), prepend=first - 1), dtype=upto.dtype)


def _sums(heights: NDArray[np.int64] | None, ceiling: int | None, counts: NDArray[Any]) -> NDArray[Any]:
    """(T,): Σ_{u<t} counts[u]·min(heights[t] − heights[u], ceiling)."""
    size = len(counts)
    number = np.concatenate([[0], np.cumsum(counts)])
    below = np.arange(size)
    if heights is None:
        return np.asarray((ceiling or 0) * number[below])
    weight = np.concatenate([[0], np.cumsum(counts * heights)])
    # From the first value on that is nearer than the ceiling.
    near = np.zeros(size, dtype=np.int64)
    if ceiling is not None and ceiling < heights[-1]:
        near = np.searchsorted(heights, heights - ceiling, side="right")
    sums = heights * (number[below] - number[near]) - (weight[below] - weight[near])
    return np.asarray(sums + (ceiling or 0) * number[near])
