"""Matrices of which most entries are zero, by SciPy.

Kernel: SciPy's sparse matrices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.rounding import quotient_round_up


@final
@dataclass(frozen=True, eq=False)
class SparseRows:
    """A matrix of integers below 2⁵³ in magnitude, kept as float64, without its zeros."""

    matrix: Any = field(repr=False)

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    @property
    def entries(self) -> int:
        """How many are not zero."""
        return int(self.matrix.nnz)

    def times(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """The product with a vector; a row with n entries costs n products and n − 1 additions, each rounded."""
        return np.asarray(self.matrix @ vector)

    def rows(self, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Some of the rows, dense."""
        return np.asarray(self.matrix[which].toarray())

    def largest_quotients(self, divisors: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each column the largest entry over its row's divisor, *rounded up*; the entries must not be negative."""
        largest = np.zeros(self.matrix.shape[1])
        by_row = np.repeat(divisors, np.diff(self.matrix.indptr))
        np.maximum.at(largest, self.matrix.indices, quotient_round_up(self.matrix.data, by_row))
        return largest

    def with_columns_times(self, factors: NDArray[np.float64]) -> SparseRows:
        """Every column times its factor; exact while the products stay below 2⁵³."""
        return SparseRows(type(self.matrix)(self.matrix * factors[None, :]))


def sparse_rows(matrix: NDArray[np.int64]) -> SparseRows:
    """A dense matrix of integers below 2⁵³ in magnitude."""
    from scipy.sparse import csr_array  # only workloads too large to be listed need it, and it loads slowly

    places = np.nonzero(matrix)
    return SparseRows(csr_array((matrix[places].astype(np.float64), places), shape=matrix.shape))


def change_sizes(rows: SparseRows, pairs: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> SparseRows:
    """|rows[first] − rows[second]| for blocks of pairs, one below the other; exact for integers below 2⁵²."""
    from scipy.sparse import vstack

    blocks = []
    for first, second in pairs:
        changed = abs(rows.matrix[first] - rows.matrix[second])
        changed.eliminate_zeros()
        blocks.append(changed)
    return SparseRows(vstack(blocks, format="csr"))
