"""Counts in very many boxes with noise: blocks of numbers are measured, and every box is made of what was measured.

From a block's numbers back to counts, axis by axis: children less their siblings' mean.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.contract.mechanism import FLOAT_BYTES
from dxgeom.mechanisms.contract.readers import CountedTables, require_own_records
from dxgeom.mechanisms.linear.mixing import Siblings, Summing
from dxgeom.mechanisms.parts.box_scales import (
    BlockTables,
    BoxQuestion,
    Levels,
    block_variances,
    promised_of,
    require_enough,
)
from dxgeom.mechanisms.parts.factors import Factor, Tree
from dxgeom.mechanisms.parts.lattice_noise import FAR, LEAST_ROOM, LatticeNoise
from dxgeom.mechanisms.parts.scales import measurement_shares
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.noise.triangular import DifferencedNormals
from dxgeom.numeric.sealed import cached_property, canonical_digest, freeze_arrays
from dxgeom.privacy.measures import require_for_normal_noise
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries


def centred_sums(
    table: NDArray[np.float64], block: Levels, factors: Sequence[Factor], differenced: bool
) -> NDArray[np.float64]:
    """Children less the mean of their siblings, along every tree; ``differenced``: of what each is above the first."""
    for axis, level in enumerate(block):
        factor = factors[axis]
        if not level or not isinstance(factor, Tree):
            continue
        radix = factor.radices[level - 1]
        split = table.reshape((*table.shape[:axis], -1, radix - differenced, *table.shape[axis + 1 :]))
        if differenced:
            split = np.concatenate([np.zeros_like(np.take(split, [0], axis=axis + 1)), split], axis=axis + 1)
        split = split - split.mean(axis=axis + 1, keepdims=True)
        table = split.reshape((*table.shape[:axis], -1, *table.shape[axis + 1 :]))
    return table


def below(table: NDArray[np.float64], axis: int, level: int, factor: Factor) -> NDArray[np.float64]:
    """What a level's numbers say of how many records lie below each cut, from none to all, along an axis."""
    if isinstance(factor, Tree):
        width = factor.padded // factor.cells(level)
        values = np.repeat(table, width, axis=axis) / width
        sums = np.concatenate([np.zeros_like(np.take(values, [0], axis=axis)), np.cumsum(values, axis=axis)], axis=axis)
        ends = [*range(factor.size), factor.padded]  # beyond the last value there is nobody
        return np.take(sums, ends, axis=axis)
    half = factor.size // 2
    if not level:
        cuts = np.concatenate([np.zeros(half + 1), np.ones(factor.size - half)])
        return np.asarray(table * cuts.reshape([-1 if place == axis else 1 for place in range(table.ndim)]))
    none = np.zeros_like(np.take(table, [0], axis=axis))
    first, rest = np.split(table, [half], axis=axis)
    return np.concatenate([none, first, -rest, none], axis=axis)


NORMAL: Final = "boxes-gaussian"
LAPLACE: Final = "boxes-laplace"
MOST_CELLS: Final = 1 << 26
_BITS: Final = 61


class BoxedCounts(LatticeNoise[tuple[float, ...]], ABC):
    """Noise of which counts in boxes are made, one number for each."""

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def boxes(self) -> BoxQueries:
            """What is asked."""

    @cached_property
    def merged(self) -> BoxQueries:
        """The boxes over the values that they tell apart, which ``factors`` measure."""
        return self.boxes.merged

    @cached_property
    def queries(self) -> MarginalQueries:
        """The tables that are read."""
        return self.merged.tables_read

    @property
    def codes(self) -> Mapping[int, NDArray[np.int64]]:
        return {one.axis: one.codes for one in self.merged.columns}

    def encode_answer(self, answer: tuple[float, ...]) -> Any:
        return list(answer)

    def decode_answer(self, stored: Any) -> tuple[float, ...]:
        return tuple(stored)

    def answer_bytes(self, spend: Fraction) -> int:
        """As kept a number for each box; as shown three, and its error."""
        return 5 * (FLOAT_BYTES + 8) * self.boxes.count + 4096


