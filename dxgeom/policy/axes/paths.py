"""Shortest paths along a graph's edges, exactly: in steps, or in the lengths of its edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.bounded_shortest_paths import (
    UNREACHED,
    Neighbours,
    lengths_from,
    neighbours_of,
    pairs_within_limit,
)
from dxgeom.metrics.graph import graph_of_amounts
from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes.axis import MAX_PAIRS, Amount, Axis, Codes, Pairs, Row, too_many_pairs


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
