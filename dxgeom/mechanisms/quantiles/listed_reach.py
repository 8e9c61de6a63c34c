"""Lengths under any metric on few records, from all distances between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.quantiles.reach import UNREACHED, Reach
from dxgeom.numeric.sealed import cached_property

_APART = 2**61


@final
@dataclass(frozen=True, eq=False)
class ListedReach(Reach):
    """M kinds of records with all their distances in units.

    ``distances`` (M, M): exact integers in float64, ∞ allowed, a pseudometric. ``kinds`` (N,): the kind of each record
    type; ``places`` (M,): of the value of each kind among ``count`` values.
    Lengths of several ranks do not add up here: one record may be far below all candidates for the price of one step.
    """

    unit: Fraction
    distances: NDArray[np.float64] = field(repr=False)
    kinds: NDArray[np.int64] = field(repr=False)
    places: NDArray[np.int64] = field(repr=False)
    count: int

    @property
    def adds_up(self) -> bool:
        return False

    @cached_property
    def largest(self) -> int:
        return int(np.max(self.distances[np.isfinite(self.distances)], initial=0.0))

    @cached_property
    def smallest(self) -> int:
        other = self.distances[self.places[:, None] != self.places]
        return int(np.min(other[np.isfinite(other)], initial=np.inf)) if np.isfinite(other).any() else 0

    @property
    def places_of_tally(self) -> NDArray[np.int64]:
        return self.places

    def tally(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros(len(self.places), dtype=np.int64)
        np.add.at(sums, self.kinds, counts)
        return sums

    def row(
        self, tally: NDArray[Any], ranks: tuple[int, int], among: tuple[int, int], ceiling: int | None = None
    ) -> NDArray[Any]:
        present = np.flatnonzero(tally)
        counts, places = tally[present], self.places[present]
        most = _APART if ceiling is None else min(ceiling, _APART - 1)
        up, down = np.minimum(self._upwards[present], most), np.minimum(self._downwards[present], most)
        raised = _one_way(up, counts, places, ranks[1])
        lowered = _one_way(down[:, ::-1], counts, self.count - 1 - places, int(tally.sum()) + 1 - ranks[0])[::-1]
        return np.where((raised < 0) | (lowered < 0), UNREACHED, raised + lowered)

    def furthest(self, numbers: NDArray[np.float64], units: int) -> float:
        most, own = min(units, _APART - 1), numbers[self.places][:, None]
        up = np.where(self._upwards <= most, numbers - own, 0.0)
        down = np.where(self._downwards <= most, own - numbers, 0.0)
        return float(max(up.max(), down.max()))

    @cached_property
    def _upwards(self) -> NDArray[np.int64]:
        """(M, T): how far each kind is from records whose value is at least the candidate."""
        return np.minimum.accumulate(self._nearest[:, ::-1], axis=1)[:, ::-1]

    @cached_property
    def _downwards(self) -> NDArray[np.int64]:
        return np.minimum.accumulate(self._nearest, axis=1)

    @cached_property
    def _nearest(self) -> NDArray[np.int64]:
        """(M, T): how far each kind is from records of the value, ``_APART`` where from none."""
        exact = np.where(np.isfinite(self.distances), self.distances, _APART).astype(np.int64)
        nearest = np.full((self.count, len(self.places)), _APART)
        np.minimum.at(nearest, self.places, exact)
        return np.ascontiguousarray(nearest.T)


def _one_way(reach: NDArray[np.int64], counts: NDArray[Any], places: NDArray[np.int64], rank: int) -> NDArray[Any]:
    """(T,): the sum of the c − rank + 1 smallest distances of the c records below each candidate."""
    size = reach.shape[1]
    sums = np.zeros(size, dtype=counts.dtype)
    for candidate in range(size):
        below = np.flatnonzero(places < candidate)
        moved = int(counts[below].sum()) - rank + 1
        if moved <= 0:
            continue
        lengths = reach[below, candidate]
        order = np.argsort(lengths, kind="stable")
        before = np.concatenate([[0], np.cumsum(counts[below][order])[:-1]])
        taken = np.clip(moved - before, 0, counts[below][order])
        far = np.any(lengths[order][taken > 0] == _APART)
        sums[candidate] = UNREACHED if far else int((taken * np.where(taken > 0, lengths[order], 0)).sum())
    return sums
