"""K-norm noise of a polytope, drawn without rejection from the cones over its facets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.polytope import SymmetricPolytope
from dxgeom.noise.law import NoiseLaw, mean_sizes
from dxgeom.noise.rounding import (
    FLOAT_ERROR,
    WORD,
    Evaluation,
    IdealDraws,
    LazyUniform,
    exponential_sums,
    exponentials,
    legible,
    stretched,
)
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property

_ENTRIES_AT_ONCE = 1 << 17


@final
@dataclass(frozen=True, eq=False)
class FacetConeNoise(NoiseLaw):
    """Density ∝ exp(−‖v‖_K): choose a simplex by volume, then V = Σ_i E_i·v_i over its vertices.

    On the cone over a simplex the gauge of Σ E_i v_i is Σ E_i, so with iid standard exponentials the density there is
    exp(−gauge)/|det|, and choosing simplices by |det| makes it one density everywhere.
    The choice compares a lazily read uniform with exact integer volumes.

    Source: theory of K-norm mechanisms (Hardt & Talwar 2010); the cone decomposition replaces rejection from a box.
    """

    body: SymmetricPolytope

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> FacetConeNoise | None:
        return None if body.polytope is None else cls(body.polytope)

    @property
    def facets(self) -> int:
        return self.body.facets

    @property
    def amplitude(self) -> float:
        return float(np.abs(self._vertices).max()) * self.dimension * self.body.inflation

    def mean_sizes_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """On each cone a·V is a signed sum of exponentials."""
        found = []
        for row in rows:
            shares = self._vertices @ row * self.body.inflation
            each = mean_sizes(np.maximum(shares, 0.0), np.maximum(-shares, 0.0))
            found.append(float(self.body.shares @ each))
        return np.array(found)

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        simplex = np.searchsorted(np.cumsum(self.body.shares)[:-1], generator.random(count), side="right")
        sizes = generator.standard_exponential((count, self.dimension))
        return np.asarray(_combine(self._vertices, simplex, sizes) * self.body.inflation)

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        size = self.dimension
        choice = randomness.words(count)
        words = randomness.words(count * size).reshape(count, size)
        simplex = np.searchsorted(self._thresholds, choice, side="right")
        last = np.append(self._thresholds, np.uint64(0))[simplex - 1]
        for row in np.flatnonzero((last == choice) & (simplex > 0)):
            simplex[row] = self._choose(LazyUniform(int(choice[row])), randomness)
        sizes = exponentials(words)
        inflation = self.body.inflation
        values = _combine(self._vertices, simplex, sizes) * inflation
        errors = _combine(np.abs(self._vertices), simplex, 1 + sizes) * (inflation * FLOAT_ERROR)

        def evaluation(row: int) -> Evaluation:
            return stretched(exponential_sums(self._vertices[simplex[row]].T.tolist()), Fraction(inflation))

        return IdealDraws(values, errors, legible(words), words, evaluation)

    def _choose(self, uniform: LazyUniform, randomness: Randomness) -> int:
        """The simplex f with cumulative[f−1] ≤ U·total < cumulative[f], reading bits until it is certain."""
        cumulative = self._cumulative
        while True:
            # U·2^bits lies in [prefix, prefix + 1); the upper end itself is not reached.
            low = bisect_right(cumulative, uniform.prefix * cumulative[-1] >> uniform.bits)
            high = bisect_left(cumulative, -(-(uniform.prefix + 1) * cumulative[-1] >> uniform.bits))
            if low == high:
                return low
            uniform.refine(randomness)

    @cached_property
    def _vertices(self) -> NDArray[np.float64]:
        """(F, m, m): the vertices of each simplex, exact; the body's inflation is left to the factor."""
        return self.body.fan.vertices[self.body.fan.simplices] * self.body.units

    @cached_property
    def _cumulative(self) -> tuple[int, ...]:
        return tuple(accumulate(int(volume) for volume in self.body.fan.volumes))

    @cached_property
    def _thresholds(self) -> NDArray[np.uint64]:
        """⌊2⁶⁴·cumulative/total⌋ but for the last: a word equal to one of them does not yet tell the simplex."""
        total = self._cumulative[-1]
        return np.array([(end << WORD) // total for end in self._cumulative[:-1]], dtype=np.uint64)


def _combine(
    vertices: NDArray[np.float64], simplex: NDArray[np.int64], sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Σ_i sizes[b, i]·vertices[simplex[b], i, :], added in that order, of so many draws as a processor keeps near."""
    total = np.empty((len(sizes), vertices.shape[2]))
    step = max(1, _ENTRIES_AT_ONCE // vertices[0].size)
    for start in range(0, len(sizes), step):
        draws = slice(start, start + step)
        np.einsum("bi,bik->bk", sizes[draws], vertices[simplex[draws]], out=total[draws])
    return total
