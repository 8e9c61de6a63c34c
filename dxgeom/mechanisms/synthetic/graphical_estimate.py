"""A synthetic histogram's measurements, estimated by a graphical model instead of multiplicative weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.synthetic.fitting import ENOUGH
from dxgeom.mechanisms.synthetic.graphical_model import NoisyTable, estimate
from dxgeom.mechanisms.synthetic.synthetic import Measurement, SyntheticHistogram
from dxgeom.universe.weight_table import WeightTable


def by_graphical_model(synthetic: SyntheticHistogram) -> SyntheticHistogram:
    """The same measurements, with the distribution that mbi estimates from them; costs no budget.

    Its answers, error bounds and records are those of any synthetic histogram. The estimate begins at the uniform
    distribution, whatever the start was, and needs the optional extra ``dxgeom[mbi]``.
    Guarantee: :meth:`SyntheticHistogram.error_bounds` hold for it as for any other.
    Source: McKenna, Sheldon & Miklau 2019.
    Raises: UnsupportedCombination where mbi is not installed, or something else than whole marginals was measured;
    TooLarge beyond five million record types.
    """
    tables = synthetic.asked.tables
    if not all(_is_whole_marginal(table, tables.shape) for table in tables.tables):
        raise UnsupportedCombination(
            "a graphical model is estimated from whole marginals of attributes: ask for LinearQueries.marginals"
        )
    of_query = {one.query: one for one in synthetic.measurements}
    noisy = [_noisy(table, of_query) for table in tables.tables if table.axes and int(table.queries[0]) in of_query]
    return replace(synthetic, distribution=estimate(tables.shape, noisy, float(synthetic.records), ENOUGH))


def _is_whole_marginal(table: WeightTable, shape: tuple[int, ...]) -> bool:
    return table.every_cell_once and table.shape == tuple(shape[axis] for axis in table.axes)


def _noisy(table: WeightTable, of_query: Mapping[int, Measurement]) -> NoisyTable:
    """The marginal with its cells in their order."""
    query_of_cell = table.queries[np.argsort(table.cell_of)]
    cells = [of_query[query] for query in query_of_cell.tolist()]
    values = np.array([float(one.value) for one in cells])
    squares = np.array([2 * one.scale**2 + float(one.step) ** 2 / 12 for one in cells])
    return NoisyTable(table.axes, values, np.sqrt(squares))
