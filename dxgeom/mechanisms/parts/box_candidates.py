"""Noise in blocks as a candidate of plans for linear queries that are all counts in boxes, whose names are kept.

The blocks of numbers that noise in boxes is added to, when it is noise in answers to linear queries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.lattice import LatticeQueries, tables_over
from dxgeom.mechanisms.linear.mixing import Block, Classes, Cuts, IntegerMixing, MeasuredNumbers, Siblings, Summing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.mechanisms.parts.box_scales import BlockTables, Levels
from dxgeom.mechanisms.parts.counts_with_noise import SHARES, measurement_shares
from dxgeom.mechanisms.parts.factors import Factor, Tree
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.differenced import DifferencedNormals
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.weight_table import LARGEST_NUMERATOR, WeightTable
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.spans import spans_of, together

_MOST_PARTS: Final = 1 << 14


@final
@dataclass(frozen=True, eq=False)
class BoxMeasurement(MeasuredNumbers):
    """What ``made`` measures; it has proved its scales when it was made."""

    made: BoxMechanism

    def __post_init__(self) -> None:
        if type(self.made) is not BoxMechanism:
            raise CertificateRefused(f"noise in boxes is proved by a BoxMechanism, found a {type(self.made).__name__}")
        _ = self.law  # worked out of what was proved, now

    @property
    def metric(self) -> VerifiedMetric:  # type: ignore[override]
        return self.made.metric

    @property
    def scales(self) -> NDArray[np.float64]:  # type: ignore[override]
        return self.made.scales

    @property
    def trees(self) -> tuple[tuple[int, ...], ...]:
        return tuple(one.radices if isinstance(one, Tree) else () for one in self.made.factors)

    @property
    def codes(self) -> Mapping[int, NDArray[np.int64]]:
        return {one.axis: one.codes for one in self.made.told.columns}

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return blocks_of(self.made)

    @cached_property
    def law(self) -> NoiseLaw:
        """Raises: TooLarge."""
        used = self.scales[self.scales > 0] * self.steps_per_count
        if not self.made.normal:
            return LaplaceNoise(np.repeat(used, [block.size for block in self.blocks]))
        parts: list[NoiseLaw] = []
        for scale, block in zip(used.tolist(), self.blocks, strict=True):
            groups = math.prod(one.shape[0] for one in block.sums)
            if len(parts) + groups > _MOST_PARTS:
                raise TooLarge(f"noise in more than {_MOST_PARTS:,} groups of siblings is not laid out")
            sizes = np.array([one.radix for one in block.sums if isinstance(one, Siblings)], dtype=np.float64)
            parts += [DifferencedNormals(scale, sizes)] * groups
        return ProductNoise(tuple(parts))


def blocks_of(made: BoxMechanism) -> tuple[Block, ...]:
    """The blocks with noise, as what is summed of each attribute."""
    axes, found = [one.axis for one in made.told.columns], []
    for number in np.flatnonzero(made.scales > 0).tolist():
        levels = [*zip(axes, made.factors, made.question.blocks[number], strict=True)]
        sums = tuple(_summing(factor, level, made.normal) for _, factor, level in levels if level)
        found.append(Block(tuple(axis for axis, _, level in levels if level), sums))
    return tuple(found)


def _summing(factor: Factor, level: int, normal: bool) -> Summing:
    """Of a level, but that of all records: of normal noise along a tree what siblings are above the first."""
    if not isinstance(factor, Tree):
        return Cuts(factor.size)
    width = factor.padded // factor.cells(level)
    if normal:
        return Siblings(factor.cells(level - 1), factor.radices[level - 1], width)
    return Classes(factor.cells(level), width)


_MOST_ENTRIES: Final = 1 << 25
_LARGEST: Final = 2.0**61


def counted_boxes(sensitivity: Sensitivity) -> BoxQueries:
    """The boxes that the queries count the records in, each once, in their order.

    Guarantee: *exact*. Of the very weights that a release multiplies with the histogram, each is 1 inside its query's
    box and 0 outside; the boxes that were found are held against them once more.
    Raises: TooLarge where they count anything else.
    """
    queries, universe = sensitivity.queries, sensitivity.universe
    if universe is None or universe.listed is not None:
        raise TooLarge("these queries are no boxes: nobody says which attributes the records have, or a table does")
    tables = [_per_record(table, queries) for table in tables_over(queries, universe)]
    try:
        boxes = together(universe, [spans_of(table) for table in tables])
    except UnsupportedCombination as error:
        raise TooLarge(f"these queries are no boxes: {error}") from error
    places = np.argsort(np.concatenate([table.queries for table in tables]), kind="stable")
    found = replace(boxes, lower=boxes.lower[places], upper=boxes.upper[places], records=queries.records)
    if not all(_reproduces(found, table) for table in tables):
        raise TooLarge("these queries are no boxes: the boxes between their ends have other weights")
    return found


def _per_record(table: WeightTable, queries: LatticeQueries) -> WeightTable:
    """The weights of records in place of steps. Raises: TooLarge where one is neither 0 nor 1."""
    ones = [1 / queries.steps[query] for query in table.queries.tolist()]
    proper = np.array([one.denominator == 1 and one < LARGEST_NUMERATOR for one in ones])
    units = np.array([one.numerator if whole else 1 for one, whole in zip(ones, proper.tolist(), strict=True)])
    if table.stated is None:
        proper &= units == 1
    else:
        counted = table.flat != 0
        proper &= ~np.any(counted & (table.flat != units[:, None]), axis=1)
        table = replace(table, stated=counted.reshape(table.stated.shape).astype(np.int64))
    if not np.all(proper):
        name = queries.names[table.queries[int(proper.argmin())]]
        raise TooLarge(f"these queries are no boxes: not every weight of '{name}' is 0 or 1")
    return table


def _reproduces(boxes: BoxQueries, table: WeightTable) -> bool:
    """Whether each query of the table has the weight 1 in its box, and 0 elsewhere; *exact*."""
    columns = {one.axis: place for place, one in enumerate(boxes.columns)}
    elsewhere = [place for axis, place in columns.items() if axis not in table.axes]
    lower, upper = boxes.lower[table.queries], boxes.upper[table.queries]
    whole = np.all((lower == 0) & (upper == np.array(boxes.sizes)), axis=0)
    inside = []
    for axis, classes in zip(table.axes, table.classes, strict=True):
        if axis not in columns:  # of one value
            inside.append(np.ones((len(table.queries), 1), dtype=bool))
            continue
        sizes, low, high = np.bincount(classes), lower[:, columns[axis]], upper[:, columns[axis]]
        first, last = _ends_of(classes)
        within = (low[:, None] <= first) & (last < high[:, None])
        if np.any(within @ sizes != high - low):  # some class is cut in two
            return False
        inside.append(within)
    if table.counted is not None:
        places = np.unravel_index(table.counted, table.shape)
        each = zip(inside, table.shape, places, strict=True)
        same = all(np.array_equal(within, np.arange(size) == own[:, None]) for within, size, own in each)
    else:
        product = np.ones(len(table.queries), dtype=bool)
        for within in inside:
            product = product[..., None] & within.reshape(len(within), *[1] * (product.ndim - 1), -1)
        same = np.array_equal(table.weights, product)
    return same and bool(np.all(whole[elsewhere]))


def _ends_of(classes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last code of each class."""
    order = np.argsort(classes, kind="stable")
    bounds = np.cumsum(np.bincount(classes))
    return order[bounds - np.bincount(classes)], order[bounds - 1]


