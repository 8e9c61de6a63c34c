"""Path lengths in whole numbers: exact, and only as far as they are asked for."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

UNREACHED = 2**62
"""The length of a path that does not exist; sums of lengths stay below it."""
_SOURCES_PER_BLOCK = 1024


class Neighbours(NamedTuple):
    """A graph by rows: the edges of node n are those from ``starts[n]`` to ``starts[n + 1]``."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    lengths: NDArray[np.int64]


def neighbours_of(
    size: int, first: NDArray[np.int64], second: NDArray[np.int64], lengths: NDArray[np.int64]
) -> Neighbours:
    """The rows of an undirected graph with the given edges."""
    here, there = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.lexsort((there, here))
    starts = np.searchsorted(here[order], np.arange(size + 1)).astype(np.int64)
    return Neighbours(starts, there[order].astype(np.int64), np.concatenate([lengths, lengths])[order].astype(np.int64))


def lengths_from(graph: Neighbours, source: int) -> NDArray[np.int64]:
    """The length of the shortest path to every node, ``UNREACHED`` where there is none; *exact*.

    Args: the sum of all lengths is below 2⁶².
    """
    nodes, found = _pairs_of_sources(*graph, source, source + 1, UNREACHED - 1, False, UNREACHED)[1:]
    lengths = np.full(graph.starts.size - 1, UNREACHED, dtype=np.int64)
    lengths[nodes] = found
    return lengths


def pairs_in_reach(
    graph: Neighbours, reach: int, most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Unordered pairs of different nodes with a path of at most ``reach``, lower node first, and its length; *exact*.

    None when there are more than ``most``. The work grows with the pairs, not with the square of the nodes.
    """
    size = graph.starts.size - 1
    blocks, count = [], 0
    for start in range(0, size, _SOURCES_PER_BLOCK):
        stop = min(start + _SOURCES_PER_BLOCK, size)
        block = _pairs_of_sources(*graph, start, stop, min(reach, UNREACHED - 1), True, most - count)
        blocks.append(block)
        count += block[0].size
        if count > most:
            return None
    none = np.empty(0, dtype=np.int64)
    first, second, lengths = (np.concatenate([none, *column]) for column in zip(*blocks, strict=True))
    return first, second, lengths


@numba.njit(cache=True)
def _pairs_of_sources(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    lengths: NDArray[np.int64],
    low: int,
    high: int,
    reach: int,
    upwards: bool,
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(source, node, length) for sources low..high-1, Dijkstra from each; stops beyond ``most``.

    ``upwards``: only nodes above their source are listed.
    """
    size = starts.size - 1
    hoped = np.full(size, UNREACHED, dtype=np.int64)
    sources = [np.int64(0) for _ in range(0)]
    nodes = [np.int64(0) for _ in range(0)]
    found = [np.int64(0) for _ in range(0)]
    for source in range(low, high):
        hoped[source] = 0
        touched = [np.int64(source)]
        waiting = [(np.int64(0), np.int64(source))]
        while len(waiting) > 0:
            length, node = heapq.heappop(waiting)
            if length > hoped[node]:
                continue
            if node > source or not upwards:
                sources.append(np.int64(source))
                nodes.append(node)
                found.append(length)
            for place in range(starts[node], starts[node + 1]):
                longer = length + lengths[place]
                if longer <= reach and longer < hoped[ends[place]]:
                    if hoped[ends[place]] == UNREACHED:
                        touched.append(ends[place])
                    hoped[ends[place]] = longer
                    heapq.heappush(waiting, (longer, ends[place]))
        for node in touched:
            hoped[node] = UNREACHED
        if len(found) > most:
            break
    return np.array(sources), np.array(nodes), np.array(found)
