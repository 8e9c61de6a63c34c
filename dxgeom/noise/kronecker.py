"""Normal noise on a table, turned along each of its axes by a matrix of that axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall
from dxgeom.geometry.inverse import Enclosure, inverse_enclosure
from dxgeom.geometry.round_bodies import Ellipsoid, lengths_rounded_up
from dxgeom.noise.gaussian import GaussianNoise, NormalsOfTables, exact_normals, normals, words_of_normals
from dxgeom.noise.rounding import Evaluation, IdealDraws
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, freeze_arrays, sealed


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
