"""The pairs of listed records that differ in one attribute only, found by grouping the rows on all the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.policy.bounds import Bound, Edges, Growing, Near
from dxgeom.policy.near_pairs import near_pairs
from dxgeom.policy.pair_bounds import bounds_of_pairs
from dxgeom.universe.attributes import OUTSIDE, Attribute, PointsAttribute
from dxgeom.universe.universe import Universe

MAX_PAIRS: Final = 5_000_000

Indices: TypeAlias = NDArray[np.int64]
BoundedPairs: TypeAlias = tuple[Indices, Indices, NDArray[np.float64]]


@final
@dataclass(frozen=True)
class Neighbourhoods:
    """The listed records, grouped by all attributes but the one at ``place``."""

    universe: Universe
    place: int

    @property
    def attribute(self) -> Attribute:
        """The attribute that may differ."""
        return self.universe.attributes[self.place]

    @property
    def codes(self) -> Indices:
        """Its code in each record."""
        return self.universe.listed_codes[self.place]

    def pairs(self) -> tuple[Indices, Indices]:
        """All pairs of records that differ in this attribute only, each once.

        Raises: TooLarge.
        """
        order, ends = self._groups
        counts = ends - np.arange(order.size) - 1
        total = int(counts.sum())
        if total > MAX_PAIRS:
            raise self._too_many(total)
        starts = np.repeat(np.arange(order.size), counts)
        offsets = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        return order[starts], order[starts + 1 + offsets]

    def stated(self, bound: Bound) -> BoundedPairs:
        """The pairs that a bound is about, with what it states, *rounded down*.

        Raises: TooLarge.
        """
        by_code = isinstance(bound, Near | Edges) and self._count > MAX_PAIRS
        first, second = self._joined(bound) if by_code and isinstance(bound, Near | Edges) else self.pairs()
        return self._bounded(bound, first, second)

    def generating(self, bound: Bound) -> BoundedPairs:
        """Pairs that generate what a bound states: on a line the next record in each group says it all.

        Raises: TooLarge.
        """
        on_a_line = isinstance(bound, Growing) and bound.floor == 0 and not isinstance(self.attribute, PointsAttribute)
        if not on_a_line:
            return self.stated(bound)
        order, ends = self._groups
        inside = np.flatnonzero(np.arange(order.size) + 1 < ends)
        return self._bounded(bound, order[inside], order[inside + 1])

    def _bounded(self, bound: Bound, first: Indices, second: Indices) -> BoundedPairs:
        bounds = bounds_of_pairs(self.attribute, bound, self.codes[first], self.codes[second])
        known = np.isfinite(bounds)
        return first[known], second[known], bounds[known]

    def _joined(self, bound: Near | Edges) -> tuple[Indices, Indices]:
        """From pairs of codes: each record with the one code, and the same record with the other where it is listed."""
        if isinstance(bound, Near):
            one, other = near_pairs(self.attribute, bound.axis, bound.reach)
        else:
            one, other = np.array(bound.pairs, dtype=np.int64).T
        order = np.argsort(self.codes, kind="stable")
        low, high = (np.searchsorted(self.codes[order], one, side=side) for side in ("left", "right"))
        counts = high - low
        total = int(counts.sum())
        if total > MAX_PAIRS:
            raise self._too_many(total)
        offsets = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        first = order[np.repeat(low, counts) + offsets]
        moved = list(self.universe.listed_codes)
        columns = [column[first] for column in moved]
        columns[self.place] = np.repeat(other, counts)
        second = self.universe.indices_of(columns)
        there = second != OUTSIDE
        return first[there], second[there]

    @property
    def _count(self) -> int:
        order, ends = self._groups
        return int((ends - np.arange(order.size) - 1).sum())

    @cached_property
    def _groups(self) -> tuple[Indices, Indices]:
        """Records in the order of their group and then of their code; for each place there, the end of its group."""
        stride = math.prod(self.universe.shape[self.place + 1 :])
        listed = self.universe.listed
        places = np.arange(self.universe.record_types) if listed is None else listed
        rest = places - self.codes * stride
        order = np.lexsort((self.codes, rest))
        ordered = rest[order]
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        return order, last[np.searchsorted(last, np.arange(order.size))] + 1

    def _too_many(self, count: int) -> TooLarge:
        return TooLarge(
            f"{count:,} pairs of listed records differ only in '{self.attribute.name}'; at most {MAX_PAIRS:,} are "
            "handled: use a table of fewer records, 'per' on numbers, or attributes instead of a table"
        )
