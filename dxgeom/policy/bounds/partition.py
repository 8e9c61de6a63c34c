"""ε inside the blocks of a partition, nothing across."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from dxgeom.metrics.families import PartitionMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes.axis import Amount, Codes
from dxgeom.policy.bounds.bound import Bound, Stated, in_units


@final
@dataclass(frozen=True)
class Partition(Bound):
    """ε for values of one block; ``blocks`` numbers the block of each code, in the order of their first codes."""

    blocks: tuple[int, ...] = field(repr=False)
    epsilon: Fraction
    closed: ClassVar[bool] = True

    def between(self, start: int, end: int) -> Amount:
        return self.epsilon if self.blocks[start] == self.blocks[end] else math.inf

    def stated(self, unit: int | None) -> Stated:
        inside, block = in_units([self.epsilon], unit), self._block
        return lambda first, second: np.where(block[first] == block[second], inside, math.inf)

    def metric(self, size: int) -> Metric:
        return PartitionMetric(self._block, self.epsilon)

    @property
    def denominator(self) -> int:
        return self.epsilon.denominator

    @property
    def data(self) -> list[Any]:
        return ["blocks", list(self.blocks), str(self.epsilon)]

    @property
    def extremes(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.epsilon

    def nowhere_above(self, other: Bound) -> bool:
        """Each of the other's blocks lies within one of these."""
        if not isinstance(other, Partition) or self.epsilon > other.epsilon:
            return False
        return len(set(zip(other.blocks, self.blocks, strict=True))) == len(set(other.blocks))

    def why(self, metric: Metric) -> str:
        return f"a constant inside each of {len(set(self.blocks)):,} blocks"

    @cached_property
    def _block(self) -> Codes:
        return np.array(self.blocks, dtype=np.int64)
