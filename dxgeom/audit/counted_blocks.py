"""The numbers that a plan's noise is said to be in, counted anew: how records are summed up, and what a move shifts.

They are counted of records that nobody has, drawn from the operating system's randomness after a plan is fixed, never
from a stored seed, so that no plan can be written for them.

A block is a table of integers, a product over some attributes. Of each, told values are summed up in classes, as the
first of two less the second, in what siblings have above their first, or at cuts of a line. What a record adds to a
block, or a move of one attribute shifts it by, is a product too, and its size is the product of the sizes along each
attribute: Σ|s| for Laplace noise; for normal noise in what siblings have above their first, the square of what is left
of them without their mean.
"""

from __future__ import annotations

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.mechanisms.parts.lattice_noise import LatticeNoise
from dxgeom.mechanisms.parts.table_mechanism import TableMechanism
from dxgeom.mechanisms.parts.toeplitz_mechanism import ToeplitzMechanism
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise

BITS: Final = 61
"""Numbers in a product are below two to this; of p attributes a row that is not 0 is not seen with a chance p/2⁶¹."""


@final
@dataclass(frozen=True, eq=False)
class RandomChange:
    """Records of a universe of any size that come, less those that go: a sum of products of numbers of each attribute.

    ``terms``: of each term the attribute whose values change, None where records come from nowhere, and of each
    attribute how many have each value; these sum to 1, those of the attribute that changes to 0.
    """

    terms: tuple[tuple[int | None, tuple[NDArray[Any], ...]], ...] = field(repr=False)
    sizes: tuple[int, ...]

    def margin(self, axes: Sequence[int]) -> NDArray[Any]:
        """How many have each combination of values of the attributes at these rising places, in Python's integers."""
        found = np.zeros([self.sizes[axis] for axis in axes], dtype=object)
        for changed, factors in self.terms:
            if changed is None or changed in axes:  # what sums to 0 is nothing in a table that does not look at it
                found = found + reduce(np.multiply.outer, (factors[axis] for axis in axes), np.array(1, dtype=object))
        return np.asarray(found, dtype=object)


def whole_numbers(count: int, bits: int = BITS) -> NDArray[np.int64]:
    """(count,): each below two to so many ``bits``, at most 62."""
    words = np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)
    return (words >> np.uint64(64 - bits)).astype(np.int64)


def from_nowhere(sizes: Sequence[int]) -> RandomChange:
    """Records that come, of any values."""
    return RandomChange(((None, tuple(map(_of_sum_one, sizes))),), tuple(sizes))


def within_components(labels: Sequence[NDArray[np.int64]]) -> RandomChange:
    """Records that change, one attribute at a time, each of which stays within its component: ``labels`` of its values.

    Attributes whose values are all alone change nothing.
    """
    sizes, terms = [len(own) for own in labels], []
    for axis, own in enumerate(labels):
        around = _next_within(own)
        if np.any(around != np.arange(len(own))):
            factors = [*map(_of_sum_one, sizes)]
            drawn = whole_numbers(len(own)).astype(object)
            factors[axis] = drawn - drawn[around]
            terms.append((axis, tuple(factors)))
    return RandomChange(tuple(terms), tuple(sizes))


