"""The differences that decide a shape, of many more: those that reach far. No privacy rests on the choice."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.geometry.hull_growth import few_extreme_points
from dxgeom.metrics.changes import ListedChanges, largest_first
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.numeric.qhull import HullLimits

_ENTRIES: Final = 1_200_000
"""Of the differences that are kept, at most."""
_LEAST: Final = 2_000
_FLAT: Final = 1e-9
_FLAT_SQUARED: Final = 1e-13
"""Squares of lengths tell no smaller ones apart."""
_PER_QUERY: Final = 2
_MANY: Final = 2_000
"""Fewer differences are looked at as soon as their corners are told from the others."""
_MOST_QUERIES: Final = 8
_FEW_FACETS: Final = HullLimits(facets=3_000, seconds=np.inf)
"""A hull of more is not grown for its corners alone. No clock decides: the same differences are kept every time."""


def corner_places(changes: ListedChanges) -> NDArray[np.int64] | None:
    """Of very many differences of few queries the corners of their hull, where these are few: a norm ball that holds
    the corners over their bounds holds all. None where that is no help."""
    noisy = changes.of_each_query > 0
    if changes.count < _MANY or not 1 < np.sum(noisy) <= _MOST_QUERIES:
        return None
    points = changes.differences[:, noisy] / changes.bounds[:, None] / changes.of_each_query[noisy]
    _, reach, turned = np.linalg.svd(np.asarray(np.linalg.qr(points, mode="r")))
    spanning = reach > _FLAT * reach[0]
    try:
        return few_extreme_points(points @ (turned[spanning] / reach[spanning, None]).T, _FEW_FACETS)
    except TooLarge:
        return None


def active_differences(changes: PairedChanges) -> ListedChanges:
    """Of all differences some that reach furthest, in the directions of the queries and as differences spread.

    Among them are enough for their span to be that of all.
    """
    queries = changes.kinds.columns.shape[1]
    scales = np.where(changes.of_each_query > 0, changes.of_each_query, 1.0)
    count = max(_LEAST, _ENTRIES // queries)
    whitened = (changes.kinds.columns / scales) @ _whitening(changes, scales)
    lengths = np.concatenate([np.sqrt((rows**2).sum(axis=1)) / bounds for rows, bounds in changes.steps(whitened)])
    longest = largest_first(lengths, count)
    spread = np.linspace(0, changes.count - 1, min(changes.count, count // 8)).astype(np.int64)
    chosen = np.unique(np.concatenate([longest, spread, _furthest(changes, whitened)[0]]))
    chosen = _in_all_directions(changes, whitened, chosen, _FLAT * float(lengths.max()))
    return ListedChanges(changes.rows(chosen), changes.bounds[chosen])


def _whitening(changes: PairedChanges, scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """(K, m): takes differences over scales to where they spread alike in all directions of their span."""
    columns, first, second, bounds = changes.kinds
    weights = 1 / bounds**2
    degrees = np.bincount(first, weights, len(columns)) + np.bincount(second, weights, len(columns))
    centred = columns / scales
    centred -= centred.mean(axis=0)
    # The pairs' own second moment would need a row for each; with every kind as often as it is in pairs it is near.
    values, axes = np.linalg.eigh((centred * degrees[:, None]).T @ centred)
    kept = values > values[-1] * _FLAT_SQUARED
    return np.asarray(axes[:, kept] / np.sqrt(values[kept]))


def _in_all_directions(
    changes: PairedChanges, whitened: NDArray[np.float64], chosen: NDArray[np.int64], least: float
) -> NDArray[np.int64]:
    """With others, for as long as some reach further than ``least`` where the ``chosen`` do not reach at all."""
    _, first, second, bounds = changes.kinds
    while True:
        rows = (whitened[first[chosen]] - whitened[second[chosen]]) / bounds[chosen, None]
        _, reach, turned = np.linalg.svd(np.asarray(np.linalg.qr(rows, mode="r")), full_matrices=True)
        missing = turned[int(np.sum(reach > _FLAT * reach[0])) :]
        if len(missing) == 0:
            return chosen
        places, reached = _furthest(changes, whitened @ missing.T)
        fresh = np.setdiff1d(places[reached > least], chosen)
        if fresh.size == 0:
            return chosen
        chosen = np.union1d(chosen, fresh)


def _furthest(changes: PairedChanges, turned: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each coordinate (R, m) the pairs that reach furthest along it, and how far, (2·m,) both."""
    best = np.zeros((_PER_QUERY, turned.shape[1]), dtype=np.int64)
    reach = np.zeros((_PER_QUERY, turned.shape[1]))
    start = 0
    for rows, bounds in changes.steps(turned):
        sizes = np.abs(rows) / bounds[:, None]
        top = sizes.argmax(axis=0)
        found = sizes[top, np.arange(len(top))]
        better = found > reach[0]
        best[1], reach[1] = np.where(better, best[0], best[1]), np.where(better, reach[0], reach[1])
        best[0], reach[0] = np.where(better, start + top, best[0]), np.where(better, found, reach[0])
        start += len(bounds)
    return best.ravel(), reach.ravel()
