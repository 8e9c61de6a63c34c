"""Path lengths in whole numbers: exact, and only as far as they are asked for.

Kernel: SciPy's sparse graphs.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.shortest_paths import distances_from

UNREACHED = 2**62
"""The length of a path that does not exist; sums of lengths stay below it."""
_LENGTHS_AT_ONCE = 1 << 22
_FEW_NODES = 8000
"""A row of lengths to so few nodes costs less than finding out which of them are within the limit."""
Whole: TypeAlias = NDArray[np.int64]


class Neighbours(NamedTuple):
    """A graph by rows: the edges of node n are those from ``starts[n]`` to ``starts[n + 1]``."""

    starts: Whole
    ends: Whole
    lengths: Whole


def neighbours_of(size: int, first: Whole, second: Whole, lengths: Whole) -> Neighbours:
    """The rows of an undirected graph with the given edges."""
    here, there = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.lexsort((there, here))
    starts = np.searchsorted(here[order], np.arange(size + 1)).astype(np.int64)
    return Neighbours(starts, there[order].astype(np.int64), np.concatenate([lengths, lengths])[order].astype(np.int64))


def lengths_from(graph: Neighbours, source: int) -> Whole:
    """The length of the shortest path to every node, ``UNREACHED`` where there is none; *exact*.

    Args: lengths are positive, no two edges are parallel, and the sum of all lengths is below 2⁵³.
    """
    return np.asarray(_rows(graph, range(source, source + 1), UNREACHED)[0])


def _rows(graph: Neighbours, sources: range, reach: int) -> Whole:
    """The lengths from several nodes to every node, as far as ``reach``; float64 holds all of them exactly."""
    from scipy.sparse import csr_matrix

    size = graph.starts.size - 1
    edges = csr_matrix((graph.lengths.astype(np.float64), graph.ends, graph.starts), shape=(size, size))
    lengths = distances_from(edges, np.array(sources), limit=float(min(reach, UNREACHED)))
    unreached = np.isinf(lengths)
    return np.where(unreached, UNREACHED, np.where(unreached, 0.0, lengths).astype(np.int64))


def pairs_within_limit(graph: Neighbours, reach: int, most: int) -> tuple[Whole, Whole, Whole] | None:
    """Unordered pairs of different nodes with a path of at most ``reach``, lower node first, and its length; *exact*.

    None when there are more than ``most``. Of many nodes the work grows with the pairs, not with the nodes' square; the
    memory at a time with neither.
    Args: as of :func:`lengths_from`.
    """
    size, count = graph.starts.size - 1, 0
    # Every length that is looked at may be looked at once for each edge of its node.
    sources = max(1, min(size, _LENGTHS_AT_ONCE // max(size, graph.ends.size, 1), most))
    lengths = np.full(sources * size, UNREACHED, dtype=np.int64)
    none = np.empty(0, dtype=np.int64)
    blocks = [(none, none, none)]
    for low in range(0, size, sources):
        some = range(low, min(low + sources, size))
        if size <= _FEW_NODES:
            lengths = _rows(graph, some, reach).reshape(-1)
            reached = np.flatnonzero(lengths < UNREACHED)
        else:
            reached = _search(graph, some, min(reach, UNREACHED - 1), lengths)
        first, second = np.divmod(reached, size)
        first += low
        above = second > first
        blocks.append((first[above], second[above], lengths[reached][above]))
        lengths[reached] = UNREACHED
        count += blocks[-1][0].size
        if count > most:
            return None
    first, second, found = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return first, second, found


def _search(graph: Neighbours, sources: range, reach: int, lengths: Whole) -> Whole:
    """Lowers ``lengths``, all of them ``UNREACHED`` before, to those of the shortest paths from sources within reach.

    One edge more at a time, from all pairs at once that became shorter with the last one (Bellman and Ford).
    Returns: the places that were lowered, increasing; the place of node n for the k-th source is k·size + n.
    """
    size = graph.starts.size - 1
    shorter = np.arange(len(sources)) * size + np.array(sources)
    lengths[shorter] = 0
    reached = [shorter]
    while shorter.size:
        place, edge = _edges_from(graph, shorter)
        longer = lengths[place] + graph.lengths[edge]
        place += graph.ends[edge] - place % size
        before = lengths[place]
        better = (longer < before) & (longer <= reach)
        place, longer, fresh = place[better], longer[better], before[better] == UNREACHED
        np.minimum.at(lengths, place, longer)
        best = longer == lengths[place]
        shorter, at = np.unique(place[best], return_index=True)
        reached.append(shorter[fresh[best][at]])
    return np.sort(np.concatenate(reached))


def _edges_from(graph: Neighbours, places: Whole) -> tuple[Whole, Whole]:
    """Each place as often as its node has edges, and these edges."""
    starts, stops = (graph.starts[places % (graph.starts.size - 1) + side] for side in (0, 1))
    degrees = stops - starts
    skipped = np.repeat(starts - np.cumsum(degrees) + degrees, degrees)
    return np.repeat(places, degrees), np.arange(skipped.size) + skipped