def _next_within(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """(N,): for each place another one with the same label, all of these in one round; the place itself where it is
    alone. What is the same at a place and the next one, for all, is the same within each label."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=labels[order][0] - 1))
    before = np.roll(order, 1)
    before[starts] = order[np.append(starts[1:], len(order)) - 1]
    found = np.empty_like(order)
    found[order] = before
    return found


def _of_sum_one(size: int) -> NDArray[Any]:
    drawn = whole_numbers(size).astype(object)
    drawn[-1] += 1 - drawn.sum()
    return drawn


Codes = NDArray[np.int64]


class Along(ABC):
    """What is counted along one attribute of told values 0, 1, …: so many ``numbers``, of which ``inner`` stand
    together for each of the others; sizes are in parts of ``over``."""

    numbers: int
    inner = 1
    over = 1
    most = 1
    """The size of what one value adds, of the value that adds most."""
    widths: tuple[int, ...] | None = None
    """All that a move depends on is whether its values are equal when divided, and rounded down, by each of these;
    None where it is more."""

    @abstractmethod
    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        """The sizes of moves from values to others."""

    @abstractmethod
    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        """The numbers along the last axis of a table of counts by told value."""


@final
class InClasses(Along):
    """So many classes of ``width`` values that follow each other."""

    def __init__(self, count: int, width: int) -> None:
        self.numbers, self.width, self.widths = count, width, (width,)

    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        return np.where(one // self.width == other // self.width, 0, 2)

    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        _require(table.shape[-1] <= self.numbers * self.width)
        return added_up(table, np.arange(table.shape[-1]) // self.width, self.numbers)


@final
class FirstOfTwo(Along):
    """The first of two values less the second."""

    numbers = 1
    widths = (1,)

    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        return np.where(one == other, 0, 2)

    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        _require(table.shape[-1] == 2)
        return np.asarray(table[..., :1] - table[..., 1:2])


@final
class AboveFirst(Along):
    """Classes of ``width`` values, of which ``radix`` that follow each other are siblings: all but the first, each less
    the first. Noise is normal, and hides what is left of the siblings without their mean."""

    def __init__(self, groups: int, radix: int, width: int) -> None:
        self.groups, self.radix, self.width = groups, radix, width
        self.numbers, self.inner, self.over = groups * (radix - 1), radix - 1, radix
        self.widths, self.most = (width, width * radix), radix - 1

    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        first, second = one // self.width, other // self.width
        siblings = np.where(first == second, 0, 2 * self.radix)
        return np.where(first // self.radix == second // self.radix, siblings, 2 * (self.radix - 1))

    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        classes = InClasses(self.groups * self.radix, self.width).summed(table)
        split = classes.reshape(*table.shape[:-1], self.groups, self.radix)
        return np.asarray((split[..., 1:] - split[..., :1]).reshape(*table.shape[:-1], -1))


@final
class AtCuts(Along):
    """How many lie below each cut between ``size`` values, up to the one after half of them; above each, beyond."""

    def __init__(self, size: int) -> None:
        self.size, self.numbers, self.most = size, size - 1, max(size // 2, size - 1 - size // 2)

    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        return np.asarray(np.abs(one - other))

    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        _require(table.shape[-1] == self.size > 1)
        below, half = np.cumsum(table, axis=-1), self.size // 2
        return np.concatenate([below[..., :half], below[..., -1:] - below[..., half:-1]], axis=-1)


@final
class InTotals(Along):
    """How many have each of ``size`` values or an earlier one."""

    def __init__(self, size: int) -> None:
        self.numbers = self.most = size

    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        return np.asarray(np.abs(one - other))

    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        _require(table.shape[-1] == self.numbers)
        return np.asarray(np.cumsum(table, axis=-1))


@final
class Weighed(Along):
    """Sums that weigh each value by a whole number: ``rows`` (numbers, values)."""

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self.rows, self.numbers = rows, len(rows)

    def apart(self, one: Codes, other: Codes) -> NDArray[np.int64]:
        return np.asarray(np.abs(self.rows[:, one] - self.rows[:, other]).sum(axis=0))

    def summed(self, table: NDArray[Any]) -> NDArray[Any]:
        _require(table.shape[-1] == self.rows.shape[1])
        return np.asarray(table @ self.rows.T.astype(table.dtype))


@final
@dataclass(frozen=True, eq=False)
class CountedBlock:
    """The numbers of a block: ``along`` the attributes at ``axes``, rising places in the universe, of which ``merged``
    says which values count as one. ``steps``: lattice steps that a record adds to a number by which it is counted once.
    """

    axes: tuple[int, ...]
    along: tuple[Along, ...]
    merged: Mapping[int, Codes] = field(repr=False)
    steps: int

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(one.numbers for one in self.along)

    def table(self, change: RandomChange) -> NDArray[Any]:
        """What such a change shifts, in lattice steps, an axis for each attribute."""
        table = change.margin(self.axes)
        for place, (axis, one) in enumerate(zip(self.axes, self.along, strict=True)):
            merged = self.merged[axis]
            lines = one.summed(added_up(np.moveaxis(table, place, -1), merged, int(merged.max()) + 1))
            table = np.moveaxis(lines, -1, place)
        return np.asarray(table * self.steps, dtype=table.dtype)

    def numbers(self, change: RandomChange) -> NDArray[Any]:
        """The same as noise is drawn: of the first attribute the groups of numbers, then of the second, …, and inside
        of all groups likewise what stands together."""
        sizes = [(one.numbers // one.inner, one.inner) for one in self.along]
        split = self.table(change).reshape([part for pair in sizes for part in pair])
        order = [*range(0, split.ndim, 2), *range(1, split.ndim, 2)]
        return np.asarray(split.transpose(order).reshape(-1))


def added_up(table: NDArray[Any], places: Codes, count: int) -> NDArray[Any]:
    """The entries along the last axis added up at these ``places``, of so many; *exact*, also in Python's integers."""
    found = np.zeros((count, *table.shape[:-1]), dtype=table.dtype)
    np.add.at(found, places, np.moveaxis(table, -1, 0))
    return np.moveaxis(found, 0, -1)


def _require(fits: bool) -> None:
    if not fits:
        raise CertificateRefused("the numbers that are said to have noise are of other values than the attributes have")


_SUMMED: Final[Mapping[str, Callable[[Any], Along]]] = {
    "Classes": lambda one: InClasses(one.count, one.width),
    "FirstLessSecond": lambda one: FirstOfTwo(),
    "Siblings": lambda one: AboveFirst(one.groups, one.radix, one.width),
    "Cuts": lambda one: AtCuts(one.size),
    "RunningTotals": lambda one: InTotals(one.size),
    "Weighing": lambda one: Weighed(one.rows),
}


@final
class NoisyBlock(NamedTuple):
    """A block with the laws of its noise, one after the other, in lattice steps: one of all its numbers, or of each of
    its groups of siblings."""

    block: CountedBlock
    laws: Sequence[NoiseLaw]


def blocks_with_noise(mechanism: LatticeNoise[Any]) -> dict[int, NoisyBlock]:
    """Of noise in tables, or in boxes, for each part with noise by its number.

    Raises: CertificateRefused unless there is a coordinate for each number.
    """
    ways: dict[type[Any], Any] = {BoxMechanism: _of_boxes, ToeplitzMechanism: _of_totals}
    made: Any = ways.get(type(mechanism), _of_tables)
    found = {
        number: NoisyBlock(made(mechanism, number), [law] * draws) for number, law, draws in mechanism.noisy_parts()
    }
    if any(one.block.size != sum(law.dimension for law in one.laws) for one in found.values()):
        raise CertificateRefused("this noise has other coordinates than the numbers that it is said to be in")
    return found


def _of_tables(mechanism: TableMechanism, number: int) -> CountedBlock:
    """Sets of attributes; the same again, in Laplace noise, for differences of two."""
    family, merged, axes = mechanism.family, mechanism.queries.classes, sorted(mechanism.queries.classes)
    members = family.members_of(number % family.count)
    sizes = [int(family.sizes[a]) for a in members]
    if mechanism.normal:
        along: list[Along] = [AboveFirst(1, size, 1) for size in sizes]
    else:
        along = [FirstOfTwo() if number >= family.count and size == 2 else InClasses(size, 1) for size in sizes]
    return CountedBlock(tuple(axes[a] for a in members), tuple(along), merged, mechanism.step.denominator)


def _of_boxes(mechanism: BoxMechanism, number: int) -> CountedBlock:
    columns, levels, axes, along = mechanism.merged.columns, mechanism.question.blocks[number], [], []
    for column, factor, level in zip(columns, mechanism.factors, levels, strict=True):
        if level:
            axes.append(column.axis)
            along.append(_level(getattr(factor, "radices", ()), level, mechanism.normal, factor.size))
    merged = {one.axis: one.codes for one in columns}
    return CountedBlock(tuple(axes), tuple(along), merged, mechanism.step.denominator)


def _of_totals(mechanism: ToeplitzMechanism, number: int) -> CountedBlock:
    columns = mechanism.merged.columns
    along, merged = (InTotals(len(one.words)) for one in columns), {one.axis: one.codes for one in columns}
    return CountedBlock(tuple(merged), tuple(along), merged, mechanism.step.denominator)


def _level(radices: Sequence[int], level: int, normal: bool, size: int) -> Along:
    """What is counted of a level of a tree, or of a line where it splits nothing."""
    if not radices:
        return AtCuts(size)
    above, width = math.prod(radices[: level - 1]), math.prod(radices[level:])
    return AboveFirst(above, radices[level - 1], width) if normal else InClasses(above * radices[level - 1], width)


def of_answers(mechanism: Any) -> list[NoisyBlock]:
    """Of noise in measured numbers that answers to linear queries are made of, in the order of its coordinates.

    Raises: CertificateRefused unless its law has as many coordinates, part by part.
    """
    mixing, law = mechanism.mixing, mechanism.law
    measured, answers = mixing.measured, len(mechanism.sensitivity.queries.names)
    fits = mixing.numerators.shape == (answers, law.dimension) and len(mixing.divisors) == answers
    if not (fits and all(mixing.divisors)):
        raise CertificateRefused("the noise has other coordinates than those that the answers take")
    blocks = []
    for one in measured.blocks:
        along = tuple(_SUMMED[type(each).__name__](each) for each in one.sums)
        blocks.append(CountedBlock(one.axes, along, measured.codes, measured.steps_per_count))
    return [*_with_laws(blocks, law)]


def _with_laws(blocks: Sequence[CountedBlock], law: NoiseLaw) -> Iterator[NoisyBlock]:
    """The law's parts, block by block: of Laplace noise one for each number."""
    single = (LaplaceNoise(np.array([scale])) for scale in law.scales) if isinstance(law, LaplaceNoise) else None
    parts: Iterator[NoiseLaw] = iter(single or (law.parts if isinstance(law, ProductNoise) else [law]))
    for block in blocks:
        own: list[NoiseLaw] = []
        left = block.size
        while left > 0 and (one := next(parts, None)) is not None:
            own.append(one)
            left -= one.dimension
        if left:
            raise CertificateRefused("this noise has other coordinates than the numbers that it is said to be in")
        yield NoisyBlock(block, own)
    if next(parts, None) is not None:
        raise CertificateRefused("this noise has more coordinates than the numbers that it is said to be in")
