"""What public numbers take away from linear queries: q = q′ + rA, where A counts what everybody may know.

Only q′ is asked of the data. What is added afterwards, r·b, follows from the policy's numbers b alone: nothing here
looks at data, or compares it with anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.numeric.sealed import Sealed, cached_property, canonical_digest
from dxgeom.universe.public_counts import NONE, KnownCounts
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import LARGEST_NUMERATOR, WeightTable, only, tabulated, with_axes
from dxgeom.universe.weight_tables import WeightTables, over_layout

MOST_CELLS: Final = 1 << 18
"""Queries are laid out together with public counts over at most so many combinations of values,"""
MOST_ENTRIES: Final = 1 << 24
"""and over at most so many of these so many times as there are queries, at once."""
_Integers: TypeAlias = NDArray[np.int64]
Share: TypeAlias = tuple[int, Fraction]
"""A public number by its place among all, and how many times it is taken away."""
Shares: TypeAlias = tuple["tuple[Share, ...] | None", ...]
"""(K,): what is taken away of each query, by rising places; None where it is asked as it is."""


@final
@dataclass(frozen=True, eq=False)
class PublicNumbers(Sealed):
    """The counts of a policy whose numbers it states, over these records.

    A number has a place: that of its set behind all sets of the counts before.
    """

    known: KnownCounts
    universe: Universe = field(repr=False)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The places, in the policy's list, of counts with numbers."""
        return tuple(place for place, one in enumerate(self.known.counts) if one.numbers is not None)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the numbers of each of these counts begin, and how many there are in all."""
        sizes = [self.known.counts[place].sets for place in self.counts]
        return (0, *np.cumsum(sizes).tolist())

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """All of them."""
        return tuple(number for place in self.counts for number in self.known.counts[place].numbers or ())

    def sets_over(self, place: int, axes: Sequence[int]) -> _Integers:
        """The set of each combination of values of these axes of the layout, by a count; :data:`NONE` for no set."""
        own = self.known.counts[self.counts[place]]
        shape = [self.universe.layout[axis] for axis in axes]
        inner = [size if axis in own.axes else 1 for axis, size in zip(axes, shape, strict=True)]
        return np.broadcast_to(own.cells.reshape(inner), shape)

    def axes_of(self, places: Sequence[int]) -> tuple[int, ...]:
        """The axes that these counts look at, rising."""
        return tuple(sorted({axis for place in places for axis in self.known.counts[self.counts[place]].axes}))

    def axes_over(self, table: WeightTable, counts: Sequence[int]) -> tuple[int, ...]:
        """The axes that a table looks at, and these counts; and classes, where some records are nobody's."""
        own = self.known.classes.axes if self.nowhere else ()
        return tuple(sorted({*table.axes, *self.axes_of(counts), *own}))

    def counts_of(self, shares: Sequence[Share]) -> set[int]:
        """Which counts some numbers belong to."""
        return {int(np.searchsorted(self.starts, row, side="right")) - 1 for row, _ in shares}

    @cached_property
    def nowhere(self) -> bool:
        """Whether there are records that by the numbers are nobody's."""
        return bool(np.any(self.known.classes.labels == NONE))

    def possible(self, axes: Sequence[int]) -> NDArray[np.bool_]:
        """Which combinations of values of these axes, that classes depend on among others, can be somebody's."""
        classes = self.known.classes
        shape = [self.universe.layout[axis] for axis in axes]
        inner = [size if axis in classes.axes else 1 for axis, size in zip(axes, shape, strict=True)]
        return np.broadcast_to(classes.labels.reshape(inner) != NONE, shape)

    def laid_out(self, table: WeightTable, axes: Sequence[int]) -> _Integers:
        """(k, …): a table's weights over these axes, its own among them. Raises: TooLarge."""
        shape = tuple(self.universe.layout[axis] for axis in axes)
        cells = math.prod(shape)
        if cells > MOST_CELLS or cells * len(table.queries) > MOST_ENTRIES:
            raise TooLarge(
                f"queries and public counts together tell apart more than {MOST_CELLS:,} combinations of values"
            )
        by_code = table.weights[np.ix_(np.arange(len(table.queries)), *table.classes)]
        return np.broadcast_to(with_axes(by_code, table.axes, axes), (len(table.queries), *shape))


