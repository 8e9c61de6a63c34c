"""Normal noise on the cells of a table, of which only what differences along every axis tell is kept.

Normal noise on a table, turned along each of its axes by a matrix of that axis.

Kernel: normal noise in running totals, through any lower triangular matrix; what it hides by SciPy's solver.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.inverse import Enclosure, inverse_enclosure
from dxgeom.geometry.round_bodies import Ellipsoid, lengths_rounded_up
from dxgeom.noise.gaussian import GaussianNoise, NormalsOfTables, exact_normals, normals, words_of_normals
from dxgeom.noise.rounding import Evaluation, IdealDraws
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, freeze_arrays, seal, sealed

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


@final
@dataclass(frozen=True, eq=False)
class DifferencedNormals(NormalsOfTables):
    """V = scale·(D ⊗ … ⊗ D)·N, N a standard normal number in each cell of a table with these ``sizes``, and D takes
    every line of cells to what its second, third, … entry is above its first.

    V knows of N what no margin of the table knows. A shift w is hidden as ‖w‖ = ‖P(w)‖₂/scale, P(w) the table with
    these differences and all margins zero, in the concentrated sense. Without sizes it is one normal number.

    Guarantee: ``draw`` rounds the ideal numbers *exactly*, as :class:`GaussianNoise` does.
    Source: Xiao et al. 2023, ResidualPlanner, §4; Bun & Steinke 2016, Lemma 2.4.
    """

    scale: float
    sizes: NDArray[np.float64]

    def __post_init__(self) -> None:
        freeze_arrays(self, "sizes")
        whole = self.sizes.ndim == 1 and bool(np.all((self.sizes >= 2) & (self.sizes == np.floor(self.sizes))))
        if not (whole and math.isfinite(self.scale) and self.scale > 0 and self.sizes.prod() < 2.0**31):
            raise NotANormBall("normal noise in a table has a positive scale and whole sizes from 2")

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells along each axis."""
        return tuple(int(size) for size in self.sizes)

    @property
    def dimension(self) -> int:
        return math.prod(size - 1 for size in self.shape)

    @property
    def inner(self) -> GaussianNoise:
        return GaussianNoise(Ellipsoid(self.scale * np.eye(math.prod(self.shape))))

    @property
    def map(self) -> NDArray[np.float64]:
        """(m, cells): D ⊗ … ⊗ D."""
        image: NDArray[np.float64] = np.ones((1, 1))
        for size in self.shape:
            image = np.asarray(np.kron(image, np.hstack([-np.ones((size - 1, 1)), np.eye(size - 1)])), dtype=np.float64)
        return image

    @property
    def second_moment(self) -> NDArray[np.float64]:
        moment = np.full((1, 1), self.scale**2)
        for size in self.shape:
            moment = np.kron(moment, np.eye(size - 1) + np.ones((size - 1, size - 1)))
        return moment

    def variances_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        table = rows.reshape(len(rows), *(size - 1 for size in self.shape))
        for axis in range(1, table.ndim):
            table = np.concatenate([-table.sum(axis=axis, keepdims=True), table], axis=axis)
        return np.asarray(self.scale**2 * (table.reshape(len(rows), -1) ** 2).sum(axis=1))

    @property
    def amplitude(self) -> float:
        """√(2E) ≤ √2·E for exponentials from 1 on, of 2 to the number of axes."""
        return self.scale * 2.0 ** len(self.sizes) * math.sqrt(2)

    def loss_upper_bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """P is a projection of the table with the differences and a first line of zeros along each axis, so errors
        grow by nothing but rounding."""
        table = shifts.reshape(len(shifts), *(size - 1 for size in self.shape))
        for axis in range(1, table.ndim):
            table = np.concatenate([np.zeros_like(np.take(table, [0], axis=axis)), table], axis=axis)
            table = table - table.mean(axis=axis, keepdims=True)
        lengths = np.linalg.norm(table.reshape(len(shifts), -1), axis=1)
        plain = np.linalg.norm(shifts, axis=1)
        slack = (float(self.sizes.sum()) + 2.0 ** len(self.sizes) * self.dimension + 16) * 2.0**-51 * plain
        return np.asarray((lengths + slack + np.linalg.norm(errors, axis=1)) / self.scale * (1 + 2.0**-50))

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        drawn = generator.standard_normal((count, *self.shape))
        return self.scale * _differences(drawn, 1).reshape(count, -1)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        cells = math.prod(self.shape)
        words = words_of_normals(count, cells, randomness)
        found = normals(words, cells)
        values = _differences(found.values.reshape(count, *self.shape), 1).reshape(count, -1)
        sums, errors = (
            _sums(part.reshape(count, *self.shape), 1).reshape(count, -1) for part in (abs(found.values), found.errors)
        )
        # As many roundings as axes, each of at most 2⁻⁵³ of what is added in size; and one of the scale. Doubled.
        errors = (errors * (1 + 2.0**-40) + sums * ((len(self.sizes) + 2) * 2.0**-52)) * self.scale
        return IdealDraws(values * self.scale, errors, found.legible, words, lambda _: self._evaluation())

    def _evaluation(self) -> Evaluation:
        def evaluate(uniforms: list[arb]) -> list[arb]:
            drawn = np.array(exact_normals(uniforms, math.prod(self.shape)), dtype=object).reshape(1, *self.shape)
            return [value * arb(self.scale) for value in _differences(drawn, 1).ravel()]

        return evaluate


