"""The boxes that linear queries count the records in, read from their weights and held against them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.lattice import LatticeQueries, tables_over
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.universe.weight_table import LARGEST_NUMERATOR, WeightTable
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.spans import boxes_of_tables


def counted_boxes(sensitivity: Sensitivity) -> BoxQueries:
    """The boxes that the queries count the records in, each once, in their order.

    Guarantee: *exact*. Of the very weights that a release multiplies with the histogram, each is 1 inside its query's
    box and 0 outside; the boxes that were found are held against them once more.
    Raises: TooLarge where they count anything else.
    """
    queries, universe = sensitivity.queries, sensitivity.universe
    if universe is None or universe.listed is not None:
        raise TooLarge("these queries are no boxes: nobody says which attributes the records have, or a table does")
    tables = [_per_record(table, queries) for table in tables_over(queries, universe)]
    try:
        found = replace(boxes_of_tables(universe, tables), records=queries.records)
    except UnsupportedCombination as error:
        raise TooLarge(f"these queries are no boxes: {error}") from error
    if not all(_reproduces(found, table) for table in tables):
        raise TooLarge("these queries are no boxes: the boxes between their ends have other weights")
    return found


def _per_record(table: WeightTable, queries: LatticeQueries) -> WeightTable:
    """The weights of records in place of steps. Raises: TooLarge where one is neither 0 nor 1."""
    ones = [1 / queries.steps[query] for query in table.queries.tolist()]
    proper = np.array([one.denominator == 1 and one < LARGEST_NUMERATOR for one in ones])
    units = np.array([one.numerator if whole else 1 for one, whole in zip(ones, proper.tolist(), strict=True)])
    if table.dense is None:
        proper &= units == 1
    else:
        counted = table.flat != 0
        proper &= ~np.any(counted & (table.flat != units[:, None]), axis=1)
        table = replace(table, dense=counted.reshape(table.dense.shape).astype(np.int64))
    if not np.all(proper):
        name = queries.names[table.queries[int(proper.argmin())]]
        raise TooLarge(f"these queries are no boxes: not every weight of '{name}' is 0 or 1")
    return table


def _reproduces(boxes: BoxQueries, table: WeightTable) -> bool:
    """Whether each query of the table has the weight 1 in its box, and 0 elsewhere; *exact*."""
    columns = {one.axis: place for place, one in enumerate(boxes.columns)}
    elsewhere = [place for axis, place in columns.items() if axis not in table.axes]
    lower, upper = boxes.lower[table.queries], boxes.upper[table.queries]
    whole = np.all((lower == 0) & (upper == np.array(boxes.sizes)), axis=0)
    inside = []
    for axis, classes in zip(table.axes, table.classes, strict=True):
        if axis not in columns:  # of one value
            inside.append(np.ones((len(table.queries), 1), dtype=bool))
            continue
        sizes, low, high = np.bincount(classes), lower[:, columns[axis]], upper[:, columns[axis]]
        first, last = _ends_of(classes)
        within = (low[:, None] <= first) & (last < high[:, None])
        if np.any(within @ sizes != high - low):  # some class is cut in two
            return False
        inside.append(within)
    if table.counted is not None:
        places = np.unravel_index(table.counted, table.shape)
        each = zip(inside, table.shape, places, strict=True)
        same = all(np.array_equal(within, np.arange(size) == own[:, None]) for within, size, own in each)
    else:
        product = np.ones(len(table.queries), dtype=bool)
        for within in inside:
            product = product[..., None] & within.reshape(len(within), *[1] * (product.ndim - 1), -1)
        same = np.array_equal(table.weights, product)
    return same and bool(np.all(whole[elsewhere]))


def _ends_of(classes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last code of each class."""
    order = np.argsort(classes, kind="stable")
    bounds = np.cumsum(np.bincount(classes))
    return order[bounds - np.bincount(classes)], order[bounds - 1]
