"""A partition: values of one block are equally hard to tell apart, and blocks may be told apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate, require
from dxgeom.metrics.families.axis_pairs import pairs_within_sets
from dxgeom.metrics.metric import Metric, PairBlock
from dxgeom.numeric.rounding import round_down


@final
@dataclass(frozen=True, eq=False)
class PartitionMetric(Metric):
    """d(i, j) = ε for i ≠ j of one block, ∞ for different blocks. ``blocks``: (N,), the block of each value, from 0."""

    blocks: NDArray[np.int64] = field(repr=False)
    epsilon: Fraction

    @property
    def size(self) -> int:
        return len(self.blocks)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.asarray(i), np.asarray(j)
        together = np.where(self.blocks[first] == self.blocks[second], round_down(self.epsilon), np.inf)
        return np.where(first == second, 0.0, together)

    def generating_pairs(self) -> Iterator[PairBlock]:
        epsilon = round_down(self.epsilon)
        for first, second in pairs_within_sets(self.blocks, np.arange(self.size)):
            yield PairBlock(first, second, np.full(first.size, epsilon))

    def certificate(self) -> MetricCertificate:
        require(self.epsilon > 0, f"epsilon is positive, found {self.epsilon}")
        blocks = len(np.unique(self.blocks))
        return MetricCertificate("partition", self.size, f"a constant inside each of {blocks:,} blocks is a metric")

    def components(self) -> tuple[int, NDArray[np.int64]]:
        """How many blocks there are, and the block of each value."""
        found, which = np.unique(self.blocks, return_inverse=True)
        return len(found), np.asarray(which, dtype=np.int64)
