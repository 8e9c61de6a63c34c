"""The generating pairs of a metric between kinds of records that a map treats alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

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


_ENTRIES_PER_BLOCK: Final = 1 << 20


class Kinds(NamedTuple):
    """``columns`` (R, K): int64, the weights of a record of each kind; pairs ``first``, ``second`` (E,) of these, with
    ``bounds`` (E,), rounded down."""

    columns: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    bounds: NDArray[np.float64]


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


def distinct(kinds: Kinds) -> Kinds:
    """One pair for each difference up to sign, that with the least bound, and none without a difference.

    Differences are told apart by a linear hash, of which all pairs of one value are then compared, exactly: where two
    that differ have the same hash, all of that hash stay.
    """
    columns, first, second, bounds = kinds
    odd = np.random.default_rng(0).integers(1, 2**63, columns.shape[1], dtype=np.uint64) | np.uint64(1)
    hashes = columns.astype(np.uint64) @ odd
    signed = (hashes[first] - hashes[second]).view(np.int64)
    flipped = signed < 0
    first, second = np.where(flipped, second, first), np.where(flipped, first, second)
    order = np.lexsort((bounds, np.abs(signed)))
    first, second, bounds, value = first[order], second[order], bounds[order], np.abs(signed)[order]
    head = np.flatnonzero(np.diff(value, prepend=-1) != 0)
    group = np.cumsum(np.diff(value, prepend=-1) != 0) - 1
    kept = np.zeros(len(bounds), dtype=bool)
    kept[head] = True
    kept[_unlike_their_head(columns, first, second, head[group])] = True
    kept[head[value[head] == 0]] = False
    moved = _differing(columns, first, second, np.flatnonzero((value == 0) | (value == np.iinfo(np.int64).min)))
    kept[moved] = True
    return Kinds(columns, first[kept], second[kept], bounds[kept])


def _unlike_their_head(
    columns: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64], heads: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Places whose difference is not that of the place ``heads`` (E,)."""
    others = np.flatnonzero(heads != np.arange(len(heads)))
    found = []
    at_once = max(1, _ENTRIES_PER_BLOCK // columns.shape[1])
    for start in range(0, len(others), at_once):
        here = others[start : start + at_once]
        there = heads[here]
        own = columns[first[here]] - columns[second[here]]
        own -= columns[first[there]]
        own += columns[second[there]]
        found.append(here[own.any(axis=1)])
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def _differing(
    columns: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Of these places those with a difference."""
    found = [np.empty(0, dtype=np.int64)]
    at_once = max(1, _ENTRIES_PER_BLOCK // columns.shape[1])
    for start in range(0, len(places), at_once):
        here = places[start : start + at_once]
        found.append(here[np.any(columns[first[here]] != columns[second[here]], axis=1)])
    return np.concatenate(found)
