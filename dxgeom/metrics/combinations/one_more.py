"""A metric and one element more, equally far from all others: a value that is missing."""

from __future__ import annotations

import math
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
class OneMoreMetric(Metric):
    """The elements of a metric and one more, the last, ε from each of them; or in no relation to them: ε is None.

    Definition: d(i, j) = min(d'(i, j), 2ε), d(i, last) = ε, and ∞ where ε is None. It is the closure of d' and of the
    bounds ε, for the same reason as :class:`PresenceMetric`; but here the last element is an ordinary one, which data
    hold and queries count.
    """

    inner: Metric
    epsilon: Fraction | None

    @property
    def size(self) -> int:
        return self.inner.size + 1

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        last = (first == self.inner.size) | (second == self.inner.size)
        between = self.inner.distance(np.where(last, 0, first), np.where(last, 0, second))
        apart = np.where(last, self._rounded, np.minimum(between, 2 * self._rounded))
        return np.where(first == second, 0.0, apart)

    def generating_pairs(self) -> Iterator[PairBlock]:
        for pairs in self.inner.generating_pairs():
            yield self.nearer(pairs)
        if self.epsilon is None:
            return
        for start in range(0, self.inner.size, PAIRS_PER_BLOCK):
            first = np.arange(start, min(start + PAIRS_PER_BLOCK, self.inner.size))
            yield PairBlock(first, np.full(first.size, self.inner.size), np.full(first.size, self._rounded))

    def certificate(self) -> MetricCertificate:
        parts = (self.inner.certificate(),)
        if self.epsilon is None:
            return MetricCertificate("one more, apart", self.size, "nothing is said of one element", parts=parts)
        require(self.epsilon > 0, f"epsilon is positive, found {self.epsilon}")
        epsilon = float(self.epsilon)
        reason = f"{epsilon:g} to one element more, so min(d, {2 * epsilon:g}) between the others"
        return MetricCertificate("one more", self.size, reason, parts=parts)

    def nearer(self, pairs: PairBlock) -> PairBlock:
        """Those pairs of other elements that the way through the last one does not already bound by as little."""
        kept = pairs.bound < 2 * self._rounded
        return PairBlock(pairs.first[kept], pairs.second[kept], pairs.bound[kept])

    @cached_property
    def _rounded(self) -> float:
        return math.inf if self.epsilon is None else round_down(self.epsilon)
