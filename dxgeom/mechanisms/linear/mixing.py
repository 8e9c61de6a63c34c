"""How the coordinates of the noise reach the answers: one for each, or whole multiples of many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.measured import MeasuredNumbers
from dxgeom.numeric.sealed import Closed, cached_property, canonical_digest, frozen_integers


def are_exact(numbers: Iterable[object]) -> bool:
    """Whether these are Python's integers, or Fractions, and nothing that only looks like it."""
    return {*map(type, numbers)} <= {int, Fraction}


@final
@dataclass(frozen=True, eq=False)
class DiagonalMixing(Closed):
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


@final
@dataclass(frozen=True, eq=False)
class IntegerMixing(Closed):
    """Answer k takes Σ_j numerators[k, j]·z_j/divisors[k] steps of the noise z in what is measured.

    ``numerators`` (K, m) int64; ``divisors`` (K,) positive. ``measured``: the numbers that have the noise, with its
    proof.
    The same as a matrix of rationals, for answers by the hundred that follow from noise by the hundred.
    """

    numerators: NDArray[np.int64] = field(repr=False)
    divisors: tuple[Fraction, ...] = field(repr=False)
    measured: MeasuredNumbers = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numerators", frozen_integers(self.numerators))
        formed = self.numerators.ndim == 2 and len(self.divisors) == len(self.numerators)
        if not (formed and are_exact(self.divisors) and all(divisor > 0 for divisor in self.divisors)):
            raise CertificateRefused(
                "answers take whole multiples of noise over positive whole numbers or Fractions, one each"
            )
        object.__setattr__(self, "divisors", tuple(map(Fraction, self.divisors)))

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
        largest = max(map(abs, noise), default=0) * max(self.row_sums, default=0)
        kind: Any = np.int64 if largest < 2**63 else object
        sums = self.numerators.astype(kind) @ np.array(list(noise), dtype=kind)
        return [int(total) / divisor for total, divisor in zip(sums.tolist(), self.divisors, strict=True)]

    @cached_property
    def row_sums(self) -> tuple[int, ...]:
        """(K,): Σ_j |numerators[k, j]|, whatever their size."""
        sizes = np.abs(self.numerators).view(np.uint64)  # of int64's smallest number, too
        halves = (sizes >> 32).sum(axis=1).tolist(), (sizes & 0xFFFFFFFF).sum(axis=1).tolist()
        return tuple((high << 32) + low for high, low in zip(*halves, strict=True))

    @property
    def reach(self) -> Iterator[tuple[int, int]]:
        """(K,): Σ_j |entry_kj| times a common denominator of row k, and that denominator."""
        for total, divisor in zip(self.row_sums, self.divisors, strict=True):
            yield total * divisor.denominator, divisor.numerator
