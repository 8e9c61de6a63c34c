"""Queries whose weights are products over attributes, each attribute's part by itself; and what they share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.universe.weight_table import WeightTable
from dxgeom.universe.weight_tables import WeightTables

Floats = NDArray[np.float64]
_MOST_ENTRIES: Final = 1 << 25
"""Numbers of all factors together, a quarter of a gigabyte."""
_MOST_TYPES: Final = 4096
"""Different kinds of records, taken as the values of one attribute where weights are no products."""
_SMALL: Final = 2.0**52
_MOST_SYMMETRIC: Final = 6


@final
@dataclass(frozen=True, eq=False)
class FactoredWeights:
    """W[q, i] = roots[q]·Π_a factors[a][q, class of i's value].

    ``axes``: the attributes, rising; None where all kinds of records are taken as the values of one, the only factor.
    ``classes``: of each axis the class of every value, alike for all queries within a class. ``factors``
    (K, classes) of each axis; ``roots`` (K,): units times roots of what squared errors count.
    """

    axes: tuple[int, ...] | None
    classes: tuple[NDArray[np.int64], ...]
    factors: tuple[Floats, ...]
    roots: Floats

    @property
    def count(self) -> int:
        """The number K of queries."""
        return len(self.roots)


@final
@dataclass(frozen=True, eq=False)
class WeightBlock:
    """A part of the answers' space, turned, which no other part has anything in common with, ``times`` over.

    Where queries about an attribute are its values one by one, or all together, the sum over values and the differences
    between them are apart: ``contrasts`` are those attributes, by their place, of which it has the differences. Its
    ``roots`` hold what such attributes leave of a weight; ``factors`` are None for them.
    """

    factors: tuple[Floats | None, ...]
    roots: Floats
    contrasts: frozenset[int]
    times: int


def factored(tables: WeightTables, roots: Floats) -> FactoredWeights:
    """The weights of tables, as products. Raises: TooLarge where they are none, and records of too many kinds."""
    axes, classes = tables.shared
    sizes = [int(own.max()) + 1 for own in classes]
    if tables.count * max(1, sum(sizes)) > _MOST_ENTRIES:
        raise TooLarge("these weights are too many to be laid out for a bound")
    factors, scales = [np.ones((tables.count, size)) for size in sizes], roots.copy()
    for table in tables.tables:
        found = _of_table(table)
        if found is None:
            return _of_types(tables, axes, classes, roots)
        parts, own = found
        scales[table.queries] *= own
        for axis, part in zip(table.axes, parts, strict=True):
            factors[axes.index(axis)][table.queries] = part[:, tables.class_in(table, axis)]
    return FactoredWeights(axes, classes, tuple(factors), scales)


def _of_table(table: WeightTable) -> tuple[list[Floats], Floats] | None:
    """Of each axis (k, classes), and one factor more (k,); None where some query is no product."""
    count = len(table.queries)
    if table.counted is not None:
        cells = np.unravel_index(table.counted, table.shape) if table.shape else ()
        return [np.eye(size)[own] for size, own in zip(table.shape, cells, strict=True)], np.ones(count)
    if table.between is not None:
        each = zip(table.shape, table.between.transpose(2, 0, 1), strict=True)
        return [
            ((np.arange(size) >= low[:, None]) & (np.arange(size) < high[:, None])).astype(np.float64)
            for size, (low, high) in each
        ], np.ones(count)
    pivots = np.abs(table.flat).argmax(axis=1)
    largest = table.flat[np.arange(count), pivots]
    power = max(0, len(table.axes) - 1)
    if power and np.abs(largest).max(initial=0).astype(float) ** len(table.axes) >= _SMALL:
        return None
    places = np.unravel_index(pivots, table.shape) if table.shape else ()
    parts, product = [], np.ones((count, 1))
    for place in range(len(table.axes)):
        at: list[NDArray[np.int64] | slice] = [np.arange(count), *places]
        at[place + 1] = slice(None)
        parts.append(table.weights[tuple(at)].astype(np.float64))
        product = (product[:, :, None] * parts[-1][:, None, :]).reshape(count, -1)
    whole = largest.astype(np.float64) ** power
    # Whole numbers below 2⁵², which float64 multiplies exactly.
    if power and not np.array_equal(product, table.flat * whole[:, None]):
        return None
    if not table.axes:
        return [], largest.astype(np.float64)
    return parts, np.divide(1.0, whole, out=np.zeros(count), where=whole != 0)


def _of_types(
    tables: WeightTables, axes: tuple[int, ...], classes: tuple[NDArray[np.int64], ...], roots: Floats
) -> FactoredWeights:
    sizes = [int(own.max()) + 1 for own in classes]
    types = math.prod(sizes)
    if types > _MOST_TYPES or types * tables.count > _MOST_ENTRIES:
        raise TooLarge("these weights are no products over attributes, and of too many kinds of records for a bound")
    codes = [np.zeros(1, dtype=np.int64)] * len(tables.shape)
    for axis, own in zip(axes, classes, strict=True):
        codes[axis] = np.unique(own, return_index=True)[1]
    grid = np.meshgrid(*codes, indexing="ij")
    records = np.ravel_multi_index(tuple(one.reshape(-1) for one in grid), tables.shape)
    weights = tables.of_records(records).T.astype(np.float64)
    return FactoredWeights(None, (np.arange(types),), (weights,), roots)


def blocks_of(weights: FactoredWeights, fixed: frozenset[int]) -> list[WeightBlock]:
    """Parts without anything in common, for weights of records that are alike for the values of symmetric attributes.

    ``fixed``: the places of axes that stay as they are, since changes of theirs are not alike for all values.
    """
    rest = np.arange(weights.count)
    alike: list[int] = []
    order = sorted(range(len(weights.factors)), key=lambda place: -weights.factors[place].shape[1])
    for place in order:
        if place not in fixed and len(alike) < _MOST_SYMMETRIC and _is_symmetric(weights, place):
            alike.append(place)
    roots, each = weights.roots.copy(), {}
    for place in alike:
        factor = weights.factors[place]
        alone = (
            np.count_nonzero(factor, axis=1) == 1 if factor.shape[1] > 1 else np.zeros(weights.count, dtype=np.bool_)
        )
        roots *= np.abs(factor).max(axis=1) / np.where(alone, math.sqrt(factor.shape[1]), 1.0)
        each[place] = alone
        rest = rest[~alone[rest] | (np.abs(factor[rest]).argmax(axis=1) == 0)]
    found = []
    for number in range(1 << len(alike)):
        inside = [place for bit, place in enumerate(alike) if number >> bit & 1]
        own = rest[np.all([each[place][rest] for place in inside], axis=0)] if inside else rest
        if len(own):
            times = math.prod(weights.factors[place].shape[1] - 1 for place in inside)
            kept = [one[own] for place, one in enumerate(weights.factors) if place not in each]
            first, squares = _each_once(kept, roots[own] ** 2)
            factors = tuple(None if place in each else one[own[first]] for place, one in enumerate(weights.factors))
            found.append(WeightBlock(factors, np.sqrt(squares), frozenset(inside), times))
    return [one for one in found if one.times]


def _each_once(factors: list[Floats], squares: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The first of each kind of row, and what the squares of all of its kind add up to: rows that are alike are one,
    turned."""
    kinds = _kinds_of(np.hstack([np.ones((len(squares), 1)), *factors]))
    first = np.unique(kinds, return_index=True)[1]
    return np.asarray(first, dtype=np.int64), np.asarray(np.bincount(kinds, weights=squares))


def _kinds_of(rows: Floats) -> NDArray[np.int64]:
    """(k,): which of the different rows each is; -0 is 0."""
    laid_out = np.ascontiguousarray(rows + 0.0).view(np.dtype((np.void, rows.shape[1] * 8))).reshape(-1)
    return np.unique(laid_out, return_inverse=True)[1].reshape(-1)


def _is_symmetric(weights: FactoredWeights, place: int) -> bool:
    """Whether each query gives all values of the attribute the same weight, or one of them alone, and then others do so
    for each other value."""
    factor = weights.factors[place]
    largest, count = factor.max(axis=1), factor.shape[1]
    alone = (np.count_nonzero(factor, axis=1) == 1) & (count > 1)
    if np.any(factor.min(axis=1) < 0) or np.any(~alone & (factor.min(axis=1) != largest)) or np.any(largest == 0):
        return False
    others = [one for number, one in enumerate(weights.factors) if number != place]
    rows = np.hstack([(weights.roots * largest)[:, None], *others])[alone]
    if not len(rows):
        return True
    kinds = _kinds_of(rows)
    table = np.zeros((int(kinds.max()) + 1, count), dtype=np.int64)
    np.add.at(table, (kinds, factor[alone].argmax(axis=1)), 1)
    return bool(np.all(table == table[:, :1]))
