"""How much of public counts is best taken away from queries: all that they imply; a projection; a centre.

Whatever is taken away, the rest is proved like any query; a bad choice costs noise and nothing else.

Kernel: SciPy's linear programmes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from flint import fmpq_mat, fmpz_mat
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, vstack

from dxgeom.errors import TooLarge, UnboundedLoss
from dxgeom.metrics.differences import differences_of_tables
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.arrays import distinct_rows
from dxgeom.universe.public_counts import NONE
from dxgeom.universe.public_shares import MOST_CELLS, PublicNumbers, Share, Shares, in_turn, only_within
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.weight_table import WeightTable, tabulated
from dxgeom.universe.weight_tables import WeightTables, below, over_layout, stacked

_MOST_CROSSING: Final = 256
"""On up to so many numbers of several counts queries are projected, in rationals;"""
_MOST_CENTRED: Final = 64
"""up to so many queries are centred one by one,"""
_MOST_NUMBERS: Final = 1_000
"""by so many numbers, over differences with so many entries in all."""
_MOST_ENTRIES: Final = 4_000_000
_SIMPLE: Final = 720
"""Shares with divisors up to this are preferred;"""
_FINE: Final = 2**27
"""others are rounded to such parts of the largest weight. Finer ones are not taken: weights would be rounded."""
_EQUAL: Final = 1e-9
_SUMS_BELOW: Final = 2**62
_Integers: TypeAlias = NDArray[np.int64]


class Projection(NamedTuple):
    """What is taken away of each query, and whether nothing is left."""

    shares: Shares
    implied: tuple[bool, ...]


def public_fits(metric: VerifiedMetric, numbers: PublicNumbers, queries: LinearQueries) -> list[Shares]:
    """What may be taken away of each query: one choice or two; none where public numbers help no query.

    What public numbers imply is taken away whole. Of others it is the projection on what is public; or, in the other
    choice, what leaves each query the least change per distance, which for a single query nothing beats.
    Guarantee: what is implied is *exact*; that least change is met within 1e-7, relatively.
    """
    projected = projection(metric, numbers, queries)
    only_implied = tuple(one if whole else None for one, whole in zip(*projected, strict=True))
    centred = only_implied
    with suppress(TooLarge, UnboundedLoss):
        centred = _centred(metric, numbers, queries, projected)
    choices = [centred] if queries.count == 1 else [projected.shares, centred]
    distinct = [one for place, one in enumerate(choices) if one not in choices[:place]]
    return [one for one in distinct if any(own is not None for own in one)]


def projection(metric: VerifiedMetric, numbers: PublicNumbers, queries: LinearQueries) -> Projection:
    """The projection of each query on public counts, all combinations of values counting alike.

    A query that no public count has an attribute in common with stays as it is. Guarantee: *exact*.
    """
    shares: list[tuple[Share, ...] | None] = [None] * queries.count
    implied = [False] * queries.count
    for table in over_layout(queries.tables, numbers.universe).tables:
        with suppress(TooLarge):
            found = _of_table(numbers, table, everybody=metric.absent is None)
            for query, (own, whole) in zip(table.queries.tolist(), found, strict=True):
                unit = queries.units[query]
                if own is not None and (whole or _coarse_enough(share for _, share in own)):
                    shares[query] = tuple((row, share * unit) for row, share in own)
                implied[query] = whole
    return Projection(tuple(shares), tuple(implied))


def implied_alone(metric: VerifiedMetric, numbers: PublicNumbers, queries: LinearQueries) -> Shares:
    """What public numbers imply, taken away whole, and nothing of other queries.

    Most are told apart by a look at the classes of records that all counts take together: the weight of an implied
    query is one in each. Of these alone shares are sought. Guarantee: *exact*; an implied query is left out only where
    public counts and queries together are not laid out.
    """
    shares: list[tuple[Share, ...] | None] = [None] * queries.count
    everybody = metric.absent is None
    for table in over_layout(queries.tables, numbers.universe).tables:
        counts = _counts_for(numbers, table)
        axes = numbers.axes_over(table, counts)
        with suppress(TooLarge):
            for some in in_turn(numbers, table, range(len(table.queries)), axes) if counts else ():
                level = only_within(some, np.flatnonzero(_level(numbers, some, axes, counts)).tolist())
                places = level.queries.tolist()
                found = _of_table(numbers, level, everybody=everybody) if places else []
                for query, (own, whole) in zip(places, found, strict=True):
                    if whole and own is not None:
                        shares[query] = tuple((row, share * queries.units[query]) for row, share in own)
    return tuple(shares)


def _level(
    numbers: PublicNumbers, table: WeightTable, axes: tuple[int, ...], counts: Sequence[int]
) -> NDArray[np.bool_]:
    """(k,): whether a query has one weight in each class of records that are somebody's. Raises: TooLarge."""
    weights = numbers.laid_out(table, axes).reshape(len(table.queries), -1)
    sets = np.stack([numbers.sets_over(count, axes).ravel() for count in counts], axis=1)
    possible = np.flatnonzero(numbers.possible(axes).ravel()) if numbers.nowhere else np.arange(weights.shape[1])
    kinds, which = distinct_rows(sets[possible])
    first = np.full(len(kinds), len(which))
    np.minimum.at(first, which, np.arange(len(which)))
    return np.asarray(np.all(weights[:, possible] == weights[:, possible[first[which]]], axis=1))


