"""From weights over the product of attributes to weights over the elements of a universe that is no plain product."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_tables import WeightTable, WeightTables, refuse_too_many, tables_of_matrix, tabulated


def is_plain_product(universe: Universe) -> bool:
    """Whether the elements are all combinations of values and nothing else."""
    return universe.listed is None and universe.absent is None


def over_universe(universe: Universe, tables: WeightTables) -> WeightTables:
    """The same queries over the elements of the universe: a plain matrix where a table lists the records or one may be
    absent, who then has the weight 0.

    Raises: TooLarge.
    """
    if is_plain_product(universe):
        return tables
    refuse_too_many(tables.count, universe.size)
    rows = np.zeros((tables.count, universe.size), dtype=np.int64)
    codes = universe.listed_codes
    for table in tables.tables:
        cell = np.zeros(universe.record_types, dtype=np.int64)
        for axis, own, size in zip(table.axes, table.classes, table.weights.shape[1:], strict=True):
            cell = cell * size + own[codes[axis]]
        rows[table.queries, : universe.record_types] = table.flat[:, cell]
    return tables_of_matrix(rows)


def table_of_rows(universe: Universe, rows: NDArray[np.int64]) -> WeightTable:
    """Weights (k, record types) as a table over the product of attributes; combinations not listed have the weight 0.

    Raises: TooLarge.
    """
    if universe.listed is not None:
        combinations = math.prod(universe.shape)
        refuse_too_many(len(rows), combinations)
        spread = np.zeros((len(rows), combinations), dtype=np.int64)
        spread[:, universe.listed] = rows
        rows = spread
    return tabulated(range(len(universe.shape)), rows.reshape(-1, *universe.shape))
