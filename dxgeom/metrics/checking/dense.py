"""A metric given by its matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate
from dxgeom.metrics.checking.matrix_check import certify_matrix
from dxgeom.metrics.metric import Metric, PairBlock, pairs_at_a_finite_distance


@final
@dataclass(frozen=True, eq=False)
class DenseMetric(Metric):
    """d(i, j) = matrix[i, j]; shape (N, N), float64, already rounded down. Every finite pair is a generating pair."""

    matrix: NDArray[np.float64] = field(repr=False)

    @property
    def size(self) -> int:
        return len(self.matrix)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        return np.asarray(self.matrix[np.asarray(i), np.asarray(j)])

    def generating_pairs(self) -> Iterator[PairBlock]:
        return pairs_at_a_finite_distance(self)

    def certificate(self) -> MetricCertificate:
        return certify_matrix(self.matrix)
