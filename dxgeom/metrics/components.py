"""Which records a metric joins at all, and those that it keeps infinitely far apart, as metrics of their own.

Within a component all distances are finite, between two they are infinite. Blocks are what a policy keeps infinitely
far apart, with a metric each.

A metric as a part of itself: what a row may tell where several rows of one person are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field, replace
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import array_of
from dxgeom.errors import DxgeomError, TooLarge, UnsupportedCombination
from dxgeom.metrics.combinations import (
    CapMetric,
    Group,
    GroupedMetric,
    MaxMetric,
    OneMoreMetric,
    PresenceMetric,
    ReorderedMetric,
    SumMetric,
)
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric, StarMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.matrices import DenseMetric
from dxgeom.metrics.metric import Metric, PairBlock, gathered
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.numeric.sealed import Sealed, canonical_digest, sealed


@final
@dataclass(frozen=True, eq=False)
class Components:
    """The components of a product, each a combination of components of its axes.

    ``axes``: for each axis of the product the component of each code, numbered from 0; an absent record, the index
    after the last, lies in component 0.
    """

    axes: tuple[NDArray[np.int64], ...] = field(repr=False)

    @property
    def count(self) -> int:
        """How many components there are."""
        return math.prod(int(axis.max()) + 1 for axis in self.axes)

    def of(self, records: NDArray[np.int64]) -> NDArray[np.int64]:
        """The component of each record, by index. Guarantee: *exact*."""
        if self.count == 1:
            return np.zeros(np.shape(records), dtype=np.int64)
        codes = np.unravel_index(records, tuple(len(axis) for axis in self.axes))
        found = np.zeros(np.shape(records), dtype=np.int64)
        for axis, code in zip(self.axes, codes, strict=True):
            found = found * (int(axis.max()) + 1) + axis[code]
        return found

    def keys(self, attributes: int) -> list[tuple[int, NDArray[np.int64]]]:
        """What orders records as their components are numbered, whatever their number: by the first key, then the next.

        Definition: the attributes of several components, each by its place with the component of every code.
        Guarantee: *exact*; two records that are there share a component exactly when all keys are equal.
        Raises: TooLarge where components are not told attribute by attribute.
        """
        if self.count == 1:
            return []
        if len(self.axes) != attributes:
            raise TooLarge("the components of these records are not told attribute by attribute")
        return [(place, axis) for place, axis in enumerate(self.axes) if int(axis.max()) > 0]


def components_of(metric: Metric) -> Components:
    """The components of a metric: two records share one exactly when their distance is finite."""
    match metric:
        case CapMetric() | PresenceMetric():
            return Components((np.zeros(1, dtype=np.int64),))
        case SumMetric(parts=parts) | MaxMetric(parts=parts):
            return Components(tuple(_labels(part) for part in parts))
        case GroupedMetric(parts=parts, groups=groups):
            joined = {place for group in groups for place in group.places}
            return Components(
                tuple(
                    np.zeros(part.size, dtype=np.int64) if place in joined else _labels(part)
                    for place, part in enumerate(parts)
                )
            )
        case _:
            return Components((_labels(metric),))


def _labels(metric: Metric) -> NDArray[np.int64]:
    """(N,): the component of each record."""
    match metric:
        case GraphMetric() | PartitionMetric():
            return np.asarray(metric.components()[1], dtype=np.int64)
        case OneMoreMetric(inner=inner, epsilon=None):
            labels = _labels(inner)
            return np.append(labels, labels.max() + 1)
        case OneMoreMetric():
            return np.zeros(metric.size, dtype=np.int64)
        case ReorderedMetric(inner=inner, shape=shape, order=order):
            within = _labels(inner).reshape([shape[axis] for axis in order])
            return np.ascontiguousarray(within.transpose(np.argsort(order))).reshape(-1)
        case CapMetric() | PresenceMetric() | SumMetric() | MaxMetric() | GroupedMetric():
            return components_of(metric).of(np.arange(metric.size))
        case _:
            return _by_distance(metric)


def _by_distance(metric: Metric) -> NDArray[np.int64]:
    """Everything at a finite distance of one record is its component; then the next record without one."""
    labels = np.full(metric.size, -1, dtype=np.int64)
    count = 0
    while (left := np.flatnonzero(labels < 0)).size:
        labels[left[np.isfinite(metric.distance(left[0], left))]] = count
        count += 1
    return labels


_DOOR = object()
MOST_PAIRS = 20_000_000
"""Of generating pairs that are listed for blocks without a structure of their own."""


@final
@dataclass(frozen=True, eq=False)
class SeparateBlocks(Sealed):
    """Blocks of records that a metric keeps infinitely far apart; only :func:`separate_blocks` makes them.

    ``members[b]``: the indices of the possible records of block b, increasing; together they are all, each once.
    ``metrics[b]``: the metric on them. ``whole``: the metric on all records.
    """

    whole: VerifiedMetric
    members: tuple[NDArray[np.int64], ...] = field(repr=False)
    metrics: tuple[VerifiedMetric, ...] = field(repr=False)
    door: InitVar[object] = None

    def __post_init__(self, door: object) -> None:
        if door is not _DOOR:
            raise DxgeomError("blocks that a metric keeps apart are made by separate_blocks, never directly")

    def cut(self, counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """A histogram's part for each block."""
        return [counts[inside] for inside in self.members]


