"""A secret graph: its edges must stay hidden, everything else follows along paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate, require
from dxgeom.metrics.metric import PAIRS_PER_BLOCK, Metric, PairBlock
from dxgeom.numeric.shortest_paths import EdgeGraph, component_labels, distances_from, edge_graph

SOURCES_PER_BLOCK = 256
"""Shortest paths are sought from so many nodes at a time; bounds the memory."""


@final
@dataclass(frozen=True, eq=False)
class GraphMetric(Metric):
    """The shortest-path closure of edges with bounds; ∞ between components. Without edges nothing is protected.

    ``first``, ``second``: (E,) endpoints; ``bounds``: (E,) finite, ≥ 0, already rounded down.
    """

    count: int
    first: NDArray[np.int64] = field(repr=False)
    second: NDArray[np.int64] = field(repr=False)
    bounds: NDArray[np.float64] = field(repr=False)

    @property
    def size(self) -> int:
        return self.count

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        if self.first.size == 0:
            return np.where(first == second, 0.0, np.inf)
        # From the lower index, so that both directions add up the same edges in the same order.
        first, second = np.minimum(first, second), np.maximum(first, second)
        sources, position = np.unique(first, return_inverse=True)
        position = position.reshape(first.shape)
        lengths = np.empty(first.shape)
        for start in range(0, sources.size, SOURCES_PER_BLOCK):
            here = (position >= start) & (position < start + SOURCES_PER_BLOCK)
            rows = distances_from(self._graph, sources[start : start + SOURCES_PER_BLOCK])
            lengths[here] = rows[position[here] - start, second[here]]
        return lengths * (1 - (self.count + 2) * 2.0**-52)

    def generating_pairs(self) -> Iterator[PairBlock]:
        for start in range(0, self.first.size, PAIRS_PER_BLOCK):
            block = slice(start, start + PAIRS_PER_BLOCK)
            yield PairBlock(self.first[block], self.second[block], self.bounds[block])

    def certificate(self) -> MetricCertificate:
        require(bool(np.all(np.isfinite(self.bounds) & (self.bounds >= 0))), "edge bounds are finite and not negative")
        ends = (self.first, self.second)
        among_nodes = all(nodes.size == 0 or (nodes.min() >= 0 and nodes.max() < self.size) for nodes in ends)
        require(among_nodes, "edges join nodes")
        return MetricCertificate("graph", self.size, f"shortest paths over {self.bounds.size:,} edges")

    def components(self) -> tuple[int, NDArray[np.int64]]:
        """How many parts the graph falls into, and the part of each node."""
        return component_labels(self._graph)

    @cached_property
    def _graph(self) -> EdgeGraph:
        return edge_graph(self.count, self.first, self.second, self.bounds)