def in_answers(made: BoxMechanism, sensitivity: Sensitivity) -> AdditiveMechanism:
    """The same noise in the answers to linear queries: each is its exact value and whole multiples of what blocks get.

    Definition: a box is Σ_blocks C·M·x over what is new in each block, M x the block's counts and C whole numbers over
    a divisor; noise z in the blocks' counts reaches it as Σ C·z. Guarantee: as ``made``, of whose noisy counts the
    answers are functions; they agree with each other, exactly.
    Raises: TooLarge where there are too many answers to lay out what each takes; CertificateRefused.
    """
    if not np.any(made.scales > 0):
        return without_noise(made.name, sensitivity)
    answers, measured = _Answers(made), BoxMeasurement(made)
    each = zip(answers.divisors, sensitivity.queries.steps, strict=True)
    divisors = tuple(one * own * measured.steps_per_count for one, own in each)
    return AdditiveMechanism(
        made.name, sensitivity, measured.law, IntegerMixing(answers.numerators(), divisors, measured)
    )


@final
@dataclass(frozen=True, eq=False)
class _Answers:
    """What each answer takes of the noise in each block."""

    made: BoxMechanism

    @cached_property
    def _used(self) -> list[int]:
        return np.flatnonzero(self.made.scales > 0).tolist()

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

    def numerators(self) -> NDArray[np.int64]:
        """(K, m). Raises: TooLarge."""
        question = self.made.question
        widths = [block.size for block in blocks_of(self.made)]
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
            own = _coefficients_of(factor, level, lower, upper) if place in columns else np.ones((count, 1), np.int64)
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


def _coefficients_of(
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