def separate_blocks(verified: VerifiedMetric, labels: ArrayLike) -> SeparateBlocks:
    """The blocks that equal labels make, by increasing label, and the metric on each.

    Guarantee: d is infinite between blocks, checked on every generating pair, and on each block it is the metric given.
    These metrics keep the policy's fingerprint and budget, so whatever honours one charges the policy's own account.
    Args: ``labels`` (N,).
    Raises: UnsupportedCombination for labels of another shape, where records may be absent, or naming two records of
    different blocks that the metric hides from each other; TooLarge for blocks that would have to be listed pair by
    pair.
    """
    require_verified(verified)
    if verified.absent is not None:
        raise UnsupportedCombination(
            "where records may be absent, blocks are not apart: adding a record to one and removing it from another is "
            "a replacement; use in_sequence"
        )
    names, block_of = np.unique(array_of(labels, "labels", "give one for each possible record"), return_inverse=True)
    if block_of.shape != (verified.size,):
        raise UnsupportedCombination(f"blocks need a label for each of {verified.size:,} possible records")
    for pairs in verified.metric.generating_pairs():
        _require_separate(pairs, block_of)
    members = sealed(tuple(np.flatnonzero(block_of == block) for block in range(len(names))))
    inner = tuple(
        verified.narrowed(_restricted(verified.metric, inside), canonical_digest("block", verified.records, inside))
        for inside in members
    )
    return SeparateBlocks(verified, members, inner, _DOOR)


def _require_separate(pairs: PairBlock, block_of: NDArray[np.int64]) -> None:
    crossing = np.flatnonzero(block_of[pairs.first] != block_of[pairs.second])
    if crossing.size:
        i, j = int(pairs.first[crossing[0]]), int(pairs.second[crossing[0]])
        raise UnsupportedCombination(
            f"the policy hides possible record {i} from {j}, which another block holds: blocks are parallel only "
            "where it keeps them apart; use in_sequence"
        )


def _restricted(metric: Metric, inside: NDArray[np.int64]) -> Metric:
    """The metric on some of its records, from which no generating pair leads out."""
    match metric:
        case PartitionMetric(blocks=blocks, epsilon=epsilon):
            return PartitionMetric(blocks[inside], epsilon)
        case DenseMetric(matrix=matrix):
            return DenseMetric(np.ascontiguousarray(matrix[np.ix_(inside, inside)]))
        case SumMetric(parts=parts, shape=shape) if (codes := _box(shape, inside)) is not None:
            kept = (
                part if len(code) == part.size else _restricted(part, code)
                for part, code in zip(parts, codes, strict=True)
            )
            return SumMetric(tuple(kept))
        case _:
            return _listed(metric, inside)


