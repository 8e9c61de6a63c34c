"""The model of multiplicative weights: a distribution, with the marginals that queries are answered from.

A step along a box touches one slice, and every marginal by the slice's own marginal; any other step touches everything,
and marginals are summed anew when they are asked for.
"""

from __future__ import annotations

from math import exp
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.synthetic.table_sums import TableSums
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
        self._factors = factors.astype(np.float64)
        self._tables = tables.tables
        self._sums = [TableSums(one, tuple(tables.shape[axis] for axis in one.axes)) for one in tables.tables]
        self._table_of, self._row_of = tables.table_of_each.tolist(), np.empty(tables.count, dtype=np.int64)
        for table in tables.tables:
            self._row_of[table.queries] = np.arange(len(table.queries))
        self._cube = (start / start.sum()).reshape(tables.shape)
        self._marginals: list[NDArray[np.float64] | None] = [None] * len(tables.tables)
        self._total, self._drift = 1.0, 0.0
        self._answers: NDArray[np.float64] | None = None

    def answers(self, queries: range | None = None) -> NDArray[np.float64]:
        """(K,): each query's answer per record, in units; or only those of one block, or of one query."""
        if queries is None:
            if self._answers is None:
                self._answers = np.empty(len(self._row_of))
                for place, (table, sums) in enumerate(zip(self._tables, self._sums, strict=True)):
                    self._answers[table.queries] = sums.sums(self._marginal(place)) / self._total
            return self._answers * self._factors
        place = self._table_of[queries.start]
        sums, marginal = self._sums[place], self._marginal(place)
        if len(queries) == 1:
            found = np.array([sums.sum_of(int(self._row_of[queries.start]), marginal)])
        else:
            found = sums.sums(marginal)
        return np.asarray(found / self._total * self._factors[queries.start : queries.stop])

    def reweigh(self, queries: range, exponents: NDArray[np.float64]) -> None:
        """One step: multiply each record type i by e^(Σ exponent·weight of i in its query), then scale the sum to 1.

        Args: ``queries``: one, or a block; ``exponents``: one for each.
        """
        self._answers, exponents = None, exponents * self._factors[queries.start : queries.stop]
        place, row = self._table_of[queries.start], int(self._row_of[queries.start])
        box = self._sums[place].box(row) if len(queries) == 1 else None
        if box is None:
            self._multiply(place, self._sums[place].nats(slice(row, row + len(queries)), exponents))
            return
        ranges = dict(zip(self._tables[place].axes, box, strict=True))
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
            axes = self._tables[place].axes
            others = tuple(axis for axis in range(self._cube.ndim) if axis not in axes)
            found = self._marginals[place] = np.array(self._cube.sum(axis=others))
        return found

    def _change(self, box: tuple[slice, ...], exponent: float) -> None:
        change = self._cube[box] * (exp(exponent) - 1)
        self._cube[box] += change
        self._total += float(change.sum())
        for table, marginal in zip(self._tables, self._marginals, strict=True):
            if marginal is not None:
                others = tuple(axis for axis in range(change.ndim) if axis not in table.axes)
                marginal[tuple(box[axis] for axis in table.axes)] += change.sum(axis=others)

    def _multiply(self, place: int, nats: NDArray[np.float64]) -> None:
        """Every cell of a table's marginal by its own factor; only how these compare matters, so none is above 1."""
        table, marginal, factors = self._tables[place], self._marginals[place], np.exp(nats - nats.max())
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
