"""Polynomials over the unit box with exact coefficients: evaluation in float64, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.sealed import Sealed, cached_property


@final
@dataclass(frozen=True, eq=False)
class BoxPolynomials(Sealed):
    """R polynomials on [0, 1]ᵖ without constant term: row r is Σ_k coefficients[r, k]·Π_j z_j^exponents[k, j].

    ``exponents`` (M, p): int64, distinct rows, none of them zero; ``coefficients`` (R, M): Python integers.
    """

    exponents: NDArray[np.int64]
    coefficients: NDArray[Any]

    @property
    def variables(self) -> int:
        """The number p of variables."""
        return int(self.exponents.shape[1])

    @property
    def degree(self) -> int:
        """The largest total degree of a monomial."""
        return int(self.exponents.sum(axis=1).max())

    @cached_property
    def float_coefficients(self) -> NDArray[np.float64]:
        """The coefficients, correctly rounded."""
        return self.coefficients.astype(np.float64)

    def values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, R) at points (B, p), up to the rounding of float64."""
        return np.asarray(monomials(self.exponents, points) @ self.float_coefficients.T)

    def combined(self, weights: NDArray[Any]) -> BoxPolynomials:
        """Rows Σ_r weights[f, r]·(row r), for integer weights (F, R)."""
        return BoxPolynomials(self.exponents, weights.astype(object) @ self.coefficients)

    def by_variables(self) -> list[tuple[list[int], BoxPolynomials]]:
        """The rows in groups that use the same variables, each without the others; and which rows each holds.

        Rows that are zero are in no group.
        """
        used = (self.coefficients != 0) @ (self.exponents > 0)
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, flags in enumerate(used.astype(bool)):
            groups.setdefault(tuple(np.flatnonzero(flags).tolist()), []).append(row)
        found = []
        groups.pop((), None)
        for variables, rows in groups.items():
            kept = np.any(self.coefficients[rows] != 0, axis=0)
            exponents = self.exponents[kept][:, list(variables)]
            found.append((rows, BoxPolynomials(exponents, self.coefficients[np.ix_(rows, kept)])))
        return found


def monomials(exponents: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(B, M): each monomial at each point (B, p)."""
    return np.asarray(np.prod(points[:, None, :] ** exponents[None, :, :], axis=2))
