"""Normal noise on the cells of a table, of which only what differences along every axis tell is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.noise.gaussian import GaussianNoise, NormalsOfTables, exact_normals, normals, words_of_normals
from dxgeom.noise.rounding import Evaluation, IdealDraws
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import freeze_arrays


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
