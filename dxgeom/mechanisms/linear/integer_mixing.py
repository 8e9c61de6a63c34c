"""How noise reaches answers that take whole multiples of its coordinates, over a divisor of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.canonical_digest import canonical_digest


@final
@dataclass(frozen=True, eq=False)
class IntegerMixing:
    """Answer k takes Σ_j numerators[k, j]·z_j/divisors[k] steps.

    ``numerators`` (K, m) int64; ``divisors`` (K,) positive.
    The same as a matrix of rationals, for answers by the hundred that follow from noise by the hundred. ``scales``: of
    the noise in each part of the tables of counts that it puts together, in counts, from which all of it can be made
    again; ``bases``: of each attribute, where noise is along such; ``trees``: of each, where noise is in boxes, into
    how many each level of its tree splits, none for a line.
    """

    numerators: NDArray[np.int64] = field(repr=False)
    divisors: tuple[Fraction, ...] = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)
    bases: tuple[NDArray[np.float64] | None, ...] = field(default=(), repr=False)
    trees: tuple[tuple[int, ...], ...] = field(default=(), repr=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what every answer takes."""
        return canonical_digest("whole multiples", self.numerators, self.divisors)

    @property
    def matrix(self) -> NDArray[Any]:
        """The same laid out, (K, m) rationals."""
        laid_out = np.empty(self.numerators.shape, dtype=object)
        for row, divisor in enumerate(self.divisors):
            laid_out[row] = [entry / divisor for entry in self.numerators[row].tolist()]
        return laid_out

    @cached_property
    def floats(self) -> NDArray[np.float64]:
        """(K, m): the same in float64."""
        return np.asarray(self.numerators / np.array([float(divisor) for divisor in self.divisors])[:, None])

    def noise_of_each(self, noise: Sequence[int]) -> list[Fraction]:
        """The noise that each answer gets, exactly."""
        largest = max(map(abs, noise), default=0) * int(np.abs(self.numerators).sum(axis=1).max(initial=0))
        kind: Any = np.int64 if largest < 2**63 else object
        sums = self.numerators.astype(kind) @ np.array(list(noise), dtype=kind)
        return [int(total) / divisor for total, divisor in zip(sums.tolist(), self.divisors, strict=True)]

    @property
    def reach(self) -> Iterator[tuple[int, int]]:
        """(K,): Σ_j |entry_kj| times a common denominator of row k, and that denominator."""
        sums = np.abs(self.numerators).sum(axis=1).tolist()
        for total, divisor in zip(sums, self.divisors, strict=True):
            yield total * divisor.denominator, divisor.numerator
