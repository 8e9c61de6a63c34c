"""The counts in whole tables, read without a count of every record type: rows are never put together into those."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.failures import muted, plain_errors
from dxgeom.engines.histogram import Outside, require_sound
from dxgeom.engines.marginals.grouped_tables import tallied_in_groups
from dxgeom.engines.marginals.tables_of_people import tallied_in_shares
from dxgeom.engines.marginals.tables_of_rows import tallied_by_row
from dxgeom.engines.marginals.tables_there import tallied_there
from dxgeom.engines.people import columns_of
from dxgeom.engines.reading import RecordReader, plan_reading
from dxgeom.engines.tables.sources import engine_of, opened
from dxgeom.engines.tally import Tally
from dxgeom.errors import DataError
from dxgeom.universe.people.shares import ComponentKeys
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.whole_tables import MarginalQueries


@final
@dataclass(frozen=True, eq=False)
class TableCounts:
    """Exact counts of some tables. ``cells``: int64 by table, flat, not shown by ``repr``, of shares where people count
    once; ``total``: how many records or people; ``dropped``: records left out because they are outside the universe, or
    people none of whose rows is in it. ``universe``: whose records these are, where that is known."""

    cells: tuple[NDArray[np.int64], ...] = field(repr=False)
    total: int
    dropped: int = 0
    universe: Universe | None = field(default=None, repr=False)


def table_counts(
    table: Any,
    queries: MarginalQueries,
    *,
    outside: Outside = "refuse",
    count_column: str | None = None,
    quiet_data: bool = False,
    component_keys: ComponentKeys | None = None,
) -> TableCounts:
    """Counts the rows of a table in every cell that is asked for, in exact integer arithmetic; or people, as the
    universe says that they count.

    Args: as of :func:`dxgeom.engines.histogram.histogram_of_table`, but for arrays of counts, which nobody can have;
    ``component_keys``: where people count once, see :meth:`dxgeom.metrics.components.Components.keys`.
    Raises: DataError as that; about a row outside, whichever attribute it is outside of.
    """
    universe, people = queries.universe, queries.universe.reading.people
    if outside not in ("refuse", "drop"):
        raise DataError(f"outside is 'refuse' or 'drop'; found {outside!r}")
    if isinstance(table, np.ndarray):
        raise DataError("whole tables of counts are read from rows: pass the table, not a count of every record type")
    if count_column in universe.reading.columns:
        raise DataError("the count column must not be one of the universe's attributes")
    if people is not None and count_column is not None:
        raise DataError("where rows belong to people a row stands for itself; leave count_column out")
    if people is not None and people.count == "once" and component_keys is None:
        raise DataError("people who count once are spread by components of the policy's metric; give component_keys")
    wanted = (*universe.reading.columns, *columns_of(people), *(() if count_column is None else (count_column,)))
    engine_of(table).look_up(table)
    secret = quiet_data or people is not None or universe.absent is not None
    with muted(quiet_data), opened(table, wanted) as source, plain_errors(source.described):
        reader = plan_reading(source, universe, count_column)
        with source.watch.telling(f"reading {source.described}", secret=secret):
            found, reader = _tallied(reader, queries, component_keys)
        require_sound(found, reader, source, outside, secret=people is not None)
    found.counts.setflags(write=False)
    ends = np.cumsum([np.prod(shape, dtype=np.int64) for shape in queries.shapes])
    return TableCounts(tuple(np.split(found.counts, ends[:-1])), found.total, found.dropped, universe)


def _tallied(
    reader: RecordReader, queries: MarginalQueries, component_keys: ComponentKeys | None
) -> tuple[Tally, RecordReader]:
    """The cells of all tables, one table after the other, and what looks for examples of rows outside."""
    people = queries.universe.reading.people
    grouped = tallied_in_groups(reader, queries) if people is None else None
    if grouped is not None:
        return grouped, reader
    there = tallied_there(reader, queries, component_keys)
    if there is not None:
        return there
    if people is not None and people.count == "once" and component_keys is not None:
        return tallied_in_shares(reader, queries, people, component_keys), reader
    return tallied_by_row(reader, queries, people), reader
