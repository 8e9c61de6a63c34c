"""How noise reaches the answers, and what it is added to where that is not the answers themselves.

A coordinate of the noise reaches one answer, or whole multiples of many reach each. Noise that is not added to the
answers themselves is added to counts of records, block by block.

A block is a table of numbers, a product over some attributes of the way in which each of them is summed up. Every entry
of what a record adds to it is -1, 0 or 1, unless sums are weighted.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.law import NoiseLaw
from dxgeom.numeric.arrays import distinct_rows
from dxgeom.numeric.sealed import Closed, cached_property, canonical_digest, frozen_integers

_EXACT_IN_FLOATS: Final = 2.0**52
"""Whole numbers whose sums, all on the way among them, stay below this are exact in float64, which multiplies fast."""
STEPS_PER_SCALE: Final = 64
"""A step of the lattice is at most this part of the narrowest noise in a part, which costs below 0.003 % of it."""


class Summing(Closed):
    """How the values of an attribute are summed up: integers F (numbers, values)."""

    @property
    def largest(self) -> int:
        """No entry of F is larger in absolute value."""
        return 1

    def alike(self, values: int) -> NDArray[np.int64]:
        """(values,): of which kind each of the attribute's values is; columns of F are equal within one."""
        return np.arange(values)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """So many groups of numbers, and so many in each."""

    @abstractmethod
    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """(k, len(values)): ``shares`` (k, *shape) times the columns of F of these values; *exact* while the
        absolute values of a row of ``shares``, times :attr:`largest`, add up to what fits its type."""

    @abstractmethod
    def summed(self, counts: NDArray[Any]) -> NDArray[Any]:
        """(…, numbers): F times ``counts`` (…, values) of records; *exact*, no number is larger than their sum times
        :attr:`largest`."""


