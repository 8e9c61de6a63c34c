"""Queries as a matrix: every step of the model touches every weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.steepness import over_common_unit, steepness
from dxgeom.mechanisms.synthetic.workload import Model, Workload
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.exact_sums import integer_totals
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe


@final
@dataclass(frozen=True, eq=False)
class MatrixWorkload(Workload):
    """Any linear queries. ``numerators`` (K, N): int64, in units; only :func:`matrix_workload` makes one."""

    queries: LinearQueries = field(repr=False)
    unit: Fraction
    numerators: NDArray[np.int64] = field(repr=False)
    lowest: NDArray[np.int64] = field(repr=False)
    highest: NDArray[np.int64] = field(repr=False)
    blocks: NDArray[np.int64] = field(repr=False)
    names: tuple[str, ...]
    size: int
    fingerprint: str

    @property
    def universe(self) -> Universe | None:
        """What the record types mean, None for bare matrices."""
        return self.queries.universe

    @property
    def records(self) -> int | None:
        """What a mean was divided by."""
        return self.queries.records

    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array(integer_totals(self.numerators, counts), dtype=np.int64)

    def steepness(self, metric: Metric) -> NDArray[np.float64]:
        return steepness(metric, self.numerators)

    def model(self, start: NDArray[np.float64]) -> MatrixModel:
        return MatrixModel(self.numerators.astype(np.float64), start)


@final
class MatrixModel(Model):
    """The distribution as an array."""

    def __init__(self, weights: NDArray[np.float64], start: NDArray[np.float64]) -> None:
        self._weights, self._present = weights, start / start.sum()

    def answers(self, queries: range | None = None) -> NDArray[np.float64]:
        chosen = self._weights if queries is None else self._weights[queries.start : queries.stop]
        return np.asarray(chosen @ self._present)

    def reweigh(self, queries: range, exponents: NDArray[np.float64]) -> None:
        nats = exponents @ self._weights[queries.start : queries.stop]
        raised = self._present * np.exp(nats - nats.max())
        self._present = raised / raised.sum()

    def distribution(self) -> NDArray[np.float64]:
        return np.array(self._present)


def matrix_workload(queries: LinearQueries) -> MatrixWorkload:
    """Linear queries over their common unit.

    Raises: TooLarge when their weights need too many digits; UnsupportedCombination where records may be absent.
    """
    if queries.universe is not None and queries.universe.absent is not None:
        raise UnsupportedCombination("multiplicative weights use the number of records, which this universe hides")
    numerators, unit = over_common_unit(queries)
    lowest, highest = numerators.min(axis=1), numerators.max(axis=1)
    each = np.arange(queries.count)
    alone = np.stack([each, each + 1], axis=1)
    names, size = queries.names, queries.size
    return MatrixWorkload(queries, unit, numerators, lowest, highest, alone, names, size, queries.fingerprint)
