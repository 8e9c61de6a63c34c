"""Path lengths in whole numbers: exact, and only as far as they are asked for."""

from __future__ import annotations

import heapq
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

UNREACHED = 2**62
"""The length of a path that does not exist; sums of lengths stay below it."""
Neighbours: TypeAlias = list[list[tuple[int, int]]]
"""For each node of a graph the other end and the length of each of its edges."""
Columns: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def neighbours_of(
    size: int, first: NDArray[np.int64], second: NDArray[np.int64], lengths: NDArray[np.int64]
) -> Neighbours:
    """The neighbours of every node of an undirected graph with the given edges."""
    neighbours: Neighbours = [[] for _ in range(size)]
    for one, other, length in zip(first.tolist(), second.tolist(), lengths.tolist(), strict=True):
        neighbours[one].append((other, length))
        neighbours[other].append((one, length))
    return neighbours


def lengths_from(neighbours: Neighbours, source: int) -> NDArray[np.int64]:
    """The length of the shortest path to every node, ``UNREACHED`` where there is none; *exact*.

    Args: the sum of all lengths is below 2⁶².
    """
    nodes, found = _reached(neighbours, source, UNREACHED - 1)
    lengths = np.full(len(neighbours), UNREACHED, dtype=np.int64)
    lengths[nodes] = found
    return lengths


def pairs_in_reach(neighbours: Neighbours, reach: int, most: int) -> Columns | None:
    """Unordered pairs of different nodes with a path of at most ``reach``, lower node first, and its length; *exact*.

    None when there are more than ``most``. The work grows with the pairs, not with the square of the nodes.
    """
    none, count = np.empty(0, dtype=np.int64), 0
    blocks: list[Columns] = [(none, none, none)]
    for source in range(len(neighbours)):
        nodes, lengths = _reached(neighbours, source, min(reach, UNREACHED - 1))
        above = nodes > source
        blocks.append((np.full(np.count_nonzero(above), source), nodes[above], lengths[above]))
        count += blocks[-1][0].size
        if count > most:
            return None
    first, second, lengths = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return first, second, lengths


def _reached(neighbours: Neighbours, source: int, reach: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nodes within reach of one, nearest first, and the lengths of their paths (Dijkstra)."""
    hoped, waiting = {source: 0}, [(0, source)]
    while waiting:
        length, node = heapq.heappop(waiting)
        if length > hoped[node]:
            continue
        for other, step in neighbours[node]:
            longer = length + step
            if longer <= reach and longer < hoped.get(other, UNREACHED):
                hoped[other] = longer
                heapq.heappush(waiting, (longer, other))
    nodes = np.fromiter(hoped.keys(), dtype=np.int64, count=len(hoped))
    lengths = np.fromiter(hoped.values(), dtype=np.int64, count=len(hoped))
    order = np.lexsort((nodes, lengths))
    return nodes[order], lengths[order]
