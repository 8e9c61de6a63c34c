"""A secret graph: its edges must stay hidden, everything else follows along paths.

Metrics as graphs of NetworkX, and lists of edges from such; the library is loaded when it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import DxgeomError, MissingExtra, TooLarge, WrongArgument
from dxgeom.metrics.metric import PAIRS_PER_BLOCK, Metric, MetricCertificate, PairBlock, gathered, require
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import cached_property
from dxgeom.numeric.shortest_paths import EdgeGraph, component_labels, distances_from, edge_graph

_EXACT_BELOW: Final = 2**52
"""Sums of whole numbers below this are exact in float64."""
SOURCES_PER_BLOCK = 256
"""Shortest paths are sought from so many nodes at a time; bounds the memory."""


@final
@dataclass(frozen=True, eq=False)
class WholeLengths:
    """Bounds of edges as they were stated: ``lengths`` (E,) times ``unit``; paths are below 2⁵² units."""

    lengths: NDArray[np.int64] = field(repr=False)
    unit: Fraction

    def amounts(self, lengths: NDArray[np.float64]) -> NDArray[np.float64]:
        """Lengths of paths, in units, as bounds *rounded down* once; ∞ stays ∞."""
        distinct, place = np.unique(lengths, return_inverse=True)
        known = [length if math.isinf(length) else round_down(int(length) * self.unit) for length in distinct.tolist()]
        return np.array(known, dtype=np.float64)[place.reshape(lengths.shape)]


@final
@dataclass(frozen=True, eq=False)
class GraphMetric(Metric):
    """The shortest-path closure of edges with bounds; ∞ between components. Without edges nothing is protected.

    ``first``, ``second``: (E,) endpoints; ``bounds``: (E,) finite, ≥ 0, already rounded down. ``exact_lengths``: the
    bounds before they were rounded, where these are whole multiples of one unit: then paths add up *exactly*, and three
    edges of a third are 1. Without it distances are *rounded down* by a little more than each edge is.
    """

    count: int
    first: NDArray[np.int64] = field(repr=False)
    second: NDArray[np.int64] = field(repr=False)
    bounds: NDArray[np.float64] = field(repr=False)
    exact_lengths: WholeLengths | None = field(default=None, repr=False)

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
        if self.exact_lengths is not None:
            return self.exact_lengths.amounts(lengths)
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
        stated = self.bounds if self.exact_lengths is None else self.exact_lengths.lengths.astype(np.float64)
        return edge_graph(self.count, self.first, self.second, stated)


def graph_of_amounts(
    size: int, ends: tuple[NDArray[np.int64], NDArray[np.int64]], amounts: Sequence[Fraction], which: NDArray[np.int64]
) -> GraphMetric:
    """The closure of edges of these exact amounts, of which each edge has the one at its place in ``which`` (E,)."""
    denominator = math.lcm(1, *{amount.denominator for amount in amounts})
    whole = [int(amount * denominator) for amount in amounts]
    bounds = np.array([round_down(amount) for amount in amounts], dtype=np.float64)[which]
    fits = max(whole, default=0) * size < _EXACT_BELOW
    stated = WholeLengths(np.array(whole, dtype=np.int64)[which], Fraction(1, denominator)) if fits else None
    return GraphMetric(size, *ends, bounds, stated)


WEIGHT: Final = "weight"
"""What NetworkX calls the length of an edge."""
MOST_OF_A_GRAPH: Final = 2_000_000
"""Nodes, and edges: Python objects each."""


def networkx() -> Any:
    """The library. Raises: MissingExtra."""
    try:
        return import_module("networkx")
    except ImportError as error:
        raise MissingExtra("graphs are made by NetworkX: install it with pip install networkx") from error


def graph_of_metric(
    metric: Metric, name: Callable[[int], Hashable], facts: Callable[[int], Mapping[str, Any]], title: str
) -> Any:
    """A ``networkx.Graph`` of pairs that the metric follows from: shortest paths by ``weight`` are all distances.

    Args: ``name``: of each record; ``facts``: what its node holds. Pairs at distance 0 are edges, too.
    Guarantee: weights are distances, *rounded down*, none above the bound that mechanisms keep; a path adds up in
    float64.
    Raises: TooLarge beyond two million nodes or edges; MissingExtra.
    """
    if metric.size > MOST_OF_A_GRAPH:
        raise TooLarge(f"a graph has at most {MOST_OF_A_GRAPH:,} nodes; these are {metric.size:,} records")
    refusal = f"a graph has at most {MOST_OF_A_GRAPH:,} edges; more pairs than that generate this metric"
    pairs = gathered(metric.generating_pairs(), MOST_OF_A_GRAPH, refusal)
    names = [name(place) for place in range(metric.size)]
    if len({*names}) < len(names):
        raise DxgeomError("nodes of a graph have names of their own; some of these values are called alike")
    made = networkx().Graph(name=title)
    made.add_nodes_from((names[place], facts(place)) for place in range(metric.size))
    lengths = metric.distance(pairs.first, pairs.second).tolist() if pairs.first.size else []
    ends = zip(pairs.first.tolist(), pairs.second.tolist(), lengths, strict=True)
    made.add_weighted_edges_from((names[i], names[j], length) for i, j, length in ends)
    return made


def edges_of_graph(graph: Any) -> list[tuple[Any, Any, Any]]:
    """(from, to, weight) of each edge; a node without one is at ∞ from another.

    Raises: WrongArgument for directed graphs and edges without a weight.
    """
    if graph.is_directed():
        raise WrongArgument("distances have no direction: hand over graph.to_undirected()")
    edges = list(graph.edges(data=WEIGHT))
    bare = next((edge[:2] for edge in edges if edge[2] is None), None)
    if bare is not None:
        raise WrongArgument(f"each edge of a graph says its distance as 'weight'; the one between {bare} does not")
    named = {end for edge in edges for end in edge[:2]}
    alone = [node for node in graph.nodes if node not in named]
    return edges + [(node, edges[0][0], math.inf) for node in alone if edges]


def is_networkx(thing: object) -> bool:
    """Whether it lists nodes and edges, and says whether these have a direction."""
    return all(hasattr(thing, what) for what in ("nodes", "edges", "is_directed"))
