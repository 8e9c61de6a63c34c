"""Attributes that move together by their largest change: pairs of classes of their values, by how near these come."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.metric import PAIRS_PER_BLOCK, Metric, PairBlock, all_pairs

PAIR_LIMIT = 1_000_000_000
"""More pairs than this would take an hour."""


def cells_moving_together(nearest: Sequence[NDArray[np.float64]], shape: tuple[int, ...]) -> Iterator[PairBlock]:
    """All pairs of cells under the largest change, at the least distance of any of their records.

    In each part records of two classes can be chosen as near as there are, whatever is chosen in the others: the
    largest of the parts' least distances is the least of the largest.
    Args: ``nearest``: of each axis, how near two classes come, see :func:`nearest_of_classes`. Raises: TooLarge.
    """
    cells = math.prod(shape)
    refuse_pairs(cells * (cells - 1) // 2)
    for first, second in all_pairs(cells):
        codes = zip(np.unravel_index(first, shape), np.unravel_index(second, shape), strict=True)
        bounds = np.maximum.reduce([apart[ends] for apart, ends in zip(nearest, codes, strict=True)])
        finite = np.isfinite(bounds)
        yield PairBlock(first[finite], second[finite], bounds[finite])


def nearest_of_classes(part: Metric, classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """(C, C): the least distance between a value of one class and one of the other, 0 for the same class; ``classes``
    (N,) from 0, each with a value. *Exact*: the least of the metric's own rounded distances. Raises: TooLarge."""
    refuse_pairs(part.size**2)
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(int(classes.max()) + 1))
    rows = np.empty((part.size, len(starts)))
    step = max(1, PAIRS_PER_BLOCK // part.size)
    for start in range(0, part.size, step):
        apart = part.distance(order[start : start + step, None], order[None, :])
        rows[start : start + step] = np.minimum.reduceat(apart, starts, axis=1)
    found = np.minimum.reduceat(rows, starts, axis=0)
    # Whichever way round a distance was rounded, the lower one counts.
    return np.asarray(np.minimum(found, found.T))


def refuse_pairs(pairs: int, limit: int = PAIR_LIMIT) -> None:
    """Raises: TooLarge for so many pairs."""
    if pairs > limit:
        raise TooLarge(
            f"{pairs:,} pairs of records would have to be compared, the limit is {limit:,}; "
            "ask fewer queries at once, or take coarser attributes"
        )
