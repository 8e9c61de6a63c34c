"""What noise is added to when it is not added to the answers themselves: counts of records, block by block.

A block is a table of numbers, a product over some attributes of the way in which each of them is summed up. Every entry
of what a record adds to it is -1, 0 or 1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.law import NoiseLaw
from dxgeom.numeric.sealed import Closed

STEPS_PER_SCALE: Final = 64
"""A step of the lattice is at most this part of the narrowest noise in a part, which costs below 0.003 % of it."""


class Summing(Closed):
    """How the values of an attribute are summed up: integers F (numbers, values)."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """So many groups of numbers, and so many in each."""

    @abstractmethod
    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(k, len(values)): ``shares`` (k, *shape) times the columns of F of these values; *exact* while the
        absolute values of a row of ``shares`` add up to what fits its type."""


@final
@dataclass(frozen=True)
class Classes(Summing):
    """How many records are in each class: so many, of ``width`` values that follow each other."""

    count: int
    width: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.count, 1

    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(shares[:, values // self.width, 0])


@final
@dataclass(frozen=True)
class FirstLessSecond(Summing):
    """How many more records have the first of two values than the second."""

    @property
    def shape(self) -> tuple[int, int]:
        return 1, 1

    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(shares[:, 0, :] * np.where(values == 0, 1, -1))


@final
@dataclass(frozen=True)
class Siblings(Summing):
    """Classes of ``width`` values, a group of ``radix`` after the other: how many more records are in each class than
    in the first of its group."""

    groups: int
    radix: int
    width: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.groups, self.radix - 1

    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        of_each = np.concatenate([-shares.sum(axis=2, keepdims=True), shares], axis=2)
        return np.asarray(of_each.reshape(len(shares), -1)[:, values // self.width])


@final
@dataclass(frozen=True)
class Cuts(Summing):
    """How many records lie below each cut between so many values on a line, up to half of them; above it, beyond."""

    size: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.size - 1, 1

    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        half, nothing = self.size // 2, np.zeros_like(shares[:, :1, 0])
        below, above = shares[:, :half, 0], shares[:, half:, 0]
        # Value u is below the cuts u + 1, u + 2, … and not below 1, …, u.
        first = np.concatenate([np.cumsum(below[:, ::-1], axis=1)[:, ::-1], nothing], axis=1)
        second = np.concatenate([nothing, np.cumsum(above, axis=1)], axis=1)
        return np.asarray(first[:, np.minimum(values, half)] + second[:, np.maximum(values - half, 0)])


@final
@dataclass(frozen=True)
class Block:
    """The numbers of one block: ``sums`` of the attributes at ``axes``, places in the universe, all others added up.

    They stand group by group, the last attribute's running fastest, and inside a group likewise.
    """

    axes: tuple[int, ...]
    sums: tuple[Summing, ...]

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(math.prod(one.shape) for one in self.sums)

    def of_records(self, shares: NDArray[np.int64], values: Mapping[int, NDArray[np.int64]]) -> NDArray[np.int64]:
        """(k, values of axis 1, …): ``shares`` (k, size) of the block's numbers for one record of each combination of
        these values of its attributes; *exact* as :meth:`Summing.applied`."""
        table = shares.reshape([len(shares), *(one.shape[part] for part in (0, 1) for one in self.sums)])
        for done, (axis, one) in enumerate(zip(self.axes, self.sums, strict=True)):
            table = np.moveaxis(table, (1, 1 + len(self.sums) - done), (-2, -1))
            flat = one.applied(table.reshape(-1, *one.shape), values[axis])
            table = flat.reshape(*table.shape[:-2], -1)
        return table


class MeasuredNumbers(Closed):
    """Blocks of whole numbers M x that noise is added to, and the proof that it hides what ``metric`` protects.

    Whoever has one has the proof: it is made when this is. ``codes``: of each attribute looked at, by its place in the
    universe, which of the told values every value is; ``blocks`` are over these. ``steps_per_count``: a record adds so
    many lattice steps to a number. ``law``: of the noise V on all numbers in their order, in steps; shifting V by M of
    any change of a record changes odds by no more than the metric allows at spend 1. ``scales``: of the noise in each
    part, in counts, from which all of it can be made again.
    """

    metric: VerifiedMetric
    scales: NDArray[np.float64]

    @property
    @abstractmethod
    def codes(self) -> Mapping[int, NDArray[np.int64]]:
        """(values,) each."""

    @property
    @abstractmethod
    def blocks(self) -> Sequence[Block]:
        """Those with noise."""

    @property
    def steps_per_count(self) -> int:
        """A power of two."""
        return lattice_step(self.scales).denominator

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """One and the same object each time."""

    @property
    def bases(self) -> tuple[NDArray[np.float64] | None, ...]:
        """Of each attribute, where noise is along such."""
        return ()

    @property
    def trees(self) -> tuple[tuple[int, ...], ...]:
        """Of each attribute, where noise is in boxes, into how many each level of its tree splits, none for a line."""
        return ()


def lattice_step(scales: NDArray[np.float64]) -> Fraction:
    """Two to a power, at most 1: what noise is rounded to, in counts."""
    finest = float(scales[scales > 0].min())
    return Fraction(1, 2 ** max(0, math.ceil(math.log2(STEPS_PER_SCALE / finest))))
