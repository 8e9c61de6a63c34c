"""Noise in blocks as a candidate of plans for linear queries that are all counts in boxes, whose names are kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.boxes.factors import Factor, Tree
from dxgeom.mechanisms.linear.boxes.mechanism import BoxMechanism
from dxgeom.mechanisms.linear.boxes.question import Levels
from dxgeom.mechanisms.linear.boxes.scales import BlockTables
from dxgeom.mechanisms.linear.integer_mixing import IntegerMixing
from dxgeom.mechanisms.linear.marginals.assembly import SHARES, measurement_shares
from dxgeom.mechanisms.linear.marginals.mechanism import lattice_step
from dxgeom.mechanisms.linear.marginals.recognised import tables_over
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.noise.laws.composed import ProductNoise
from dxgeom.noise.laws.laplace import LaplaceNoise
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.tables.differenced import DifferencedNormals
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.spans import spans_of, together

_MOST_ENTRIES: Final = 1 << 25
_MOST_PARTS: Final = 1 << 14
_LARGEST: Final = 2.0**61


def counted_boxes(sensitivity: Sensitivity) -> BoxQueries:
    """The boxes that the queries count the records in, each once, in their order.

    Raises: TooLarge where they count anything else.
    """
    queries, universe = sensitivity.queries, sensitivity.universe
    if universe is None or universe.listed is not None:
        raise TooLarge("these queries are no boxes: nobody says which attributes the records have, or a table does")
    found, order = [], []
    try:
        for table in tables_over(queries, universe):
            if table.stated is not None:
                most = table.flat.max(axis=1)
                units = [Fraction(int(one)) for one in most]
                table = replace(table, stated=table.stated // np.maximum(most, 1).reshape(-1, *[1] * len(table.axes)))
            else:
                units = [Fraction(1)] * len(table.queries)
            if any(one * queries.steps[query] != 1 for one, query in zip(units, table.queries.tolist(), strict=True)):
                raise TooLarge("these queries are no boxes: some do not count each record once")
            found.append(spans_of(table))
            order.append(table.queries)
        boxes = together(universe, found)
    except UnsupportedCombination as error:
        raise TooLarge(f"these queries are no boxes: {error}") from error
    places = np.argsort(np.concatenate(order), kind="stable")
    return replace(boxes, lower=boxes.lower[places], upper=boxes.upper[places], records=queries.records)


def in_answers(made: BoxMechanism, sensitivity: Sensitivity) -> AdditiveMechanism:
    """The same noise in the answers to linear queries: each is its exact value and whole multiples of what blocks get.

    Definition: a box is Σ_blocks C·M·x over what is new in each block, M x the block's counts and C whole numbers over
    a divisor; noise z in the blocks' counts reaches it as Σ C·z. Guarantee: as ``made``, of whose noisy counts the
    answers are functions; they agree with each other, exactly.
    Raises: TooLarge where there are too many answers to lay out what each takes; CertificateRefused.
    """
    if not np.any(made.scales > 0):
        return without_noise(made.name, sensitivity)
    answers = _Answers(made)
    step, steps = lattice_step(made.scales), sensitivity.queries.steps
    divisors = tuple(Fraction(one) * own / step for one, own in zip(answers.divisors, steps, strict=True))
    trees = tuple(one.radices if isinstance(one, Tree) else () for one in made.factors)
    mixing = IntegerMixing(answers.numerators(), divisors, made.scales, trees=trees)
    return AdditiveMechanism(made.name, sensitivity, answers.law(step), mixing)


@final
@dataclass(frozen=True, eq=False)
class _Answers:
    """What each answer takes of the noise in each block."""

    made: BoxMechanism

    @property
    def _used(self) -> list[int]:
        return np.flatnonzero(self.made.scales > 0).tolist()

    def _shape(self, block: Levels) -> tuple[list[int], list[int]]:
        """Of each axis how many groups of noisy numbers there are, and how many in each: siblings are drawn together
        where noise is normal."""
        groups, inner = [], []
        for factor, level in zip(self.made.factors, block, strict=True):
            together = isinstance(factor, Tree) and level and self.made.normal
            groups.append(factor.cells(level - 1) if together else factor.cells(level))
            inner.append(factor.radices[level - 1] - 1 if together and isinstance(factor, Tree) else 1)
        return groups, inner

    @property
    def divisors(self) -> list[int]:
        """(K,): what the numerators of each answer are over."""
        padded = [one.padded if isinstance(one, Tree) else 1 for one in self.made.factors]
        found = [1] * self.made.boxes.count
        for columns, places in self.made.told.supports:
            own = math.prod(padded[place] for place in columns) * (1 if self.made.normal else SHARES)
            if own * max(padded) >= _LARGEST:
                raise TooLarge("noise in so fine a tree is not laid out in 64-bit integers")
            for place in places.tolist():
                found[place] = own
        return found

    def law(self, step: Fraction) -> NoiseLaw:
        """Of all noisy numbers, in steps. Raises: TooLarge."""
        blocks, scales = self.made.question.blocks, self.made.scales / float(step)
        if not self.made.normal:
            return LaplaceNoise(
                np.repeat(scales[self._used], [math.prod(self._shape(blocks[n])[0]) for n in self._used])
            )
        parts: list[NoiseLaw] = []
        for number in self._used:
            groups, inner = self._shape(blocks[number])
            trees = [
                own + 1
                for own, one, level in zip(inner, self.made.factors, blocks[number], strict=True)
                if level and isinstance(one, Tree)
            ]
            if len(parts) + math.prod(groups) > _MOST_PARTS:
                raise TooLarge(f"noise in more than {_MOST_PARTS:,} groups of siblings is not laid out")
            parts += [DifferencedNormals(float(scales[number]), np.array(trees, dtype=np.float64))] * math.prod(groups)
        return ProductNoise(tuple(parts))

    def numerators(self) -> NDArray[np.int64]:
        """(K, m). Raises: TooLarge."""
        question = self.made.question
        widths = [math.prod(map(math.prod, self._shape(question.blocks[number]))) for number in self._used]
        ends = np.cumsum([0, *widths])
        if self.made.boxes.count * int(ends[-1]) > _MOST_ENTRIES:
            raise TooLarge(
                f"{self.made.boxes.count:,} answers that share {ends[-1]:,} noisy numbers are not laid out; at most "
                f"{_MOST_ENTRIES:,} pairs are: ask for them as dx.universe.BoxQueries"
            )
        found = np.zeros((self.made.boxes.count, int(ends[-1])), dtype=np.int64)
        at = {number: slice(*ends[place : place + 2]) for place, number in enumerate(self._used)}
        parts = (
            {n: {n: 1} for n in self._used}
            if self.made.normal
            else measurement_shares(BlockTables(question), self.made.scales)
        )
        for number, measured in parts.items():
            for columns, places in self.made.told.supports:
                if all(place in columns for place, level in enumerate(question.blocks[number]) if level):
                    for other, share in measured.items():
                        taken = self._taken(columns, places, question.blocks[number], question.blocks[other])
                        found[places, at[other]] += share * taken
        return found

    def _taken(
        self, columns: Sequence[int], boxes: NDArray[np.int64], block: Levels, measured: Levels
    ) -> NDArray[np.int64]:
        """(boxes, numbers): what they take of the block, as sums of the finer one that is ``measured``."""
        axes, count = [], len(boxes)
        for place, (factor, level, finer) in enumerate(zip(self.made.factors, block, measured, strict=True)):
            lower, upper = self.made.told.lower[boxes, place], self.made.told.upper[boxes, place]
            own = coefficients_of(factor, level, lower, upper) if place in columns else np.ones((count, 1), np.int64)
            own = np.repeat(own, factor.cells(finer) // own.shape[1], axis=1)
            if self.made.normal and level and isinstance(factor, Tree):
                split = own.reshape(count, factor.cells(level - 1), -1)
                axes.append(split[:, :, 1:])  # the first sibling's is what the others lack
            else:
                axes.append(own[:, :, None])
        return _products(axes)


def _products(axes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """(k, groups of all axes, inner of all axes) flattened, from (k, groups, inner) of each."""
    found = axes[0]
    for other in axes[1:]:
        found = np.einsum("kgi,khj->kghij", found, other).reshape(
            len(found), found.shape[1] * other.shape[1], found.shape[2] * other.shape[2]
        )
    return found.reshape(len(found), -1)


def coefficients_of(
    factor: Factor, level: int, lower: NDArray[np.int64], upper: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(K, numbers): what intervals take of what is new in a level: along a tree over its padded size, so that siblings'
    add up to 0; on a line the cuts at both ends, and all records where one is counted from above."""
    if not isinstance(factor, Tree):
        half = factor.size // 2
        if not level:
            return ((upper > half).astype(np.int64) - (lower > half))[:, None]
        cuts = np.arange(1, factor.size)
        signs = np.where(cuts <= half, 1, -1)
        return np.asarray(signs * ((cuts == upper[:, None]).astype(np.int64) - (cuts == lower[:, None])))
    width = factor.padded // factor.cells(level)
    high = np.where(upper == factor.size, factor.padded, upper)
    first = np.arange(factor.cells(level)) * width
    shared = np.maximum(np.minimum(high[:, None], first + width) - np.maximum(lower[:, None], first), 0)
    if not level:
        return np.asarray(shared)
    radix, above = factor.radices[level - 1], factor.cells(level - 1)
    siblings = shared.reshape(len(shared), above, radix)
    centred = above * (radix * siblings - siblings.sum(axis=2, keepdims=True))
    return np.asarray(centred.reshape(len(shared), -1))
