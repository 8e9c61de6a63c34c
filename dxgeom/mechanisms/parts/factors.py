"""How one attribute is measured: level by level of a tree of its values, or cut by cut along a line.

Level 0 is the number of all records. What is said below is what a product of attributes is made of: all of it
multiplies over attributes.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.mixing import Classes, Cuts, Siblings, Summing
from dxgeom.numeric.sealed import Closed, cached_property

_LAST: Final = (2, 3, 4, 5)
Kinds = tuple[Fraction | None, ...]
"""For each kind of change, 1, 2, …, the least distance of values that differ so; None where no finite one does."""


class Factor(Closed):
    """The measured numbers of one attribute with ``size`` values."""

    size: int

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What is measured, for a reader."""

    @property
    @abstractmethod
    def levels(self) -> int:
        """How many levels there are, 0 among them."""

    @abstractmethod
    def cells(self, level: int) -> int:
        """How many numbers a level has."""

    @abstractmethod
    def kinds(self, gaps: NDArray[np.float64] | Fraction | None) -> Kinds:
        """The distances of the kinds of change: of values all at one distance, or on a line, with these gaps."""

    @abstractmethod
    def alone(self, level: int, normal: bool) -> Fraction:
        """What a record is of the level's numbers at most: in square, of what noise is in, for normal noise; else in
        absolute value."""

    @abstractmethod
    def changed(self, level: int, kind: int, normal: bool) -> Fraction:
        """What a change of this kind is of the level's numbers, likewise."""

    @abstractmethod
    def coefficients(self, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.float64]:
        """(K, levels): the squared length of what each interval takes of what is new in each level; never below 0, and
        0 just where it takes nothing."""

    @abstractmethod
    def summing(self, level: int, normal: bool) -> Summing:
        """What is measured of a level, but that of all records: of normal noise along a tree what siblings are above
        the first."""

    @abstractmethod
    def taken(self, level: int, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.int64]:
        """(K, numbers): what intervals take of what is new in a level: along a tree over its padded size, so that
        siblings' add up to 0; on a line the cuts at both ends, and all records where one is counted from above."""

    @abstractmethod
    def tells(self, table: int, level: int) -> float:
        """How many numbers of the table's level add up to one of the level below it, 0 where it does not tell of it."""


@final
@dataclass(frozen=True)
class Tree(Factor):
    """Values in order, in classes of equal size, each split into so many of the next level: ``radices``, whose product
    is the size, or more; there are no records beyond it.

    Noise of level l is in the classes' counts but for what their parents have: for normal noise independent of the
    other levels.
    """

    size: int
    radices: tuple[int, ...]

    def __post_init__(self) -> None:
        kept = type(self.radices) is tuple and {*map(type, (self.size, *self.radices))} == {int}
        if not kept or min((self.size, *self.radices)) < 1 or math.prod(self.radices) < self.size:
            raise CertificateRefused(
                f"a tree over {self.size} values splits into whole numbers whose product is that or more, found "
                f"{self.radices}"
            )

    @property
    def in_words(self) -> str:
        return f"in a tree that splits by {', '.join(map(str, self.radices))}"

    @property
    def levels(self) -> int:
        return len(self.radices) + 1

    @cached_property
    def _classes(self) -> tuple[int, ...]:
        return tuple(accumulate(self.radices, mul, initial=1))

    @property
    def padded(self) -> int:
        """The values, and those that nobody has."""
        return self._classes[-1]

    def cells(self, level: int) -> int:
        return self._classes[level]

    def kinds(self, gaps: NDArray[np.float64] | Fraction | None) -> Kinds:
        if not isinstance(gaps, np.ndarray):
            return (gaps,) * (self.levels - 1)
        found: list[Fraction | None] = []
        for level in range(1, self.levels):
            step, above = self.padded // self.cells(level), self.padded // self.cells(level - 1)
            cuts = np.arange(step, self.size, step)
            own = gaps[cuts[cuts % above != 0] - 1]
            finite = own[np.isfinite(own)]
            found.append(Fraction(float(finite.min())) if finite.size else None)
        return tuple(found)

    def alone(self, level: int, normal: bool) -> Fraction:
        return 1 - Fraction(1, self.radices[level - 1]) if normal and level else Fraction(1)

    def changed(self, level: int, kind: int, normal: bool) -> Fraction:
        if level < kind:
            return Fraction(0)
        return 2 * (self.alone(level, normal) if level > kind else Fraction(1))

    def coefficients(self, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.float64]:
        high = np.where(upper == self.size, self.padded, upper)
        found, above = np.empty((len(lower), self.levels)), np.zeros(len(lower), dtype=np.int64)
        for level in range(self.levels):
            step = self.padded // self.cells(level)
            first, last = lower // step, (high - 1) // step
            apart = (first + 1) * step - lower, high - last * step
            squares = np.where(
                first == last, (high - lower) ** 2, apart[0] ** 2 + apart[1] ** 2 + (last - first - 1) * step**2
            )
            # The parents' shares are means of the children's: whole numbers over step², until they are divided.
            split = self.radices[level - 1] if level else 1
            found[:, level] = (split * squares - (above if level else 0)) / (split * float(step) ** 2)
            above = squares
        return found

    def summing(self, level: int, normal: bool) -> Summing:
        width = self.padded // self.cells(level)
        if normal:
            return Siblings(self.cells(level - 1), self.radices[level - 1], width)
        return Classes(self.cells(level), width)

    def taken(self, level: int, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.int64]:
        width = self.padded // self.cells(level)
        high = np.where(upper == self.size, self.padded, upper)
        first = np.arange(self.cells(level)) * width
        shared = np.maximum(np.minimum(high[:, None], first + width) - np.maximum(lower[:, None], first), 0)
        if not level:
            return np.asarray(shared)
        radix, above = self.radices[level - 1], self.cells(level - 1)
        siblings = shared.reshape(len(shared), above, radix)
        centred = above * (radix * siblings - siblings.sum(axis=2, keepdims=True))
        return np.asarray(centred.reshape(len(shared), -1))

    def tells(self, table: int, level: int) -> float:
        return self.cells(table) / self.cells(level) if table >= level else 0.0


