"""A ceiling on a metric: no two records are easier to tell apart than ε."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate, require
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.metric import Metric, PairBlock
from dxgeom.numeric.rounding import round_down


@final
@dataclass(frozen=True)
class CapMetric(Metric):
    """min(d(i, j), ε) for i ≠ j: the closure of a metric's bounds together with ε for every pair."""

    inner: Metric
    epsilon: Fraction

    @property
    def size(self) -> int:
        return self.inner.size

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        return np.minimum(self.inner.distance(i, j), round_down(self.epsilon))

    def generating_pairs(self) -> Iterator[PairBlock]:
        ceiling = round_down(self.epsilon)
        for pairs in self.inner.generating_pairs():
            below = pairs.bound < ceiling
            yield PairBlock(pairs.first[below], pairs.second[below], pairs.bound[below])
        yield from DiscreteMetric(self.size, self.epsilon).generating_pairs()

    def certificate(self) -> MetricCertificate:
        require(self.epsilon > 0, f"epsilon is positive, found {self.epsilon}")
        reason = f"min(d, {float(self.epsilon):g}) of a metric is a metric"
        return MetricCertificate("cap", self.size, reason, parts=(self.inner.certificate(),))