def _coarse_enough(shares: Iterable[Fraction]) -> bool:
    """Whether weights less such shares of numbers are no finer than what is kept of weights."""
    return math.lcm(*(one.denominator for one in shares)) <= _FINE


_Found: TypeAlias = tuple["tuple[Share, ...] | None", bool]


def _of_table(numbers: PublicNumbers, table: WeightTable, *, everybody: bool) -> list[_Found]:
    """The shares of each query of a table, in its unit, and whether nothing is left; ``everybody``: whether all
    combinations may be moved together, since the number of records is public. Raises: TooLarge."""
    counts = _counts_for(numbers, table)
    if not counts:
        return [(None, False)] * len(table.queries)
    axes = numbers.axes_over(table, counts)
    weights = numbers.laid_out(table, axes).reshape(len(table.queries), -1)
    sets = np.stack([numbers.sets_over(count, axes).ravel() for count in counts], axis=1)
    starts = [numbers.starts[count] for count in counts]
    whole = _Fit.of(weights, sets, everybody=everybody)
    if numbers.nowhere:
        possible = numbers.possible(axes).ravel()
        implying = _Fit.of(weights[:, possible], sets[possible], everybody=False)
    else:
        implying = whole
    found: list[_Found] = []
    for query in range(len(weights)):
        if implying.leaves_nothing(query):
            found.append((implying.shares(query, starts), True))
        else:
            found.append((whole.shares(query, starts) if whole.says_something(query) else None, False))
    return found


def _counts_for(numbers: PublicNumbers, table: WeightTable) -> list[int]:
    """The counts to project on: those that no finer one holds; where they are too many to lay out together, those that
    look at an attribute of the queries."""
    counts = [*range(len(numbers.counts))]
    finest = [one for one in counts if not any(_is_inside(numbers, one, other) for other in counts if other != one)]
    axes = {*table.axes, *numbers.axes_of(finest)}
    if math.prod(numbers.universe.layout[axis] for axis in axes) <= MOST_CELLS:
        return finest
    return [one for one in finest if {*numbers.axes_of([one])} & {*table.axes}]


def _is_inside(numbers: PublicNumbers, coarse: int, fine: int) -> bool:
    """Whether each set of one count is made of sets of another; of two alike the first is made of the second's."""
    axes = numbers.axes_of([coarse, fine])
    if {*numbers.axes_of([coarse])} - {*numbers.axes_of([fine])}:
        return False
    pairs = np.stack([numbers.sets_over(one, axes).ravel() for one in (fine, coarse)], axis=1)
    kinds, _ = distinct_rows(pairs)
    inside = len(np.unique(kinds[:, 0])) == len(kinds) and not np.any((kinds[:, 0] == NONE) & (kinds[:, 1] != NONE))
    alike = (
        inside and len(np.unique(kinds[:, 1])) == len(kinds) and np.all((kinds[:, 0] == NONE) == (kinds[:, 1] == NONE))
    )
    return inside and (not alike or coarse < fine)


