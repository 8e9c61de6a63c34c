"""Sets of attributes: the marginals asked for and every set inside one, numbered, with what lies inside what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.numeric.sealed import Closed, cached_property

LARGEST_SET: Final = 12
"""A marginal of more attributes has 4,096 residuals and more."""
_LONGEST_KEY: Final = 2**62


@final
@dataclass(frozen=True, eq=False)
class SetFamily(Closed):
    """A family of sets of attributes that holds every subset of its members, the empty set among them.

    ``sizes`` (d,): how many values each attribute has. ``levels[m]`` (n_m, m): the sets of m attributes, each rising,
    in lexicographic order. Sets are numbered level by level. ``asked``: the numbers of the marginals asked for.
    """

    sizes: NDArray[np.int64]
    levels: tuple[NDArray[np.int64], ...] = field(repr=False)
    asked: NDArray[np.int64] = field(repr=False)

    @property
    def count(self) -> int:
        """How many sets there are."""
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(levels + 1,): the number of the first set of each level, and of none."""
        return np.array([0, *accumulate(len(level) for level in self.levels)], dtype=np.int64)

    @cached_property
    def below(self) -> tuple[NDArray[np.int64], ...]:
        """For each level (n_m, 2^m): the subset of every set that has the attributes at the bits of the column."""
        return tuple(self._subsets(level) for level in self.levels)

    def _subsets(self, level: NDArray[np.int64]) -> NDArray[np.int64]:
        width = level.shape[1]
        found = np.empty((len(level), 1 << width), dtype=np.int64)
        for mask in range(1 << width):
            columns = members(mask, width)
            found[:, mask] = self.numbers(level[:, columns])
        return found

    def numbers(self, sets: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n,): the numbers of sets (n, m), each rising, that are all in the family."""
        width = sets.shape[1]
        place = np.searchsorted(self._keys[width], _keys(sets, len(self.sizes)))
        return np.asarray(self.starts[width] + place)

    def members_of(self, number: int) -> tuple[int, ...]:
        """The attributes of one set."""
        level = int(np.searchsorted(self.starts, number, side="right")) - 1
        return tuple(self.levels[level][number - self.starts[level]].tolist())

    @cached_property
    def _keys(self) -> tuple[NDArray[np.int64], ...]:
        return tuple(_keys(level, len(self.sizes)) for level in self.levels)

    def products(self, factors: NDArray[np.float64]) -> NDArray[np.float64]:
        """(sets,): the product of a factor (d,) of each attribute over every set; 1 for the empty one."""
        return np.concatenate([factors[level].prod(axis=1) for level in self.levels])

    @cached_property
    def cells(self) -> NDArray[np.float64]:
        """(sets,): how many cells the marginal of each set has, exact below 2⁵³."""
        return self.products(self.sizes.astype(np.float64))

    @cached_property
    def twos(self) -> NDArray[np.float64]:
        """(sets,): two to the number of attributes with two values in each set."""
        return self.products(np.where(self.sizes == 2, 2.0, 1.0))

    @cached_property
    def inclusions(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Every pair S ⊆ A: the number of S, that of A, and the cells of A∖S."""
        inner = np.concatenate([below.ravel() for below in self.below])
        outer = np.repeat(
            np.arange(self.count), np.concatenate([np.full(len(one), one.shape[1]) for one in self.below])
        )
        return inner, outer, self.cells[outer] / self.cells[inner]

    @cached_property
    def seen_in_differences(self) -> NDArray[np.bool_]:
        """(inclusions,): whether the differences of A along its attributes of two values say something of S: there are
        such, and S has all of them."""
        inner, outer, _ = self.inclusions
        return np.asarray((self.twos[outer] > 1) & (self.twos[inner] == self.twos[outer]))


def members(mask: int, width: int) -> list[int]:
    """The places of the bits that are set."""
    return [place for place in range(width) if mask >> place & 1]


def family_of(sizes: Sequence[int], asked: Sequence[Sequence[int]]) -> SetFamily:
    """The family of these marginals, each a rising tuple of attributes, and of all that lies inside them.

    Raises: TooLarge beyond 12 attributes in one marginal.
    """
    widest = max(map(len, asked), default=0)
    if widest > LARGEST_SET or len(sizes) ** widest >= _LONGEST_KEY:
        raise TooLarge(f"a marginal of {widest} attributes out of {len(sizes)} is too wide; at most {LARGEST_SET}")
    levels: list[NDArray[np.int64]] = []
    inside = np.empty((0, widest), dtype=np.int64)
    for width in range(widest, -1, -1):
        own = [one for one in asked if len(one) == width]
        here = np.concatenate([np.array(own, dtype=np.int64).reshape(len(own), width), inside])
        levels.append(_distinct(here, len(sizes)) if width else np.empty((1, 0), dtype=np.int64))
        smaller = [np.delete(levels[-1], place, axis=1) for place in range(width)]
        inside = np.concatenate(smaller) if smaller else inside
    family = SetFamily(np.array(sizes, dtype=np.int64), tuple(reversed(levels)), np.empty(0, dtype=np.int64))
    numbers = np.empty(len(asked), dtype=np.int64)
    for width in range(widest + 1):
        places = [place for place, one in enumerate(asked) if len(one) == width]
        numbers[places] = family.numbers(
            np.array([asked[place] for place in places], np.int64).reshape(len(places), width)
        )
    return SetFamily(family.sizes, family.levels, numbers)


def _distinct(sets: NDArray[np.int64], attributes: int) -> NDArray[np.int64]:
    _, first = np.unique(_keys(sets, attributes), return_index=True)
    return np.asarray(sets[first])


def _keys(sets: NDArray[np.int64], attributes: int) -> NDArray[np.int64]:
    keys = np.zeros(len(sets), dtype=np.int64)
    for column in sets.T:
        keys = keys * attributes + column
    return keys
