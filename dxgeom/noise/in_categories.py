"""Normal noise in the running totals of several categories: alike in all of them, with a part that they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.noise.gaussian import GaussianNoise, NormalsOfTables, normals, words_of_normals
from dxgeom.noise.rounding import IdealDraws
from dxgeom.noise.triangular import TriangularNormals
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, seal

MOST_NUMBERS: Final = 1 << 20
"""Totals of all categories together."""
_LAID_OUT: Final = 1 << 13
_EXACT: Final = 2.0**52
_UNIT: Final = 2.0**-53


@final
@dataclass(frozen=True, eq=False)
class CategoryNormals(NormalsOfTables):
    """V_c = D·N_c + E·Σ N for each category c, N standard normal: covariance I ⊗ D·Dᵀ but along the mean of all
    categories, J/K ⊗ (D + K·E)·(D + K·E)ᵀ there.

    ``own``, ``shared`` (n, n): D and E, lower triangular, the very numbers that are drawn with. ``shape``: categories
    whose numbers stand before a total's, n, and those within it: V is in the order of such a table.
    A shift w is hidden as √(Σ_c‖D⁻¹·(w_c − w̄)‖² + K·‖(D + K·E)⁻¹·w̄‖²), w̄ the mean of categories, in the concentrated
    sense.

    Guarantee: ``draw`` rounds the ideal numbers *exactly*; what float64 leaves open is found in balls. D + K·E is
    exact: all entries are whole multiples of one power of two, and below 2⁵² of these. Lengths are *rounded up*.
    Source: Bun & Steinke 2016, Lemma 2.4; Higham 2002, (3.13).
    """

    own: NDArray[np.float64]
    shared: NDArray[np.float64]
    shape: tuple[int, int, int]

    def __post_init__(self) -> None:
        seal(self)
        size, formed = len(self.own), self.own.shape == self.shared.shape == (len(self.own),) * 2
        proper = formed and self.own.dtype == self.shared.dtype == np.float64
        proper = proper and bool(np.all(np.isfinite(self.shared))) and not np.any(np.triu(self.shared, 1))
        kinds = {*map(type, self.shape)} == {int} and len(self.shape) == 3 and min(self.shape) > 0
        if not (proper and kinds and self.shape[1] == size):
            raise NotANormBall(
                "noise in categories has two triangular matrices of one size, and a place for each total"
            )
        if self.dimension > MOST_NUMBERS:
            raise TooLarge(
                f"noise in categories is in at most {MOST_NUMBERS:,} totals, and here are {self.dimension:,}"
            )
        unit = min(_finest(self.own), _finest(self.shared))
        largest = np.abs(self.own).max(initial=0.0) + self.categories * np.abs(self.shared).max(initial=0.0)
        if not largest < _EXACT * unit:
            raise NotANormBall("what categories share is not added to what each has without rounding")
        _ = self.of_differences, self.of_mean

    @property
    def categories(self) -> int:
        """K."""
        return self.shape[0] * self.shape[2]

    @cached_property
    def of_differences(self) -> TriangularNormals:
        """Of differences of categories: through D."""
        return TriangularNormals(self.own)

    @cached_property
    def of_mean(self) -> TriangularNormals:
        """Of the mean, times √K: through D + K·E."""
        return (
            self.of_differences
            if not np.any(self.shared)
            else TriangularNormals(self.own + self.categories * self.shared)
        )

    @property
    def inner(self) -> GaussianNoise:
        self._require_laid_out()
        return GaussianNoise(Ellipsoid(np.eye(self.dimension)))

    @property
    def dimension(self) -> int:
        return self.categories * len(self.own)

    @property
    def map(self) -> NDArray[np.float64]:
        self._require_laid_out()
        before, _, within = self.shape
        alike = np.eye(before * within).reshape(before, within, before, within)
        found = np.einsum("iajb,ts->itajsb", alike, self.own) + self.shared[None, :, None, None, :, None]
        return np.asarray(found.reshape(self.dimension, self.dimension))

    @property
    def second_moment(self) -> NDArray[np.float64]:
        laid_out = self.map
        return np.asarray(laid_out @ laid_out.T)

    def _require_laid_out(self) -> None:
        if self.dimension > _LAID_OUT:
            raise TooLarge(f"the matrix of {self.dimension:,} totals of categories is not laid out")

    def _by_category(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """(count, K, n) of (count, K·n)."""
        before, size, within = self.shape
        split = numbers.reshape(len(numbers), before, size, within)
        return np.ascontiguousarray(split.swapaxes(2, 3)).reshape(len(numbers), self.categories, size)

    def _in_order(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same back."""
        before, size, within = self.shape
        return np.asarray(table.reshape(len(table), before, within, size).swapaxes(2, 3).reshape(len(table), -1))

    def _mapped(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        split = self._by_category(numbers)
        return self._in_order(split @ self.own.T + (split.sum(axis=1) @ self.shared.T)[:, None, :])

    @cached_property
    def _sizes(self) -> NDArray[np.float64]:
        """(n,): sums of sizes in a row, *rounded up*."""
        whole = np.abs(self.own).sum(axis=1) + self.categories * np.abs(self.shared).sum(axis=1)
        return np.asarray(whole * (1 + (len(self.own) + 8) * 2 * _UNIT))

    @property
    def amplitude(self) -> float:
        """√(2E) ≤ √2·E for exponentials from 1 on."""
        return float(self._sizes.max()) * math.sqrt(2) * (1 + 2.0**-50)

    def variances_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        split = self._by_category(rows)
        taken = split @ self.own + (split.sum(axis=1) @ self.shared)[:, None, :]
        return np.asarray(np.einsum("kct,kct->k", taken, taken))

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return self._mapped(generator.standard_normal((count, self.dimension)))

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        size = self.dimension
        words = words_of_normals(count, size, randomness)
        found = normals(words, size)
        # K − 1 sums, n products and n sums in any order, each off by 2⁻⁵³ relative; doubled.
        rounded = np.abs(found.values) * ((len(self.own) + self.categories + 8) * 2.0**-52)
        most = np.max(found.errors + rounded, axis=1, keepdims=True) * (1 + 2.0**-20)
        before, _, within = self.shape
        sizes = np.broadcast_to(self._sizes[None, :, None], (before, len(self._sizes), within)).reshape(-1)
        values = self._mapped(found.values)
        return IdealDraws(values, most * sizes, found.legible, words, lambda _: self._evaluate)

    @property
    def made_of(self) -> Literal["normal"]:
        return "normal"

    @property
    def dependence(self) -> NDArray[np.bool_]:
        return np.asarray(self.map != 0)

    def fresh_in_turn(self, turns: Sequence[NDArray[np.int64]]) -> bool:
        # Totals of one place depend on that place's numbers of all categories through D_tt·I + E_tt·J, which is of full
        # rank, and beside these on numbers of earlier places alone.
        _, size, within = self.shape
        places = [np.unique(turn // within % size) for turn in turns]
        return all(len(one) == 1 for one in places) and bool(np.all(np.diff(places, axis=0) > 0))

    def image(self, numbers: Sequence[arb], rows: Sequence[int]) -> list[arb]:
        before, size, within = self.shape
        together: dict[int, arb] = {}

        def sums_at(place: int) -> arb:
            """Of the numbers of all categories there."""
            if place not in together:
                each = ((i * size + place) * within + j for i in range(before) for j in range(within))
                together[place] = sum((numbers[one] for one in each), arb(0))
            return together[place]

        shared: dict[int, arb] = {}
        found = []
        for row in rows:
            outer, inner = divmod(row, within)
            first, place = divmod(outer, size)
            if place not in shared:
                known = enumerate(self.shared[place].tolist())
                shared[place] = sum((arb(one) * sums_at(at) for at, one in known if one), arb(0))
            known = enumerate(self.own[place].tolist())
            own = (arb(one) * numbers[(first * size + at) * within + inner] for at, one in known if one)
            found.append(sum(own, shared[place]))
        return found

    def loss_upper_bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        split, loose = self._by_category(shifts), self._by_category(errors)
        count = self.categories
        off = (count + 4) * 2 * _UNIT
        total, most = split.sum(axis=1), np.abs(split).sum(axis=1)
        around = loose.sum(axis=1) * (1 + off) + most * off
        apart = split - total[:, None] / count
        aside = loose + (around[:, None] / count + (np.abs(split) + most[:, None] / count) * (8 * _UNIT)) * (1 + off)
        along = self.of_mean.loss_upper_bounds(total, around) / math.sqrt(count)
        each = self.of_differences.loss_upper_bounds(apart.reshape(-1, len(self.own)), aside.reshape(-1, len(self.own)))
        squares = along**2 + np.sum(each.reshape(len(shifts), count) ** 2, axis=1)
        return np.asarray(np.sqrt(squares) * (1 + (count + 8) * 4 * _UNIT))


def _finest(numbers: NDArray[np.float64]) -> float:
    """A power of two that all of them are whole multiples of; infinite where all are 0."""
    mantissas, exponents = np.frexp(numbers[numbers != 0])
    if not len(mantissas):
        return math.inf
    whole = np.abs(mantissas * 2.0**53).astype(np.int64)
    lowest = np.log2((whole & -whole).astype(np.float64))
    return float(2.0 ** (exponents + lowest - 53).min())