class _Fit(NamedTuple):
    """Least squares over classes of combinations that all counts take together, in rationals.

    ``kinds`` (G, counts): the sets of each class; ``found``: of each query the share of each set, and that of all
    combinations; ``level``: of each query and class its only weight, None where it has several.
    """

    kinds: _Integers
    columns: list[tuple[int, int]]
    found: list[list[Fraction]]
    level: list[list[int | None]]

    @classmethod
    def of(cls, weights: _Integers, sets: _Integers, *, everybody: bool) -> _Fit:
        """Raises: TooLarge."""
        kinds, which = distinct_rows(sets)
        if int(np.abs(weights).max(initial=0)) * max(weights.shape[1], 1) >= _SUMS_BELOW:
            raise TooLarge("these weights are too large to be projected on public counts")
        order = np.argsort(which, kind="stable")
        sizes = np.bincount(which, minlength=len(kinds))
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        sorted_weights = weights[:, order]
        sums = np.add.reduceat(sorted_weights, begins, axis=1)
        low = np.minimum.reduceat(sorted_weights, begins, axis=1)
        high = np.maximum.reduceat(sorted_weights, begins, axis=1)
        level = [
            [one if one == other else None for one, other in zip(*row, strict=True)]
            for row in zip(low.tolist(), high.tolist(), strict=True)
        ]
        columns = [(place, number) for place in range(kinds.shape[1]) for number in np.unique(kinds[:, place]).tolist()]
        columns = [(place, number) for place, number in columns if number != NONE]
        if kinds.shape[1] == 1:
            found = [_of_disjoint(kinds[:, 0], row, sizes, everybody=everybody) for row in sums.tolist()]
        else:
            found = _of_crossing(kinds, columns, sums, sizes, everybody=everybody)
        return cls(kinds, columns, found, level)

    def _values(self, query: int) -> Iterator[Fraction]:
        """What is taken away of each class's records."""
        nothing = Fraction(0)
        by_column = dict(zip(self.columns, self.found[query], strict=False))
        for kind in self.kinds.tolist():
            yield sum((by_column.get(column, nothing) for column in enumerate(kind)), nothing)

    def leaves_nothing(self, query: int) -> bool:
        """Whether public numbers imply a query's answer."""
        if any(one is None for one in self.level[query]):
            return False
        return all(value == one for value, one in zip(self._values(query), self.level[query], strict=True))

    def says_something(self, query: int) -> bool:
        """Whether what is taken away is not the same of every combination."""
        values = self._values(query)
        first = next(values)
        return any(one != first for one in values)

    def shares(self, query: int, starts: Sequence[int]) -> tuple[Share, ...]:
        """Those of public numbers by their places."""
        each = zip(self.columns, self.found[query], strict=False)
        return tuple(sorted((starts[place] + number, share) for (place, number), share in each if share))


def _of_disjoint(kinds: _Integers, sums: list[int], sizes: _Integers, *, everybody: bool) -> list[Fraction]:
    """The mean of each set, less that of what is in none where all may be moved together."""
    means = [Fraction(total, int(size)) for total, size in zip(sums, sizes, strict=True)]
    outside = [mean for mean, number in zip(means, kinds.tolist(), strict=True) if number == NONE]
    away = outside[0] if outside and everybody else Fraction(0)
    return [mean - away for mean, number in zip(means, kinds.tolist(), strict=True) if number != NONE]


def _of_crossing(
    kinds: _Integers, columns: list[tuple[int, int]], sums: _Integers, sizes: _Integers, *, everybody: bool
) -> list[list[Fraction]]:
    """By the normal equations, of numbers that do not follow from those before. Raises: TooLarge."""
    if len(columns) > _MOST_CROSSING:
        raise TooLarge(f"more than {_MOST_CROSSING} public numbers of several counts are not projected on")
    design = np.array([[int(kind[place] == number) for place, number in columns] for kind in kinds], dtype=np.int64)
    if everybody:
        design = np.column_stack([design, np.ones(len(kinds), dtype=np.int64)])
    products = (design * sizes[:, None]).T @ design
    reduced, _, rank = fmpz_mat(products.tolist()).rref()
    pivots = [next(column for column in range(len(products)) if reduced[row, column]) for row in range(rank)]
    right = [[int(one) for one in row] for row in (sums.astype(object) @ design[:, pivots].astype(object)).T]
    solved = fmpq_mat(fmpz_mat(products[np.ix_(pivots, pivots)].tolist())).solve(fmpq_mat(fmpz_mat(right)))
    found = [[Fraction(0)] * design.shape[1] for _ in range(len(sums))]
    for row, column in enumerate(pivots):
        for query in range(len(sums)):
            one = solved[row, query]
            found[query][column] = Fraction(int(one.p), int(one.q))
    return found