def _box(shape: tuple[int, ...], inside: NDArray[np.int64]) -> list[NDArray[np.int64]] | None:
    """The codes on each axis, if the records are all combinations of them."""
    codes = [np.unique(code) for code in np.unravel_index(inside, shape)]
    return codes if math.prod(map(len, codes)) == len(inside) else None


def _listed(metric: Metric, inside: NDArray[np.int64]) -> GraphMetric:
    place = np.full(metric.size, -1)
    place[inside] = np.arange(len(inside))
    refusal = f"a block of records here has more than {MOST_PAIRS:,} generating pairs to list"
    return GraphMetric(len(inside), *gathered(_placed(metric, place), MOST_PAIRS, refusal))


def _placed(metric: Metric, place: NDArray[np.int64]) -> Iterator[PairBlock]:
    """The generating pairs of records that have a place, by their places."""
    for pairs in metric.generating_pairs():
        here = place[pairs.first] >= 0
        yield PairBlock(place[pairs.first[here]], place[pairs.second[here]], pairs.bound[here])


def divided(metric: Metric, parts: int) -> Metric:
    """d/``parts``, of the same family.

    Guarantee: *rounded down*: exact rationals are divided exactly, and where a metric holds floats each is rounded
    down, so that no distance is above d/``parts``.
    Raises: UnsupportedCombination for a family that does not know how.
    """
    match metric:
        case CapMetric(inner=inner, epsilon=epsilon):
            return CapMetric(divided(inner, parts), epsilon / parts)
        case PresenceMetric(inner=inner, epsilon=epsilon):
            return PresenceMetric(divided(inner, parts), epsilon / parts)
        case OneMoreMetric(inner=inner, epsilon=epsilon):
            return OneMoreMetric(divided(inner, parts), None if epsilon is None else epsilon / parts)
        case ReorderedMetric(inner=inner):
            return replace(metric, inner=divided(inner, parts))
        case SumMetric(parts=held) | MaxMetric(parts=held):
            return type(metric)(tuple(divided(one, parts) for one in held))
        case GroupedMetric(parts=held, groups=groups):
            less = tuple(Group(group.places, group.epsilon / parts) for group in groups)
            return GroupedMetric(tuple(divided(one, parts) for one in held), less)
        case _:
            return _alone(metric, parts)


def _alone(metric: Metric, parts: int) -> Metric:
    match metric:
        case DiscreteMetric(epsilon=epsilon) | PartitionMetric(epsilon=epsilon):
            return replace(metric, epsilon=epsilon / parts)
        case LineMetric(rate=rate):
            return replace(metric, rate=rate / parts)
        case PointsMetric(rate=rate, floor=floor):
            return replace(metric, rate=rate / parts, floor=floor / parts)
        case StarMetric(epsilons=epsilons) | ValueSensitivityMetric(epsilons=epsilons):
            return replace(metric, epsilons=tuple(Fraction(epsilon) / parts for epsilon in epsilons))
        case GraphMetric(bounds=bounds):
            return replace(metric, bounds=_less(bounds, parts), exact_lengths=None)
        case DenseMetric(matrix=matrix):
            return DenseMetric(_less(matrix, parts))
    raise UnsupportedCombination(
        f"a {type(metric).__name__} does not know how to be shared among the rows of a person: count people once"
    )


def _less(bounds: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Each over ``parts``, *rounded down*; 0 stays 0 and ∞ stays ∞."""
    over = bounds / parts
    sound = (over > 0) & np.isfinite(over)
    return np.where(sound, np.nextafter(over, 0.0), over)
