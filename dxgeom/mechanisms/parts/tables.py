"""Kernel: whole tables as sets of attributes, with every set inside one; costs and budgets in SciPy's matrices.

Residuals. Marginals A have parts in common: for each S ⊆ A the residual of S, what the marginal of S tells beyond all
smaller ones. With noise of variance σ_S² in each, the marginals together have the error Σ_S w_S·σ_S²,
w_S = Σ_{A⊇S} u_A·Π_{a∈S}(n_a−1)/Π_{a∈A∖S} n_a, where u_A is what a squared error in A counts.

A record that changes its value of attribute k moves the residual of every S ∋ k by 2·Π_{a∈S∖k}(1−1/n_a) in square, and
two cells of every table A ∋ k by one each; one that comes or goes moves every residual by Π_{a∈S}(1−1/n_a) in square,
and one cell of every table.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.parts.program import Budgets
from dxgeom.numeric.arrays import FITS
from dxgeom.numeric.sealed import Closed, cached_property

if TYPE_CHECKING:
    from scipy import sparse

LARGEST_SET: Final = 12
"""A marginal of more attributes has 4,096 residuals and more."""


@final
@dataclass(frozen=True, eq=False)
class SetFamily(Closed):
    """A family of sets of attributes that holds every subset of its members, the empty set among them.

    ``sizes`` (d,): how many values each attribute has. ``levels[m]`` (n_m, m): the sets of m attributes, each rising,
    in lexicographic order. Sets are numbered level by level. ``workload_sets``: the numbers of the marginals asked for.
    """

    sizes: NDArray[np.int64]
    levels: tuple[NDArray[np.int64], ...] = field(repr=False)
    workload_sets: NDArray[np.int64] = field(repr=False)

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
        level, place = self.place_of(number)
        return tuple(self.levels[level][place].tolist())

    def place_of(self, number: int) -> tuple[int, int]:
        """The level of a set, and its place there."""
        level = bisect_right(self._starts, number) - 1
        return level, number - self._starts[level]

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(self.starts.tolist())

    def touched(self, finite: NDArray[np.bool_], presence: bool) -> NDArray[np.bool_]:
        """(sets,): whether a record can move the residual of the set, and the table of it, at a finite distance, where
        changes of these attributes (d,) have one, and with ``presence`` one that comes or goes."""
        return np.concatenate([finite[level].any(axis=1) | presence for level in self.levels])

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


def family_of(sizes: Sequence[int], attribute_sets: Sequence[Sequence[int]]) -> SetFamily:
    """The family of these marginals, each a rising tuple of attributes, and of all that lies inside them.

    Raises: TooLarge beyond 12 attributes in one marginal.
    """
    widest = max(map(len, attribute_sets), default=0)
    if widest > LARGEST_SET or len(sizes) ** widest >= FITS:
        raise TooLarge(f"a marginal of {widest} attributes out of {len(sizes)} is too wide; at most {LARGEST_SET}")
    levels: list[NDArray[np.int64]] = []
    inside = np.empty((0, widest), dtype=np.int64)
    for width in range(widest, -1, -1):
        own = [one for one in attribute_sets if len(one) == width]
        here = np.concatenate([np.array(own, dtype=np.int64).reshape(len(own), width), inside])
        levels.append(_distinct(here, len(sizes)) if width else np.empty((1, 0), dtype=np.int64))
        smaller = [np.delete(levels[-1], place, axis=1) for place in range(width)]
        inside = np.concatenate(smaller) if smaller else inside
    family = SetFamily(np.array(sizes, dtype=np.int64), tuple(reversed(levels)), np.empty(0, dtype=np.int64))
    numbers = np.empty(len(attribute_sets), dtype=np.int64)
    for width in range(widest + 1):
        places = [place for place, one in enumerate(attribute_sets) if len(one) == width]
        numbers[places] = family.numbers(
            np.array([attribute_sets[place] for place in places], np.int64).reshape(len(places), width)
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


class CellErrors(NamedTuple):
    """(tables,): the ``mean`` of the variances of a table's cells, and the largest, at spend 1."""

    mean: NDArray[np.float64]
    most: NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class MarginalQuestion(Closed):
    """Marginals under a constant for each attribute.

    ``constants`` (d,): the distance of records that differ in one attribute alone, ∞ where nothing is promised;
    ``presence``: that of a record and none, ∞ where the number of records is public. ``costs`` (asked,): what each
    cell's squared error counts. ``public``: the sets whose residual has no noise, since public numbers tell it.
    """

    family: SetFamily
    constants: NDArray[np.float64]
    presence: float
    costs: NDArray[np.float64] = field(repr=False)
    public: frozenset[int] = frozenset()

    @classmethod
    def under(
        cls,
        family: SetFamily,
        constants: Sequence[Fraction | None],
        presence: Fraction | None,
        costs: NDArray[np.float64],
        public: Iterable[int] = (),
    ) -> MarginalQuestion:
        """Under constants as a ``Promise`` has them, None for no promise."""
        each = np.array([math.inf if one is None else float(one) for one in constants])
        return cls(family, each, math.inf if presence is None else float(presence), costs, frozenset(public))

    @property
    def count(self) -> int:
        """How many sets there are."""
        return self.family.count

    @property
    def cells(self) -> NDArray[np.float64]:
        """(sets,): how many cells the marginal of each has."""
        return self.family.cells

    @cached_property
    def protected(self) -> NDArray[np.bool_]:
        """(sets,): whether noise hides the residual: a record can move it, and it is not public."""
        moved = self.family.touched(np.isfinite(self.constants), bool(np.isfinite(self.presence)))
        moved[[*self.public]] = False
        return moved

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(sets,): w."""
        return self.weights_for(self.costs)

    def weights_for(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """w at other costs (asked,)."""
        inner, outer, spread = self.family.inclusions
        each = np.zeros(self.family.count)
        each[self.family.workload_sets] = costs
        free = self.family.products((self.family.sizes - 1).astype(np.float64))
        return np.asarray(np.bincount(inner, each[outer] / spread, self.family.count) * free, dtype=np.float64)

    @cached_property
    def limited(self) -> NDArray[np.int64]:
        """(k,): the attributes with a budget that some marginal uses; after them presence, as d, where it has one."""
        used = np.unique(np.concatenate([level.ravel() for level in self.family.levels]))
        absent = [self._absent] if np.isfinite(self.presence) else []
        return np.array([*used[np.isfinite(self.constants[used])], *absent], dtype=np.int64)

    @property
    def _absent(self) -> int:
        return len(self.constants)

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """(k,): of the budgets in ``limited``."""
        return np.append(self.constants, self.presence)[self.limited]

    @cached_property
    def gaussian_budgets(self) -> Budgets:
        """Of rates 1/σ_S², for the protected sets."""
        return Budgets(self._shares(2.0, 1 - 1 / self.family.sizes), self.distances**2)

    @cached_property
    def measurable(self) -> NDArray[np.int64]:
        """(tables,): the protected tables, each as it is, by the number of its set; and each with attributes of two
        values as the differences of these, by the same number beyond all sets.

        A record that changes its value moves such a difference by two, as it moves two cells by one; and comes or goes
        by one. A difference says nothing of what the two add up to, but is twice as exact as that of two noisy cells.
        """
        differing = self.protected & (self.family.twos > 1)
        return np.concatenate([np.flatnonzero(self.protected), np.flatnonzero(differing) + self.family.count])

    @cached_property
    def measurements(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Every protected residual S that a table in ``measurable`` says something of: the number of S, that of the
        table, and how many times the variance of its noise the residual has then."""
        inner, outer, spread = self.family.inclusions
        twos, both = self.family.twos, self.protected[inner] & self.protected[outer]
        differing = both & self.family.seen_in_differences
        return (
            np.concatenate([inner[both], inner[differing]]),
            np.concatenate([outer[both], outer[differing] + self.family.count]),
            np.concatenate([spread[both], spread[differing] / twos[outer[differing]]]),
        )

    @cached_property
    def laplace_budgets(self) -> Budgets:
        """Of rates 1/b of the noise in the ``measurable`` tables."""
        place = np.cumsum(self.protected) - 1
        shares = self._shares(2.0, np.ones(len(self.family.sizes)))
        return Budgets(shares[place[self.measurable % self.family.count]], self.distances)

    def _shares(self, change: float, factors: NDArray[np.float64]) -> sparse.csr_matrix:
        """(protected, k): ``change`` times the factors of the others, for each member; their product for presence."""
        from scipy import sparse  # not before tables are asked for: most plans have none

        whole = self.family.products(factors)
        rows, columns, entries = [np.arange(self.family.count)], [np.full(self.family.count, self._absent)], [whole]
        for start, level in zip(self.family.starts, self.family.levels, strict=False):
            for place in range(level.shape[1]):
                rows.append(np.arange(start, start + len(level)))
                columns.append(level[:, place])
                entries.append(change * whole[rows[-1]] / factors[level[:, place]])
        shape = (self.family.count, self._absent + 1)
        shares = sparse.csr_matrix((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape)
        return shares[self.protected][:, self.limited].tocsr()
