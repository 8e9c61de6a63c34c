"""The numbers that a plan's noise is in, counted anew: how records are summed up, and what a move shifts them by.

A block is a table of integers, a product over some attributes. Of each, told values are summed up in classes, as the
first of two less the second, in what siblings have above their first, or at cuts of a line. What a record adds to a
block, or a move of one attribute shifts it by, is a product too, and its size is the product of the sizes along each
attribute: Σ|s| for Laplace noise; for normal noise in what siblings have above their first, the square of what is left
of them without their mean.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.audit.plans.random_records import RandomChange
from dxgeom.errors import CertificateRefused

Codes = NDArray[np.int64]


class Along(ABC):
    """What is counted along one attribute of told values 0, 1, …: so many ``numbers``, of which ``inner`` stand
    together for each of the others; sizes are in parts of ``over``."""

    numbers: int
    inner = 1
    over = 1
    most = 1
    """The size of what one value adds, of the value that adds most."""
    widths: tuple[int, ...] | None = None
    """All that a move depends on is whether its values are equal when divided, and rounded down, by each of these;
    None where it is more."""

    @abstractmethod
    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        """The sizes of moves from values to others."""

    @abstractmethod
    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        """The numbers along the last axis of a table of counts by told value."""


@final
class InClasses(Along):
    """So many classes of ``width`` values that follow each other."""

    def __init__(self, count: int, width: int) -> None:
        self.numbers, self.width, self.widths = count, width, (width,)

    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        return np.where(one // self.width == other // self.width, 0, 2)

    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        _require(table.shape[-1] <= self.numbers * self.width)
        return added_up(table, np.arange(table.shape[-1]) // self.width, self.numbers)


@final
class FirstOfTwo(Along):
    """The first of two values less the second."""

    numbers = 1
    widths = (1,)

    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        return np.where(one == other, 0, 2)

    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        _require(table.shape[-1] == 2)
        return np.asarray(table[..., :1] - table[..., 1:2])


@final
class AboveFirst(Along):
    """Classes of ``width`` values, of which ``radix`` that follow each other are siblings: all but the first, each less
    the first. Noise is normal, and hides what is left of the siblings without their mean."""

    def __init__(self, groups: int, radix: int, width: int) -> None:
        self.groups, self.radix, self.width = groups, radix, width
        self.numbers, self.inner, self.over = groups * (radix - 1), radix - 1, radix
        self.widths, self.most = (width, width * radix), radix - 1

    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        first, second = one // self.width, other // self.width
        siblings = np.where(first == second, 0, 2 * self.radix)
        return np.where(first // self.radix == second // self.radix, siblings, 2 * (self.radix - 1))

    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        classes = InClasses(self.groups * self.radix, self.width).summed(table)
        split = classes.reshape(*table.shape[:-1], self.groups, self.radix)
        return np.asarray((split[..., 1:] - split[..., :1]).reshape(*table.shape[:-1], -1))


@final
class AtCuts(Along):
    """How many lie below each cut between ``size`` values, up to the one after half of them; above each, beyond."""

    def __init__(self, size: int) -> None:
        self.size, self.numbers, self.most = size, size - 1, max(size // 2, size - 1 - size // 2)

    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        return np.asarray(np.abs(one - other))

    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        _require(table.shape[-1] == self.size > 1)
        below, half = np.cumsum(table, axis=-1), self.size // 2
        return np.concatenate([below[..., :half], below[..., -1:] - below[..., half:-1]], axis=-1)


@final
@dataclass(frozen=True, eq=False)
class CountedBlock:
    """The numbers of a block: ``along`` the attributes at ``axes``, rising places in the universe, of which ``told``
    says which values are told apart; all others are summed up. ``steps``: lattice steps that a record adds to a number
    by which it is counted once."""

    axes: tuple[int, ...]
    along: tuple[Along, ...]
    told: Mapping[int, Codes] = field(repr=False)
    steps: int

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(one.numbers for one in self.along)

    def table(self, change: RandomChange) -> NDArray[Any]:
        """What such a change shifts, in lattice steps, an axis for each attribute."""
        table = change.margin(self.axes)
        for place, (axis, one) in enumerate(zip(self.axes, self.along, strict=True)):
            told = self.told[axis]
            lines = one.summed(added_up(np.moveaxis(table, place, -1), told, int(told.max()) + 1))
            table = np.moveaxis(lines, -1, place)
        return np.asarray(table * self.steps, dtype=table.dtype)

    def numbers(self, change: RandomChange) -> NDArray[Any]:
        """The same as noise is drawn: of the first attribute the groups of numbers, then of the second, …, and inside
        of all groups likewise what stands together."""
        sizes = [(one.numbers // one.inner, one.inner) for one in self.along]
        split = self.table(change).reshape([part for pair in sizes for part in pair])
        order = [*range(0, split.ndim, 2), *range(1, split.ndim, 2)]
        return np.asarray(split.transpose(order).reshape(-1))


def added_up(table: NDArray[Any], places: Codes, count: int) -> NDArray[Any]:
    """The entries along the last axis added up at these ``places``, of so many; *exact*, also in Python's integers."""
    found = np.zeros((count, *table.shape[:-1]), dtype=table.dtype)
    np.add.at(found, places, np.moveaxis(table, -1, 0))
    return np.moveaxis(found, 0, -1)


def _require(fits: bool) -> None:
    if not fits:
        raise CertificateRefused("the numbers that are said to have noise are of other values than the attributes have")
