"""What rules state for pairs of listed records that differ only in the attributes that they are about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.graph import GraphMetric
from dxgeom.policy.axes import runs
from dxgeom.policy.bounds.bound import Bound, Constant
from dxgeom.policy.bounds.joint_bounds import JointBound
from dxgeom.policy.lower.blocks import AttributeDescription, MetricDescription
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.universe import Universe

MAX_PAIRS: Final = 5_000_000

Indices: TypeAlias = NDArray[np.int64]


@final
@dataclass(frozen=True)
class ListedAxisPairs:
    """The listed records, grouped by all attributes but those at ``places``."""

    universe: Universe
    places: tuple[int, ...]

    def pairs(self) -> tuple[Indices, Indices]:
        """All pairs of records that differ in these attributes only, each once.

        Raises: TooLarge.
        """
        if self.count > MAX_PAIRS:
            raise too_many(self.count, [self.universe.names[place] for place in self.places])
        order, ends = self.groups
        behind = np.arange(1, order.size + 1)
        first, second = runs(behind, ends - behind)
        return order[first], order[second]

    @property
    def count(self) -> int:
        """How many such pairs there are."""
        order, ends = self.groups
        return int((ends - np.arange(order.size) - 1).sum())

    @cached_property
    def groups(self) -> tuple[Indices, Indices]:
        """Records in the order of their group and then of their codes; for each place there, the end of its group."""
        listed = self.universe.listed
        rest = np.arange(self.universe.record_types) if listed is None else listed
        codes = [self.universe.listed_codes[place] for place in self.places]
        for place, code in zip(self.places, codes, strict=True):
            rest = rest - code * math.prod(self.universe.shape[place + 1 :])
        order = np.lexsort((*reversed(codes), rest))
        ordered = rest[order]
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        return order, last[np.searchsorted(last, np.arange(order.size))] + 1


def too_many(count: int, names: Sequence[str]) -> TooLarge:
    """The refusal of so many pairs of records that differ only in these attributes."""
    quoted = ", ".join(f"'{name}'" for name in names)
    return TooLarge(
        f"{count:,} pairs of listed records differ only in {quoted}; at most "
        f"{MAX_PAIRS:,} are handled: use a table of fewer records, 'per' on numbers, or attributes instead of a table"
    )


BoundedPairs: TypeAlias = tuple[Indices, Indices, NDArray[np.float64]]


def stated_together(universe: Universe, bound: JointBound) -> BoundedPairs:
    """The pairs of listed records that differ only in the attributes of a joint bound, with what it states for each.

    Guarantee: every bound is exact or *rounded down*. All pairs are there: the records between may not be listed.
    Raises: TooLarge.
    """
    places = tuple(place for place, name in enumerate(universe.names) if name in bound.names)
    first, second = ListedAxisPairs(universe, places).pairs()
    codes = {universe.names[place]: universe.listed_codes[place] for place in places}
    stated = bound.of_pairs({name: (each[first], each[second]) for name, each in codes.items()})
    known = np.isfinite(stated)
    return first[known], second[known], stated[known]


@final
@dataclass(frozen=True)
class Neighbourhoods:
    """The listed records, grouped by all attributes but the one at ``place``."""

    universe: Universe
    place: int

    @property
    def codes(self) -> Indices:
        """Its code in each record."""
        return self.universe.listed_codes[self.place]

    def as_written(self, bound: Bound) -> BoundedPairs:
        """The pairs that a bound is about, with what it states, *rounded down*.

        Raises: TooLarge.
        """
        few = bound.few_pairs() if self._fibres.count > MAX_PAIRS else None
        return self._bounded(bound, *(self._fibres.pairs() if few is None else self._joined(*few)))

    def generating(self, bound: Bound) -> BoundedPairs:
        """Pairs that generate what a bound states: on a line the next record in each group says it all.

        Raises: TooLarge.
        """
        if not bound.in_order:
            return self.as_written(bound)
        order, ends = self._fibres.groups
        inside = np.flatnonzero(np.arange(order.size) + 1 < ends)
        return self._bounded(bound, order[inside], order[inside + 1])

    def _bounded(self, bound: Bound, first: Indices, second: Indices) -> BoundedPairs:
        bounds = bound.of_pairs(self.codes[first], self.codes[second])
        known = np.isfinite(bounds)
        return first[known], second[known], bounds[known]

    def _joined(self, one: Indices, other: Indices) -> tuple[Indices, Indices]:
        """From pairs of codes: each record with the one code, and the same record with the other where it is listed."""
        order = np.argsort(self.codes, kind="stable")
        low, high = (np.searchsorted(self.codes[order], one, side=side) for side in ("left", "right"))
        counts = high - low
        total = int(counts.sum())
        if total > MAX_PAIRS:
            raise too_many(total, [self.universe.names[self.place]])
        pair, at = runs(low, counts)
        first = order[at]
        columns = [column[first] for column in self.universe.listed_codes]
        columns[self.place] = other[pair]
        second = self.universe.indices_of(columns)
        there = second != OUTSIDE
        return first[there], second[there]

    @cached_property
    def _fibres(self) -> ListedAxisPairs:
        return ListedAxisPairs(self.universe, (self.place,))


def edges_of_listed(universe: Universe, description: MetricDescription) -> GraphMetric:
    """The pairs of listed records that generate what the rules state about one attribute, or several together.

    Definition: the closure over *listed* records. A path through a record that is not listed does not exist, so
    distances may be larger than over the product of the attributes.
    Guarantee: every bound is exact or *rounded down*.
    Raises: TooLarge.
    """
    found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))]
    for place, part in enumerate(description.parts):
        groups = Neighbourhoods(universe, place)
        found += [groups.generating(bound) for bound in _bounds(part)]
    found += [stated_together(universe, bound) for bound in description.joint]
    first, second, bounds = (np.concatenate([one[k] for one in found]) for k in range(3))
    return GraphMetric(universe.record_types, first, second, bounds)


def _bounds(part: AttributeDescription) -> tuple[Bound, ...]:
    """A ceiling on one attribute is about its own pairs only: paths here may change several attributes."""
    return part.bounds if part.ceiling is None else (*part.bounds, Constant(part.ceiling))
