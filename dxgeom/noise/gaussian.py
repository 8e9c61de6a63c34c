"""Standard normal numbers from uniform words, and Gaussian noise of any covariance, for concentrated privacy."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rounding import WORD, IdealDraws, exponentials, sums_of
from dxgeom.numeric.randomness import Randomness

_SMALLEST_EXPONENTIAL = 2.0**-40
_SMALLEST_WORD = 2**30
"""Of a smaller one, which has a chance of 2⁻³⁴, float64 does not bound the logarithm closely."""
_AT_ONCE = 1 << 12


class Normals(NamedTuple):
    """``values`` (B, m); ``errors`` (B, m): bounds on how far each is off, true for rows that are ``legible`` (B,)."""

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    legible: NDArray[np.bool_]


def pairs_for(size: int) -> int:
    """Pairs of normals; of an odd number the last is left."""
    return -(-size // 2)


def words_of_normals(count: int, size: int, randomness: Randomness) -> NDArray[np.uint64]:
    """(count, 2·pairs): words of rows of so many normals, first those of the lengths, then those of the angles."""
    each = 2 * pairs_for(size)
    return randomness.words(count * each).reshape(count, each)


def normals(words: NDArray[np.uint64], size: int) -> Normals:
    """N = √(2E)·cos 2πu and √(2E)·sin 2πu from the rows of ``words`` (B, 2·pairs), E = −log of a uniform.

    Errors. Of a legible word w, one of at least 2³⁰, E is off by at most 1/w + 2⁻⁴⁵ + 2⁻⁴⁸·E: 1/w for the bits not yet
    read, 2⁻⁵³ for the word's own rounding, 2⁻⁴⁸·E for the logarithm. So L = √(2E) is off by √2 times that over √E, and
    its own rounding 2⁻⁵²·L. The angle is off by 2π·(2⁻⁵⁴ + 2⁻⁶⁴ + 2·2⁻⁵³) < 2⁻⁴⁹, with the library's cosine 2⁻⁴⁸.
    Together at most 3/(w·√E) + 2⁻⁴⁴/√E + 2⁻⁴⁶·³·√E; here more than twice that.
    """
    sizes, values = float_normals(words, size)
    roots, first = np.sqrt(np.maximum(sizes, _SMALLEST_EXPONENTIAL)), words[:, : pairs_for(size)]
    unread = 8.0 / np.maximum(first.astype(np.float64), 1.0)
    errors = np.repeat((unread + 2.0**-41) / roots + 2.0**-43 * roots, 2, axis=1)
    tame = np.all((sizes >= _SMALLEST_EXPONENTIAL) & (first >= _SMALLEST_WORD), axis=1)
    return Normals(values, errors[:, :size], tame)


def float_normals(words: NDArray[np.uint64], size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """E (B, pairs) and the values (B, size) alone."""
    pairs = pairs_for(size)
    sizes = exponentials(words[:, :pairs])
    angles = 2 * np.pi * (words[:, pairs:].astype(np.float64) * 2.0**-WORD)
    lengths = np.sqrt(2 * sizes)
    values = np.stack([lengths * np.cos(angles), lengths * np.sin(angles)], axis=2)
    return sizes, values.reshape(len(words), 2 * pairs)[:, :size]


def exact_normals(uniforms: list[arb], size: int) -> list[arb]:
    """The same in ball arithmetic, of a row's uniforms."""
    pairs = pairs_for(size)
    lengths = [(-2 * uniform.log()).sqrt() for uniform in uniforms[:pairs]]
    turns = [2 * arb.pi() * uniform for uniform in uniforms[pairs:]]
    both = zip(lengths, turns, strict=True)
    return [length * part for length, turn in both for part in (turn.cos(), turn.sin())][:size]


class NormalLaw(NoiseLaw, ABC):
    """V is a linear image of normal numbers: it hides shifts in the concentrated sense alone."""

    @property
    def concentrated(self) -> bool:
        return True

    @property
    def normal(self) -> bool:
        return True

    def mean_sizes_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.sqrt(self.variances_along(rows) * (2 / math.pi)))

    def _evaluate(self, uniforms: list[arb]) -> list[arb]:
        """A draw of a law that knows its image, from a row's uniforms."""
        return self.image(exact_normals(uniforms, self.dimension), range(self.dimension))


@final
@dataclass(frozen=True, eq=False)
class GaussianNoise(NormalLaw):
    """V = axes·N, N standard normal in ℝᵐ: covariance Σ = axes·axesᵀ.

    A shift w makes D_α(V + w‖V) = α·‖w‖²/2 for every α > 1, with ‖w‖ = √(wᵀΣ⁻¹w) = ‖axes⁻¹w‖₂ the norm of ``body``,
    the ellipsoid of those axes. The density is not ∝ exp(−‖v‖): odds are not bounded, and this hides shifts in the
    concentrated sense alone.

    Guarantee: ``draw`` rounds the ideal normal numbers *exactly*: whatever float64 leaves open is decided from more
    bits of the same uniforms. ``axes`` is the very matrix that containment is checked with.
    Source: Bun & Steinke 2016, Lemma 2.4; Box & Muller 1958.
    """

    body: Ellipsoid

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return np.asarray(self.body.axes @ self.body.axes.T)

    @property
    def amplitude(self) -> float:
        """√(2E) ≤ √2·E for exponentials from 1 on."""
        return float(np.abs(self.body.axes).sum(axis=1).max()) * math.sqrt(2)

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        found = np.empty((count, self.dimension))
        for start in range(0, count, _AT_ONCE):  # what lies in the cache is drawn and mixed there
            rows = found[start : start + _AT_ONCE]
            np.matmul(generator.standard_normal(rows.shape), self.body.axes.T, out=rows)
        return found

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        size = self.dimension
        words = words_of_normals(count, size, randomness)
        found, lengths = normals(words, size), np.abs(self.body.axes).T
        # m products and m − 1 sums in any order, each off by 2⁻⁵³ relative; doubled, and so is what bounds them.
        rounding = np.abs(found.values) @ lengths * ((size + 3) * 2.0**-52)
        errors = found.errors @ lengths * (1 + (size + 3) * 2.0**-52) + rounding * (1 + 2.0**-20)
        return IdealDraws(found.values @ self.body.axes.T, errors, found.legible, words, lambda _: self._evaluate)

    @property
    def made_of(self) -> Literal["normal"]:
        return "normal"

    @property
    def dependence(self) -> NDArray[np.bool_]:
        return np.asarray(self.body.axes != 0)

    def among(self, rows: NDArray[np.int64]) -> GaussianNoise:
        return GaussianNoise(Ellipsoid(np.ascontiguousarray(self.body.axes[np.ix_(rows, rows)])))

    def image(self, numbers: Sequence[arb], rows: Sequence[int]) -> list[arb]:
        return sums_of([self.body.axes[row].tolist() for row in rows], numbers)


class NormalsOfTables(NormalLaw):
    """The image, under a map, of normal numbers in the cells of a table: known as a projection only, that of a ball."""

    @property
    def body(self) -> None:
        return

    @property
    @abstractmethod
    def inner(self) -> GaussianNoise:
        """The normal numbers in the cells, of which V is the image under ``map``."""

    @property
    @abstractmethod
    def map(self) -> NDArray[np.float64]:
        """(m, cells)."""

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner.projection(onto @ self.map)
