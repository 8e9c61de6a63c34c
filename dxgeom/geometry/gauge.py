"""Gauges as norms of linear forms: evaluated in float64 with a proved error, and in ball arithmetic."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import final

import numpy as np
from flint import arb, fmpq_mat
from numpy.typing import NDArray

from dxgeom.numeric.sealed import cached_property

_HEIGHTS_PER_BLOCK = 250_000


class Gauge(ABC):
    """v ↦ ‖v‖ for a norm whose numbers are known exactly. Laws: ``near`` holds ``exact`` within its bounds."""

    @abstractmethod
    def near(
        self, points: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values (B,) and bounds (B,) on how far they are off, for points (B, m) off by at most ``errors``."""

    @abstractmethod
    def exact(self, point: Sequence[arb]) -> arb:
        """The value at a point known as balls, as a ball that contains it."""

    @abstractmethod
    def through(self, matrix: fmpq_mat) -> Gauge:
        """v ↦ ‖matrix·v‖."""


@final
@dataclass(frozen=True, eq=False)
class RowNorm(Gauge):
    """v ↦ ‖rows·v‖_p. ``rows`` (r, m): exact rationals; ``exponent``: p, from 1 to infinity."""

    rows: fmpq_mat
    exponent: float

    def near(
        self, points: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """With A the rows, |‖A(v + δ)‖ − ‖Av‖| ≤ ‖ |A||δ| ‖.

        The rounded rows and products act like a δ of (m + 2)·2⁻⁵³·|v|, doubled here; powers, sum and root of
        non-negative numbers are allowed (r + 64)·2⁻⁵² relative, where libraries promise fewer than 4 units in the last
        place for each power.
        """
        rows, size = self._float_rows, max(1, _HEIGHTS_PER_BLOCK // len(self._float_rows))
        values, bounds = np.empty(len(points)), np.empty(len(points))
        for start in range(0, len(points), size):
            here = slice(start, start + size)
            heights = points[here] @ rows.T
            np.abs(heights, out=heights)
            slack = errors[here] * (1 + 2.0**-40) + np.abs(points[here]) * ((rows.shape[1] + 2) * 2.0**-52)
            values[here] = power_norm(heights, self.exponent)
            bounds[here] = self._largest_change(slack) + values[here] * (self._summed + 64) * 2.0**-52
        return values, bounds

    def exact(self, point: Sequence[arb]) -> arb:
        rows = ([arb(entry) for entry in row] for row in self.rows.tolist())
        return _power_norm_of_balls([_product(row, point) for row in rows], self.exponent)

    def through(self, matrix: fmpq_mat) -> RowNorm:
        return RowNorm(self.rows * matrix, self.exponent)

    def _largest_change(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """A bound on ‖rows·δ‖ over |δ| ≤ slack."""
        sizes = np.abs(self._float_rows)
        if math.isinf(self.exponent):
            return np.asarray(slack @ sizes.max(axis=0)) * (1 + 2.0**-40)
        return power_norm(slack @ sizes.T, self.exponent) * (1 + 2.0**-40)

    @cached_property
    def _float_rows(self) -> NDArray[np.float64]:
        """(r, m), correctly rounded."""
        return np.array([[float(Fraction(int(x.p), int(x.q))) for x in row] for row in self.rows.tolist()])

    @property
    def _summed(self) -> int:
        return 0 if math.isinf(self.exponent) else len(self._float_rows)


@final
@dataclass(frozen=True, eq=False)
class LargestGauge(Gauge):
    """The largest of several gauges, at least one of which bounds every direction."""

    parts: tuple[Gauge, ...]

    def near(
        self, points: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found = [part.near(points, errors) for part in self.parts]
        return np.max([value for value, _ in found], axis=0), np.max([bound for _, bound in found], axis=0)

    def exact(self, point: Sequence[arb]) -> arb:
        return reduce(lambda a, b: a.max(b), (part.exact(point) for part in self.parts))

    def through(self, matrix: fmpq_mat) -> LargestGauge:
        return LargestGauge(tuple(part.through(matrix) for part in self.parts))


@final
@dataclass(frozen=True, eq=False)
class SumGauge(Gauge):
    """The sum of several gauges; adding n values loses (n − 1)·2⁻⁵³ relative, doubled."""

    parts: tuple[Gauge, ...]

    def near(
        self, points: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found = [part.near(points, errors) for part in self.parts]
        value = np.sum([value for value, _ in found], axis=0)
        return value, np.sum([bound for _, bound in found], axis=0) * (1 + 2.0**-40) + value * len(found) * 2.0**-52

    def exact(self, point: Sequence[arb]) -> arb:
        return sum((part.exact(point) for part in self.parts), arb(0))

    def through(self, matrix: fmpq_mat) -> SumGauge:
        return SumGauge(tuple(part.through(matrix) for part in self.parts))


def _product(row: Sequence[arb], point: Sequence[arb]) -> arb:
    return sum((a * x for a, x in zip(row, point, strict=True) if not a.is_zero()), arb(0))


def _power_norm_of_balls(values: Sequence[arb], exponent: float) -> arb:
    """(Σ |value|^p)^(1/p), the largest |value| for infinite p, as a ball that contains it."""
    sizes = [abs(value) for value in values]
    if math.isinf(exponent):
        return reduce(lambda a, b: a.max(b), sizes)
    if exponent == 1:
        return sum(sizes, arb(0))
    if exponent == 2:
        return sum((size * size for size in sizes), arb(0)).sqrt()
    return sum((size ** arb(exponent) for size in sizes), arb(0)) ** (1 / arb(exponent))


def power_norm(lengths: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """The same of non-negative numbers along the last axis, divided by the longest first so that nothing overflows."""
    if exponent == 1:
        return np.asarray(np.sum(lengths, axis=-1))
    longest = np.max(lengths, axis=-1)
    if math.isinf(exponent):
        return np.asarray(longest)
    shares = lengths / np.where(longest > 0, longest, 1.0)[..., None]
    return np.asarray(longest * np.sum(shares**exponent, axis=-1) ** (1 / exponent))
