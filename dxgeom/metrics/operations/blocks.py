"""Records that a policy keeps infinitely far apart, cut into blocks with a metric each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import array_of
from dxgeom.errors import DxgeomError, UnsupportedCombination
from dxgeom.metrics.checking.dense import DenseMetric
from dxgeom.metrics.checking.verification import VerifiedMetric, require_verified, verify
from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.families.graph import GraphMetric
from dxgeom.metrics.families.partition import PartitionMetric
from dxgeom.metrics.metric import Metric, PairBlock, gathered
from dxgeom.numeric.canonical_digest import canonical_digest
from dxgeom.numeric.sealed import Sealed, sealed

_DOOR = object()
MOST_PAIRS = 20_000_000
"""Of generating pairs that are listed for blocks without a structure of their own."""


@final
@dataclass(frozen=True, eq=False)
class SeparateBlocks(Sealed):
    """Blocks of records that a metric keeps infinitely far apart; only :func:`separate_blocks` makes them.

    ``members[b]``: the indices of the record types of block b, increasing; together they are all, each once.
    ``metrics[b]``: the metric on them. ``whole``: the metric on all records.
    """

    whole: VerifiedMetric
    members: tuple[NDArray[np.int64], ...] = field(repr=False)
    metrics: tuple[VerifiedMetric, ...] = field(repr=False)
    door: InitVar[object] = None

    def __post_init__(self, door: object) -> None:
        if door is not _DOOR:
            raise DxgeomError("blocks that a metric keeps apart are made by separate_blocks, never by hand")

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
    names, block_of = np.unique(array_of(labels, "labels", "give one for each record type"), return_inverse=True)
    if block_of.shape != (verified.size,):
        raise UnsupportedCombination(f"blocks need a label for each of {verified.size:,} record types")
    for pairs in verified.metric.generating_pairs():
        _require_separate(pairs, block_of)
    members = sealed(tuple(np.flatnonzero(block_of == block) for block in range(len(names))))
    inner = tuple(
        verify(
            _restricted(verified.metric, inside),
            title=verified.title,
            fingerprint=verified.fingerprint,
            budget=verified.budget,
            data_set=verified.data_set,
            stated=verified.stated,
            alike=verified.alike,
            privacy=verified.privacy,
            block=canonical_digest("block", verified.records, inside),
            people=verified.people,
        )
        for inside in members
    )
    return SeparateBlocks(verified, members, inner, _DOOR)


def _require_separate(pairs: PairBlock, block_of: NDArray[np.int64]) -> None:
    crossing = np.flatnonzero(block_of[pairs.first] != block_of[pairs.second])
    if crossing.size:
        i, j = int(pairs.first[crossing[0]]), int(pairs.second[crossing[0]])
        raise UnsupportedCombination(
            f"the policy hides record type {i} from {j}, which another block holds: blocks are parallel only where it "
            "keeps them apart; use in_sequence"
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
