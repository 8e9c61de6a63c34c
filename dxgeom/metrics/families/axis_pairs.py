"""Pairs of a sub-product, repeated wherever the other codes agree; and all pairs within many sets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.metric import PAIRS_PER_BLOCK, Metric, PairBlock, all_pairs
from dxgeom.numeric.rows import distinct_rows

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def pairs_along_axes(shape: Sequence[int], axes: Sequence[int], part: Metric) -> Iterator[PairBlock]:
    """The generating pairs of a metric on the codes of some axes, in every fibre of the whole product.

    Args: ``shape`` of the whole; ``axes`` of the fibres, in the order of ``part``'s codes, the last one fastest.
    """
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    others = [axis for axis in range(len(shape)) if axis not in axes]
    starts = _combined([shape[axis] for axis in others], [strides[axis] for axis in others])
    inside = _combined([shape[axis] for axis in axes], [strides[axis] for axis in axes])
    for pairs in part.generating_pairs():
        first, second = inside[pairs.first], inside[pairs.second]
        rows = max(1, PAIRS_PER_BLOCK // max(pairs.bound.size, 1))
        for start in range(0, starts.size, rows):
            here = starts[start : start + rows, None]
            yield PairBlock((here + first).ravel(), (here + second).ravel(), np.tile(pairs.bound, len(here)))


def _combined(sizes: Sequence[int], strides: Sequence[int]) -> NDArray[np.int64]:
    """Σ code·stride for every combination of codes, the last code fastest."""
    total = np.zeros(1, dtype=np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        total = (total[:, None] + stride * np.arange(size, dtype=np.int64)).ravel()
    return total


def axis_labels(shape: Sequence[int], axes: Sequence[int]) -> NDArray[np.int64]:
    """For every record of a product, the number of the fibre along ``axes`` that it lies in."""
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape)]
    labels = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    return np.broadcast_to(labels, shape).ravel()


def pairs_within_sets(labels: NDArray[np.int64], members: NDArray[np.int64]) -> Iterator[Pairs]:
    """Every pair of different members with equal labels; what several sets have in common may come again.

    Args: ``labels``, ``members``: (N,); a set is the members of one label. Equal sets are gone through once.
    """
    rows, _ = distinct_rows(np.stack([labels, members], axis=1))
    starts = np.flatnonzero(np.diff(rows[:, 0], prepend=rows[0, 0] - 1))
    sizes = np.diff(starts, append=len(rows))
    for size in np.unique(sizes[sizes > 1]).tolist():
        places = starts[sizes == size][:, None] + np.arange(size)
        sets, _ = distinct_rows(rows[places, 1])
        yield from _pairs_of_rows(sets)


def _pairs_of_rows(sets: NDArray[np.int64]) -> Iterator[Pairs]:
    for one, other in all_pairs(sets.shape[1]):
        height = max(1, PAIRS_PER_BLOCK // one.size)
        for start in range(0, len(sets), height):
            here = sets[start : start + height]
            yield here[:, one].ravel(), here[:, other].ravel()