@final
@dataclass(frozen=True, eq=False)
class PublicPart(Sealed):
    """What of each answer public numbers say.

    ``shares``: what is taken away of each query; ``offsets`` (K,): what is added to its answer, exact, in its unit;
    ``implied`` (K,): whether public numbers say all of it, so that nothing of it is asked of the data. ``before``: the
    queries from which that was taken away, None where these are others.
    """

    shares: Shares = field(repr=False)
    offsets: tuple[Fraction, ...] = field(repr=False)
    implied: NDArray[np.bool_] = field(repr=False)
    before: LinearQueries | None = field(default=None, repr=False)

    @property
    def helped(self) -> NDArray[np.bool_]:
        """(K,): of which answers public numbers say something."""
        return np.array([one is not None for one in self.shares], dtype=np.bool_)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what is added, and which answers are nothing else."""
        return canonical_digest("public numbers", self.offsets, self.implied)

    def only(self, places: Sequence[int]) -> PublicPart:
        """The same of the answers at these places."""
        own = list(places)
        return PublicPart(
            tuple(self.shares[place] for place in own), tuple(self.offsets[place] for place in own), self.implied[own]
        )


def less_public(numbers: PublicNumbers, queries: LinearQueries, shares: Shares) -> tuple[LinearQueries, PublicPart]:
    """The queries q′ = q − rA that are asked of the data, and what public numbers add to their answers.

    Guarantee: *exact*. For tables with these public counts q′(x) + r·b is what was asked, and no noise for q′ depends
    on b. A query that is then 0 for every record that is somebody's by the numbers is 0 for all: they imply its answer.
    Raises: TooLarge where it cannot be laid out, or is too fine for exact arithmetic.
    """
    tables, units = over_layout(queries.tables, numbers.universe), list(queries.units)
    implied = np.zeros(queries.count, dtype=np.bool_)
    found: list[WeightTable] = []
    for table in tables.tables:
        touched = [place for place, query in enumerate(table.queries.tolist()) if shares[query] is not None]
        untouched = [place for place in range(len(table.queries)) if place not in set(touched)]
        if untouched:
            found.append(table if not touched else only_within(table, untouched))
        counts = sorted(
            {one for place in touched for one in numbers.counts_of(shares[int(table.queries[place])] or ())}
        )
        for some in in_turn(numbers, table, touched, numbers.axes_over(table, counts)):
            found.append(_without(numbers, some, shares, units, implied))
    answered = replace(
        queries,
        weights=WeightTables(tables.shape, tuple(found), tables.absent),
        units=tuple(units),
        universe=numbers.universe,
    )
    offsets = tuple(sum((share * numbers.numbers[row] for row, share in one or ()), Fraction(0)) for one in shares)
    return answered, PublicPart(shares, offsets, implied, queries)


def in_turn(
    numbers: PublicNumbers, table: WeightTable, places: Sequence[int], axes: Sequence[int]
) -> Iterator[WeightTable]:
    """The queries of a table at these places, as many at a time as are laid out over these axes at once."""
    at_once = max(MOST_ENTRIES // math.prod(numbers.universe.layout[axis] for axis in axes), 1)
    for first in range(0, len(places), at_once):
        yield only_within(table, places[first : first + at_once])


def only_within(table: WeightTable, places: Sequence[int]) -> WeightTable:
    """The queries of a table at these places of it, which keep their own in the workload."""
    if len(places) == len(table.queries):
        return table
    return replace(only(table, list(places)), queries=table.queries[list(places)])


def _without(
    numbers: PublicNumbers,
    table: WeightTable,
    shares: Shares,
    units: list[Fraction],
    implied: NDArray[np.bool_],
) -> WeightTable:
    each = [shares[query] or () for query in table.queries.tolist()]
    counts = sorted(set().union(*(numbers.counts_of(one) for one in each)))
    axes = numbers.axes_over(table, counts)
    before = numbers.laid_out(table, axes)
    weights = np.zeros(before.shape, dtype=np.int64)
    sets = {count: numbers.sets_over(count, axes) for count in counts}
    possible = numbers.possible(axes) if numbers.nowhere else None
    for place, (query, own_shares) in enumerate(zip(table.queries.tolist(), each, strict=True)):
        unit = units[query]
        finer = math.lcm(1, *((share / unit).denominator for _, share in own_shares))
        whole = {row: int(share / unit * finer) for row, share in own_shares}
        reach = int(np.abs(before[place]).max(initial=0)) * finer + sum(map(abs, whole.values()))
        if reach >= LARGEST_NUMERATOR:
            raise TooLarge("a query less public counts is too fine for 52-bit integers")
        row = before[place] * finer
        for count, cells in sets.items():
            taken = np.zeros(numbers.starts[count + 1] - numbers.starts[count] + 1, dtype=np.int64)
            for number, share in whole.items():
                if numbers.starts[count] <= number < numbers.starts[count + 1]:
                    taken[number - numbers.starts[count]] = share
            row = row - taken[cells]  # the last is of no set, which is NONE
        if not np.any(row if possible is None else row[possible]):
            implied[query], row = True, np.zeros_like(row)
        coarser = math.gcd(*np.unique(row).tolist()) or finer
        weights[place], units[query] = row // coarser, unit * Fraction(coarser, finer)
    return replace(tabulated(axes, weights), queries=table.queries)
