"""Boxes as they are asked for, along some attributes each between two codes: cells, prefixes, ranges, conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import WeightTable
from dxgeom.universe.weight_tables import over_layout
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.box_queries import MOST_BOXES, BoxQueries, Ends
from dxgeom.universe.workloads.groups import Groups

_APART: Final = "do not follow each other in the attribute's order, so they lie in no box"
_NO_BOX: Final = "only counts in boxes are answered here: of every attribute neighbouring values, each with each"


@final
@dataclass(frozen=True, eq=False)
class Spans:
    """Some boxes along the same attributes: ``axes`` (k,), rising places in the universe; ``lower``, ``upper``
    (boxes, k): the first code inside, and the first beyond."""

    axes: tuple[int, ...]
    lower: Ends
    upper: Ends

    def within(self, other: Spans) -> Spans:
        """What these have in common with the one box of ``other``; empty boxes are left out."""
        axes = tuple(sorted({*self.axes, *other.axes}))
        count = len(self.lower)
        lower, upper = np.zeros((count, len(axes)), dtype=np.int64), np.full((count, len(axes)), np.iinfo(np.int64).max)
        for one, rows in ((self, slice(None)), (other, [0] * count)):
            for place, axis in enumerate(one.axes):
                at = axes.index(axis)
                lower[:, at] = np.maximum(lower[:, at], one.lower[rows, place])
                upper[:, at] = np.minimum(upper[:, at], one.upper[rows, place])
        some = np.all(lower < upper, axis=1)
        return Spans(axes, lower[some], upper[some])


def cells(groups: Sequence[Groups]) -> Spans:
    """A box for each combination of the values of columns of different attributes, the last one's running fastest.

    Raises: UnsupportedCombination where a value's codes are not neighbours; TooLarge.
    """
    count = math.prod(len(one.words) for one in groups)
    _require_few(count)
    order = sorted(range(len(groups)), key=lambda place: groups[place].axis)
    ends = [_ends(one) for one in groups]
    places = np.indices([len(one.words) for one in groups]).reshape(len(groups), count)
    lower = np.stack([ends[own][0][places[own]] for own in order], axis=1) if groups else np.zeros((1, 0), np.int64)
    upper = np.stack([ends[own][1][places[own]] for own in order], axis=1) if groups else np.zeros((1, 0), np.int64)
    return Spans(tuple(groups[own].axis for own in order), lower, upper)


def prefixes(groups: Groups) -> Spans:
    """A box for each value with all lower ones, or for what lies below each cut. Raises: as :func:`cells`."""
    lower, upper = _ends(groups)
    count = len(groups.cuts or groups.words)
    _require_few(count)
    return _merged(groups, lower, upper, np.zeros(count, dtype=np.int64), np.arange(count))


def ranges(groups: Groups) -> Spans:
    """A box for each two values, both included, the upper one running fastest. Raises: as :func:`cells`."""
    lower, upper = _ends(groups)
    count = len(groups.words)
    _require_few(count * (count + 1) // 2)
    first, last = np.triu_indices(count)
    return _merged(groups, lower, upper, first, last)


def spans_of(table: WeightTable) -> Spans:
    """The box of each query of a table of weights.

    Raises: UnsupportedCombination where a query is no count of the records in a box.
    """
    if table.between is not None and all(np.all(np.diff(own) >= 0) for own in table.classes):
        ends = [np.append(0, np.cumsum(np.bincount(own))) for own in table.classes]
        lower, upper = (
            np.stack([own[at] for own, at in zip(ends, side.T, strict=True)], axis=1) for side in table.between
        )
        return Spans(table.axes, lower, upper)
    counted = len(table.queries)
    lower, upper = np.zeros((counted, len(table.axes)), np.int64), np.zeros((counted, len(table.axes)), np.int64)
    taken = _taken(table)
    for place, (own, inside) in enumerate(zip(table.classes, taken, strict=True)):
        sizes = np.bincount(own)
        first, last = np.full(len(sizes), len(own)), np.zeros(len(sizes), dtype=np.int64)
        np.minimum.at(first, own, np.arange(len(own)))
        np.maximum.at(last, own, np.arange(len(own)) + 1)
        lower[:, place] = np.where(inside, first, len(own)).min(axis=1)
        upper[:, place] = np.where(inside, last, 0).max(axis=1)
        if np.any(upper[:, place] - lower[:, place] != inside @ sizes):
            raise UnsupportedCombination(_NO_BOX)
    return Spans(table.axes, lower, upper)


def _taken(table: WeightTable) -> list[NDArray[np.bool_]]:
    """Of each axis (queries, classes): the classes that each query counts, each with each of the other axes."""
    if table.counted is not None:
        places = np.unravel_index(table.counted, table.shape) if table.axes else ()
        return [np.arange(size) == own[:, None] for size, own in zip(table.shape, places, strict=True)]
    counts = table.weights != 0
    axes = range(1, counts.ndim)
    found = [counts.any(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    volumes = np.prod([one.sum(axis=1) for one in found], axis=0) if found else np.ones(len(counts))
    if np.any((table.weights != 0) & (table.weights != 1)) or np.any(
        counts.reshape(len(counts), -1).sum(axis=1) != volumes
    ):
        raise UnsupportedCombination(_NO_BOX)
    return found


def together(universe: Universe, spans: Sequence[Spans]) -> BoxQueries:
    """All these boxes as one workload, in their order. Raises: UnsupportedCombination; TooLarge."""
    _require_few(sum(len(one.lower) for one in spans))
    names = {universe.names[axis] for one in spans for axis in one.axes if universe.shape[axis] > 1}
    columns = BoxQueries.columns_of(universe, names)
    place = {one.axis: number for number, one in enumerate(columns)}
    lower, upper = [], []
    for one in spans:
        low = np.zeros((len(one.lower), len(columns)), dtype=np.int64)
        high = np.tile(np.array([len(own.words) for own in columns], dtype=np.int64), (len(one.lower), 1))
        for number, axis in enumerate(one.axes):
            if axis in place:
                low[:, place[axis]], high[:, place[axis]] = one.lower[:, number], one.upper[:, number]
        lower.append(low)
        upper.append(np.minimum(high, np.array([len(own.words) for own in columns], dtype=np.int64)))
    return BoxQueries(universe, columns, np.concatenate(lower), np.concatenate(upper))


def boxes_of_tables(universe: Universe, tables: Sequence[WeightTable]) -> BoxQueries:
    """The boxes that the queries of these tables count, each in its place. Raises: UnsupportedCombination; TooLarge."""
    found = together(universe, [spans_of(one) for one in tables])
    order = np.argsort(np.concatenate([one.queries for one in tables]), kind="stable")
    return replace(found, lower=found.lower[order], upper=found.upper[order])


def boxes_of(queries: LinearQueries) -> BoxQueries:
    """The same counts as boxes, in their order, called by their ends; what is said of importance and errors is kept.

    Raises: UnsupportedCombination for other queries than counts of the records in boxes; TooLarge.
    """
    universe = queries.universe
    if universe is None or universe.listed is not None:
        raise UnsupportedCombination("boxes are over the attributes of a policy, not over a table of records")
    moved = any(one.per_record for one in queries.rounding)
    if queries.derived or moved or any(unit != 1 for unit in queries.units):
        raise UnsupportedCombination("only counts are answered as boxes, not sums, means or shares")
    return replace(
        boxes_of_tables(universe, over_layout(queries.tables, universe).tables),
        importance=queries.importance,
        errors=queries.errors if any(queries.errors) else (),
        records=queries.records,
    )


def _merged(groups: Groups, lower: Ends, upper: Ends, first: NDArray[np.int64], last: NDArray[np.int64]) -> Spans:
    """From the beginning of one group to the end of another, where the groups between fill that."""
    count = len(groups.words)
    if not np.array_equal(upper[: count - 1], lower[1:count]):
        raise UnsupportedCombination(f"the values of {shown(groups.title)} {_APART}")
    return Spans((groups.axis,), lower[first][:, None], upper[last][:, None])


def _ends(groups: Groups) -> tuple[Ends, Ends]:
    """(values,): the first code of each value, and the first beyond."""
    count = len(groups.words)
    known = groups.codes[groups.codes < count]
    lower, upper = np.full(count, len(groups.codes)), np.zeros(count, dtype=np.int64)
    places = np.flatnonzero(groups.codes < count)
    np.minimum.at(lower, known, places)
    np.maximum.at(upper, known, places + 1)
    if not np.array_equal(upper - lower, np.bincount(known, minlength=count)):
        raise UnsupportedCombination(f"codes of one value of {shown(groups.title)} {_APART}")
    return lower.astype(np.int64), upper


def _require_few(count: int) -> None:
    if count > MOST_BOXES:
        raise TooLarge(f"at most {MOST_BOXES:,} boxes are asked for at once, found {count:,}")
