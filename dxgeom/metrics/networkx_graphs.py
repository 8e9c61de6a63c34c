"""Metrics as graphs of NetworkX, and lists of edges from such; the library is loaded when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from importlib import import_module
from typing import Any, Final

from dxgeom.errors import DxgeomError, MissingExtra, TooLarge, WrongArgument
from dxgeom.metrics.metric import Metric, gathered

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
