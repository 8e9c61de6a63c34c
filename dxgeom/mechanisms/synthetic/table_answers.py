"""Answers of queries in tables, from the marginals that the tables look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.synthetic.table_sums import TableSums
from dxgeom.universe.weight_tables import WeightTables

MarginalOf: TypeAlias = Callable[[int], NDArray[np.float64]]
"""From the place of a table to the marginal over its axes."""


@final
class TableAnswers:
    """K queries, ``factors`` (K,) times their rows in ``tables``; where each of them stands."""

    def __init__(self, tables: WeightTables, factors: NDArray[np.int64]) -> None:
        self.factors = factors.astype(np.float64)
        self.tables = tables.tables
        self.sums = [TableSums(one, tuple(tables.shape[axis] for axis in one.axes)) for one in tables.tables]
        self.table_of, self.row_of = tables.table_of_each.tolist(), np.empty(tables.count, dtype=np.int64)
        for table in tables.tables:
            self.row_of[table.queries] = np.arange(len(table.queries))

    def rows_of(self, queries: range) -> tuple[int, slice]:
        """The table of a block, or of one query, and its rows there."""
        first = int(self.row_of[queries.start])
        return self.table_of[queries.start], slice(first, first + len(queries))

    def all(self, marginal_of: MarginalOf) -> NDArray[np.float64]:
        """(K,): every query's answer, in units."""
        found = np.empty(len(self.row_of))
        for place, (table, sums) in enumerate(zip(self.tables, self.sums, strict=True)):
            found[table.queries] = sums.sums(marginal_of(place))
        return found * self.factors

    def of(self, queries: range, marginal_of: MarginalOf) -> NDArray[np.float64]:
        """(len(queries),): those of one block, or of one query."""
        place, rows = self.rows_of(queries)
        sums, marginal = self.sums[place], marginal_of(place)
        found = np.array([sums.sum_of(rows.start, marginal)]) if len(queries) == 1 else sums.sums(marginal)
        return np.asarray(found * self.factors[queries.start : queries.stop])
