"""How the coordinates of the noise reach the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.canonical_digest import canonical_digest


@final
@dataclass(frozen=True, eq=False)
class DiagonalMixing:
    """Every answer with ``noisy`` (K,) set carries a coordinate of its own, in order; the others carry none.

    The same as a matrix of zeros with a one in each noisy row, for workloads of thousands of queries.
    """

    noisy: NDArray[np.bool_]

    @cached_property
    def coordinates(self) -> NDArray[np.int64]:
        """(m,): the answer that carries each coordinate."""
        return np.flatnonzero(self.noisy)

    @property
    def digest(self) -> str:
        """SHA-256 of which answers carry noise."""
        return canonical_digest("a coordinate for each", self.noisy)

    @property
    def matrix(self) -> NDArray[Any]:
        """The same laid out, (K, m) rationals."""
        laid_out = np.full((len(self.noisy), len(self.coordinates)), Fraction(0), dtype=object)
        laid_out[self.coordinates, np.arange(len(self.coordinates))] = Fraction(1)
        return laid_out

    def noise_of_each(self, noise: Sequence[int]) -> list[Fraction]:
        """The noise that each answer gets."""
        reached = [Fraction(0)] * len(self.noisy)
        for answer, drawn in zip(self.coordinates.tolist(), noise, strict=True):
            reached[answer] = Fraction(drawn)
        return reached
