"""Whole tables of people's shares: each person's rows are put in the order of a histogram's shares, by what attributes
are rather than by the number of a record type, of which there may be too many to have one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.encoding import BatchEncoder
from dxgeom.engines.marginals.tables_of_rows import Cells
from dxgeom.engines.people import CountedPeople, whole_people
from dxgeom.engines.reading import RecordReader
from dxgeom.engines.tally import Tally
from dxgeom.errors import DataError
from dxgeom.numeric.arrays import LARGEST, exact_sum
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.people.people import SHARES
from dxgeom.universe.people.shares import ComponentKeys, shares_of_groups
from dxgeom.universe.workloads.whole_tables import MarginalQueries

_WIDEST: Final = 2**62


def tallied_in_shares(
    reader: RecordReader, queries: MarginalQueries, people: CountedPeople, component_keys: ComponentKeys
) -> Tally:
    """Shares in every cell; ``total`` and ``dropped`` are people, the latter those none of whose rows is inside.

    Definition: of each person what :class:`dxgeom.universe.people.shares.ShareCounter` gives to record types, added up
    to cells. Rows outside are absent where records may be, with their part of the shares; else they are left out.
    Raises: DataError for rows that name nobody, or more people than int64 carries.
    """
    encoder, cells, absent = BatchEncoder(reader.universe, reader.keys.coded), Cells(queries), reader.universe.absent
    total = dropped = rows_read = outside_rows = 0

    def encoded(batch: Any) -> NDArray[np.int64]:
        return np.stack(encoder.codes(batch), axis=1)

    for person, codes, rows in whole_people(reader, people, encoded):
        outside = np.any(codes == OUTSIDE, axis=1)
        rows_read, outside_rows = rows_read + exact_sum(rows), outside_rows + exact_sum(rows[outside])
        kept = np.ones_like(outside) if absent is not None else ~outside
        everybody, here = int(person[-1]) + 1, np.unique(person[kept]).size
        dropped, total = dropped + everybody - here, total + here
        if total * SHARES > LARGEST:
            raise DataError(f"at most {LARGEST // SHARES:,} people are counted once; these are more")
        if not here:
            continue
        order = np.flatnonzero(kept)
        order = order[ranked(reader.universe.shape, person[kept], codes[kept], outside[kept], component_keys)]
        given = shares_of_groups(person[order], rows[order])
        there = ~outside[order]
        cells.add(list(codes[order[there]].T), given[there])
    return Tally(cells.counts, total, dropped, rows_read, outside_rows, 0)


def ranked(
    shape: Sequence[int],
    person: NDArray[np.int64],
    codes: NDArray[np.int64],
    outside: NDArray[np.bool_],
    component_keys: ComponentKeys,
) -> NDArray[np.int64]:
    """The order of groups of rows (G,): by person, by component, the absent after all others, by index.

    The index of a record type rises with the codes of its attributes, the first one first: *exactly* the order of
    indices, without any. Which component absent records are of is never asked: where there are any, all are of one.
    """
    columns = [np.where(outside, 0, column) for column in codes.T]
    components = [component[columns[place]] for place, component in component_keys]
    keys = [person, *components, outside.astype(np.int64), *_packed(shape, columns)]
    return np.lexsort(keys[::-1])


def _packed(shape: Sequence[int], columns: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Fewer keys with the same order: codes of neighbouring attributes as one number, while it fits."""
    packed: list[NDArray[np.int64]] = []
    reach = _WIDEST
    for size, column in zip(shape, columns, strict=True):
        if reach * size >= _WIDEST:
            packed.append(column)
            reach = size
        else:
            packed[-1] = packed[-1] * size + column
            reach *= size
    return packed
