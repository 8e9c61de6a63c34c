"""A record may be absent: adding or removing one is bounded too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate, require
from dxgeom.metrics.metric import PAIRS_PER_BLOCK, Metric, PairBlock
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import cached_property


@final
@dataclass(frozen=True)
class PresenceMetric(Metric):
    """The records of a metric and one element more, the last: no record, ε away from each of them.

    Definition: d(i, j) = min(d'(i, j), 2ε) for records, d(i, absent) = ε. It is the closure of d' and of the bounds ε:
    a path between records is one of d', or passes the absent record and has two steps of ε; a path to the absent
    record ends with a step of ε. Both lengths are attained.

    Source: Kamalaruban et al. 2020, Definitions 1 to 3, which admit added records; corrected: the absent record needs
    an element of its own, where every query has the weight 0.
    """

    inner: Metric
    epsilon: Fraction

    @property
    def size(self) -> int:
        return self.inner.size + 1

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        gone = (first == self.inner.size) | (second == self.inner.size)
        between = self.inner.distance(np.where(gone, 0, first), np.where(gone, 0, second))
        apart = np.where(gone, self._rounded, np.minimum(between, 2 * self._rounded))
        return np.where(first == second, 0.0, apart)

    def generating_pairs(self) -> Iterator[PairBlock]:
        for pairs in self.inner.generating_pairs():
            nearer = self.nearer_than_through_absence(pairs.bound)
            yield PairBlock(pairs.first[nearer], pairs.second[nearer], pairs.bound[nearer])
        for start in range(0, self.inner.size, PAIRS_PER_BLOCK):
            first = np.arange(start, min(start + PAIRS_PER_BLOCK, self.inner.size))
            yield PairBlock(first, np.full(first.size, self.inner.size), np.full(first.size, self._rounded))

    def certificate(self) -> MetricCertificate:
        require(self.epsilon > 0, f"epsilon is positive, found {self.epsilon}")
        epsilon = float(self.epsilon)
        reason = f"{epsilon:g} to the absent record, so min(d, {2 * epsilon:g}) between the others"
        return MetricCertificate("presence", self.size, reason, parts=(self.inner.certificate(),))

    def nearer_than_through_absence(self, bounds: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which bounds between records the way through the absent record does not already give."""
        return np.asarray(bounds < 2 * self._rounded)

    @cached_property
    def _rounded(self) -> float:
        return round_down(self.epsilon)
