"""Kernel: normal noise in running totals, through any lower triangular matrix; what it hides by SciPy's solver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.round_bodies import Ellipsoid, lengths_rounded_up
from dxgeom.noise.gaussian import GaussianNoise, NormalsOfTables, normals, words_of_normals
from dxgeom.noise.rounding import IdealDraws
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, seal

LAID_OUT: Final = 4096
"""Totals: of more the matrix is not laid out."""
_UNIT: Final = 2.0**-53
_TINY: Final = 2.0**-900
"""More than what underflow can take from a sum."""
_COLUMNS: Final = 256


class TotalsPreimages(NamedTuple):
    """``near`` (n, n): column t is nearly L⁻¹·q_t, q_t = (0, …, 0, 1, …, 1) with n − t ones; ``off`` (n,): what each
    column is off by at most, as a length."""

    near: NDArray[np.float64]
    off: NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class TriangularNormals(NormalsOfTables):
    """V = L·N, N standard normal in ℝⁿ, L lower triangular: covariance L·Lᵀ.

    ``factor`` (n, n): L, the very numbers that are drawn with. A shift w is hidden as ‖L⁻¹·w‖₂, in the concentrated
    sense.

    Guarantee: ``draw`` rounds the ideal numbers *exactly*; what float64 leaves open is found in balls. Lengths are
    *rounded up*: a solution in float64 is held against L, and what is left of it is part of the length.
    Source: Bun & Steinke 2016, Lemma 2.4; Higham 2002, (3.13), for products in whatever order they add up.
    """

    factor: NDArray[np.float64]

    def __post_init__(self) -> None:
        if isinstance(self.factor, np.ndarray) and self.factor.shape[:1] > (LAID_OUT,):
            raise TooLarge(f"the matrix of over {LAID_OUT:,} running totals is not laid out")
        seal(self)
        own = self.factor
        formed = own.dtype == np.float64 and own.ndim == 2 and own.shape[0] == own.shape[1] and own.shape[0] > 0
        if not (formed and bool(np.all(np.isfinite(own))) and not np.any(np.triu(own, 1))):
            raise NotANormBall("normal noise in running totals has a lower triangular matrix of finite numbers")
        if not bool(np.all(np.diag(own) > 0)):
            raise NotANormBall("the diagonal of a triangular matrix that noise goes through is positive")

    @property
    def inner(self) -> GaussianNoise:
        return GaussianNoise(Ellipsoid(np.eye(self.dimension)))

    @property
    def dimension(self) -> int:
        return len(self.factor)

    @property
    def map(self) -> NDArray[np.float64]:
        return self.factor

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.asarray(self.factor @ self.factor.T)

    @cached_property
    def _sizes(self) -> NDArray[np.float64]:
        """(n,): Σ_j |L_ij|, *rounded up*."""
        return np.asarray(np.abs(self.factor).sum(axis=1) * (1 + (self.dimension + 2) * 2 * _UNIT))

    @property
    def amplitude(self) -> float:
        """√(2E) ≤ √2·E for exponentials from 1 on."""
        return float(self._sizes.max()) * math.sqrt(2) * (1 + 2.0**-50)

    def variances_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.sum((rows @ self.factor) ** 2, axis=1))

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return np.asarray(generator.standard_normal((count, self.dimension)) @ self.factor.T)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        size = self.dimension
        words = words_of_normals(count, size, randomness)
        found = normals(words, size)
        # n products and n − 1 sums in any order, each off by 2⁻⁵³ relative; doubled.
        most = np.max(found.errors + np.abs(found.values) * ((size + 3) * 2.0**-52), axis=1, keepdims=True)
        errors = most * self._sizes * (1 + 2.0**-20)
        return IdealDraws(found.values @ self.factor.T, errors, found.legible, words, lambda _: self._evaluate)

    @property
    def made_of(self) -> Literal["normal"]:
        return "normal"

    @property
    def dependence(self) -> NDArray[np.bool_]:
        return np.asarray(self.factor != 0)

    def among(self, rows: NDArray[np.int64]) -> TriangularNormals:
        return TriangularNormals(np.ascontiguousarray(self.factor[np.ix_(rows, rows)]))

    def image(self, numbers: Sequence[arb], rows: Sequence[int]) -> list[arb]:
        # Row by row: all numbers at once would take far more room than the matrix.
        return [
            sum((arb(own) * one for own, one in zip(self.factor[row].tolist(), numbers, strict=True) if own), arb(0))
            for row in rows
        ]

    @cached_property
    def preimages(self) -> TotalsPreimages:
        """L⁻¹·q_t for every t, with proof.

        With Y for the solution in float64, M for the matrix of running totals and E = L·Y − M, L⁻¹·M = Y − L⁻¹·E. So a
        column is off by ‖L⁻¹‖·‖E_t‖ at most; and as L⁻¹ = (Y − L⁻¹·E)·M⁻¹, with ‖M⁻¹‖ ≤ 2, ‖L⁻¹‖ is at most
        2·‖Y‖_F/(1 − 2·‖E‖_F). Raises: TooLarge where float64 does not tell it.
        """
        from scipy.linalg import solve_triangular  # slow to load, and most plans have no such noise

        own, size = self.factor, self.dimension
        near, left = np.zeros((size, size)), np.zeros(size)
        for start in range(0, size, _COLUMNS):
            beyond = min(start + _COLUMNS, size)
            ones = np.tri(size - start, beyond - start)
            found = solve_triangular(own[start:, start:], ones, lower=True, check_finite=False)
            # Nothing is above the diagonal but what rounding leaves there.
            found = found * ones
            near[start:, start:beyond] = found
            left[start:beyond] = np.linalg.norm(own[start:, start:] @ found - ones, axis=0)
        if not bool(np.all(np.isfinite(near)) and np.all(np.isfinite(left))):
            raise TooLarge("the inverse of this triangular matrix is lost in rounding")
        up = 1 + (size + 8) * 4 * _UNIT
        columns = np.linalg.norm(near, axis=0) * up
        whole = float(np.linalg.norm(own)) * up
        # Each entry of the product is off by (n + 2)·2⁻⁵³ times the lengths of row and column; the difference again.
        left = (left * up + (size + 4) * 2 * _UNIT * (whole * columns + math.sqrt(size)) + _TINY) * up
        apart = 2 * float(np.linalg.norm(left)) * up
        if not apart < 0.5:
            raise TooLarge("the inverse of this triangular matrix is lost in rounding")
        longest = 2 * float(np.linalg.norm(columns)) * up / (1 - apart) * up
        return TotalsPreimages(near, left * longest * up)

    def loss_upper_bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        near, off = self.preimages
        size = self.dimension
        steps = np.diff(shifts, axis=1, prepend=0.0)
        loose = errors + np.concatenate([np.zeros_like(errors[:, :1]), errors[:, :-1]], axis=1)
        loose = (loose + np.abs(steps) * (2 * _UNIT)) * (1 + 2.0**-40)
        columns = np.linalg.norm(near, axis=0) * (1 + (size + 8) * 4 * _UNIT)
        # What a column is off by, what a difference is, and what the sum of products is.
        each = np.abs(steps) * off + loose * (columns + off) + np.abs(steps) * columns * ((size + 4) * 2 * _UNIT)
        lengths = lengths_rounded_up(steps @ near.T, np.zeros_like(shifts))
        return np.asarray((lengths + each.sum(axis=1) * (1 + (size + 4) * 2 * _UNIT)) * (1 + 2.0**-50))