@final
@dataclass(frozen=True)
class Path(Factor):
    """Values on a line: how many records lie below each cut, counted from the end that is nearer. A record that moves
    by one value moves one number by one."""

    size: int

    def __post_init__(self) -> None:
        if not (type(self.size) is int and self.size > 1):
            raise CertificateRefused(f"a line has two values or more, found {self.size}")

    @property
    def in_words(self) -> str:
        return "cut by cut along its line"

    @property
    def levels(self) -> int:
        return 2

    @property
    def half(self) -> int:
        """The last cut that is counted from below."""
        return self.size // 2

    def cells(self, level: int) -> int:
        return self.size - 1 if level else 1

    def kinds(self, gaps: NDArray[np.float64] | Fraction | None) -> Kinds:
        if not isinstance(gaps, np.ndarray):
            raise TypeError("values at one distance are on no line")
        finite = gaps[np.isfinite(gaps)]
        return (Fraction(float(finite.min())) if finite.size else None,)

    def alone(self, level: int, normal: bool) -> Fraction:
        return Fraction(max(self.half, self.size - 1 - self.half) if level else 1)

    def changed(self, level: int, kind: int, normal: bool) -> Fraction:
        return Fraction(level)

    def coefficients(self, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.float64]:
        total = (upper > self.half) != (lower > self.half)
        cuts = (lower > 0).astype(np.int64) + (upper < self.size)
        return np.stack([total, cuts], axis=1).astype(np.float64)

    def summing(self, level: int, normal: bool) -> Summing:
        return Cuts(self.size)

    def taken(self, level: int, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.int64]:
        if not level:
            return ((upper > self.half).astype(np.int64) - (lower > self.half))[:, None]
        cuts = np.arange(1, self.size)
        signs = np.where(cuts <= self.half, 1, -1)
        return np.asarray(signs * ((cuts == upper[:, None]).astype(np.int64) - (cuts == lower[:, None])))

    def tells(self, table: int, level: int) -> float:
        return float(table == level)


_LONG, _LEAF = 64, 8
"""Values from which on two trees more are tried; about so many stay together where others are halved."""


def trees(size: int) -> tuple[Tree, ...]:
    """Trees of different heights over so many values, with as few beyond as there can be: one level, and more; and of
    two levels, with few values in each class; of many values one of three levels, the middle one with few in each, and
    one of halves down to some eight values. The flat one first, then by height."""
    heights = {1, 2, 3, *(round(np.log(size) / np.log(split)) for split in (10, 4, 2))}
    found = {Tree(size, _radices(size, height)) for height in heights if height >= 1}
    found |= {Tree(size, (-(-size // last), last)) for last in _LAST if size > last}
    if size >= _LONG:
        first, inner = round(size ** (3 / 8)), round(size ** (1 / 4))
        halvings = round(np.log2(size / _LEAF))
        found.add(Tree(size, (first, inner, -(-size // (first * inner)))))
        found.add(Tree(size, ((2,) * halvings + (-(-size // 2**halvings),))))
    proper = (one for one in found if min(one.radices) > 1)
    return tuple(sorted(proper, key=lambda one: (len(one.radices), [-radix for radix in one.radices])))


def _radices(size: int, height: int) -> tuple[int, ...]:
    """So many factors, next to equal, whose product is the size or little more."""
    factors, left = [], size
    for place in range(height):
        factor = max(2, -(-round(left ** (1 / (height - place)) * 10**9) // 10**9)) if left > 1 else 1
        factors.append(factor)
        left = -(-left // factor)
    return tuple(factor for factor in factors if factor > 1) or (size,)
