"""From a metric and the values of its records to what lengths are made of.

What it costs to make a value the r-th smallest, in whole units that no float rounds. Lengths where values lie on a
line, or are all alike, or both: sums of distances are differences of running sums. Lengths under any metric on few
records, from all distances between them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.quantiles.question import OrderedValues
from dxgeom.metrics.combinations import CapMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.restriction import without_idle_attributes
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import Sealed, cached_property
from dxgeom.numeric.shortest_paths import distances_from, edge_graph

UNREACHED = -1
"""The length of a candidate that no finite cost makes the quantile."""
FINEST = 2**32
"""So many units the largest distance has at most, about; 2³⁰ records then fit 62 bits."""


class Reach(Sealed, ABC):
    """The lengths of candidates, from a table of counts and the ranks asked for.

    Definition: len(x; t) = max(OT(x, {y: y_(r) ≥ t}), OT(x, {y: y_(r) ≤ t})), OT the least transport cost under the
    metric's generating bounds, each rounded *down* to whole units. One of the two is 0: for t > x_(r), with c records
    below t, the other is the sum of the c − r + 1 smallest distances of those records from all records whose value is
    at least t; below x_(r) likewise. Where the nearest such record has the value t itself, as on a line, that is the
    least cost of making t the r-th smallest.

    Guarantee: ``lengths`` are *exact* for the rounded bounds. Replacing record i by j changes each by at most
    d(i, j)/unit: the closure of the rounded bounds is a pseudometric that is nowhere above d/unit, a distance from a
    set changes by at most the distance moved, and so does the larger of two such.

    Laws: see ``adds_up``; lengths are 0 at the true quantile.
    """

    unit: Fraction
    """Nats; positive."""

    @property
    @abstractmethod
    def adds_up(self) -> bool:
        """Whether Σ_k lengths[k, t_k] changes by at most d(i, j)/unit for all (t_k); else their maximum does."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """No finite distance has more units."""

    @property
    @abstractmethod
    def smallest(self) -> int:
        """Units of the least distance of a record from records of another value; 0 where there is none."""

    @abstractmethod
    def tally(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of possible records (N,) as the counts (M,) that lengths are made of."""

    def lengths(self, tally: NDArray[np.int64], ranks: Sequence[int]) -> NDArray[np.int64]:
        """(m, T) for m different, increasing ranks; ``UNREACHED`` where no finite cost suffices.

        Where lengths add up, row k leaves records of ranks r_{k−1} and below, and r_{k+1} and above, out.
        """
        beyond = int(tally.sum()) + 1
        ends = [0, *ranks, beyond]
        around = zip(ends, ends[2:], strict=False) if self.adds_up else [(0, beyond)] * len(ranks)
        return np.array([self.row(tally, (rank, rank), among) for rank, among in zip(ranks, around, strict=True)])

    @abstractmethod
    def row(
        self, tally: NDArray[Any], ranks: tuple[int, int], among: tuple[int, int], ceiling: int | None = None
    ) -> NDArray[Any]:
        """(T,): what it costs to bring the records of rank ``ranks[1]`` and above up to each candidate, or those of
        rank ``ranks[0]`` and below down to it; ``UNREACHED`` where that is infinite.

        Only ranks strictly between ``among`` count, every one where lengths do not add up. ``ceiling``: no record
        costs more units.
        """

    @abstractmethod
    def furthest(self, numbers: NDArray[np.float64], units: int) -> float:
        """How far a record's value can be from one that it is brought up or down to, or beyond, for ``units`` at most.

        So far a candidate of such a length can be from the quantile at most, for of the records that would have to move
        past it one has the quantile's rank, or is on the other side of it. ``numbers`` (T,): the values.
        """

    @property
    @abstractmethod
    def places_of_tally(self) -> NDArray[np.int64]:
        """(M,): the place among the values of each entry of a tally."""