@final
@dataclass(frozen=True, eq=False)
class BoxMechanism(BoxedCounts):
    """Counts in boxes, with noise of ``scales`` in the blocks that ``factors`` measure.

    Guarantee: replacing record i by j changes the odds of any output by at most e^{s·d(i, j)} at spend s, for
    ``boxes-gaussian`` D_α by at most α·(s·d(i, j))²/2. What is drawn are whole numbers with exactly rounded noise, and
    every limit is summed in integers; answers are float64 functions of these and of nothing else of the data.
    Raises: CertificateRefused for scales that are too small; TooLarge where the metric is no sum over attributes;
    UnsupportedCombination for normal noise where it counts pure privacy, and for a stated number of records where it
    keeps that private.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    boxes: BoxQueries = field(repr=False)
    factors: tuple[Factor, ...] = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self, "scales")
        object.__setattr__(self, "factors", tuple(self.factors))
        require_own_records(self.metric, self.boxes.universe)
        if self.name not in (NORMAL, LAPLACE):
            raise CertificateRefused(f"noise in boxes is {NORMAL} or {LAPLACE}")
        if self.normal:
            require_for_normal_noise(self.metric.privacy)
        self.require_no_number()
        require_enough(self.question, self.scales)
        missing = self.question.protected & (self.question.weights > 0) & (self._variances <= 0)
        if np.any(missing):
            raise CertificateRefused("some part of these boxes is not measured")
        if np.any(self.scales[~self.question.protected] > 0):
            raise CertificateRefused("a part of these boxes that no record moves has noise: its scale is 0")

    @property
    def normal(self) -> bool:
        """Whether noise is normal, for concentrated privacy."""
        return self.name == NORMAL

    @cached_property
    def question(self) -> BoxQuestion:
        """What is asked and promised: from the metric itself, whatever anybody says."""
        return BoxQuestion(self.merged, self.factors, promised_of(self.metric, self.merged, self.factors), self.normal)

    @cached_property
    def fingerprint(self) -> str:
        factors = [repr(one) for one in self.factors]
        return canonical_digest(
            "boxes with noise", self.name, self.metric.fingerprint, self.boxes.fingerprint, factors, self.scales
        )

    @cached_property
    def _variances(self) -> NDArray[np.float64]:
        return block_variances(self.question, self.scales)

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """(K,): mean squared error of each box at spend 1, rounding to the lattice left out."""
        return self.question.variances(self._variances)

    def check(self, data: CountedTables, spend: Fraction) -> None:
        self.require_counts(data)
        if max(map(math.prod, self.queries.shapes)) > MOST_CELLS:
            raise TooLarge(f"boxes are answered over tables of at most {MOST_CELLS:,} cells")
        if self._most_records(spend) < LEAST_ROOM:
            raise TooLarge("noise of this size does not fit 64-bit integers; spend more, or ask of fewer attributes")

    def _most_records(self, spend: Fraction) -> int:
        """So many that every whole number stays below 2⁶², for noise up to what has a chance below e⁻¹⁰⁰; from what is
        public alone. Along each tree a difference is of two numbers. Of more, they are Python's integers."""
        reach = 2 * float(self.scales.max(initial=0)) / float(self.step) / float(spend / self.shares) * FAR
        room = 2.0**_BITS / 2.0**self._trees_at_once - reach
        return max(0, int(room / (self.shares * self.step.denominator)))

    @cached_property
    def _trees_at_once(self) -> int:
        """Along how many trees a block is measured at most."""
        trees = [place for place, factor in enumerate(self.factors) if isinstance(factor, Tree)]
        return max(sum(block[place] > 0 for place in trees) for block in self.question.blocks)

    @property
    def _finest(self) -> Fraction:
        return Fraction(1, 2 ** max(0, _BITS - 1 - self._trees_at_once - LEAST_ROOM.bit_length()))

    @cached_property
    def noisy(self) -> Sequence[int]:
        return tuple(np.flatnonzero(self.scales > 0).tolist())

    @property
    def trees(self) -> tuple[tuple[int, ...], ...]:
        return tuple(one.radices if isinstance(one, Tree) else () for one in self.factors)

    def sums_of(self, number: int) -> Mapping[int, Summing]:
        levels = enumerate(zip(self.factors, self.question.blocks[number], strict=True))
        return {place: factor.summing(level, self.normal) for place, (factor, level) in levels if level}

    def law_of(self, number: int, step: float) -> tuple[NoiseLaw, int]:
        sums, scale = self.sums_of(number).values(), float(self.scales[number]) / step
        numbers = math.prod(math.prod(one.shape) for one in sums)
        if not self.normal:
            return LaplaceNoise(np.full(numbers, scale)), 1
        sizes = [one.radix for one in sums if isinstance(one, Siblings)]
        draws = numbers // math.prod(size - 1 for size in sizes)
        return DifferencedNormals(scale, np.array(sizes, dtype=np.float64)), draws

    def averages(self) -> Iterator[tuple[Mapping[int, int], Mapping[int, int]]]:
        whole = {n: {n: 1} for n in self.noisy}
        parts = whole if self.normal else measurement_shares(BlockTables(self.question), self.scales)
        for number, shares in parts.items():
            yield {place: level for place, level in enumerate(self.question.blocks[number]) if level}, shares

    def answered(self, data: CountedTables, noise: Mapping[int, NDArray[np.int64]]) -> tuple[float, ...]:
        people, found = float(self.step) / self.shares, {}
        for number, protected in enumerate(self.question.protected.tolist()):
            if self.scales[number] > 0 or not protected:
                noisy = self.scales[number] > 0
                table = self.with_noise(number, data, noise[number]) if noisy else self.measured(number, data)
                found[number] = np.asarray(self.in_columns(number, table) * people, dtype=np.float64)
        return tuple(self._answers(self._new(found)).tolist())

    def in_columns(self, number: int, table: NDArray[Any]) -> NDArray[Any]:
        """A block's numbers with an axis for each column of the queries."""
        lengths = iter(table.shape)
        return table.reshape([next(lengths) if level else 1 for level in self.question.blocks[number]])

    def _new(self, noisy: Mapping[int, NDArray[np.float64]]) -> dict[int, NDArray[np.float64]]:
        """What is new in each block that boxes take something of: children less their parents' share."""
        blocks, found = self.question.blocks, {}
        if self.normal:
            for number, table in noisy.items():
                found[number] = centred_sums(table, blocks[number], self.factors, differenced=True)
            return found
        inner, outer, spread = BlockTables(self.question).measurements
        for number, table in noisy.items():
            if not self.question.protected[number]:
                found[number] = centred_sums(table, blocks[number], self.factors, differenced=False)
        for place, other, times in zip(inner.tolist(), outer.tolist(), spread.tolist(), strict=True):
            if self.question.weights[place] > 0 and other in noisy:
                share = self._variances[place] / (2 * times * self.scales[other] ** 2)
                part = share * self._summed(noisy[other], blocks[place])
                found[place] = found[place] + part if place in found else part
        return {
            number: centred_sums(table, blocks[number], self.factors, differenced=False)
            if self.question.protected[number]
            else table
            for number, table in found.items()
        }

    def _summed(self, table: NDArray[np.float64], block: Levels) -> NDArray[np.float64]:
        """A finer block's numbers added up to those of this one."""
        for axis, level in enumerate(block):
            cells = self.factors[axis].cells(level)
            if table.shape[axis] > cells:
                shape = (*table.shape[:axis], cells, -1, *table.shape[axis + 1 :])
                table = table.reshape(shape).sum(axis=axis + 1)
        return table

    def _answers(self, new: Mapping[int, NDArray[np.float64]]) -> NDArray[np.float64]:
        answers = np.zeros(self.boxes.count)
        for columns, places in self.merged.supports:
            whole = self._put_together(new, columns)
            lower, upper = self.merged.lower[places], self.merged.upper[places]
            for corner in itertools.product((0, 1), repeat=len(columns)):
                ends = [(upper if one else lower)[:, place] for one, place in zip(corner, columns, strict=True)]
                sign = (-1) ** (len(columns) - sum(corner))
                answers[places] += sign * whole[tuple(ends)]
        return answers

    def _put_together(self, new: Mapping[int, NDArray[np.float64]], columns: Sequence[int]) -> NDArray[np.float64]:
        """How many records lie below each cut of these columns, all along each."""
        whole: NDArray[np.float64] | None = None
        for number, table in new.items():
            block = self.question.blocks[number]
            if all(place in columns for place, level in enumerate(block) if level):
                for place in columns:
                    table = below(table, place, block[place], self.factors[place])
                flat = table.reshape([table.shape[place] for place in columns])
                whole = flat if whole is None else whole + flat
        if whole is None:
            return np.zeros([self.merged.sizes[place] + 1 for place in columns])
        return whole
