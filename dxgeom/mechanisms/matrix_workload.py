"""Queries as a matrix: every step of the model touches every weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.steepness import over_common_unit, steepness
from dxgeom.mechanisms.workload import Model, Workload
from dxgeom.metrics.metric import Metric
from dxgeom.universe.exact_totals import integer_totals
from dxgeom.universe.queries import LinearQueries


@final
@dataclass(frozen=True, eq=False)
class MatrixWorkload(Workload):
    """Any linear queries. ``numerators`` (K, N): int64, in units; only :func:`matrix_workload` makes one."""

    names: tuple[str, ...]
    unit: Fraction
    numerators: NDArray[np.int64] = field(repr=False)
    reaches: NDArray[np.int64] = field(repr=False)
    blocks: NDArray[np.int64] = field(repr=False)
    size: int
    fingerprint: str

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
        self._sum, self._steps = np.zeros(start.size), 0

    def answers(self) -> NDArray[np.float64]:
        return np.asarray(self._weights @ self._present)

    def reweigh(self, queries: range, exponents: NDArray[np.float64], counted: bool = True) -> None:
        if counted:
            self._sum += self._present
            self._steps += 1
        raised = self._present * np.exp(exponents @ self._weights[queries.start : queries.stop])
        self._present = raised / raised.sum()

    def distributions(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._present.copy(), self._sum / self._steps if self._steps else self._present.copy()


def matrix_workload(queries: LinearQueries) -> MatrixWorkload:
    """Linear queries over their common unit.

    Raises: TooLarge when their weights need too many digits; UnsupportedCombination where records may be absent.
    """
    if queries.universe is not None and queries.universe.absent is not None:
        raise UnsupportedCombination("multiplicative weights use the number of records, which this universe hides")
    numerators, unit = over_common_unit(queries)
    reaches = np.abs(numerators).max(axis=1)
    each = np.arange(queries.count)
    alone = np.stack([each, each + 1], axis=1)
    return MatrixWorkload(queries.names, unit, numerators, reaches, alone, queries.size, queries.fingerprint)