@final
@dataclass(frozen=True)
class Classes(Summing):
    """How many records are in each class: so many, of ``width`` values that follow each other."""

    count: int
    width: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.count, 1

    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(shares[:, values // self.width, 0])

    def summed(self, counts: NDArray[Any]) -> NDArray[Any]:
        if self.width == 1 and self.count == counts.shape[-1]:
            return counts
        nobody = np.zeros((*counts.shape[:-1], self.count * self.width - counts.shape[-1]), dtype=counts.dtype)
        split = np.concatenate([counts, nobody], axis=-1).reshape(*counts.shape[:-1], self.count, self.width)
        return np.asarray(split.sum(axis=-1))


@final
@dataclass(frozen=True)
class FirstLessSecond(Summing):
    """How many more records have the first of two values than the second."""

    @property
    def shape(self) -> tuple[int, int]:
        return 1, 1

    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(shares[:, 0, :] * np.where(values == 0, 1, -1))

    def summed(self, counts: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(counts[..., :1] - counts[..., 1:])


@final
@dataclass(frozen=True)
class Siblings(Summing):
    """Classes of ``width`` values, a group of ``radix`` after the other: how many more records are in each class than
    in the first of its group."""

    groups: int
    radix: int
    width: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.groups, self.radix - 1

    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        of_each = np.concatenate([-shares.sum(axis=2, keepdims=True), shares], axis=2)
        return np.asarray(of_each.reshape(len(shares), -1)[:, values // self.width])

    def summed(self, counts: NDArray[Any]) -> NDArray[Any]:
        classes = Classes(self.groups * self.radix, self.width).summed(counts)
        split = classes.reshape(*counts.shape[:-1], self.groups, self.radix)
        return np.asarray((split[..., 1:] - split[..., :1]).reshape(*counts.shape[:-1], -1))


@final
@dataclass(frozen=True)
class Cuts(Summing):
    """How many records lie below each cut between so many values on a line, up to half of them; above it, beyond."""

    size: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.size - 1, 1

    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        half, nothing = self.size // 2, np.zeros_like(shares[:, :1, 0])
        below, above = shares[:, :half, 0], shares[:, half:, 0]
        # Value u is below the cuts u + 1, u + 2, … and not below 1, …, u.
        first = np.concatenate([np.cumsum(below[:, ::-1], axis=1)[:, ::-1], nothing], axis=1)
        second = np.concatenate([nothing, np.cumsum(above, axis=1)], axis=1)
        return np.asarray(first[:, np.minimum(values, half)] + second[:, np.maximum(values - half, 0)])

    def summed(self, counts: NDArray[Any]) -> NDArray[Any]:
        below, half = np.cumsum(counts, axis=-1), self.size // 2
        return np.concatenate([below[..., :half], below[..., -1:] - below[..., half:-1]], axis=-1)


@final
@dataclass(frozen=True, eq=False)
class Weighing(Summing):
    """Sums that weigh each value by a whole number: ``rows`` (numbers, values)."""

    rows: NDArray[np.int64] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", frozen_integers(self.rows))

    @cached_property
    def largest(self) -> int:
        return max(int(self.rows.max(initial=1)), -int(self.rows.min(initial=0)))

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """(values,): the same for values of equal weights."""
        return distinct_rows(np.ascontiguousarray(self.rows.T))[1]

    def alike(self, values: int) -> NDArray[np.int64]:
        return self.kinds

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), 1

    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        taken = self.rows[:, values]
        most = float(np.abs(shares).sum(axis=1).max(initial=0)) * self.largest
        if shares.dtype == np.int64 and most < _EXACT_IN_FLOATS:
            return np.asarray((shares[:, :, 0].astype(np.float64) @ taken).astype(np.int64))
        return np.asarray(shares[:, :, 0] @ taken.astype(shares.dtype))

    def summed(self, counts: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(counts @ self.rows.T.astype(counts.dtype))


@final
@dataclass(frozen=True)
class RunningTotals(Summing):
    """How many records have each of so many values or an earlier one; last, how many there are."""

    size: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.size, 1

    def applied(self, shares: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(np.cumsum(shares[:, ::-1, 0], axis=1)[:, ::-1][:, values])

    def summed(self, counts: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.cumsum(counts, axis=-1))


@final
@dataclass(frozen=True)
class Block:
    """The numbers of one block: ``sums`` of the attributes at ``axes``, places in the universe, all others added up.

    They stand group by group, the last attribute's running fastest, and inside a group likewise.
    """

    axes: tuple[int, ...]
    sums: tuple[Summing, ...]

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(math.prod(one.shape) for one in self.sums)

    @property
    def largest(self) -> int:
        """A record adds no more to any of them."""
        return math.prod(one.largest for one in self.sums)

    def of_records(self, shares: NDArray[np.int64], values: Mapping[int, NDArray[np.int64]]) -> NDArray[np.int64]:
        """(k, values of axis 1, …): ``shares`` (k, size) of the block's numbers for one record of each combination of
        these values of its attributes; *exact* as :meth:`Summing.applied`."""
        table = shares.reshape([len(shares), *(one.shape[part] for part in (0, 1) for one in self.sums)])
        for done, (axis, one) in enumerate(zip(self.axes, self.sums, strict=True)):
            table = np.moveaxis(table, (1, 1 + len(self.sums) - done), (-2, -1))
            flat = one.applied(table.reshape(-1, *one.shape), values[axis])
            table = flat.reshape(*table.shape[:-2], -1)
        return table


class MeasuredNumbers(Closed):
    """Blocks of whole numbers M x that noise is added to, and the proof that it hides what ``metric`` protects.

    Whoever has one has the proof: it is made when this is. ``codes``: of each attribute looked at, by its place in the
    universe, which of the told values every value is; ``blocks`` are over these. ``steps_per_count``: a record adds so
    many lattice steps to a number. ``law``: of the noise V on all numbers in their order, in steps; shifting V by M of
    any change of a record changes odds by no more than the metric allows at spend 1. ``scales``: of the noise in each
    part, in counts, from which all of it can be made again.
    """

    if TYPE_CHECKING:  # dataclass fields could not take the place of real properties

        @property
        def metric(self) -> VerifiedMetric:
            """Whose distances it hides."""

        @property
        def scales(self) -> NDArray[np.float64]:
            """Of each part, in counts."""

        @property
        def bases(self) -> tuple[NDArray[np.float64] | None, ...]:
            """Of each attribute, where noise is along such."""
    else:
        bases = ()

    @property
    @abstractmethod
    def codes(self) -> Mapping[int, NDArray[np.int64]]:
        """(values,) each."""

    @property
    @abstractmethod
    def blocks(self) -> Sequence[Block]:
        """Those with noise."""

    @property
    def steps_per_count(self) -> int:
        """A power of two."""
        return lattice_step(self.scales).denominator

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """One and the same object each time."""

    @property
    def trees(self) -> tuple[tuple[int, ...], ...]:
        """Of each attribute, where noise is in boxes, into how many each level of its tree splits, none for a line."""
        return ()


def lattice_step(scales: NDArray[np.float64]) -> Fraction:
    """Two to a power, at most 1: what noise is rounded to, in counts."""
    finest = float(scales[scales > 0].min())
    return Fraction(1, 2 ** max(0, math.ceil(math.log2(STEPS_PER_SCALE / finest))))


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
        if not (formed and are_exact(self.divisors) and all(divisor.numerator > 0 for divisor in self.divisors)):
            raise CertificateRefused(
                "answers take whole multiples of noise over positive whole numbers or Fractions, one each"
            )
        exact = tuple(one if type(one) is Fraction else Fraction(one) for one in self.divisors)
        object.__setattr__(self, "divisors", exact)
        _ = self.measured.blocks, self.measured.law  # worked out of what was proved, now

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
        most = max(map(abs, noise), default=0)
        if most * max(self.row_sums, default=0) < 2**63:
            sums = (self.numerators @ np.array(list(noise), dtype=np.int64)).tolist()
        elif most * len(noise) < 2**31:
            drawn = np.array(list(noise), dtype=np.int64)
            halves = (self.numerators >> 32) @ drawn, (self.numerators & 0xFFFFFFFF) @ drawn
            sums = [(high << 32) + low for high, low in zip(*(one.tolist() for one in halves), strict=True)]
        else:
            sums = (self.numerators.astype(object) @ np.array(list(noise), dtype=object)).tolist()
        return [int(total) / divisor for total, divisor in zip(sums, self.divisors, strict=True)]

    @cached_property
    def row_sums(self) -> tuple[int, ...]:
        """(K,): Σ_j |numerators[k, j]|, whatever their size."""
        sizes = np.abs(self.numerators).view(np.uint64)  # of int64's smallest number, too
        if int(sizes.max(initial=0)) * sizes.shape[1] < 2**63:
            return tuple(sizes.sum(axis=1).tolist())
        halves = (sizes >> 32).sum(axis=1).tolist(), (sizes & 0xFFFFFFFF).sum(axis=1).tolist()
        return tuple((high << 32) + low for high, low in zip(*halves, strict=True))

    @property
    def reach(self) -> Iterator[tuple[int, int]]:
        """(K,): Σ_j |entry_kj| times a common denominator of row k, and that denominator."""
        for total, divisor in zip(self.row_sums, self.divisors, strict=True):
            yield total * divisor.denominator, divisor.numerator
