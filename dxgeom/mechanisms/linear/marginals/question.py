"""Kernel: what is asked and what is promised, as costs and budgets of the noise in each part of the marginals.

Residuals. Marginals A have parts in common: for each S ⊆ A the residual of S, what the marginal of S tells beyond all
smaller ones. With noise of variance σ_S² in each, the marginals together have the error Σ_S w_S·σ_S²,
w_S = Σ_{A⊇S} u_A·Π_{a∈S}(n_a−1)/Π_{a∈A∖S} n_a, where u_A is what a squared error in A counts.

A record that changes its value of attribute k moves the residual of every S ∋ k by 2·Π_{a∈S∖k}(1−1/n_a) in square, and
two cells of every table A ∋ k by one each; one that comes or goes moves every residual by Π_{a∈S}(1−1/n_a) in square,
and one cell of every table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.marginals.program import Budgets
from dxgeom.mechanisms.linear.marginals.set_family import SetFamily
from dxgeom.numeric.sealed import Closed, cached_property

if TYPE_CHECKING:
    from scipy import sparse


@final
@dataclass(frozen=True, eq=False)
class MarginalQuestion(Closed):
    """Marginals under a constant for each attribute.

    ``constants`` (d,): the distance of records that differ in one attribute alone, ∞ where nothing is promised;
    ``presence``: that of a record and none, ∞ where the number of records is public. ``costs`` (asked,): what each
    cell's squared error counts.
    """

    family: SetFamily
    constants: NDArray[np.float64]
    presence: float
    costs: NDArray[np.float64] = field(repr=False)

    @classmethod
    def under(
        cls,
        family: SetFamily,
        constants: Sequence[Fraction | None],
        presence: Fraction | None,
        costs: NDArray[np.float64],
    ) -> MarginalQuestion:
        """Under constants as a ``Promise`` has them, None for no promise."""
        each = np.array([math.inf if one is None else float(one) for one in constants])
        return cls(family, each, math.inf if presence is None else float(presence), costs)

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
        """(sets,): whether a record can move the residual of the set, and the table of it, at a finite distance."""
        if np.isfinite(self.presence):
            return np.ones(self.family.count, dtype=bool)
        finite = np.isfinite(self.constants)
        return np.concatenate([finite[level].any(axis=1) for level in self.family.levels])

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(sets,): w."""
        return self.weights_for(self.costs)

    def weights_for(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """w at other costs (asked,)."""
        inner, outer, spread = self.family.inclusions
        each = np.zeros(self.family.count)
        each[self.family.asked] = costs
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
