"""The generating pairs of a metric between kinds of records that a map treats alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.groups import GroupedMetric
from dxgeom.metrics.combinations.one_more import OneMoreMetric
from dxgeom.metrics.combinations.presence import PresenceMetric
from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.families.axis_pairs import axis_labels, pairs_within_sets
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.families.partition import PartitionMetric
from dxgeom.metrics.families.points import PointsMetric
from dxgeom.metrics.families.star import StarMetric, pairs_of_classes
from dxgeom.metrics.metric import PAIRS_PER_BLOCK, Metric, PairBlock, all_pairs
from dxgeom.metrics.operations.near_places import few_kinds, nearest_of_kinds
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.rows import distinct_rows, least_by_row

PAIR_LIMIT = 1_000_000_000
"""More pairs than this would take an hour."""


def pairs_of_kinds(metric: Metric, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """The generating pairs of a metric as pairs of kinds of records; ``which`` (N,) tells the kind of each record.

    Of pairs that are the same here, some come once only, with their smallest bound.
    Raises: TooLarge.
    """
    match metric:
        case DiscreteMetric(epsilon=epsilon):
            yield from _all_kinds(which, round_down(epsilon))
        case CapMetric(inner=inner, epsilon=epsilon):
            # Where the inner bound is above the ceiling, the same difference comes again with the ceiling.
            yield from pairs_of_kinds(inner, which)
            yield from _all_kinds(which, round_down(epsilon))
        case PresenceMetric(inner=inner, epsilon=epsilon):
            for pairs in pairs_of_kinds(inner, which[:-1]):
                nearer = metric.nearer_than_through_absence(pairs.bound)
                yield PairBlock(pairs.first[nearer], pairs.second[nearer], pairs.bound[nearer])
            kinds = _occurring(which[:-1])
            yield PairBlock(kinds, np.full_like(kinds, which[-1]), np.full(kinds.size, round_down(epsilon)))
        case OneMoreMetric(inner=inner, epsilon=far):
            yield from map(metric.nearer, pairs_of_kinds(inner, which[:-1]))
            if far is not None:
                kinds = _occurring(which[:-1])
                yield PairBlock(kinds, np.full_like(kinds, which[-1]), np.full(kinds.size, round_down(far)))
        case SumMetric():
            for axis in range(len(metric.parts)):
                yield from _along_axis(metric, axis, which)
        case GroupedMetric(parts=parts, groups=groups):
            yield from pairs_of_kinds(SumMetric(parts), which)
            for group in groups:
                yield from _within_sets(axis_labels(metric.shape, group.places), which, round_down(group.epsilon))
        case PartitionMetric(blocks=blocks, epsilon=epsilon):
            yield from _within_sets(blocks, which, round_down(epsilon))
        case StarMetric():
            count = _occurring(which).size
            refuse_pairs(count * (count - 1) // 2)
            yield from pairs_of_classes(metric, which)
        case PointsMetric() if few_kinds(metric, which):
            yield from nearest_of_kinds(metric, which)
        case _:
            for pairs in metric.generating_pairs():
                yield PairBlock(which[pairs.first], which[pairs.second], pairs.bound)


def _occurring(which: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct entries, increasing; they are few, so nothing is sorted."""
    occurs = np.zeros(int(which.max()) + 1, dtype=np.bool_)
    occurs[which] = True
    return np.flatnonzero(occurs)


def _all_kinds(which: NDArray[np.int64], bound: float) -> Iterator[PairBlock]:
    """Every pair of kinds that occur."""
    kinds = _occurring(which)
    count = kinds.size
    refuse_pairs(count * (count - 1) // 2)
    for first, second in all_pairs(count):
        yield PairBlock(kinds[first], kinds[second], np.full(first.size, bound))


def _within_sets(labels: NDArray[np.int64], which: NDArray[np.int64], bound: float) -> Iterator[PairBlock]:
    """Every pair of kinds that occur under one label."""
    seen = 0
    for first, second in pairs_within_sets(labels, which):
        seen += first.size
        refuse_pairs(seen)
        yield PairBlock(first, second, np.full(first.size, bound))


def _along_axis(metric: SumMetric, axis: int, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """Along one code of a product: the part's pairs, on each *distinct* fibre."""
    part = metric.parts[axis]
    grid = metric.grid_along(which[None, :, None], axis)
    fibres, _ = distinct_rows(grid.transpose(0, 2, 1).reshape(-1, part.size))
    if isinstance(part, StarMetric) and part.size > len(fibres):
        for fibre in fibres:
            yield from pairs_of_classes(part, fibre)
        return
    seen = 0
    for pairs in part.generating_pairs():
        seen += len(fibres) * pairs.bound.size
        refuse_pairs(seen)
        rows = max(1, PAIRS_PER_BLOCK // max(pairs.bound.size, 1))
        for start in range(0, len(fibres), rows):
            here = fibres[start : start + rows]
            first, second = here[:, pairs.first].ravel(), here[:, pairs.second].ravel()
            yield PairBlock(first, second, np.tile(pairs.bound, len(here)))


def least_by_pair(pairs: PairBlock) -> PairBlock:
    """Each unordered pair of different kinds once, with the smallest of its bounds."""
    apart = pairs.first != pairs.second
    low, high = np.minimum(pairs.first, pairs.second)[apart], np.maximum(pairs.first, pairs.second)[apart]
    distinct, least = least_by_row(np.stack([low, high], axis=1), pairs.bound[apart])
    return PairBlock(distinct[:, 0], distinct[:, 1], least)


def refuse_pairs(pairs: int) -> None:
    """Raises: TooLarge for so many pairs."""
    if pairs > PAIR_LIMIT:
        raise TooLarge(
            f"{pairs:,} pairs of records would have to be compared, the limit is {PAIR_LIMIT:,}; "
            "ask fewer queries at once, or coarsen the universe"
        )
