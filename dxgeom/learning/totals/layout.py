"""Where the totals of a regression stand in one matrix, and what is known of the noise on them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray


@final
@dataclass(frozen=True, eq=False)
class TotalsLayout:
    """Σ z·zᵀ over the records, z = (1, features, response), from totals of which each stands in some of its cells.

    ``size``: the length q of z. ``cells`` (m,): for each total, which cells (i, j), i ≤ j, it is. A cell of none is 0
    for every record, but for (0, 0), which is the number of records: public where no total is that.
    """

    size: int
    cells: tuple[tuple[tuple[int, int], ...], ...]

    @cached_property
    def counts_records(self) -> bool:
        """Whether the number of records is one of the totals, and so private."""
        return any((0, 0) in own for own in self.cells)

    @cached_property
    def products(self) -> NDArray[np.int64]:
        """Places of the totals that are products of two different numbers of a record."""
        return np.array([k for k, own in enumerate(self.cells) if any(0 < i < j for i, j in own)], dtype=np.int64)

    def matrices(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """(…, q, q) of totals (…, m)."""
        rows, columns, owners = self._placed
        found = np.zeros((*totals.shape[:-1], self.size, self.size))
        found[..., rows, columns] = found[..., columns, rows] = totals[..., owners]
        return found

    @cached_property
    def _placed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        each = [(i, j, owner) for owner, own in enumerate(self.cells) for i, j in own]
        rows, columns, owners = np.array(each, dtype=np.int64).T
        return rows, columns, owners


class NoisyTotals(Protocol):
    """Totals that were, or will be, released with noise, in units in which every number is within [−1, 1]."""

    @property
    def layout(self) -> TotalsLayout:
        """Where they stand."""

    def covariance(self, spend: Fraction) -> NDArray[np.float64]:
        """(m, m): second moments of their errors, up to the rounding of float64."""

    def simulate(self, count: int, spend: Fraction, generator: np.random.Generator) -> NDArray[np.float64]:
        """(count, m): their errors by the noise's law in float64: for figures, never for release."""