def _differences(table: NDArray[Any], first: int) -> NDArray[Any]:
    """Along every axis from ``first`` on, what each entry is above the first one."""
    for axis in range(first, table.ndim):
        rest = np.arange(1, table.shape[axis])
        table = np.take(table, rest, axis=axis) - np.take(table, [0], axis=axis)
    return table


def _sums(table: NDArray[np.float64], first: int) -> NDArray[np.float64]:
    """The same with sums: the bounds of differences, from those of the entries."""
    for axis in range(first, table.ndim):
        rest = np.arange(1, table.shape[axis])
        table = np.take(table, rest, axis=axis) + np.take(table, [0], axis=axis)
    return table


@final
@dataclass(frozen=True, eq=False)
class KroneckerNormals(NormalsOfTables):
    """V = (M₁ ⊗ … ⊗ M_k)·(spreads ∘ N), N a standard normal number in each cell of a table with the maps' columns.

    ``maps``: float64, each square, or of rank as many as its rows; where it is wide, ``spreads`` (k axes) are alike
    along that axis, which then has length 1. A shift w is hidden as ‖w‖ = ‖(M₁⁺ ⊗ … ⊗ M_k⁺)w/spreads‖₂, in the
    concentrated sense. The same as normal noise through the one large matrix, which is never laid out.

    Guarantee: ``draw`` rounds the ideal numbers *exactly*, as :class:`GaussianNoise` does.
    Source: Bun & Steinke 2016, Lemma 2.4.
    """

    spreads: NDArray[np.float64]
    maps: tuple[NDArray[np.float64], ...]

    def __post_init__(self) -> None:
        freeze_arrays(self, "spreads")
        maps = tuple(sealed(np.array(one, dtype=np.float64)) for one in self.maps)
        object.__setattr__(self, "maps", maps)
        proper = np.all(np.isfinite(self.spreads) & (self.spreads > 0)) and self.spreads.ndim == len(maps)
        if not (proper and all(map(_fits, maps, self.spreads.shape)) and math.prod(self.shape) < 2**31):
            raise NotANormBall("normal noise along bases has positive spreads, and a matrix of full rank for each axis")

    @property
    def shape(self) -> tuple[int, ...]:
        """How many normal numbers there are along each axis."""
        return tuple(one.shape[1] for one in self.maps)

    @property
    def dimension(self) -> int:
        return math.prod(len(one) for one in self.maps)

    @property
    def inner(self) -> GaussianNoise:
        return GaussianNoise(Ellipsoid(np.eye(math.prod(self.shape))))

    @property
    def map(self) -> NDArray[np.float64]:
        """(m, cells): the matrices' product, times the spreads."""
        whole: NDArray[np.float64] = np.ones((1, 1))
        for one in self.maps:
            whole = np.asarray(np.kron(whole, one), dtype=np.float64)
        return np.asarray(whole * np.broadcast_to(self.spreads, self.shape).ravel())

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.asarray(self.map @ self.map.T)

    def variances_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        table = rows.reshape(len(rows), *(len(one) for one in self.maps))
        turned = _along([one.T for one in self.maps], table) * self.spreads
        return np.asarray((turned.reshape(len(rows), -1) ** 2).sum(axis=1))

    @property
    def amplitude(self) -> float:
        """√(2E) ≤ √2·E for exponentials from 1 on."""
        widest = np.broadcast_to(self.spreads, self.shape)[None]
        return float(_along([np.abs(one) for one in self.maps], widest).max()) * math.sqrt(2)

    @cached_property
    def _inverses(self) -> list[Enclosure]:
        return [inverse_enclosure(one) for one in self.maps]

    def loss_upper_bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        shape = (len(shifts), *(len(one) for one in self.maps))
        table, off = shifts.reshape(shape), errors.reshape(shape)
        for axis, inverse in enumerate(self._inverses, start=1):
            lines, loose = np.moveaxis(table, axis, -1), np.moveaxis(off, axis, -1)
            values, slack = inverse.images(lines.reshape(-1, lines.shape[-1]), loose.reshape(-1, lines.shape[-1]))
            turned = (*lines.shape[:-1], values.shape[1])
            table = np.moveaxis(values.reshape(turned), -1, axis)
            off = np.moveaxis(slack.reshape(turned), -1, axis)
        lengths = ((np.abs(table) + off) / self.spreads).reshape(len(shifts), -1)
        return lengths_rounded_up(lengths, lengths * 2.0**-50)

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        drawn = generator.standard_normal((count, *self.shape)) * self.spreads
        return _along(self.maps, drawn).reshape(count, -1)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        cells = math.prod(self.shape)
        words = words_of_normals(count, cells, randomness)
        found, shape = normals(words, cells), (count, *self.shape)
        sizes = [np.abs(one) for one in self.maps]
        values = _along(self.maps, found.values.reshape(shape) * self.spreads).reshape(count, -1)
        spread = _along(sizes, np.abs(found.values).reshape(shape) * self.spreads).reshape(count, -1)
        errors = _along(sizes, found.errors.reshape(shape) * self.spreads).reshape(count, -1)
        # A product by a spread, and along each axis products and sums in any order, each off by 2⁻⁵³ relative; doubled.
        roundings = (sum(self.shape) + 2 * len(self.maps) + 4) * 2.0**-52
        errors = errors * (1 + 2.0**-20) + spread * (roundings * (1 + 2.0**-20))
        return IdealDraws(values, errors, found.legible, words, lambda _: self._evaluation())

    def _evaluation(self) -> Evaluation:
        def evaluate(uniforms: list[arb]) -> list[arb]:
            drawn = np.array(exact_normals(uniforms, math.prod(self.shape)), dtype=object).reshape(1, *self.shape)
            balls = [np.array([[arb(entry) for entry in row] for row in one.tolist()]) for one in self.maps]
            spreads = np.array([arb(entry) for entry in self.spreads.ravel().tolist()], dtype=object)
            return list(_along(balls, drawn * spreads.reshape(self.spreads.shape)).ravel())

        return evaluate


def _fits(one: NDArray[np.float64], length: int) -> bool:
    square = one.ndim == 2 and one.shape[0] == one.shape[1] == length
    wide = one.ndim == 2 and 0 < one.shape[0] < one.shape[1] and length == 1
    return bool((square or wide) and np.all(np.isfinite(one)))


def _along(maps: Any, table: NDArray[Any]) -> NDArray[Any]:
    """Every line of a table (count, …) turned by the matrix of its axis."""
    for axis, one in enumerate(maps, start=1):
        table = np.moveaxis(np.moveaxis(table, axis, -1) @ one.T, -1, axis)
    return table
