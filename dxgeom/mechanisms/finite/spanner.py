"""Few pairs that keep a metric: the constraints of a linear programme over mechanisms."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-12


def greedy_spanner(
    size: int,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    lengths: NDArray[np.float64],
    stretch: float,
) -> NDArray[np.int64]:
    """Which of these pairs to keep so that each has a path at most ``stretch`` times as long: indices, shortest first.

    Each pair is kept unless those kept so far already have such a path. Of pairs that generate a metric, what is kept
    reaches every distance of it within the stretch. With stretch 1 the pairs remain that lie on no other's way, up to a
    relative 1e-12 for the rounding of distances.
    Guarantee: *approximate within* float64; a mechanism built on it has to be checked on the metric's own pairs.
    Source: Althöfer, Das, Dobkin, Joseph & Soares 1993; for mechanisms Bordenabe, Chatzikokolakis & Palamidessi 2014.
    """
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(size)]
    kept = []
    for pair in np.argsort(lengths, kind="stable").tolist():
        x, y, length = int(first[pair]), int(second[pair]), float(lengths[pair])
        if not _within(neighbours, x, y, length * stretch * (1 + _ROUNDING)):
            kept.append(pair)
            neighbours[x].append((y, length))
            neighbours[y].append((x, length))
    return np.array(kept, dtype=np.int64)


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
