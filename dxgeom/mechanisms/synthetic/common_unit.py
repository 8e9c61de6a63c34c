"""Linear queries over their common unit: integers that scores, noise and the model share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.score_sensitivities import common_unit, query_sensitivities
from dxgeom.mechanisms.synthetic.clique_model import CliqueModel
from dxgeom.mechanisms.synthetic.histogram_model import HistogramModel
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.restriction import on_axes
from dxgeom.numeric.sealed import Sealed, cached_property
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.weight_table import WeightTable


@final
@dataclass(frozen=True, eq=False)
class IntegerQueries(Sealed):
    """Answer k is ``unit`` times an integer; only :func:`integer_queries` makes one.

    ``factors`` (K,): the unit of query k is so many units, its weights so many times those in its table.
    """

    queries: LinearQueries = field(repr=False)
    factors: NDArray[np.int64] = field(repr=False)
    unit: Fraction

    @cached_property
    def lowest(self) -> NDArray[np.int64]:
        """(K,): each query's smallest weight, in units."""
        return self.queries.tables.extremes[0] * self.factors

    @cached_property
    def highest(self) -> NDArray[np.int64]:
        """(K,): each query's largest weight, in units."""
        return self.queries.tables.extremes[1] * self.factors

    @cached_property
    def largest(self) -> NDArray[np.int64]:
        """(K,): the largest magnitude of each query's weights."""
        return np.maximum(np.abs(self.lowest), np.abs(self.highest))

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """(K, 2): the first query and the one beyond the last of those that are measured together with each.

        These are the cells of one marginal, of which each record type is in one; every other query is measured alone.
        """
        each = np.arange(self.queries.count)
        blocks = np.stack([each, each + 1], axis=1)
        for table in self.queries.tables.tables:
            if np.all(np.diff(table.queries) == 1) and table.every_cell_once:
                blocks[table.queries] = table.queries[0], table.queries[-1] + 1
        return blocks

    @cached_property
    def whole_marginals(self) -> bool:
        """Whether every query is one of the cells of a marginal, which are measured together."""
        return bool(np.all(self.blocks[:, 1] - self.blocks[:, 0] > 1))

    def block_of(self, query: int) -> range:
        """The queries that are measured together with this one."""
        return range(*self.blocks[query].tolist())

    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """(K,): the exact answers on a histogram, in units. **Not private.** Callers see to it that they fit int64."""
        return np.array(self.queries.tables.totals(counts), dtype=np.int64) * self.factors

    def query_sensitivities(self, metric: Metric) -> NDArray[np.float64]:
        """(K,): the Lipschitz constant of each query's weights, in units, *rounded up*.

        Raises: UnboundedLoss when a query separates records at distance 0.
        """
        steepest = np.zeros(self.queries.count)
        for table in self.queries.tables.tables:
            if table.axes:
                steepest[table.queries] = self._steepness_of(table, metric)
        return steepest

    def model(self, start: NDArray[np.float64]) -> HistogramModel | CliqueModel:
        """The model that begins with this distribution (N,); in cliques where steps are along whole marginals."""
        if start.min() == start.max() and self.whole_marginals and not self.queries.tables.is_matrix:
            return CliqueModel(self.queries.tables, self.factors)
        return HistogramModel(self.queries.tables, self.factors, start)

    def _steepness_of(self, table: WeightTable, metric: Metric) -> NDArray[np.float64]:
        """On the attributes that the table looks at where the metric is a sum over attributes."""
        shape = self.queries.tables.shape
        fewer = on_axes(metric, shape, table.axes)
        broadcast = [size if axis in table.axes else 1 for axis, size in enumerate(shape)]
        codes = np.ix_(*table.classes)
        factors = self.factors[table.queries].tolist()
        rows = (row * factor for row, factor in zip(chain.from_iterable(table.rows()), factors, strict=True))
        each = (row.reshape(table.shape)[codes] for row in rows)
        if fewer is not None:
            return np.concatenate([query_sensitivities(fewer, weights.reshape(1, -1)) for weights in each])
        whole = (np.broadcast_to(weights.reshape(broadcast), shape).reshape(1, -1) for weights in each)
        return np.concatenate([query_sensitivities(metric, row) for row in whole])


def integer_queries(queries: LinearQueries) -> IntegerQueries:
    """Linear queries over the coarsest unit that they share; *exact*.

    Weights that were given as an array are copied, for sensitivities are found once and draws read the weights again.
    Raises: TooLarge when their weights need too many digits.
    """
    if isinstance(queries.weights, np.ndarray):
        queries = replace(queries, weights=queries.weights.copy())
    return IntegerQueries(queries, *common_unit(queries))
