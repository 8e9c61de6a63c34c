"""What a rule states about several attributes together, but not all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes.axis import Amount, Codes, Row
from dxgeom.policy.bounds.bound import Bound

Moves: TypeAlias = Mapping[str, tuple[int, int]]
"""By attribute, the two different codes between which it moves."""
Table: TypeAlias = Callable[[Sequence[int], Sequence[int]], Row]
"""From a code of each attribute and the attributes' sizes, the bound of every combination; shape: the sizes."""


class JointBound(ABC):
    """An upper bound for records that differ only in the attributes ``names``, which are in the universe's order.

    Laws as of a :class:`Bound`, with a combination of codes in a code's place.
    """

    names: tuple[str, ...]

    @property
    @abstractmethod
    def constant(self) -> Fraction | None:
        """Its ε where it is the same for all such records; without one it ties the attributes to each other."""

    @abstractmethod
    def alone(self, name: str) -> Bound:
        """What it states for records that differ in this one of its attributes only."""

    @abstractmethod
    def between(self, moves: Moves) -> Amount:
        """The bound for records that differ by these moves, one at least; *exact* or *rounded down*."""

    @abstractmethod
    def of_pairs(self, moves: Mapping[str, tuple[Codes, Codes]]) -> NDArray[np.float64]:
        """The bound of many pairs of records by the codes of each of its attributes, some alike; *rounded down*."""

    @abstractmethod
    def table(self, unit: int | None) -> Table:
        """The bounds from one combination to every other, in units as of ``Bound.stated``."""

    @abstractmethod
    def metric(self, parts: Sequence[Metric]) -> Metric:
        """The closure on combinations of its attributes' codes, from the closures of what it states of each alone."""

    @property
    @abstractmethod
    def denominator(self) -> int | None:
        """Every stated bound is a whole multiple of one over this; None where bounds are rounded."""

    @property
    @abstractmethod
    def data(self) -> list[Any]:
        """What fingerprints are made of: a word for the kind, its attributes, and its numbers as text."""

    @abstractmethod
    def nowhere_above(self, other: JointBound) -> bool:
        """Whether this is at most the other bound on every pair that the other bounds; not sure counts as no."""

    def is_undercut(self, others: Sequence[JointBound], ceiling: Fraction | None) -> bool:
        """Whether one of the others (or the ceiling on all pairs) is at most this one on every pair that it bounds."""
        if ceiling is not None and self.constant is not None and ceiling <= self.constant:
            return True
        return any(other != self and other.nowhere_above(self) for other in others)
