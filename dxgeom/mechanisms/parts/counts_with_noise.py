"""Whole tables of counts with noise, whatever the size of the universe: mechanisms that read tables, no histogram.

How noise in residuals, or in tables, makes up the noise of each marginal: in whole numbers over a common divisor.
"""

from __future__ import annotations

import base64
import math
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.contract.mechanism import Answer
from dxgeom.mechanisms.contract.readers import CountedTables, TableReader
from dxgeom.mechanisms.linear.mixing import lattice_step
from dxgeom.mechanisms.parts.scales import MeasuredTables
from dxgeom.mechanisms.parts.tables import SetFamily
from dxgeom.noise.law import NoiseLaw
from dxgeom.numeric.arrays import LARGEST
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.workloads.whole_tables import MarginalQueries

SHARES: Final = 1 << 12
"""Measurements of one residual are averaged in whole parts of this."""


def measurement_shares(question: MeasuredTables, scales: NDArray[np.float64]) -> dict[int, dict[int, int]]:
    """For each protected S, by number, the part of :data:`SHARES` that each measured table has in its average.

    Next to the best, in proportion to their exactness; they add up exactly. Every step is one of float64's four
    operations in a fixed order, the same on every machine.
    """
    inner, outer, spread = question.measurements
    used = scales[outer] > 0
    inner, outer, each = inner[used], outer[used], 1 / (2 * spread[used] * scales[outer[used]] * scales[outer[used]])
    whole = np.bincount(inner, each, question.count)
    parts = np.floor(each / whole[inner] * SHARES).astype(np.int64)
    shares: dict[int, dict[int, int]] = {place: {} for place in np.unique(inner).tolist()}
    for small, large, part in zip(inner.tolist(), outer.tolist(), parts.tolist(), strict=True):
        shares[small][large] = part
    for own in shares.values():
        heaviest = max(own, key=lambda large: (own[large], -large))
        own[heaviest] += SHARES - sum(own.values())
    return {small: {large: part for large, part in own.items() if part} for small, own in shares.items()}


