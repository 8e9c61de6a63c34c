"""Whole tables of counts where few are asked for: the engine groups rows by each, and no more than cells come."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.encoding import BatchEncoder
from dxgeom.engines.failures import changed_meanwhile
from dxgeom.engines.reading import RECORDS, Grouping, RecordReader
from dxgeom.engines.tables.later import ibis
from dxgeom.engines.tally import Tally
from dxgeom.numeric.arrays import exact_sum
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.workloads.whole_tables import MarginalQueries

MOST_GROUPINGS: Final = 24
"""Of more the engine would go through all rows longer than they take to come."""
_MOST_CELLS: Final = 1 << 20


def tallied_in_groups(reader: RecordReader, queries: MarginalQueries) -> Tally | None:
    """One grouping for each table that is inside no other, and for each attribute that is in none; None where rows had
    better come one by one: many tables, rows that flow by once or are few, or rows outside the universe, which have to
    be looked at as a whole.

    Raises: DataError where the groupings are of different rows.
    """
    grouping = None if reader.weighted or reader.written is not None else reader.grouping
    if grouping is None or (reader.source.anew is not None and reader.source.there is None):
        return None
    axes = [tuple(queries.columns[place].axis for place in one) for one in _largest(queries.asked)]
    if len(axes) > MOST_GROUPINGS:
        return None
    shape = queries.universe.shape
    alone = [(axis,) for axis in range(len(shape)) if not any(axis in own for own in axes)]
    wide = any(math.prod(shape[axis] for axis in own) > _MOST_CELLS for own in axes)
    if wide or len(axes) + len(alone) > MOST_GROUPINGS:
        return None
    try:
        tables = [_grouped(reader, grouping, own) for own in (*axes, *alone)]
    except duckdb.OutOfMemoryException:
        return None
    if any(table is None for table in tables):
        return None
    found = {own: table for own, table in zip((*axes, *alone), tables, strict=True) if table is not None}
    _require_of_the_same_rows(found, reader)
    counts = [_cells(queries, place, found) for place in range(len(queries.asked))]
    total = exact_sum(next(iter(found.values())))
    return Tally(np.concatenate(counts), total, 0, total, 0, 0)


def _largest(asked: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The tables that are inside no other."""
    if len(asked) > MOST_GROUPINGS**2:
        return list(asked)
    return [one for one in asked if one and not any(set(one) < set(other) for other in asked)]


def _grouped(reader: RecordReader, grouping: Grouping, axes: Sequence[int]) -> NDArray[np.int64] | None:
    """Counts by the codes of these attributes, an axis for each; None where some row is outside."""
    shape = [reader.universe.shape[axis] for axis in axes]
    rows = reader.source.rows.select(**grouping.keys_of(axes))
    counted = rows.group_by(rows.columns).agg(**{RECORDS: ibis._.count()})
    batches = reader.source.finished(
        counted, lambda groups: groups.select(**grouping.cells(groups, axes), **{RECORDS: groups[RECORDS]})
    )
    encoder = BatchEncoder(reader.universe, grouping.coded)
    table = np.zeros(math.prod(shape), dtype=np.int64)
    beyond = False
    for batch in batches:
        codes = encoder.codes(batch, axes)
        beyond = beyond or any(np.any(column == OUTSIDE) for column in codes)
        if not beyond:
            np.add.at(table, np.ravel_multi_index(codes, shape), np.asarray(np.from_dlpack(batch.column(RECORDS))))
    return None if beyond else table.reshape(shape)


def _require_of_the_same_rows(found: dict[tuple[int, ...], NDArray[np.int64]], reader: RecordReader) -> None:
    """Tables that do not agree would be of different people, and what noise has to hide in one would show in another.

    Raises: DataError.
    """
    for (first, one), (second, other) in itertools.combinations(found.items(), 2):
        if not np.array_equal(_margin(one, first, second), _margin(other, second, first)):
            raise changed_meanwhile(reader.source.described)


def _margin(table: NDArray[np.int64], own: Sequence[int], kept: Sequence[int]) -> NDArray[np.int64]:
    return np.asarray(table.sum(axis=tuple(place for place, axis in enumerate(own) if axis not in kept)))


def _cells(queries: MarginalQueries, asked: int, found: dict[tuple[int, ...], NDArray[np.int64]]) -> NDArray[np.int64]:
    """The cells of one table, from a grouping that it is inside of: of the classes of values that it tells apart."""
    columns = [queries.columns[place] for place in queries.asked[asked]]
    axes = tuple(column.axis for column in columns)
    own, table = next((own, table) for own, table in found.items() if set(axes) <= set(own))
    table = _margin(table, own, axes)
    for place, column in enumerate(columns):
        summed = np.zeros((*table.shape[:place], len(column.words), *table.shape[place + 1 :]), dtype=np.int64)
        np.add.at(summed.swapaxes(0, place), column.codes, table.swapaxes(0, place))
        table = summed
    return table.ravel()
