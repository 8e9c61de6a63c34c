"""The differences of a map along a metric's generating pairs: all that sensitivity depends on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnboundedLoss
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.families import DiscreteMetric, refuse_pairs
from dxgeom.metrics.generating_pairs import (
    PairClasses,
    are_many,
    classes_of_records,
    kinds_of_elements,
    least_by_pair,
    pair_classes_of,
    pairs_of_kinds,
    presence_of,
    refuse_cells,
)
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.restriction import without_idle_attributes
from dxgeom.numeric.arrays import distinct_rows, first_of_each_kind, kinds_of_rows, least_by_row
from dxgeom.numeric.rounding import round_down
from dxgeom.universe.weight_tables import WeightTables

DISTINCT_LIMIT = 5_000_000
"""More distinct differences than this are refused rather than swallowing all memory."""
ENTRY_LIMIT = 300_000_000
"""Differences of many queries are refused earlier: all of them together have at most so many entries."""

ENTRIES_PER_BLOCK = 1 << 22
WORK_LIMIT = 2_000_000_000
"""More entries than this are not even compared."""
SEPARATES_THE_SAME = (
    "some query separates records at distance 0, which the policy says are one and the same; "
    "no finite noise hides that: let the query treat them alike, or give the pair a positive epsilon"
)

Differences: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]


def generating_differences(metric: Metric, values: NDArray[np.int64]) -> Differences:
    """Distinct ``values[:, i] − values[:, j]`` over generating pairs, each with its smallest bound.

    Args: ``values`` (K, N), integers below 2⁵² in magnitude.
    Returns: differences (E, K) with first non-zero entry positive (a norm does not see the sign), bounds (E,)
    rounded down. Zero differences are left out.
    Guarantee: *exact* differences; every generating pair is represented by a row with a bound not above its own.
    Raises: UnboundedLoss when a pair at distance 0 has a difference; TooLarge beyond the stated limits.
    """
    refuse_wide(values)
    return _collected(_of_matrix(metric, values), len(values))


def differences_of_tables(metric: Metric, tables: WeightTables) -> Differences:
    """The same for queries given as tables: only the classes of records that they tell apart are ever listed.

    Guarantee: as there; but of very many kinds of records under one distance the differences of extreme ones stand for
    all: every other one is an average of ±these, and no norm of it is larger.
    Raises: UnboundedLoss, TooLarge.
    """
    if tables.is_matrix:
        return generating_differences(metric, tables.matrix())
    return _collected(_of_tables(metric, tables), tables.count)


def _of_tables(metric: Metric, tables: WeightTables) -> Iterator[Differences]:
    kinds = kinds_along(metric, tables) if tables.absent else None
    if kinds is not None:
        yield from _of_kinds(*kinds)
        return
    yield from _of_moves(pair_classes_of(metric, tables), tables.count)
    presence = presence_of(metric, tables)
    if presence is not None:
        columns = classes_of_records(tables, extreme=True).T
        yield columns, np.full(len(columns), round_down(presence.epsilon))


def kinds_along(
    metric: Metric, tables: WeightTables, most: int | None = None
) -> tuple[Metric, NDArray[np.int64], NDArray[np.int64]] | None:
    """The metric without attributes that no query looks at, the weights (R, K) of each kind of records, and the kind
    (N',) of every record that is left; None where possible records or kinds are too many to go through one by one, or
    have more than ``most`` weights, or all are equally far apart and some of very many stand for all."""
    try:
        columns, which = kinds_of_elements(tables, most)
    except TooLarge:
        return None
    if isinstance(metric, PresenceMetric) and isinstance(metric.inner, DiscreteMetric) and are_many(len(columns)):
        return None
    fewer, left = without_idle_attributes(metric, which[None])
    return fewer, columns, left[0]


def differences_of_some(differences: NDArray[np.int64], bounds: NDArray[np.float64], places: list[int]) -> Differences:
    """Those of the queries at ``places`` alone, from those of all. Guarantee: as :func:`generating_differences`."""
    return _collected(iter([(differences[:, places], bounds)]), len(places))


def collected(blocks: Iterator[Differences], queries: int) -> Differences:
    """Differences in blocks as one: distinct, without zeros and signs, each with its least bound.

    Raises: UnboundedLoss, TooLarge.
    """
    return _collected(blocks, queries)


def _collected(blocks: Iterator[Differences], queries: int) -> Differences:
    known: Differences = np.empty((0, queries), dtype=np.int64), np.empty(0)
    waiting: list[Differences] = []
    for block in blocks:
        waiting.append(_without_sign_and_zero(*block))
        # As many again as are known: each is then compared a few times only.
        if sum(rows.size for rows, _ in waiting) >= max(known[0].size, ENTRIES_PER_BLOCK):
            known = _merged([known, *waiting], queries)
            waiting.clear()
    rows, bounds = _merged([known, *waiting], queries)
    if np.any(bounds == 0):
        raise UnboundedLoss(SEPARATES_THE_SAME)
    return rows, bounds


def _merged(parts: list[Differences], queries: int) -> Differences:
    rows, bounds = (np.concatenate(column) for column in zip(*parts, strict=True))
    rows, bounds = least_by_row(rows, bounds)
    if len(rows) > DISTINCT_LIMIT or rows.size > ENTRY_LIMIT:
        raise TooLarge(
            f"the queries have more than {min(DISTINCT_LIMIT, ENTRY_LIMIT // queries):,} distinct differences "
            "between generating pairs; ask fewer queries at once, or take coarser attributes"
        )
    return rows, bounds


def _of_matrix(metric: Metric, values: NDArray[np.int64]) -> Iterator[Differences]:
    metric, values = without_idle_attributes(metric, values)
    yield from _of_kinds(metric, *distinct_rows(values.T))


def _of_kinds(metric: Metric, columns: NDArray[np.int64], which: NDArray[np.int64]) -> Iterator[Differences]:
    for pairs in pairs_of_kinds(metric, which):
        first, second, bounds = least_by_pair(pairs)
        yield columns[first] - columns[second], bounds


def _of_moves(blocks: Iterable[PairClasses], queries: int) -> Iterator[Differences]:
    """Each move in each different surrounding: the classes of the attributes that it leaves alone."""
    for moves in blocks:
        axes, shape, places = surroundings_of(moves)
        refuse_pairs(moves.bounds.size * len(places))
        if moves.bounds.size * len(places) * queries > WORK_LIMIT:
            raise TooLarge("the differences of so many queries are not listed one by one; ask fewer at once")
        codes = dict(zip(axes, np.unravel_index(places, shape) if axes else (), strict=True))
        step = max(1, ENTRIES_PER_BLOCK // (queries * len(places)))
        for start in range(0, moves.bounds.size, step):
            here = slice(start, start + step)
            rows = _rows(moves, moves.first[here], codes, queries) - _rows(moves, moves.second[here], codes, queries)
            yield rows.reshape(-1, queries), np.repeat(moves.bounds[here], len(places))


def surroundings_of(moves: PairClasses) -> tuple[tuple[int, ...], tuple[int, ...], NDArray[np.int64]]:
    """The attributes that moves leave alone and some table looks at, their numbers of classes, and one cell of each
    kind."""
    size = {
        axis: length for table in moves.tables for axis, length in zip(table.axes, table.weights.shape[1:], strict=True)
    }
    axes = tuple(axis for axis in sorted(size) if axis not in moves.axes)
    shape = tuple(size[axis] for axis in axes)
    if not axes:
        return axes, shape, np.zeros(1, dtype=np.int64)
    refuse_cells(math.prod(shape))
    everywhere = np.arange(math.prod(moves.shape))
    kinds = []
    for table in moves.tables:
        seen = np.moveaxis(moves.columns(table, everywhere), 0, -1)
        sizes = [size[axis] if axis in table.axes else 1 for axis in axes]
        _, own = kinds_of_rows(np.ascontiguousarray(seen).reshape(math.prod(sizes), -1))
        kinds.append(own.reshape(sizes))
    return axes, shape, first_of_each_kind(shape, kinds)


def _rows(
    moves: PairClasses, cells: NDArray[np.int64], codes: dict[int, NDArray[np.int64]], queries: int
) -> NDArray[np.int64]:
    """(cells, surroundings, queries): the weights of every query there; 0 for those that do not see the move."""
    surroundings = max((len(own) for own in codes.values()), default=1)
    rows = np.zeros((len(cells), surroundings, queries), dtype=np.int64)
    for table in moves.tables:
        seen = moves.columns(table, cells)
        beside = tuple(codes[axis] for axis in moves.others(table))
        rows[:, :, table.queries] = seen[np.index_exp[:] + beside] if beside else seen[:, None]
    return rows


def refuse_wide(values: NDArray[np.int64]) -> None:
    """Raises: TooLarge for integers whose differences float64 may round."""
    if values.size and (values.max() >= 2**52 or values.min() <= -(2**52)):
        raise TooLarge("integer values must stay below 2**52 in magnitude, so that their differences are exact")


def _without_sign_and_zero(rows: NDArray[np.int64], bounds: NDArray[np.float64]) -> Differences:
    moved = np.any(rows != 0, axis=1)
    rows, bounds = rows[moved], bounds[moved]
    leading = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)] if len(rows) else np.empty(0)
    return rows * np.where(leading < 0, -1, 1)[:, None], bounds
