"""One ε for several attributes at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import round_down
from dxgeom.policy.axes.axis import Codes
from dxgeom.policy.bounds.bound import Bound, in_units
from dxgeom.policy.bounds.constant import Constant
from dxgeom.policy.bounds.joint_bound import JointBound, Moves, Table


@final
@dataclass(frozen=True)
class JointConstant(JointBound):
    """ε for records that differ only in these attributes, in however many of them at once; two names at least."""

    names: tuple[str, ...]
    epsilon: Fraction

    @property
    def constant(self) -> Fraction:
        return self.epsilon

    def alone(self, name: str) -> Bound:
        return Constant(self.epsilon)

    def between(self, moves: Moves) -> Fraction:
        return self.epsilon

    def of_pairs(self, moves: Mapping[str, tuple[Codes, Codes]]) -> NDArray[np.float64]:
        first, _ = moves[self.names[0]]
        return np.full(first.shape, round_down(self.epsilon))

    def table(self, unit: int | None) -> Table:
        same = in_units([self.epsilon], unit)
        return lambda codes, sizes: np.broadcast_to(same, sizes)

    def metric(self, parts: Sequence[Metric]) -> Metric:
        return DiscreteMetric(math.prod(part.size for part in parts), self.epsilon)

    @property
    def denominator(self) -> int:
        return self.epsilon.denominator

    @property
    def data(self) -> list[Any]:
        return ["together", list(self.names), str(self.epsilon)]

    def nowhere_above(self, other: JointBound) -> bool:
        if not isinstance(other, JointConstant):
            return False
        return self.epsilon <= other.epsilon and set(other.names) <= set(self.names)