def _centred(metric: VerifiedMetric, numbers: PublicNumbers, queries: LinearQueries, projected: Projection) -> Shares:
    """What leaves each query alone the least change per distance; nothing where that gains nothing, and what is implied
    where all is. Raises: TooLarge; UnboundedLoss where counts tell records apart that the policy calls the same."""
    left = [place for place, whole in enumerate(projected.implied) if not whole]
    shares = [one if whole else None for one, whole in zip(*projected, strict=True)]
    if len(left) > _MOST_CENTRED or len(numbers.numbers) > _MOST_NUMBERS:
        raise TooLarge("too many queries or public numbers to centre the ones by the others")
    if left:
        asked = over_layout(queries.tables, numbers.universe).only(left)
        counted, rows = _counted(numbers, asked)
        changes, bounds = differences_of_tables(metric.metric, below([asked, counted]))
        if changes.size > _MOST_ENTRIES:
            raise TooLarge("too many differences to centre queries by public numbers")
        own, others = changes[:, : len(left)], changes[:, len(left) :]
        for place, query in enumerate(left):
            before = projected.shares[query]
            shares[query] = _centre(own[:, place], others, bounds, rows, before, queries.units[query])
    return tuple(shares)


def _counted(numbers: PublicNumbers, like: WeightTables) -> tuple[WeightTables, list[int]]:
    """Each public number as a query, and its place."""
    tables, rows = [], list[int]()
    for count, start in zip(range(len(numbers.counts)), numbers.starts, strict=False):
        axes = numbers.axes_of([count])
        cells = numbers.sets_over(count, axes)
        present = [one for one in np.unique(cells).tolist() if one != NONE]
        rows += [start + one for one in present]
        tables.append(tabulated(axes, np.stack([(cells == one).astype(np.int64) for one in present])))
    return stacked(like.shape, tables, like.absent), rows


def _centre(
    own: _Integers,
    others: _Integers,
    bounds: NDArray[np.float64],
    rows: list[int],
    before: tuple[Share, ...] | None,
    unit: Fraction,
) -> tuple[Share, ...] | None:
    """min over r of max |own − others·r|/bound: the shares, or None where nothing is gained."""

    def change(taken: Sequence[Fraction]) -> float:
        moved = own - others @ np.array([float(one) for one in taken])
        return float(np.max(np.abs(moved) / bounds, initial=0.0))

    least = _least_change(own, others, bounds)
    if least is None or change([Fraction(0)] * len(rows)) <= least[0] * (1 + _EQUAL):
        return None
    if before is not None:
        by_row = {row: share / unit for row, share in before}
        if change([by_row.get(row, Fraction(0)) for row in rows]) <= least[0] * (1 + _EQUAL):
            return before
    for taken in _rounded(least[1], float(np.max(np.abs(own), initial=1))):
        if _coarse_enough(taken) and change(taken) <= least[0] * (1 + 100 * _EQUAL):
            return tuple((row, share * unit) for row, share in zip(rows, taken, strict=True) if share)
    return None


def _rounded(shares: NDArray[np.float64], largest: float) -> Iterator[list[Fraction]]:
    """As simple rationals; as multiples of a small part of the largest weight."""
    yield [Fraction(one).limit_denominator(_SIMPLE) for one in shares.tolist()]
    part = Fraction(2) ** (math.ceil(math.log2(max(largest, 1.0))) - int(math.log2(_FINE)))
    yield [round(Fraction(one) / part) * part for one in shares.tolist()]


def _least_change(
    own: _Integers, others: _Integers, bounds: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]] | None:
    """The optimum and its shares, by HiGHS; None where it does not end."""
    scale = float(np.max(np.abs(own) / bounds, initial=0.0))
    if scale == 0:
        return None
    each: Any = csr_array(others / bounds[:, None])
    heights = csr_array(np.ones((len(bounds), 1)))
    sides = own / bounds / scale
    found = linprog(
        np.concatenate([np.zeros(others.shape[1]), [1.0]]),
        A_ub=vstack([hstack([-each, -heights]), hstack([each, -heights])], format="csr"),
        b_ub=np.concatenate([-sides, sides]),
        bounds=[(None, None)] * others.shape[1] + [(0, None)],
        method="highs",
    )
    return (float(found.fun) * scale, np.asarray(found.x[:-1]) * scale) if found.status == 0 else None
