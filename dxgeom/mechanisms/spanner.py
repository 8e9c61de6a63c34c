"""Few pairs that keep a metric: the constraints of a linear programme over mechanisms."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-12


def greedy_spanner(distances: NDArray[np.float64], stretch: float) -> NDArray[np.int64]:
    """Pairs (E, 2) along which every finite distance is reached by a path at most ``stretch`` times as long.

    Shortest pairs first, each kept unless the pairs kept so far already have such a path. With stretch 1 the pairs
    that lie on no other's way remain, up to a relative 1e-12 for the rounding of distances.
    Guarantee: *approximate within* float64; a mechanism built on it has to be checked on the metric's own pairs.
    Source: Althöfer, Das, Dobkin, Joseph & Soares 1993; for mechanisms Bordenabe, Chatzikokolakis & Palamidessi 2014.
    """
    size = len(distances)
    first, second = np.triu_indices(size, 1)
    lengths = distances[first, second]
    order = np.argsort(lengths, kind="stable")
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(size)]
    kept = []
    for x, y, length in zip(first[order].tolist(), second[order].tolist(), lengths[order].tolist(), strict=True):
        if length == np.inf:
            break
        if not _within(neighbours, x, y, length * stretch * (1 + _ROUNDING)):
            kept.append((x, y))
            neighbours[x].append((y, length))
            neighbours[y].append((x, length))
    return np.array(kept, dtype=np.int64).reshape(-1, 2)


def _within(neighbours: list[list[tuple[int, float]]], start: int, end: int, limit: float) -> bool:
    """Whether a path of at most this length joins two nodes; the search looks no further."""
    best = {start: 0.0}
    queue = [(0.0, start)]
    while queue:
        length, node = heapq.heappop(queue)
        if node == end:
            return True
        if length > best[node]:
            continue
        for other, step in neighbours[node]:
            reached = length + step
            if reached <= limit and reached < best.get(other, np.inf):
                best[other] = reached
                heapq.heappush(queue, (reached, other))
    return False