def whole_units(
    bounds: NDArray[np.float64], diameter: float, finest: int = FINEST
) -> tuple[NDArray[np.int64], Fraction]:
    """Bounds in whole units, each *rounded down*, and the unit: the least positive bound, or a whole part of it.

    Bounds that are all equal are exact. ``diameter``: about the largest distance, which has at most ``finest`` units.
    """
    kinds, where = np.unique(bounds, return_inverse=True)
    positive = kinds[kinds > 0]
    if positive.size == 0:
        return np.zeros(bounds.shape, dtype=np.int64), Fraction(diameter) / finest if diameter > 0 else Fraction(1)
    least, widest = Fraction(float(positive[0])), Fraction(max(diameter, float(positive[-1])))
    parts = finest * least // widest
    unit = least / parts if parts else widest / finest
    units = np.array([Fraction(bound) // unit for bound in kinds.tolist()], dtype=np.int64)
    return units[where].reshape(bounds.shape), unit


@final
@dataclass(frozen=True, eq=False)
class LineReach(Reach):
    """Value u is min(heights[t] − heights[u], ceiling) units from value t > u.

    ``heights`` (T,): increasing int64, None where the ceiling alone counts; ``ceiling``: None where there is none.
    ``places`` (N,): of the value of each possible record.

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


MOST_KINDS = 2_000
"""Records between which all distances are listed."""


def reach_of(metric: Metric, values: OrderedValues, beside: float = 0.0, finest: int = FINEST) -> Reach:
    """What lengths are made of, in the simplest form that the metric has.

    Attributes that the values do not depend on are dropped first: records that differ in them alone need not move in
    them, and the bounds that are left are the same. What is left may be a line, a constant, a line under a ceiling, or
    a list of records with all their distances.
    Args: ``beside``: a distance that will be compared with these, so that units are no finer than it allows.
    ``finest``: about so many units the largest distance has at most.
    Guarantee: rests on ``generating_pairs`` only, whose bounds are rounded down to whole units; distances are their
    exact shortest paths, sums of integers below 2⁵³.
    Raises: TooLarge when more than 2,000 records would have to be listed.
    """
    if values.count == 1:
        return LineReach(Fraction(1), np.zeros(1, np.int64), None, values.places, 1)
    fewer, rows = without_idle_attributes(metric, values.places[None, : metric.size])
    kept = rows[0]
    alone = len(kept) == values.count and np.array_equal(kept, np.arange(values.count))
    inner, ceiling = _below_ceilings(fewer)
    if alone and isinstance(inner, LineMetric):
        return _on_a_line(inner, ceiling, values, beside, finest)
    if alone and isinstance(inner, DiscreteMetric):
        apart = min(round_down(inner.epsilon), ceiling)
        units, unit = whole_units(np.array([apart]), max(apart, beside), finest)
        return LineReach(unit, None, int(units[0]), values.places, values.count)
    one_each = len(kept) == values.count == len(np.unique(kept))
    if one_each:
        return _listed(fewer, values, np.argsort(kept)[values.places], kept, beside, finest)
    kinds = np.minimum(np.arange(len(values.places)), metric.size - 1)
    return _listed(metric, values, kinds, values.places[: metric.size], beside, finest)


def _below_ceilings(metric: Metric) -> tuple[Metric, float]:
    """The metric within ceilings, and the lowest of these; ∞ where there is none."""
    lowest = np.inf
    while isinstance(metric, CapMetric):
        lowest = min(lowest, round_down(metric.epsilon))
        metric = metric.inner
    return metric, float(lowest)


def _on_a_line(line: LineMetric, ceiling: float, values: OrderedValues, beside: float, finest: int) -> LineReach:
    """Shortest paths of consecutive bounds, or one step of the ceiling."""
    blocks = [pairs.bound for pairs in line.generating_pairs()]
    gaps = np.concatenate(blocks) if blocks else np.empty(0)
    length = math.fsum(gaps)
    # Only a ceiling that the whole line stays clearly below may be forgotten.
    capped = length * (1 + 2.0**-50) > ceiling
    bounds = np.append(gaps, ceiling) if capped else gaps
    units, unit = whole_units(bounds, max(min(length, ceiling), beside), finest)
    heights = np.concatenate([[0], np.cumsum(units[: len(gaps)])])
    return LineReach(unit, heights, int(units[-1]) if capped else None, values.places, values.count)


def _listed(
    metric: Metric,
    values: OrderedValues,
    kinds: NDArray[np.int64],
    places: NDArray[np.int64],
    beside: float,
    finest: int,
) -> ListedReach:
    size = metric.size
    if size > MOST_KINDS or size * values.count > MOST_KINDS**2:
        raise TooLarge(
            f"for a quantile under this metric the distances between {size:,} records would be listed; the limit is "
            f"{MOST_KINDS:,}: take a coarser step or fewer records, or a rule per unit of distance, which needs no list"
        )
    blocks = list(metric.generating_pairs())
    first = np.concatenate([pairs.first for pairs in blocks] or [np.empty(0, np.int64)])
    second = np.concatenate([pairs.second for pairs in blocks] or [np.empty(0, np.int64)])
    bounds = np.concatenate([pairs.bound for pairs in blocks] or [np.empty(0)])
    units, unit = whole_units(bounds, max(_diameter(metric), beside), finest)
    if not units.size:
        distances = np.where(np.eye(size, dtype=bool), 0.0, np.inf)
    else:
        graph = edge_graph(size, first, second, units.astype(np.float64))
        distances = distances_from(graph, np.arange(size))
    return ListedReach(unit, distances, kinds, places, values.count)


def _diameter(metric: Metric) -> float:
    apart = metric.distance(np.arange(metric.size)[:, None], np.arange(metric.size))
    return float(np.max(apart[np.isfinite(apart)], initial=0.0))
