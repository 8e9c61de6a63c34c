"""Every individual has its own ε; two of them are bounded by the sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate, require
from dxgeom.metrics.metric import Metric, PairBlock, all_pairs
from dxgeom.numeric.rounding import round_down, sum_round_down
from dxgeom.numeric.sealed import cached_property


@final
@dataclass(frozen=True)
class StarMetric(Metric):
    """d(i, j) = ε_i + ε_j for i ≠ j: paths through a centre at distance ε_i from each i that is itself no record.

    All pairs generate it: ε_i + ε_j ≤ (ε_i + ε_k) + (ε_k + ε_j), so no detour over records is shorter. A bound on
    each record's way to the centre would ask for more than the pairs do (or, with a value chosen for the centre, for
    less), so it is never used in their place.
    """

    epsilons: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        return len(self.epsilons)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        return np.where(first == second, 0.0, sum_round_down(self.rounded[first], self.rounded[second]))

    def generating_pairs(self) -> Iterator[PairBlock]:
        for first, second in all_pairs(self.size):
            yield PairBlock(first, second, sum_round_down(self.rounded[first], self.rounded[second]))

    def certificate(self) -> MetricCertificate:
        least = min(self.epsilons)
        require(least > 0, f"every epsilon is positive, found {least}")
        return MetricCertificate("individuals", self.size, "ε_i + ε_j: paths through a centre that is no record")

    @cached_property
    def rounded(self) -> NDArray[np.float64]:
        """Each record's ε, *rounded down*."""
        return np.array([round_down(epsilon) for epsilon in self.epsilons])


def pairs_of_classes(metric: StarMetric, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """Every pair of classes that occur in ``which`` (N,), the class of each individual, with the smallest bound of any
    two individuals in them: the sum of the smallest ε in each, since rounding down a sum keeps its order."""
    classes, place = np.unique(which, return_inverse=True)
    least = np.full(classes.size, np.inf)
    np.minimum.at(least, place.reshape(-1), metric.rounded)
    for first, second in all_pairs(classes.size):
        yield PairBlock(classes[first], classes[second], sum_round_down(least[first], least[second]))