def spread_of_residual(residual: Sequence[int], table: Sequence[int], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """(cells, Π(n−1)): Π_{a∈A} n_a times what each difference in the residual of S, as ``DifferencedNormals`` has them,
    adds to each cell of the marginal A ⊇ S."""
    factors = [_from_differences(int(sizes[a])) if a in residual else np.ones((int(sizes[a]), 1), int) for a in table]
    return reduce(np.kron, factors, np.ones((1, 1), dtype=np.int64))


def measured_shape(family: SetFamily, number: int) -> tuple[int, ...]:
    """How many numbers a measured table has along each of its attributes: one where it is of differences."""
    sizes = [int(family.sizes[a]) for a in family.members_of(number % family.count)]
    return tuple(1 if number >= family.count and size == 2 else size for size in sizes)


def spread_of_table(
    residual: Sequence[int], measured: Sequence[int], table: Sequence[int], sizes: NDArray[np.int64], differing: bool
) -> NDArray[np.int64]:
    """(cells of A, numbers of B): Π_{a∈A} n_a times what each number of the measured table B adds to each cell of the
    marginal A through the residual of S, S inside both. ``differing``: whether B is of differences."""
    factors = []
    for a in sorted({*measured, *table}):
        size = int(sizes[a])
        if a in residual and differing and size == 2:
            factors.append(np.array([[1], [-1]], dtype=np.int64))
        elif a in residual:
            factors.append(size * np.eye(size, dtype=np.int64) - 1)
        else:
            factors.append(np.ones((size if a in table else 1, size if a in measured else 1), dtype=np.int64))
    return reduce(np.kron, factors, np.ones((1, 1), dtype=np.int64))


def _from_differences(size: int) -> NDArray[np.int64]:
    return size * np.eye(size, size - 1, k=-1, dtype=np.int64) - 1


def residual_table(differences: NDArray[Any]) -> NDArray[Any]:
    """Π n_a times the table with margins zero that has these differences along every axis, (n_a − 1, …) to (n_a, …)."""
    for axis in range(differences.ndim):
        total = differences.sum(axis=axis, keepdims=True)
        rest = (differences.shape[axis] + 1) * differences - total
        differences = np.concatenate([-total, rest], axis=axis)
    return differences


def centred(table: NDArray[Any]) -> NDArray[Any]:
    """Π n_a times the table less its margins; an axis of one number is of differences of two."""
    for axis in range(table.ndim):
        if table.shape[axis] == 1:
            table = np.concatenate([table, -table], axis=axis)
        else:
            table = table.shape[axis] * table - table.sum(axis=axis, keepdims=True)
    return table


def summed_to(table: NDArray[Any], own: Sequence[int], kept: Sequence[int]) -> NDArray[Any]:
    """The margin of a table over the attributes ``own`` that is over those ``kept``."""
    return np.asarray(table.sum(axis=tuple(place for place, a in enumerate(own) if a not in kept)))


def put_together(
    family: SetFamily, number: int, residuals: Mapping[int, NDArray[Any]], kind: type[Any]
) -> NDArray[Any]:
    """The noise of one marginal times its divisor: its residuals' tables, each over the cells it is spread over."""
    own = family.members_of(number)
    table = np.zeros([int(family.sizes[a]) for a in own], dtype=kind)
    for inside in subsets(family, number):
        if inside in residuals:
            kept = family.members_of(inside)
            shape = [int(family.sizes[a]) if a in kept else 1 for a in own]
            table += residuals[inside].reshape(shape)
    return table


def subsets(family: SetFamily, number: int) -> Iterator[int]:
    """The numbers of all sets inside one."""
    level = int(np.searchsorted(family.starts, number, side="right")) - 1
    yield from family.below[level][number - family.starts[level]].tolist()


MOST_CELLS: Final = 50_000_000
"""Of more cells no answers are kept in memory."""
_BITS: Final = 62
_FAR: Final = 400
"""Sums of exponentials beyond this have a chance below e⁻¹⁰⁰."""
_LOW: Final = 2**64 - 1
_LEAST_ROOM: Final = 2**31
"""So many records there may be at least, whatever the noise."""


@final
@dataclass(frozen=True, eq=False)
class NoisyTables:
    """Released counts: cell c of table A is ``numerators[A][c]/divisors[A]``, exactly. ``numerators``: int64, or
    Python's integers where people count once, whose shares are many."""

    numerators: tuple[NDArray[Any], ...] = field(repr=False)
    divisors: tuple[int, ...]

    def counts(self, table: int) -> NDArray[np.float64]:
        """The cells of a table, flat, each rounded once."""
        return np.asarray(self.numerators[table] / self.divisors[table], dtype=np.float64)

    def as_dict(self) -> dict[str, Any]:
        """The tables ready for JSON."""
        return {"numerators": [one.tolist() for one in self.numerators], "divisors": [*map(str, self.divisors)]}


class CellErrors(NamedTuple):
    """(tables,): the ``mean`` of the variances of a table's cells, and the largest, at spend 1."""

    mean: NDArray[np.float64]
    most: NDArray[np.float64]


class LatticeNoise(TableReader[Answer]):
    """Noise of ``scales``, in counts, on numbers made of whole tables; each noisy number is rounded to a lattice."""

    scales: NDArray[np.float64]

    @property
    @abstractmethod
    def normal(self) -> bool:
        """Whether noise is normal, for concentrated privacy."""

    @property
    @abstractmethod
    def variances(self) -> NDArray[np.float64]:
        """Mean squared errors at spend 1, rounding to the lattice left out."""

    @abstractmethod
    def noisy_parts(self) -> Iterator[tuple[int, NoiseLaw, int]]:
        """What noise is drawn, in this order: of a part of what is measured, by its number, so many independent draws
        of a law, in lattice steps, one after the other."""

    @abstractmethod
    def answered(self, data: CountedTables, noise: Mapping[int, NDArray[np.int64]]) -> Answer:
        """The answer with this noise in the numbers of each noisy part."""

    def drawn(self, data: CountedTables, spend: Fraction, randomness: Randomness) -> Answer:
        factor = 1 / spend
        drawn = ((number, law.draw(draws, randomness, factor)) for number, law, draws in self.noisy_parts())
        return self.answered(data, {number: noise.ravel() for number, noise in drawn})

    @cached_property
    def step(self) -> Fraction:
        """What noise is rounded to, in counts; in shares, one of them, where people count once. Where there is hardly
        any noise, no finer than whole numbers of 64 bits have room for beside many records."""
        if not np.any(self.scales > 0) or self.shares > 1:
            return Fraction(1)
        return max(lattice_step(self.scales), self._finest)

    @property
    def _finest(self) -> Fraction:
        """No step is finer than this."""
        return Fraction(0)

    @cached_property
    def rounding_part(self) -> float:
        """What rounding to the lattice adds to every error, at any spend, over :attr:`variances` at most: each noisy
        number is rounded on its own, by a variance of step²/12."""
        if not np.any(self.scales > 0):
            return 0.0
        narrowest = float(self.scales[self.scales > 0].min())
        return (float(self.step) / self.shares) ** 2 / ((12 if self.normal else 24) * narrowest**2)

    def mean_squares(self, spend: Fraction) -> NDArray[np.float64]:
        """Of each of :attr:`variances` the mean squared error at a spend, rounding to the lattice included."""
        return np.asarray(self.variances * (1 / float(spend) ** 2 + self.rounding_part))


class CountsWithNoise(LatticeNoise[NoisyTables]):
    """Counts in all cells of marginal tables, with noise of ``scales``, in counts, in their parts. Released tables
    agree: what two of them have in common is the same, exactly.

    Each block of noise is drawn from the source and rounded exactly; nothing as large as the universe is ever made.
    """

    queries: MarginalQueries
    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def family(self) -> SetFamily:
            """The tables, and all sets of attributes inside them."""

    @property
    @abstractmethod
    def cell_errors(self) -> CellErrors:
        """Mean squared errors, rounding to the lattice left out, which adds less than a thousandth."""

    @abstractmethod
    def _residuals(self, noise: Mapping[int, NDArray[Any]]) -> Mapping[int, NDArray[Any]]:
        """Of every protected residual what it has of the noise, times the cells of its table, and times SHARES for
        Laplace noise."""

    @property
    def _whole(self) -> type:
        """Of what whole numbers are: shares need more than 64 bits."""
        return np.int64 if self.shares == 1 else object

    @property
    def variances(self) -> NDArray[np.float64]:
        """(tables,): mean squared error of the least exact cell of each table at spend 1, rounding left out."""
        return self.cell_errors.most

    @property
    def _finest(self) -> Fraction:
        averages = 1 if self.normal else SHARES
        room = 2**_BITS // (max(map(math.prod, self.queries.shapes)) * averages)
        return Fraction(1, 2 ** max(0, (room // (2 * _LEAST_ROOM)).bit_length() - 1))

    @cached_property
    def divisors(self) -> tuple[int, ...]:
        """Of each table: its cells are whole multiples of one over this."""
        return tuple(self.shares * one for one in self._inner_divisors)

    @cached_property
    def _inner_divisors(self) -> tuple[int, ...]:
        """Of what is counted in the data, which are shares where people count once."""
        if not np.any(self.scales > 0):
            return (1,) * len(self.queries.shapes)
        averages = 1 if self.normal else SHARES
        return tuple(math.prod(shape) * averages * self.step.denominator for shape in self.queries.shapes)

    def check(self, data: CountedTables, spend: Fraction) -> None:
        if self.queries.count > MOST_CELLS:
            raise TooLarge(
                f"these tables have {self.queries.count:,} cells; at most {MOST_CELLS:,} are released at once"
            )
        self.require_counts(data)
        if self._most_records(spend) < _LEAST_ROOM:
            much = 2**_BITS / max(self.divisors) >= _LEAST_ROOM or self.shares > 1
            advice = "spend more, or ask" if much else "tables of so many cells leave no room beside it: ask"
            raise TooLarge(f"noise of this size does not fit 64-bit integers; {advice} for smaller tables")

    def _most_records(self, spend: Fraction) -> int:
        """So many that every number stays below 2⁶², for noise up to what has a chance below e⁻¹⁰⁰; of more, they are
        Python's integers."""
        widest = max((len(one) for one in self.queries.asked), default=0)
        drawn = float(self.scales.max(initial=0)) * 2.0**widest * math.sqrt(2) * _FAR * self.shares / float(spend)
        if self.shares > 1:
            # What is put together are Python's integers; only what is drawn and what is read are not.
            return LARGEST if drawn / float(self.step) < 2**_BITS else 0
        return max(0, int(2**_BITS / max(self.divisors) - drawn * 4.0**widest))

    def answered(self, data: CountedTables, noise: Mapping[int, NDArray[np.int64]]) -> NoisyTables:
        residuals = self._residuals({number: drawn.astype(self._whole) for number, drawn in noise.items()})
        family, released = self.family, []
        for number, cells, divisor in zip(family.asked.tolist(), data.cells, self._inner_divisors, strict=True):
            added = put_together(family, number, residuals, self._whole).ravel()
            # Nobody is refused for how many records there are: of very many, numbers are Python's integers, and what
            # type the answers have follows from the noisy numbers.
            wide = int(np.abs(cells).max(initial=0)) * divisor >= 2**_BITS
            noisy = cells.astype(object if wide else self._whole) * divisor + added
            released.append(noisy if self.shares > 1 or not _fits(noisy) else noisy.astype(np.int64, copy=False))
        return NoisyTables(tuple(released), self.divisors)

    def kept(self, answer: NoisyTables) -> Any:
        return {"tables": [packed(one) for one in answer.numerators], "divisors": list(answer.divisors)}

    def recalled(self, kept: Any) -> NoisyTables:
        return NoisyTables(tuple(unpacked(one) for one in kept["tables"]), tuple(kept["divisors"]))

    def answer_bytes(self, spend: Fraction) -> int:
        """Eight bytes for each cell in text of four thirds, once more in digits where these are shown, too; and what a
        table's compression and words add. Sixteen where people count once."""
        each = 33 if self.shares == 1 else 70
        return each * self.queries.count + 2048 * len(self.queries.asked) + 4096


def _fits(numbers: NDArray[Any]) -> bool:
    return numbers.dtype == np.int64 or all(-LARGEST <= number <= LARGEST for number in numbers.tolist())


def packed(numbers: NDArray[Any]) -> str:
    """Whole numbers as text: little-endian int64, byte by byte of equal weight, zlib, base64; Python's integers below
    2¹²⁷ in size as two of these, the lower one without a sign, behind a colon."""
    if numbers.dtype == object:
        lower = np.array([number & _LOW for number in numbers.tolist()], dtype=np.uint64).view(np.int64)
        upper = np.array([number >> 64 for number in numbers.tolist()], dtype=np.int64)
        return f":{packed(np.concatenate([lower, upper]))}"
    planes = np.ascontiguousarray(numbers.astype("<i8")).view(np.uint8).reshape(-1, 8).T
    return base64.b64encode(zlib.compress(np.ascontiguousarray(planes).tobytes(), 1)).decode("ascii")


def unpacked(text: str) -> NDArray[Any]:
    """The numbers of :func:`packed`."""
    if text.startswith(":"):
        lower, upper = np.split(unpacked(text[1:]), 2)
        each = zip(lower.view(np.uint64).tolist(), upper.tolist(), strict=True)
        return np.array([(high << 64) + low for low, high in each], dtype=object)
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).reshape(8, -1)
    return np.ascontiguousarray(planes.T).view("<i8").ravel().astype(np.int64)
