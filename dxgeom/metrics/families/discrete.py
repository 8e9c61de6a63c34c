"""The discrete metric: every difference is equally sensitive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate, require
from dxgeom.metrics.metric import Metric, PairBlock, all_pairs
from dxgeom.numeric.rounding import round_down


@final
@dataclass(frozen=True)
class DiscreteMetric(Metric):
    """d(i, j) = ε·[i ≠ j]: ordinary ε-differential privacy."""

    count: int
    epsilon: Fraction

    @property
    def size(self) -> int:
        return self.count

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        return np.where(np.asarray(i) == np.asarray(j), 0.0, round_down(self.epsilon))

    def generating_pairs(self) -> Iterator[PairBlock]:
        epsilon = round_down(self.epsilon)
        for first, second in all_pairs(self.count):
            yield PairBlock(first, second, np.full(first.size, epsilon))

    def certificate(self) -> MetricCertificate:
        require(self.epsilon > 0, f"epsilon is positive, found {self.epsilon}")
        return MetricCertificate("discrete", self.size, "a constant off the diagonal is a metric")
