"""Noise in parts: each part of what is measured has noise of its own law, rounded to one lattice.

A mechanism says how attributes are measured, which parts have noise, how a part sums attributes up and which law it
has; drawing it, and what answers to linear queries take of it, follow.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.contract.mechanism import Answer
from dxgeom.mechanisms.contract.readers import CountedTables, TableReader
from dxgeom.mechanisms.linear.mixing import Block, MeasuredNumbers, Summing, lattice_step
from dxgeom.mechanisms.parts.factors import Factor
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property

FAR: Final = 400
"""Sums of exponentials beyond this have a chance below e⁻¹⁰⁰."""
LEAST_ROOM: Final = 2**31
"""So many records, or people, there may be at least, whatever the noise."""
_ROOM: Final = 2**61
_MOST_LAWS: Final = 1 << 14


def interleaved(drawn: NDArray[Any], shapes: Sequence[tuple[int, int]]) -> NDArray[Any]:
    """Noise drawn group by group, in groups of numbers along each axis, as the numbers stand."""
    if all(inner == 1 for _, inner in shapes) or all(groups == 1 for groups, _ in shapes):
        return drawn.reshape([groups * inner for groups, inner in shapes])
    split = drawn.reshape([one[part] for part in (0, 1) for one in shapes])
    order = [part for axis in range(len(shapes)) for part in (axis, axis + len(shapes))]
    return np.asarray(split.transpose(order).reshape([groups * inner for groups, inner in shapes]))


class LatticeNoise(TableReader[Answer], MeasuredNumbers):
    """Noise of ``scales``, in counts, on numbers made of whole tables; each noisy number is rounded to a lattice.

    Whoever has one has the proof that it hides what ``metric`` protects: it is made when this is. Answers to linear
    queries are made of the same numbers, rounded to the lattice of :attr:`steps_per_count`.
    """

    @property
    @abstractmethod
    def normal(self) -> bool:
        """Whether noise is normal, for concentrated privacy."""

    @property
    @abstractmethod
    def variances(self) -> NDArray[np.float64]:
        """Mean squared errors at spend 1, rounding to the lattice left out."""

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def metric(self) -> VerifiedMetric:
            """That it honours."""

        @property
        def factors(self) -> tuple[Factor, ...]:
            """How each attribute of :attr:`codes` is measured, rising by its place."""

    @property
    @abstractmethod
    def noisy(self) -> Sequence[int]:
        """The parts with noise, by their numbers, rising."""

    @property
    def drawn_parts(self) -> Sequence[int]:
        """Those of which noise is drawn, in this order."""
        return self.noisy

    @abstractmethod
    def sums_of(self, number: int) -> Mapping[int, Summing]:
        """How a part sums each attribute up, by its place among ``factors``; over all others it adds up."""

    @abstractmethod
    def law_of(self, number: int, step: float) -> tuple[NoiseLaw, int]:
        """The noise of a part in lattice steps of this size, and how many independent draws of it are one after the
        other."""

    @abstractmethod
    def averages(self) -> Iterable[tuple[Mapping[int, int], Mapping[int, int]]]:
        """Of every part that answers are made of the level of each attribute, by its place, none for all records; and
        the share, of :data:`SHARES` or of 1 for normal noise, that each noisy part has in it, by its number."""

    def noisy_parts(self) -> Iterator[tuple[int, NoiseLaw, int]]:
        """What noise is drawn, in this order: of a part of what is measured, by its number, so many independent draws
        of a law, in lattice steps, one after the other."""
        for number in self.drawn_parts:
            yield (number, *self.law_of(number, float(self.step)))

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        axes, each = list(self.codes), [self.sums_of(number) for number in self.noisy]
        return tuple(Block(tuple(axes[place] for place in sums), tuple(sums.values())) for sums in each)

    @cached_property
    def law(self) -> NoiseLaw:
        """Raises: TooLarge."""
        step = float(lattice_step(self.scales))
        if not self.normal:
            return LaplaceNoise(np.repeat(self.scales[list(self.noisy)] / step, [block.size for block in self.blocks]))
        laws: list[NoiseLaw] = []
        for number in self.noisy:
            law, draws = self.law_of(number, step)
            if len(laws) + draws > _MOST_LAWS:
                raise TooLarge(f"noise in more than {_MOST_LAWS:,} groups of siblings is not laid out")
            laws += [law] * draws
        return ProductNoise(tuple(laws))

    @cached_property
    def _table_of(self) -> Mapping[tuple[int, ...], tuple[int, tuple[int, ...]]]:
        """The first table that is read with these attributes, and perhaps others; and its shape."""
        found: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {}
        for which, shape in enumerate(self.queries.shapes):
            asked = self.queries.attribute_sets[which]
            for width in range(len(asked) + 1):
                for inside in combinations(asked, width):
                    found.setdefault(inside, (which, shape))
        return MappingProxyType(found)

    def measured(self, number: int, data: CountedTables) -> NDArray[Any]:
        """The numbers of a part in lattice steps, an axis for each attribute that it sums up. **Not private.**"""
        sums = self.sums_of(number)
        which, shape = self._table_of[tuple(sums)]
        others = tuple(axis for axis, place in enumerate(self.queries.attribute_sets[which]) if place not in sums)
        return self.in_steps(sums, np.asarray(np.asarray(data.cells[which]).reshape(shape).sum(axis=others)))

    def in_steps(self, sums: Mapping[int, Summing], table: NDArray[Any]) -> NDArray[Any]:
        """What is measured of a table of a part's attributes, in lattice steps."""
        steps = self.step.denominator
        for axis, one in enumerate(sums.values()):
            table = one.summed(table.swapaxes(axis, -1)).swapaxes(axis, -1)
        # Nobody is refused for how many records there are: of very many, numbers are Python's integers.
        kind = object if int(np.abs(table).max(initial=0)) * steps >= _ROOM else table.dtype
        return np.asarray(table.astype(kind) * steps, dtype=kind)

    def with_noise(self, number: int, data: CountedTables, noise: NDArray[Any]) -> NDArray[Any]:
        """The same with noise, as it was drawn."""
        shapes = [one.shape for one in self.sums_of(number).values()]
        return np.asarray(self.measured(number, data) + interleaved(noise, shapes))

    @abstractmethod
    def answered(self, data: CountedTables, noise: Mapping[int, NDArray[np.int64]]) -> Answer:
        """The answer with this noise in the numbers of each noisy part: of the data it sees what :meth:`with_noise`
        has, and what is :meth:`measured` of parts that no protected record moves."""

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
