"""Axes: how far the values of an attribute are from each other, along a line, on a map, or along a graph.

Touches ``universe``'s words, ``metrics`` and ``numeric``; knows neither rules nor attributes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.bounded_shortest_paths import UNREACHED, Neighbours, lengths_from, neighbours_of, pairs_within_limit
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.graph import graph_of_amounts
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.points import Geometry, PointsMetric, lower_distance, pairs_within
from dxgeom.numeric.rounding import round_up

MAX_PAIRS: Final = 20_000_000

Amount: TypeAlias = Fraction | float
"""An exact number, or a float *rounded down*, or ∞."""
Codes: TypeAlias = NDArray[np.int64]
Pairs: TypeAlias = tuple[Codes, Codes]
Row: TypeAlias = NDArray[Any]
"""Amounts of many pairs: whole numbers of any size (int64, object or float64) and ∞, or float64."""


class Axis(ABC):
    """Distances between the codes 0..size-1 of one attribute, along one way to measure them.

    Definition: D(a, b) ≥ 0, symmetric, 0 for a = b, ∞ where no way leads from one to the other; a pseudometric.
    Laws: with a ``grain`` every distance is an *exact* whole multiple of it; without one (``grain`` is None) distances
    are float64, *rounded down*, and a pair that cannot be told from a reach is within it. Two axes are equal iff
    they measure alike.
    ``name``: how fingerprints call it; ``in_order``: whether codes stand on a line in their order, so that distances of
    neighbouring codes add up.
    """

    name: str
    in_order: ClassVar[bool]

    @property
    @abstractmethod
    def size(self) -> int:
        """How many codes there are."""

    @property
    @abstractmethod
    def grain(self) -> Fraction | None:
        """What distances are whole multiples of; None where they are rounded."""

    @abstractmethod
    def between(self, start: int, end: int) -> Amount:
        """D(start, end)."""

    @abstractmethod
    def apart(self, first: Codes, second: Codes) -> Row:
        """D(first, second), in grains, for arrays of codes of one common shape."""

    @abstractmethod
    def within(self, reach: Fraction) -> Callable[[Codes, Codes], NDArray[np.bool_]]:
        """Whether D(first, second) ≤ reach, the border included, for arrays of codes of one common shape."""

    def is_within(self, start: int, end: int, reach: Fraction) -> bool:
        """The same for two codes."""
        apart = self.between(start, end)
        return apart <= (reach if isinstance(apart, Fraction) else round_up(reach))

    @abstractmethod
    def pairs(self, reach: Fraction) -> Pairs:
        """All unordered pairs of different codes within ``reach``, lower code first.

        Raises: TooLarge above ``MAX_PAIRS``, before the memory is taken.
        """

    @abstractmethod
    def metric(self, rate: Fraction, floor: Fraction) -> Metric:
        """The metric max(floor, rate·D(a, b)) for a ≠ b, in its most structured form; *rounded down*.

        Raises: TooLarge.
        """


def runs(starts: Codes, counts: Codes) -> Pairs:
    """Runs of so many consecutive numbers from each start, one after another: which run each is of, and the number."""
    which = np.repeat(np.arange(counts.size), counts)
    return which, np.arange(which.size) + (starts - np.cumsum(counts) + counts)[which]


def too_many_pairs(count: int, about: str = "about") -> TooLarge:
    """The refusal of so many near pairs."""
    return TooLarge(
        f"'within' selects {about} {count:,} pairs of values; at most {MAX_PAIRS:,} are handled: "
        "use a shorter distance, coarser values, or 'per'"
    )


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


@final
@dataclass(frozen=True)
class CircleAxis(Axis):
    """The shorter way round: min(g, ``around`` − g), g = \\|position_a − position_b\\|, *exact*.

    ``positions``: strictly increasing, one per code, three or more; ``around``: the length of a whole round, more than
    from the first to the last; ``name``: "numbers around" for the attribute's own numbers, "steps around" for codes.
    """

    name: Literal["numbers around", "steps around"]
    positions: tuple[Fraction, ...] = field(repr=False, hash=False)
    around: Fraction
    in_order: ClassVar[bool] = False

    @property
    def size(self) -> int:
        return len(self.positions)

    @cached_property
    def grain(self) -> Fraction:
        return Fraction(1, math.lcm(*{one.denominator for one in (*self.positions, self.around)}))

    def between(self, start: int, end: int) -> Fraction:
        gap = abs(self.positions[start] - self.positions[end])
        return min(gap, self.around - gap)

    def apart(self, first: Codes, second: Codes) -> Row:
        gap = abs(self._spots[first] - self._spots[second])
        return np.asarray(np.minimum(gap, self._round - gap))

    def within(self, reach: Fraction) -> Callable[[Codes, Codes], NDArray[np.bool_]]:
        most = min(int(reach / self.grain), self._round)
        return lambda first, second: np.asarray(self.apart(first, second) <= most, dtype=np.bool_)

    def pairs(self, reach: Fraction) -> Pairs:
        codes, most = np.arange(self.size, dtype=np.int64), int(reach / self.grain)
        if 2 * most >= self._round:
            counts, far = self.size - 1 - codes, np.zeros_like(codes)
        else:
            counts = np.searchsorted(self._spots, self._spots + most, side="right").astype(np.int64) - 1 - codes
            # The last ones, over the end of the round.
            far = self.size - np.searchsorted(self._spots, self._spots + (self._round - most)).astype(np.int64)
        total = int(np.sum(counts) + np.sum(far))
        if total > MAX_PAIRS:
            raise too_many_pairs(total)
        near, over = runs(codes + 1, counts), runs(self.size - far, far)
        first, second = (np.concatenate(ends) for ends in zip(near, over, strict=True))
        order = np.lexsort((second, first))
        return first[order], second[order]

    def metric(self, rate: Fraction, floor: Fraction) -> Metric:
        """From each value and the next, the last and the first among them; with a floor from pairs nearer than two
        reaches and such a step, as along a graph."""
        codes = np.arange(self.size, dtype=np.int64)
        first, second = np.append(codes[:-1], 0), np.append(codes[1:], self.size - 1)
        if floor > 0:
            longest = int(self.apart(first, second).max()) * self.grain
            first, second = self.pairs(2 * floor / rate + longest)
        distinct, place = np.unique(self.apart(first, second), return_inverse=True)
        each = [max(floor, rate * int(span) * self.grain) for span in distinct.tolist()]
        return graph_of_amounts(self.size, (first, second), each, place)

    @cached_property
    def _spots(self) -> Row:
        """Positions in grains."""
        whole = [int(position / self.grain) for position in self.positions]
        largest = max(abs(whole[0]), abs(whole[-1]), self._round)
        return np.array(whole, dtype=np.int64 if largest < _FITS else object)

    @cached_property
    def _round(self) -> int:
        return int(self.around / self.grain)


@final
@dataclass(frozen=True, eq=False)
class PathAxis(Axis):
    """The length of a shortest path, *exact*; ∞ between parts of the graph.

    ``count``: how many nodes; ``first``, ``second``: (E,) codes of the edges' ends, first < second; ``lengths``: (E,)
    int64 above 0, in multiples of ``unit``, their sum below 2⁵²; ``name``: "hops" where every edge is one step, "paths"
    where edges have lengths.
    """

    name: Literal["hops", "paths"]
    count: int
    first: Codes = field(repr=False)
    second: Codes = field(repr=False)
    lengths: NDArray[np.int64] = field(repr=False)
    unit: Fraction = Fraction(1)
    in_order: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PathAxis) or self._facts != other._facts:
            return False
        columns = zip(self._edges, other._edges, strict=True)
        return all(mine is theirs or np.array_equal(mine, theirs) for mine, theirs in columns)

    def __hash__(self) -> int:
        return hash(self._facts)

    @property
    def size(self) -> int:
        return self.count

    @property
    def grain(self) -> Fraction:
        return self.unit

    def between(self, start: int, end: int) -> Amount:
        length = self._row(start)[end]
        return float(length) if np.isinf(length) else int(length) * self.grain

    def apart(self, first: Codes, second: Codes) -> Row:
        sources, place = np.unique(first, return_inverse=True)
        lengths = np.array([self._row(source) for source in sources.tolist()]).reshape(sources.size, self.size)
        return np.asarray(lengths[place.reshape(first.shape), second])

    def within(self, reach: Fraction) -> Callable[[Codes, Codes], NDArray[np.bool_]]:
        most = min(int(reach / self.grain), UNREACHED)

        def near(first: Codes, second: Codes) -> NDArray[np.bool_]:
            if first.size and np.all(first == first.flat[0]):
                return np.asarray(self._row(int(first.flat[0]))[second] <= most)
            one, other = self.pairs(reach)
            wanted = np.minimum(first, second) * self.size + np.maximum(first, second)
            return np.asarray(np.isin(wanted, one * self.size + other) | (first == second), dtype=np.bool_)

        return near

    def pairs(self, reach: Fraction) -> Pairs:
        return self._near(reach)[:2]

    def metric(self, rate: Fraction, floor: Fraction) -> Metric:
        """From pairs that generate it.

        With floor 0 these are the edges. With a floor they are the pairs nearer than two reaches and an edge, the reach
        T being floor/rate: a longer shortest path has a node T or more from either end, and the two parts' bounds add
        up to its own.
        """
        if floor == 0:
            first, second, spans = self._edges
        else:
            first, second, spans = self._near(2 * floor / rate + int(self.lengths.max()) * self.grain)
        distinct, place = np.unique(spans, return_inverse=True)
        each = [max(floor, rate * span * self.grain) for span in distinct.tolist()]
        return graph_of_amounts(self.size, (first, second), each, place)

    def _row(self, code: int) -> Row:
        """To every node; whole numbers below 2⁵², and ∞."""
        lengths = lengths_from(self._neighbours, code)
        return np.where(lengths == UNREACHED, np.inf, lengths.astype(np.float64))

    def _near(self, reach: Fraction) -> tuple[Codes, Codes, NDArray[np.int64]]:
        """Pairs of nodes with a path of at most ``reach``, and its length in grains. Raises: TooLarge."""
        found = pairs_within_limit(self._neighbours, int(reach / self.grain), MAX_PAIRS)
        if found is None:
            raise too_many_pairs(MAX_PAIRS, "more than")
        return found

    @property
    def _facts(self) -> tuple[str, int, Fraction, int]:
        return self.name, self.count, self.unit, self.first.size

    @property
    def _edges(self) -> tuple[Codes, Codes, NDArray[np.int64]]:
        return self.first, self.second, self.lengths

    @cached_property
    def _neighbours(self) -> Neighbours:
        return neighbours_of(self.size, self.first, self.second, self.lengths)


_SAMPLED_DISTANCES: Final = 5_000_000


@final
@dataclass(frozen=True, eq=False)
class PlacesAxis(Axis):
    """The plane or great-circle distance, float64 and *rounded down*; see :func:`lower_distance`.

    ``coordinates``: (size, 2), degrees (latitude, longitude) on the great circle. A pair whose distance cannot be told
    from a reach counts as within it: one bound more can only protect more.
    """

    geometry: Geometry
    coordinates: NDArray[np.float64] = field(repr=False)
    name: Literal["places"] = field(default="places", init=False)
    in_order: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PlacesAxis)
            and self.geometry == other.geometry
            and (self.coordinates is other.coordinates or np.array_equal(self.coordinates, other.coordinates))
        )

    def __hash__(self) -> int:
        return hash((self.name, self.geometry, self.size))

    @property
    def size(self) -> int:
        return len(self.coordinates)

    @property
    def grain(self) -> None:
        return None

    def between(self, start: int, end: int) -> float:
        return float(lower_distance(self.coordinates, self.geometry, start, end))

    def apart(self, first: Codes, second: Codes) -> Row:
        return lower_distance(self.coordinates, self.geometry, first, second)

    def within(self, reach: Fraction) -> Callable[[Codes, Codes], NDArray[np.bool_]]:
        limit = round_up(reach)
        return lambda first, second: self.apart(first, second) <= limit

    def pairs(self, reach: Fraction) -> Pairs:
        radius, size = round_up(reach), self.size
        if size * (size - 1) // 2 > MAX_PAIRS:
            expected = self._expected_pairs(radius)
            if expected > MAX_PAIRS:
                raise too_many_pairs(expected)
        first, second, _ = pairs_within(self.coordinates, self.geometry, radius)
        return first, second

    def metric(self, rate: Fraction, floor: Fraction) -> Metric:
        return PointsMetric(self.coordinates, self.geometry, rate, floor)

    def _expected_pairs(self, radius: float) -> int:
        """An estimate from evenly spaced rows of the file, so that the memory is known before it is taken."""
        rows = np.linspace(0, self.size - 1, max(50, _SAMPLED_DISTANCES // self.size))
        sources, everyone = np.unique(rows.astype(np.int64)), np.arange(self.size)
        near = sum(int(np.sum(self.apart(source, everyone) <= radius)) - 1 for source in sources)
        return near * self.size // (2 * sources.size)
