"""Several attributes that move together: the one that changes most counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.combinations import MaxMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes.axis import Amount, Codes, Row
from dxgeom.policy.bounds.bound import Bound, common_unit
from dxgeom.policy.bounds.joint_bound import JointBound, Moves, Table
from dxgeom.policy.bounds.per_distance import PerDistance


@final
@dataclass(frozen=True)
class LargestChange(JointBound):
    """The largest of the attributes' own bounds, for records that differ only in these; every floor is 0."""

    names: tuple[str, ...]
    each: tuple[PerDistance, ...]

    @property
    def constant(self) -> None:
        return None

    def alone(self, name: str) -> Bound:
        return self.each[self.names.index(name)]

    def between(self, moves: Moves) -> Amount:
        return max(self.alone(name).between(*codes) for name, codes in moves.items())

    def of_pairs(self, moves: Mapping[str, tuple[Codes, Codes]]) -> NDArray[np.float64]:
        return np.asarray(np.maximum.reduce([self.alone(name).of_pairs(*codes) for name, codes in moves.items()]))

    def table(self, unit: int | None) -> Table:
        stated = [bound.stated(unit) for bound in self.each]

        def largest(codes: Sequence[int], sizes: Sequence[int]) -> Row:
            found = np.zeros(sizes, dtype=np.float64 if unit is None else object)
            for axis, (bound, code, size) in enumerate(zip(stated, codes, sizes, strict=True)):
                moves = np.array(bound(np.full(size, code), np.arange(size)))
                moves[code] = 0
                found = np.maximum(found, moves.reshape([-1 if k == axis else 1 for k in range(len(sizes))]))
            return found

        return largest

    def metric(self, parts: Sequence[Metric]) -> Metric:
        return MaxMetric(tuple(parts))

    @property
    def denominator(self) -> int | None:
        each = [bound.denominator for bound in self.each]
        return None if None in each else common_unit(each)

    @property
    def data(self) -> list[Any]:
        return ["largest", list(self.names), [bound.data for bound in self.each]]

    def nowhere_above(self, other: JointBound) -> bool:
        if not isinstance(other, LargestChange) or not set(other.names) <= set(self.names):
            return False
        return all(self.alone(name).nowhere_above(bound) for name, bound in zip(other.names, other.each, strict=True))
