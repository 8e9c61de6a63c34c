"""The model of multiplicative weights: a distribution, with the marginals that queries are answered from.

A step along a box touches one slice, and every marginal by the slice's own marginal; any other step touches everything,
and marginals are summed anew when they are asked for.
"""

from __future__ import annotations

from math import exp
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.synthetic.table_answers import TableAnswers
from dxgeom.universe.weight_tables import WeightTables

_FURTHEST = 8.0
"""Nats by which weights may drift before they are scaled and summed anew: e⁸ roundings of float64 are 3e-13."""


@final
class HistogramModel:
    """A distribution over record types that is reweighed in steps; it knows public numbers only.

    Laws: ``answers`` are the queries' on the distribution. All up to the rounding of float64.
    """

    def __init__(self, tables: WeightTables, factors: NDArray[np.int64], start: NDArray[np.float64]) -> None:
        """Begin with the distribution (N,) that is proportional to ``start``.

        Args: ``factors`` (K,): the weights of each query are so many times those in its table.
        """
        self._queries = TableAnswers(tables, factors)
        self._cube = (start / start.sum()).reshape(tables.shape)
        self._marginals: list[NDArray[np.float64] | None] = [None] * len(tables.tables)
        self._total, self._drift = 1.0, 0.0
        self._answers: NDArray[np.float64] | None = None

    def answers(self, queries: range | None = None) -> NDArray[np.float64]:
        """(K,): each query's answer per record, in units; or only those of one block, or of one query."""
        if queries is not None:
            return self._queries.of(queries, self._marginal) / self._total
        if self._answers is None:
            self._answers = self._queries.all(self._marginal) / self._total
        return self._answers

    def reweigh(self, queries: range, exponents: NDArray[np.float64]) -> None:
        """One step: multiply each record type i by e^(Σ exponent·weight of i in its query), then scale the sum to 1.

        Args: ``queries``: one, or a block; ``exponents``: one for each.
        """
        self._answers, exponents = None, exponents * self._queries.factors[queries.start : queries.stop]
        place, rows = self._queries.rows_of(queries)
        sums, axes = self._queries.sums[place], self._queries.tables[place].axes
        box = sums.box(rows.start) if len(queries) == 1 else None
        if box is None:
            self._multiply(place, sums.nats(rows, exponents))
            return
        ranges = dict(zip(axes, box, strict=True))
        slices = tuple(ranges.get(axis, slice(None)) for axis in range(self._cube.ndim))
        self._drift += abs(float(exponents[0]))
        if self._drift <= _FURTHEST:
            self._change(slices, float(exponents[0]))
        else:
            self._cube[slices] *= exp(float(exponents[0]))
            self._scale_anew()

    def distribution(self) -> NDArray[np.float64]:
        """(N,): the present distribution."""
        if self._drift > 0:
            self._scale_anew()
        return np.array(self._cube.ravel())

    def _marginal(self, place: int) -> NDArray[np.float64]:
        found = self._marginals[place]
        if found is None:
            axes = self._queries.tables[place].axes
            others = tuple(axis for axis in range(self._cube.ndim) if axis not in axes)
            found = self._marginals[place] = np.array(self._cube.sum(axis=others))
        return found

    def _change(self, box: tuple[slice, ...], exponent: float) -> None:
        change = self._cube[box] * (exp(exponent) - 1)
        self._cube[box] += change
        self._total += float(change.sum())
        for table, marginal in zip(self._queries.tables, self._marginals, strict=True):
            if marginal is not None:
                others = tuple(axis for axis in range(change.ndim) if axis not in table.axes)
                marginal[tuple(box[axis] for axis in table.axes)] += change.sum(axis=others)

    def _multiply(self, place: int, nats: NDArray[np.float64]) -> None:
        """Every cell of a table's marginal by its own factor; only how these compare matters, so none is above 1."""
        table, marginal, factors = self._queries.tables[place], self._marginals[place], np.exp(nats - nats.max())
        self._cube *= factors.reshape([size if axis in table.axes else 1 for axis, size in enumerate(self._cube.shape)])
        total = self._scale_anew()
        if marginal is not None:
            self._marginals[place] = marginal * factors / total

    def _scale_anew(self) -> float:
        total = float(self._cube.sum())
        self._cube /= total
        self._marginals = [None] * len(self._marginals)
        self._total, self._drift = 1.0, 0.0
        return total
