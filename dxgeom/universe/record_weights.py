"""Weights over the elements of any universe: a product of attributes, listed records, and perhaps an absent one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_tables import WeightTable, WeightTables, refuse_too_many, tables_of_matrix, tabulated


def is_plain_product(universe: Universe) -> bool:
    """Whether the elements are all combinations of values and nothing else."""
    return universe.listed is None and universe.absent is None


def along(universe: Universe, place: int, weights: NDArray[Any]) -> WeightTable:
    """Weights (k, values) by the value of the attribute at ``place``, over the universe's layout."""
    if universe.listed is None:
        return tabulated((place,), weights)
    return tabulated((0,), weights[:, universe.listed_codes[place]])


def table_of_rows(universe: Universe, rows: NDArray[np.int64]) -> WeightTable:
    """Weights (k, record types) as a table over the universe's layout."""
    return tabulated(range(len(universe.layout)), rows.reshape(-1, *universe.layout))


def over_universe(universe: Universe, tables: WeightTables) -> WeightTables:
    """Queries over the layout as queries over the elements: a plain matrix where a table lists the records or one may
    be absent, who then has the weight 0.

    Raises: TooLarge.
    """
    if is_plain_product(universe):
        return tables
    refuse_too_many(tables.count, universe.size)
    gone = np.zeros((tables.count, universe.size - universe.record_types), dtype=np.int64)
    return tables_of_matrix(np.concatenate([tables.matrix(), gone], axis=1))
