"""What a rule states about pairs of values of one attribute; and the simplest: the same for all."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.metric import Metric, PairBlock
from dxgeom.numeric.rounding import round_down
from dxgeom.policy.axes import Amount, Codes, Pairs, Row

Stated: TypeAlias = Callable[[Codes, Codes], Row]
"""Bounds of pairs of different codes, given as two arrays of one common shape."""

MIXED_SIZE_LIMIT: Final = 3000
"""An attribute whose bounds are of several families, one of them on all pairs, has at most this many values."""


class Bound(ABC):
    """An upper bound on d(a, b) for each pair of different codes a, b of one attribute; ∞ where nothing is stated.

    Laws: symmetric; positive where two values are told apart at all. ``between`` is *exact* or, where distances between
    places are involved, *rounded down*; ``stated`` says the same of many pairs, ``metric`` of their closure, each never
    above it. Equal bounds state the same, and are hashable.

    A kind says the five things that are abstract; the others have an answer that is safe for every kind, and are said
    by those that know better.
    ``closed``: whether what is stated is a metric as it stands, so that no detour is shorter than a direct step.
    """

    closed: ClassVar[bool] = False

    @abstractmethod
    def between(self, start: int, end: int) -> Amount:
        """The bound for two different codes: *exact*, or a float *rounded down* where places are involved."""

    @abstractmethod
    def as_written(self, unit: int | None) -> Stated:
        """The bounds of many pairs: in multiples of 1/``unit`` and *exact*, or without a unit float64 *rounded down*.

        Args: ``unit`` is a multiple of ``denominator``.
        """

    @abstractmethod
    def metric(self, size: int) -> Metric:
        """The closure on the codes 0..size-1 in its most structured form, *rounded down*.

        Raises: TooLarge.
        """

    @property
    @abstractmethod
    def denominator(self) -> int | None:
        """Every stated bound is a whole multiple of one over this; None where bounds are rounded."""

    @property
    @abstractmethod
    def data(self) -> list[Any]:
        """What fingerprints are made of: a word for the kind, and its numbers as text."""

    @property
    def exact(self) -> bool:
        """Whether every stated bound is an exact number."""
        return self.denominator is not None

    @property
    def constant(self) -> Fraction | None:
        """Its ε where the same is stated for every pair; None also where nobody looked."""
        return None

    @property
    def extremes(self) -> tuple[Fraction, Amount]:
        """Not more than the smallest stated bound, and not less than the largest."""
        return Fraction(0), math.inf

    @property
    def in_order(self) -> bool:
        """Whether what is stated for neighbouring codes, added up, is what is stated for others."""
        return False

    @property
    def of_present(self) -> Bound | None:
        """The same on the codes of values that are there, where it knows of a missing one and states nothing of it."""
        return None

    @property
    def to_missing(self) -> Fraction | None:
        """How far the missing value is from every other, where that is all that is stated."""
        return None

    def nowhere_above(self, other: Bound) -> bool:
        """Whether this is at most the other bound on every pair; not sure counts as no."""
        return self == other

    def few_pairs(self) -> Pairs | None:
        """The pairs of codes that are bounded, lower code first; None where they may be most of all pairs.

        Raises: TooLarge.
        """
        return None

    def why(self, metric: Metric) -> str:
        """Why its closure has the form of this metric, in words."""
        return "its rule has this form as it stands"

    def example(self) -> tuple[int, int | None]:
        """A value that it is about, the most sensitive one; and another one, or None for the nearest."""
        return 0, None

    def of_pairs(self, first: Codes, second: Codes) -> NDArray[np.float64]:
        """The bound of each pair of different codes, *rounded down*; ∞ where nothing is stated."""
        return np.asarray(self.as_written(None)(first, second), dtype=np.float64)

    def matrix(self, size: int) -> NDArray[np.float64]:
        """The bound of every pair before any closure: shape (size, size), 0 on the diagonal, *rounded down*."""
        codes = np.arange(size)
        first, second = np.broadcast_arrays(codes[:, None], codes[None, :])
        matrix = self.of_pairs(first, second).copy()
        np.fill_diagonal(matrix, 0.0)
        return matrix

    def rows(self, size: int, unit: int | None) -> Callable[[int], Row]:
        """The bound from one code to every other, as ``stated`` has it."""
        stated, everyone = self.as_written(unit), np.arange(size)
        return lambda code: stated(np.full(size, code), everyone)


def in_units(given: Sequence[Amount | None], unit: int | None) -> Row:
    """Amounts as whole multiples of 1/``unit``, or as float64 *rounded down*; None stands for ∞."""
    known = [math.inf if one is None else one for one in given]
    if unit is None:
        return np.array([round_down(one) if isinstance(one, Fraction) else one for one in known], dtype=np.float64)
    whole = np.empty(len(known), dtype=object)
    whole[:] = [int(one * unit) if isinstance(one, Fraction) else one for one in known]
    return whole


def common_denominator(amounts: Iterable[Fraction | None]) -> int:
    """The smallest number of which all amounts, times it, are whole."""
    return math.lcm(1, *{amount.denominator for amount in amounts if amount is not None})


def common_unit(denominators: Iterable[int | None]) -> int:
    """One over this divides every bound of kinds that are exact."""
    return math.lcm(1, *(one for one in denominators if one is not None))


def closed(size: int, stated: Iterable[PairBlock]) -> GraphMetric:
    """The closure of bounds on pairs of 0..size-1; ∞ where none leads."""
    none = np.empty(0, dtype=np.int64)
    blocks = [PairBlock(none, none, np.empty(0)), *stated]
    first, second, bound = (
        np.concatenate([getattr(block, field) for block in blocks]) for field in ("first", "second", "bound")
    )
    return GraphMetric(size, first.astype(np.int64, copy=False), second.astype(np.int64, copy=False), bound)


@final
@dataclass(frozen=True, order=True)
class Constant(Bound):
    """ε for every pair of different values."""

    epsilon: Fraction
    closed: ClassVar[bool] = True

    def between(self, start: int, end: int) -> Fraction:
        return self.epsilon

    def as_written(self, unit: int | None) -> Stated:
        same = in_units([self.epsilon], unit)
        return lambda first, second: np.broadcast_to(same, first.shape)

    def metric(self, size: int) -> Metric:
        return DiscreteMetric(size, self.epsilon)

    @property
    def denominator(self) -> int:
        return self.epsilon.denominator

    @property
    def data(self) -> list[Any]:
        return ["constant", str(self.epsilon)]

    @property
    def constant(self) -> Fraction:
        return self.epsilon

    @property
    def extremes(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.epsilon

    def why(self, metric: Metric) -> str:
        return "every two values are bounded by the same epsilon"
