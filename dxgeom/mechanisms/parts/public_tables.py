"""Which parts of whole tables public numbers tell: those have no noise, and nothing of them is asked of the data.

The residual of a set of attributes is public where a public count tells the table of that set: each set that it counts
lies in one cell, and every record is in one. Residuals are projections that do not touch each other, so leaving out the
public ones takes away the nearest public combination, in the norm of the noise too.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.parts.tables import SetFamily
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.universe.public_counts import NONE, PublicCount
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.whole_tables import MarginalQueries


def public_tables(
    metric: VerifiedMetric, queries: MarginalQueries, family: SetFamily
) -> Mapping[int, NDArray[np.int64]]:
    """Of each set of the family that public numbers tell the whole table of, by its number: its cells, an axis each.

    Guarantee: *exact*; it follows from the policy's numbers alone. Where several counts tell a table, the first of most
    sets does.
    """
    known = metric.known
    if known is None or metric.universe is None:
        return MappingProxyType({})
    counts = [one for one in known.counts if one.numbers is not None and not np.any(one.cells == NONE)]
    counts.sort(key=lambda one: -one.sets)
    found: dict[int, NDArray[np.int64]] = {}
    for one in counts:
        inside = [place for place, column in enumerate(queries.columns) if column.axis in one.axes]
        for number in range(family.count):
            own = family.members_of(number)
            if number not in found and {*own} <= {*inside}:
                table = _margin(one, queries, own, metric.universe)
                if table is not None:
                    found[number] = table
    return MappingProxyType(found)


def _margin(
    count: PublicCount, queries: MarginalQueries, own: tuple[int, ...], universe: Universe
) -> NDArray[np.int64] | None:
    """The table over some columns, as a public count tells it; None where one of its sets is in several cells."""
    shape = [queries.sizes[place] for place in own]
    cell = np.zeros([universe.layout[axis] for axis in count.axes], dtype=np.int64)
    for place, size in zip(own, shape, strict=True):
        along = [1] * cell.ndim
        along[count.axes.index(queries.columns[place].axis)] = -1
        cell = cell * size + queries.columns[place].codes.reshape(along)
    sets, cells = count.cells.ravel(), cell.ravel()
    of_set = np.full(count.sets, NONE, dtype=np.int64)
    of_set[sets] = cells
    if not np.array_equal(of_set[sets], cells):
        return None
    table = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype=np.int64)
    there = of_set != NONE
    np.add.at(table, of_set[there], np.array(count.numbers, dtype=np.int64)[there])
    return table.reshape(shape)
